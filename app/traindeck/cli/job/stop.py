"""`traindeck job stop` and `rm`: ending runs, and letting them go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.several import SeveralRuns
from traindeck.cli.job.waiting import bring_up_to_date
from traindeck.cli.main import Call
from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, say_count, text

if TYPE_CHECKING:
    from traindeck.services.jobs.run_removal import BundleUse, RemovalPlan


async def stop(call: Call) -> int:
    several = SeveralRuns(call)
    stopped: list[Run] = []

    async def one(run: Run) -> None:
        stopped.append(await core.run_service.stop(run.id))

    async with call.runs() as core:
        await bring_up_to_date(call, core)
        runs = await several.found(core)
        if several.are_several and not _stop_is_meant(call, runs):
            call.output.note(say("Nothing was stopped."))
            return several.end([])
        await several.each(runs, one)
    return several.end([(run_words.document(run), _stopped_words(run)) for run in stopped])


def _stop_is_meant(call: Call, runs: Sequence[Run]) -> bool:
    """One that is named alone is stopped at once; of several it is counted before what would end."""
    active = [run for run in runs if run.state.is_remote and not run.state.is_over]
    if not active:
        return True
    for run in active:
        call.output.note(say("To be stopped: {what}", what=run.name))
    question = say_count("Stop {count} run?", "Stop {count} runs?", len(active))
    return terminal.is_meant(
        call.options, text("Nothing was stopped: several runs are stopped only when confirmed."), question
    )


def _stopped_words(run: Run) -> str:
    if run.state.is_over:
        return say("{name} has already ended: {state}. Nothing was stopped.", name=run.name, state=say(run.state_words))
    return say("Stopping {name}. It may be charged until the service confirms that it has ended.", name=run.name)


async def rm(call: Call) -> int:
    several, with_code = SeveralRuns(call), call.options.code
    plans: dict[str, RemovalPlan] = {}
    async with call.runs() as core:
        await core.records.ensure_writable()
        await bring_up_to_date(call, core)
        runs = await several.found(core)
        together = frozenset(run.id for run in runs if run.state.is_over)
        known: dict[str, BundleUse] = {}

        async def look(run: Run) -> None:
            if not run.state.is_open:
                plans[run.id] = await core.run_service.removal.look(run.id, together, known)

        async def remove(run: Run) -> None:
            if run.state.is_open:
                await core.submission.abandon(run.id)
            else:
                await core.run_service.removal.remove(plans[run.id], code=with_code)

        runs = await several.each(runs, look)
        if runs and not _removal_is_meant(call, runs, list(plans.values())):
            call.output.note(say("Nothing was deleted."))
            return several.end([])
        done = await several.each(runs, remove)
    if with_code and any(plans[run.id].code_files for run in done if run.id in plans):
        call.output.note(
            say("Kept: files in OBS that other runs may share; “traindeck job clean” deletes those no run uses")
        )
    return several.end([_removed(run, plans.get(run.id), with_code=with_code) for run in done])


def _removal_is_meant(call: Call, runs: Sequence[Run], plans: Sequence[RemovalPlan]) -> bool:
    unsettled = [
        text(
            "It is not known whether {name} was submitted. If its job exists, it goes on and is charged, and nothing "
            "here stops it.", name=run.name,
        )
        for run in runs if run.state.is_open
    ]  # fmt: skip
    for run in runs if len(runs) > 1 else ():
        call.output.note(say("To be deleted: {what}", what=run.name))
    for line in _goes(plans, len(runs), with_code=call.options.code) if plans else ():
        call.output.note(line)
    if len(runs) > 1:
        for warning in unsettled:
            call.output.note(say(warning))
        question = say_count("Delete {count} run?", "Delete {count} runs?", len(runs))
        without_a_yes = text("Nothing was deleted: runs and their jobs are deleted only when confirmed.")
    elif unsettled:
        question, without_a_yes = f"{say(unsettled[0])} {say('Delete its record?')}", unsettled[0]
    else:
        question = say("Delete {name}?", name=runs[0].name)
        without_a_yes = text(
            "Nothing was deleted: {name} and its job are deleted only when confirmed.", name=runs[0].name
        )
    return terminal.is_meant(call.options, without_a_yes, question)


def _removed(run: Run, removal: RemovalPlan | None, *, with_code: bool) -> tuple[dict[str, object], str]:
    content = {**run_words.document(run), "removed": True}
    if removal is None:
        return content, say("Deleted the record of {name}.", name=run.name)
    content |= {
        "code_removed": with_code,
        "code_files": removal.code_files,
        "code_bytes": removal.code_bytes,
        "local_files": removal.local_files,
        "local_bytes": removal.local_bytes,
        "kept": list(removal.kept),
    }
    return content, say("Deleted {name}. Its outputs in OBS and its log on this computer are kept.", name=run.name)


def _goes(plans: Sequence[RemovalPlan], records: int, *, with_code: bool) -> Iterator[str]:
    """What is deleted and what is kept, with counts and bytes; a record goes also without a plan."""
    alone = plans[0] if records == 1 else None
    if alone is not None:
        yield say("To be deleted: the record on this computer")
    else:
        yield say_count(
            "To be deleted: {count} record on this computer", "To be deleted: {count} records on this computer",
            records,
        )  # fmt: skip
    jobs = sum(plan.has_job for plan in plans)
    if alone is not None and jobs:
        yield say("To be deleted: the job at the service")
    elif jobs:
        yield say_count("To be deleted: {count} job at the service", "To be deleted: {count} jobs at the service", jobs)
    state = text("To be deleted: {what}") if with_code else text("Kept, unless --code is given: {what}")
    yield from (say(state.english, what=what) for what in _code_there(plans, alone))
    yield from dict.fromkeys(plan.code_trouble.sentence() for plan in plans if plan.code_trouble is not None)
    if alone is not None and alone.shared_with:
        yield say_count(
            "Kept: the code on this computer, which {count} other run uses",
            "Kept: the code on this computer, which {count} other runs use",
            alone.shared_with,
        )
    elif any(plan.shared_with for plan in plans):
        yield say("Kept: code on this computer that other runs use")
    here = {plan.run.bundle: plan for plan in plans if plan.local_files and not plan.shared_with}.values()
    if here:
        what = say_count(
            "{count} code file on this computer ({size})", "{count} code files on this computer ({size})",
            sum(plan.local_files for plan in here), size=size_words(sum(plan.local_bytes for plan in here)),
        )  # fmt: skip
        yield say(state.english, what=what)
    if alone is None:
        yield say("Kept: outputs and logs")
        return
    for place in alone.kept:
        yield say("Kept: {what}", what=place)
    yield say("Kept: the log on this computer")


def _code_there(plans: Sequence[RemovalPlan], alone: RemovalPlan | None) -> Iterator[str]:
    """In OBS, as far as it is known."""
    files, size = sum(plan.code_files for plan in plans), size_words(sum(plan.code_bytes for plan in plans))
    unknown = sum(plan.code_trouble is not None for plan in plans)
    if alone is not None:
        place = str(alone.code)
        if files:
            yield say_count("{count} code file in {place} ({size})", "{count} code files in {place} ({size})", files,
                            place=place, size=size)  # fmt: skip
        elif unknown:
            yield say("the code in {place}, of unknown size", place=place)
        return
    if files:
        yield say_count("{count} code file in OBS ({size})", "{count} code files in OBS ({size})", files, size=size)
    if unknown:
        yield say_count("the code of {count} run in OBS, of unknown size",
                        "the code of {count} runs in OBS, of unknown size", unknown)  # fmt: skip
