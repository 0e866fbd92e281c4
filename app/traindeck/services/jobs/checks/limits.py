"""Whether the job ends by itself, and what it may cost until then."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.checks import CheckFix, CheckLevel
from traindeck.domain.jobs.choices import Flavor
from traindeck.domain.jobs.form.stop_time import stop_time
from traindeck.domain.jobs.prices import MonthCost, money_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.jobs.checks.form_mistakes import mistakes
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, amber, green, levels, not_checked

_USUAL = "4h"


async def _stop(job: CheckedJob) -> Iterable[CheckAnswer]:
    if wrong := mistakes(job, "stop_after"):
        return wrong
    found = stop_time(job.spec.stop_after)
    if found.hours is None:
        fact = text("Nothing stops this job: it may run, and be charged, for days.")
        limit = CheckFix(text("Stop after {time}", time=_USUAL), (("stop_after", _USUAL),))
        return [amber(fact, text("Enter a time, for example “4h”."), limit, field="stop_after")]
    if found.remark is not None:
        return [green(found.remark, field="stop_after")]
    return [
        green(
            count_text("The job stops after {count} hour.", "The job stops after {count} hours.", found.hours),
            field="stop_after",
        )
    ]


async def _cost(job: CheckedJob) -> Iterable[CheckAnswer]:
    """Unknown is no price: it is neither good nor, where a month has a limit, to be sent without a word."""
    if job.cost_of is None:
        return []
    cost = await job.cost_of(job.spec, job.profile.name, await _offered(job))
    at_most, month = cost.estimate.at_most, cost.month
    if at_most == 0:
        return [green(text("It is not charged."))]
    spent, limit = (money_words(amount, month.currency) or "" for amount in (month.spent, month.limit))
    price = money_words(at_most, month.currency)
    prices = text("Enter prices with “traindeck billing prices”. Without a stop time there is no upper limit.")
    if cost.needs_confirmation:
        fact = text("Nobody knows what it costs; this month {spent} of {limit} are spent.", spent=spent, limit=limit)
        if price is not None:
            fact = text("It costs at most {price}; this month {spent} of {limit} are spent.",
                        price=price, spent=spent, limit=limit)  # fmt: skip
        is_unknown = price is None or not month.is_over_by(at_most or 0.0)
        less = text("Shorten the time it may run, or change the limit in the price table.")
        return [amber(_with_unknown(fact, month), prices if is_unknown else less)]
    if price is None:
        return [not_checked(text("Not checked: the price of this job is not known."), prices)]
    fact = text("It costs at most {price}; {spent} are spent this month.", price=price, spent=spent)
    return [green(_with_unknown(fact, month))]


def _with_unknown(fact: Text, month: MonthCost) -> Text:
    """What was spent is not all there is to be paid."""
    if not month.unknown_runs:
        return fact
    more = count_text(
        "What {count} run of this month cost is not known and comes on top.",
        "What {count} runs of this month cost is not known and comes on top.",
        month.unknown_runs,
    )
    return Text("{fact} {more}", {"fact": fact, "more": more})


async def _offered(job: CheckedJob) -> Flavor | None:
    """As the service tells it; the price may be known without."""
    try:
        return (await job.service.offer()).flavor_of(job.spec)
    except AppError:
        return None


_SAID = levels(CheckLevel.GREEN, CheckLevel.AMBER, CheckLevel.RED)
_COSTS = frozenset({"stop_after", "flavor", "nodes", "pool"})

CHECKS = (
    JobCheck("stop-time", text("Stop after"), frozenset({"stop_after"}), _stop, _SAID),
    JobCheck("cost", text("Cost"), _COSTS, _cost, levels(*CheckLevel) - {CheckLevel.RED}, is_remote=True),
)
