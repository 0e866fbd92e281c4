"""What jobs cost, as far as the user wrote it down: no service tells a price, and unknown is never nothing."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.choices import Flavor
from traindeck.domain.jobs.form.stop_time import stop_hours
from traindeck.domain.jobs.job import RemoteJob, Run
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import say, say_count, text

NOTICE_SHARE = 0.8
_FREE = ".free"
_TABLES = ("flavors", "billing_codes")

STARTER = """\
# What one node of a specification costs per hour, for the estimates of TrainDeck. No service tells prices: take them
# from the price list or the console of your account. What is not listed here is shown as unknown.
# “traindeck flavors” lists the specifications, “traindeck billing prices” what is known of each.

currency = "CNY"

# What all runs of this computer may cost in a calendar month; above it, a submission must be confirmed. 0: no limit.
monthly_limit = 0

# By specification:
[flavors]
# "modelarts.kat1.xlarge.public" = 23.5

# By billing code and unit, for specifications that are not listed above:
[billing_codes]
# "modelarts.kat1.xlarge" = 23.5
"""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Per hour and node; of a billing code also per unit."""

    currency: str = "CNY"
    monthly_limit: float = 0.0
    flavors: Mapping[str, float] = field(default_factory=dict)
    billing_codes: Mapping[str, float] = field(default_factory=dict)

    def per_hour(
        self, flavor: str, nodes: int, account: str, billing_code: str = "", units: int = 1, *, pool: str = ""
    ) -> float | None:
        """None: unknown. A pool is paid for whether a job runs in it or not; who knows what a card of it costs?"""
        if account == LAB or flavor.endswith(_FREE) or billing_code.endswith(_FREE):
            return 0.0
        if flavor in self.flavors:
            return self.flavors[flavor] * nodes
        if billing_code in self.billing_codes and not pool:
            return self.billing_codes[billing_code] * units * nodes
        return None

    def of_job(self, job: RemoteJob, account: str) -> float | None:
        return self.per_hour(job.flavor, job.nodes, account, job.billing_code, job.billing_units, pool=job.pool)

    def of_form(self, spec: JobSpec, account: str, offered: Flavor | None = None) -> float | None:
        """`offered`: the specification as the service tells it, with what it is billed by."""
        code, units = (offered.billing_code, offered.billing_units) if offered else ("", 1)
        return self.per_hour(spec.flavor, spec.nodes, account, code, units, pool=spec.pool)


def price_table(source: str, name: str) -> PriceTable:
    """InvalidInput names the mistake: a price that is misread would be money."""
    try:
        content = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise _broken(name, str(error)) from error
    for key in content:
        if key not in ("currency", "monthly_limit", *_TABLES):
            raise _broken(name, f"“{key}”")
    currency = content.get("currency", "CNY")
    if not isinstance(currency, str) or not currency.strip() or len(currency) > 8:
        raise _broken(name, "currency")
    limit = _amount(content.get("monthly_limit", 0), name, "monthly_limit")
    tables: dict[str, dict[str, float]] = {}
    for table in _TABLES:
        found = content.get(table, {})
        if not isinstance(found, dict):
            raise _broken(name, table)
        tables[table] = {key: _amount(value, name, key) for key, value in found.items()}
    return PriceTable(currency.strip(), limit, tables["flavors"], tables["billing_codes"])


def _amount(value: Any, name: str, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise _broken(name, f"“{key}” = {value!r}")
    return float(value)


def _broken(name: str, problem: str) -> InvalidInput:
    return InvalidInput(
        text("The price table “{file}” cannot be read: {problem}.", file=name, problem=problem.rstrip(".")),
        text("Correct it, or move it: a new one is written. Prices are numbers, 0 or more."),
    )


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """What a form costs at most; None where it is not known, as without a stop time."""

    currency: str
    per_hour: float | None
    hours: float | None

    @property
    def at_most(self) -> float | None:
        if self.per_hour == 0:
            return 0.0
        return None if self.per_hour is None or self.hours is None else self.per_hour * self.hours


def estimate(spec: JobSpec, account: str, prices: PriceTable, offered: Flavor | None = None) -> JobEstimate:
    try:
        hours = stop_hours(spec.stop_after)
    except InvalidInput:
        hours = None
    return JobEstimate(prices.currency, prices.of_form(spec, account, offered), None if hours is None else float(hours))


@dataclass(frozen=True, slots=True)
class MonthCost:
    """What the runs of this computer came to since the month began."""

    begins: datetime
    currency: str
    spent: float
    limit: float
    """0: there is none."""
    known_runs: int = 0
    unknown_runs: int = 0
    unknown_hours: float = 0.0
    """Of runs whose price or time nobody knows: they come on top."""

    @property
    def share(self) -> float | None:
        return self.spent / self.limit if self.limit else None

    @property
    def is_near(self) -> bool:
        return self.share is not None and self.share >= NOTICE_SHARE

    @property
    def is_over(self) -> bool:
        return self.share is not None and self.share >= 1

    def is_over_with(self, more: float | None) -> bool:
        """Whether so much on top would be too much; what is unknown may be."""
        if not self.limit:
            return False
        return more is None or self.unknown_runs > 0 or self.is_over_by(more)

    def is_over_by(self, more: float) -> bool:
        """The same by what is known alone."""
        return self.limit > 0 and self.spent + more > self.limit


def month_begins(now: datetime) -> datetime:
    """By the calendar of this computer."""
    return now.astimezone().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def month_cost(runs: Iterable[Run], prices: PriceTable, now: datetime) -> MonthCost:
    """Of each run what of its time was in this month."""
    here, begins = now.astimezone(), month_begins(now)
    spent = unknown_hours = 0.0
    known = unknown = 0
    for run in runs:
        if not run.state.is_remote or run.profile == LAB:
            continue
        hours = _hours_in(run, begins, here)
        if hours == 0:
            continue
        price = prices.of_form(run.spec, run.profile)
        if price is None or hours is None:
            unknown += 1
            unknown_hours += hours or 0.0
        else:
            known += 1
            spent += price * hours
    return MonthCost(begins, prices.currency, spent, prices.monthly_limit, known, unknown, unknown_hours)


def _hours_in(run: Run, begins: datetime, now: datetime) -> float | None:
    """None: it ran, and nobody knows for how long."""
    if run.started is None:
        # One that waits costs nothing yet; one that is over may have run unseen.
        return None if run.state.is_over and run.duration_ms != 0 and (run.ended or now) > begins else 0.0
    ended = run.ended or (now if not run.state.is_over else None)
    if run.duration_ms is not None and run.state.is_over:
        ended = run.started + timedelta(milliseconds=run.duration_ms)
    if ended is None:
        return None
    return max(0.0, (min(ended, now) - max(run.started, begins)).total_seconds()) / 3600


def money_words(amount: float | None, currency: str) -> str | None:
    """`12.34 CNY`; None stays unknown."""
    return None if amount is None else f"{amount:,.2f} {currency}"


def month_lines(month: MonthCost) -> list[str]:
    """What it came to, what nobody knows of it, and how far that is from its limit."""
    spent = money_words(month.spent, month.currency)
    lines = [say("This month, runs of this computer: {amount}", amount=spent)]
    if month.limit:
        limit = money_words(month.limit, month.currency)
        lines = [say("This month, runs of this computer: {amount} of {limit}", amount=spent, limit=limit)]
    if month.unknown_runs:
        lines.append(
            say_count(
                "{count} run of unknown price comes on top ({hours} h).",
                "{count} runs of unknown price come on top ({hours} h).",
                month.unknown_runs,
                hours=f"{month.unknown_hours:.1f}",
            )
        )
    if month.is_over:
        lines.append(say("The monthly limit is reached: a submission must be confirmed."))
    elif month.is_near:
        lines.append(say("{percent} % of the monthly limit is used.", percent=int(100 * (month.share or 0))))
    return lines
