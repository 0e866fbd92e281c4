"""`traindeck billing`: what bills now, what this month came to, what a specification costs, and Stop."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.columns import room_of
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.job.printing import fitted
from traindeck.cli.job.waiting import bring_up_to_date
from traindeck.cli.main import Call
from traindeck.domain.accounts.profiles import REGIONS, is_region
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job import duration_words
from traindeck.domain.jobs.prices import MonthCost, money_words, month_lines
from traindeck.domain.texts import say, say_count, text

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.domain.jobs.live_costs import Bill, BilledJob

_ALL = "all"
_GIVES_WAY = ("run", "user", "nodes", "account", "region", "flavor", "so_far", "duration")
_COLUMNS = (
    "name", "state", "duration", "per_hour", "so_far", "flavor", "nodes", "user", "account", "region", "run", "id",
)  # fmt: skip


async def billing(call: Call) -> int:
    match call.options.what:
        case "prices":
            return await _prices(call)
        case "stop":
            return await _stop(call)
        case _:
            return await _jobs(call)


async def _jobs(call: Call) -> int:
    async with call.runs() as core:
        places = _places(call, core)
        # A late job is ours, and what ended meanwhile costs no more.
        await bring_up_to_date(call, core, only={account for account, _ in places})
        bill = await core.billing.now(places)
        month = await core.billing.month()
    if call.output.json_wanted:
        call.output.document({**_bill_document(bill), "month": _month_document(month)})
    else:
        _print(call, bill)
        for line in month_lines(month):
            call.output.line(line)
    for region in bill.regions:
        if region.trouble is not None:
            where = f"{region.account} {region.region}".strip()
            reason = region.trouble.sentence()
            call.output.note(say("{place}: what runs there is unknown. {reason}", place=where, reason=reason))
        elif not region.is_whole:
            call.output.note(say("{account}: there are more active jobs than were listed.", account=region.account))
    return DONE if all(region.trouble is None for region in bill.regions) else FAILED


async def _stop(call: Call) -> int:
    job_id = call.options.job
    if not job_id:
        raise InvalidInput(text("No job was specified."), text("Specify its ID, as “traindeck billing” lists it."))
    async with call.runs() as core:
        account = call.profile(core)
        regions = _regions(call)
        if len(regions) > 1:
            raise InvalidInput(text("Specify one region to stop a job in."), text("Use --regions with one region."))
        question = say(
            "Stop job {job} of account “{account}”? What it has written is kept.", job=job_id, account=account
        )
        without_a_yes = text("Nothing was stopped: it may be the job of someone else.")
        if await core.records.with_job(job_id) is None and not terminal.is_meant(call.options, without_a_yes, question):
            call.output.note(say("Nothing was stopped."))
            return DONE
        await core.billing.stop(account, regions[0], job_id)
    words = say("Stopping {name}. It may be charged until the service confirms that it has ended.", name=job_id)
    call.output.result({"job_id": job_id, "profile": account, "state": "Terminating"}, words)
    return DONE


async def _prices(call: Call) -> int:
    asked = call.options
    async with call.runs() as core:
        file = core.billing.prices
        if asked.set or asked.currency or asked.limit is not None:
            changes = dict(asked.set)
            table = await core.disk.run(
                lambda _: file.change(flavors=changes, currency=asked.currency, limit=asked.limit)
            )
        else:
            await core.disk.run(lambda _: file.make())
            table = await core.billing.table()
        month = await core.billing.month()
        offered = await _offered(call, core)
    known = {name: table.per_hour(name, 1, "", code, units) for name, code, units in offered}
    known |= {name: price for name, price in table.flavors.items() if name not in known}
    if call.output.json_wanted:
        call.output.document(
            {
                "file": str(file.path),
                "currency": table.currency,
                "monthly_limit": table.monthly_limit or None,
                "prices": known,
                "billing_codes": dict(table.billing_codes),
                "month": _month_document(month),
            }
        )
        return DONE
    if known:
        rows = [(name, _money(price, table.currency)) for name, price in sorted(known.items())]
        call.output.table([say("Specification"), say("Per hour and node")], rows, right=frozenset({1}))
    for line in month_lines(month):
        call.output.line(line)
    where = str(file.path)
    call.output.note(say("Prices are kept in “{file}”. Edit it, or use --set SPECIFICATION=PRICE.", file=where))
    return DONE


async def _offered(call: Call, core: RunCore) -> Sequence[tuple[str, str, int]]:
    from traindeck.domain.errors import AppError

    try:
        flavors = (await core.choices.load(call.profile(core))).flavors
    except AppError as error:
        call.output.note(error.sentence())
        return []
    return [(flavor.id, flavor.billing_code, flavor.billing_units) for flavor in flavors]


def _places(call: Call, core: RunCore) -> list[tuple[str, str]]:
    accounts = [call.profile(core)]
    if call.options.all_accounts:
        accounts = [profile.name for profile in core.book.all() if profile.has_training]
    return [(account, region) for account in accounts for region in _regions(call)]


def _regions(call: Call) -> list[str]:
    """An empty one is the account's own."""
    asked = call.options.regions
    if asked is None:
        return [""]
    if asked == _ALL:
        return [region for region, _, _ in REGIONS]
    regions = [one.strip() for one in asked.split(",") if one.strip()]
    for region in regions:
        if not is_region(region):
            raise InvalidInput(
                text("“{region}” is not a region.", region=region),
                text("Enter region IDs separated by commas, such as cn-north-4,cn-east-3, or “all”."),
            )
    return regions or [""]


def _print(call: Call, bill: Bill) -> None:
    if not bill.jobs:
        call.output.line(say("No active jobs.") if bill.is_whole else say("No active jobs are known."))
        return

    def rows_of(columns: Sequence[str]) -> list[list[str]]:
        cells = [[_cell(job, column, bill.currency) for column in columns] for job in bill.jobs]
        return [[_head(column) for column in columns], *cells]

    shown, rows = fitted(_COLUMNS, rows_of, _GIVES_WAY, room_of(sys.stdout))
    right = frozenset(at for at, column in enumerate(shown) if column in ("duration", "per_hour", "so_far", "nodes"))
    call.output.table(rows[0], rows[1:], right=right)
    known = money_words(bill.per_hour, bill.currency)
    total = say_count(
        "{count} active job, {price} per hour", "{count} active jobs, {price} per hour", len(bill.jobs), price=known
    )
    if bill.unknown == len(bill.jobs):
        total = say_count("{count} active job, price unknown", "{count} active jobs, prices unknown", len(bill.jobs))
    elif bill.unknown:
        total = say_count(
            "{all} active jobs, {price} per hour, and {count} of unknown price",
            "{all} active jobs, {price} per hour, and {count} of unknown price",
            bill.unknown, all=len(bill.jobs), price=known,
        )  # fmt: skip
    call.output.line(total)


def _head(column: str) -> str:
    heads = {
        "name": text("Name"), "state": text("State"), "duration": text("Duration"), "per_hour": text("Per hour"),
        "so_far": text("So far"), "flavor": text("Specification"), "nodes": text("Nodes"), "user": text("User"),
        "account": text("Account"), "region": text("Region"), "run": text("Run"), "id": text("Job ID"),
    }  # fmt: skip
    return say(heads[column])


def _cell(one: BilledJob, column: str, currency: str) -> str:
    job = one.job
    match column:
        case "duration":
            return duration_words(one.seconds)
        case "per_hour":
            return _money(one.per_hour, currency)
        case "so_far":
            return _money(one.so_far, currency)
        case "state":
            return say(job.state.words) if job.state.value == job.phase else job.phase
        case "run":
            return one.run_id or say("made elsewhere")
        case "account":
            return one.account
        case "region":
            return one.region
        case "nodes":
            return str(job.nodes)
        case _:
            return str(getattr(job, column)) or "–"


def _money(amount: float | None, currency: str) -> str:
    return money_words(amount, currency) or say("unknown")


def _bill_document(bill: Bill) -> dict[str, object]:
    return {
        "at": bill.at,
        "currency": bill.currency,
        "per_hour": bill.per_hour if bill.unknown < len(bill.jobs) or not bill.jobs else None,
        "unknown": bill.unknown,
        "complete": bill.is_whole,
        "jobs": [
            {
                "job_id": one.job.id,
                "name": one.job.name,
                "state": one.job.state.value,
                "phase": one.job.phase,
                "profile": one.account,
                "region": one.region,
                "run": one.run_id or None,
                "user": one.job.user,
                "flavor": one.job.flavor,
                "nodes": one.job.nodes,
                "seconds": one.seconds,
                "per_hour": one.per_hour,
                "so_far": one.so_far,
            }
            for one in bill.jobs
        ],
        "unreachable": [
            {"profile": region.account, "region": region.region, "reason": region.trouble.sentence()}
            for region in bill.regions
            if region.trouble is not None
        ],
    }


def _month_document(month: MonthCost) -> dict[str, object]:
    return {
        "begins": month.begins,
        "spent": month.spent,
        "currency": month.currency,
        "limit": month.limit or None,
        "share": month.share,
        "known_runs": month.known_runs,
        "unknown_runs": month.unknown_runs,
        "unknown_hours": month.unknown_hours,
    }
