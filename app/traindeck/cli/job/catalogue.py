"""`traindeck engines` and `traindeck flavors`: what a job can ask for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.waiting import say_records
from traindeck.cli.main import Call
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.availability import sold_out_at
from traindeck.domain.jobs.choices import Choices, Flavor, matching_engines, matching_flavors
from traindeck.domain.jobs.prices import PriceTable, money_words
from traindeck.domain.texts import moment_words, say

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore

_RECENT_RUNS = 50


async def engines(call: Call) -> int:
    found = matching_engines((await _offered(call)).engines, call.options.filter)
    if call.output.json_wanted:
        call.output.document([asdict(engine) for engine in found])
    else:
        rows = [(engine.name, engine.version, engine.arch or "–") for engine in found]
        call.output.table([say("Engine"), say("Version"), say("Processor")], rows)
    return DONE


async def flavors(call: Call) -> int:
    """With what they cost and when they were sold out, of which the service's list says nothing."""
    async with call.runs() as core:
        say_records(call, core)
        profile = call.profile(core)
        choices = await core.choices.load(profile)
        runs = await core.records.all()
        prices = await _prices(call, core)
    _say_age(call, choices)
    recent = list(dict.fromkeys(run.spec.flavor for run in runs[:_RECENT_RUNS]))
    found = [
        _Offered(one, _per_hour(prices, one, profile), sold_out_at(runs, one.id, profile))
        for one in matching_flavors(choices.flavors, call.options.filter, recent)
    ]
    if call.output.json_wanted:
        call.output.document([_document(one) for one in found])
        return DONE
    heads = [say("Specification"), say("Kind"), say("Cores"), say("Memory"), say("Accelerator"), say("Disk"),
             say("Max. nodes"), say("Per hour and node")]  # fmt: skip
    currency = prices.currency if prices else ""
    rows = [_cells(one, currency) for one in found]
    if any(one.sold_out for one in found):
        heads.append(say("Was sold out on"))
        for row, one in zip(rows, found, strict=True):
            row.append(moment_words(one.sold_out) if one.sold_out else "–")
    call.output.table(heads, rows, right=frozenset({2, 3, 5, 6, 7}))
    return DONE


@dataclass(frozen=True, slots=True)
class _Offered:
    flavor: Flavor
    per_hour: float | None
    sold_out: datetime | None


def _document(one: _Offered) -> dict[str, object]:
    sold_out = one.sold_out.isoformat() if one.sold_out else None
    return {**asdict(one.flavor), "per_hour": one.per_hour, "sold_out": sold_out}


def _cells(one: _Offered, currency: str) -> list[str]:
    flavor = one.flavor
    price = say("free") if one.per_hour == 0 else money_words(one.per_hour, currency) or say("unknown")
    return [
        flavor.id, flavor.kind, str(flavor.cores or "–"), flavor.memory or "–", flavor.accelerator or "–",
        flavor.disk or "–", str(flavor.max_nodes), price,
    ]  # fmt: skip


def _per_hour(prices: PriceTable | None, flavor: Flavor, profile: str) -> float | None:
    if prices is None:
        return None
    return prices.per_hour(flavor.id, 1, profile, flavor.billing_code, flavor.billing_units)


async def _prices(call: Call, core: RunCore) -> PriceTable | None:
    """A mistake in the table hides what things cost, and not what there is."""
    try:
        return await core.billing.table()
    except AppError as error:
        call.output.note(error.sentence())
        return None


async def _offered(call: Call) -> Choices:
    async with call.accounts() as core:
        choices = await core.job_choices().load(call.profile(core))
    _say_age(call, choices)
    return choices


def _say_age(call: Call, choices: Choices) -> None:
    """Where they are not of now."""
    if choices.age_words is not None:
        call.output.note(say(choices.age_words))
