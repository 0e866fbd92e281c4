"""Following runs from a command: looking once, waiting for the end, streaming logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.cli.job.printing import LogPrinter, state_words
from traindeck.cli.main import Call
from traindeck.domain.errors import AppError, KeysRefused
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import say
from traindeck.services.accounts.environment import ENVIRONMENT

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore

_LOOK_S = 15.0
_SETTLE_S = 5.0
_BLOCK = 1 << 18


@asynccontextmanager
async def watching(core: RunCore) -> AsyncIterator[None]:
    """The records follow the service inside; when watching fails, so does what is inside."""
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(core.watch.run(), name="watch")
        try:
            yield
        finally:
            watch.cancel()


@asynccontextmanager
async def keys_needed(core: RunCore, profile: str) -> AsyncIterator[None]:
    """The keys of the environment are what they are while we run: when they are refused, what is inside ends too."""

    async def wait() -> None:
        await refused.wait()
        if (error := core.connections.refusal(profile)) is not None:
            raise error

    def on_refusal(name: str) -> None:
        if name == profile == ENVIRONMENT:
            refused.set()

    refused = asyncio.Event()
    stop_listening = core.connections.keys_refused.add(on_refusal)
    try:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(wait(), name="wait for a refusal")
            try:
                yield
            finally:
                waiting.cancel()
    finally:
        stop_listening()


@asynccontextmanager
async def following(call: Call, core: RunCore, run: Run) -> AsyncIterator[None]:
    """The run is looked after inside; that the service does not answer, or does again, is said."""
    stop_listening = core.watch.connection_state.add(_weather_teller(call, core, run.profile))
    try:
        async with watching(core), keys_needed(core, run.profile):
            yield
    finally:
        stop_listening()


async def settle(call: Call, core: RunCore, limit_s: float | None = _SETTLE_S) -> AppError | None:
    """Look for jobs whose program ended before the answer; what stays unknown is said and tried again next time."""
    words = say("An earlier job is still unconfirmed: it may exist and bill. “traindeck job ls” shows it.")
    try:
        async with asyncio.timeout(limit_s):
            await core.submission.settle()
    except TimeoutError:
        call.output.note(words)
    except AppError as error:
        call.output.note(words)
        call.output.note(error.sentence())
        return error
    return None


async def check_again(call: Call, core: RunCore, reference: str) -> None:
    """Look once more for a job of which nobody knows whether it was sent; what comes of it is said."""
    run = await core.run_service.find(reference)
    if run.state is not RunState.UNCONFIRMED:
        return
    call.output.note(say("It is not known whether {name} was sent. Checking again…", name=run.name))
    try:
        run = await core.submission.check_again(run.id)
    except AppError as error:
        call.output.note(error.sentence())
        return
    if run.state.is_open:
        call.output.note(say("{name} was not found; it may still exist and bill.", name=run.name))
    else:
        call.output.note(say("{name} was sent.", name=run.name))


async def bring_up_to_date(call: Call, core: RunCore) -> None:
    """Ask the services about every live run once; where that fails, say so and how old the records are."""
    await settle(call, core)
    unheard = {run.profile for run in await core.records.live() if run.state.is_remote}
    if not unheard:
        return
    heard = asyncio.Event()

    def on_answer(profile: str) -> None:
        if trouble := core.watch.trouble(profile):
            reason = trouble.sentence()
            call.output.note(say("“{profile}” does not answer now: {reason}", profile=profile, reason=reason))
            call.output.note(say("What is shown about its live runs is what was known last."))
        unheard.discard(profile)
        if not unheard:
            heard.set()

    stop_listening = core.watch.connection_state.add(on_answer)
    try:
        async with watching(core), asyncio.timeout(_LOOK_S):
            await heard.wait()
    except TimeoutError:
        call.output.note(say("What is shown about live runs is what was known last: no answer came in time."))
    finally:
        stop_listening()


async def until_over(call: Call, core: RunCore, run: Run, *, follow: bool) -> Run:
    """Wait for the end of a run and say on the way what becomes of it; Ctrl-C ends the waiting only."""
    stop_listening = core.watch.changed.add(_state_teller(call, run))
    try:
        async with following(call, core, run):
            if follow:
                await print_logs(call, core, run)
            return await core.watch.until_over(run.id)
    except asyncio.CancelledError:
        call.output.note(
            say(
                "“{name}” goes on without us. “traindeck job wait {run}” waits again, “traindeck job stop {run}” "
                "stops it.",
                name=run.name,
                run=run.id,
            )
        )
        raise
    finally:
        stop_listening()


async def print_logs(call: Call, core: RunCore, run: Run, printers: Sequence[LogPrinter] = ()) -> None:
    """Every worker's log as it grows, until the run is over; several workers keep their lines apart."""
    several = len(run.tasks) > 1
    async with asyncio.TaskGroup() as group:
        for printer in printers or [LogPrinter(call.output, task, named=several) for task in run.tasks]:
            group.create_task(_follow(call, core, run, printer))


def print_held(call: Call, core: RunCore, run: Run, printer: LogPrinter) -> None:
    """What this computer holds of one worker's log."""
    offset = 0
    while block := core.logs.read(run.id, printer.worker, offset, _BLOCK):
        offset += len(block)
        printer.take(block)
    printer.end()
    _tell_gaps(call, core, run, printer.worker)


async def _follow(call: Call, core: RunCore, run: Run, printer: LogPrinter) -> None:
    async for block in core.logs.follow(run.id, printer.worker):
        printer.take(block)
    printer.end()
    _tell_gaps(call, core, run, printer.worker)


def _tell_gaps(call: Call, core: RunCore, run: Run, worker: str) -> None:
    for gap in core.logs.gaps(run.id, worker):
        call.output.note(
            say(
                "{worker}: {missing} bytes before byte {offset} were gone at the service when we asked.",
                worker=worker,
                missing=gap.missing,
                offset=gap.offset,
            )
        )


def _state_teller(call: Call, run: Run) -> Callable[[Run], None]:
    last = state_words(run)

    def tell(changed: Run) -> None:
        nonlocal last
        if changed.id == run.id and state_words(changed) != last:
            last = state_words(changed)
            call.output.note(f"{datetime.now():%H:%M:%S} {changed.name}: {last}")

    return tell


def _weather_teller(call: Call, core: RunCore, profile: str) -> Callable[[str], None]:
    last = ""

    def tell(changed: str) -> None:
        nonlocal last
        trouble = core.watch.trouble(profile)
        now = trouble.sentence() if trouble else ""
        if changed == profile and now != last:
            last = now
            if isinstance(trouble, KeysRefused):
                call.output.note(
                    say(
                        "Waiting for keys that work: {reason} “traindeck profile add {name} --replace” takes new ones.",
                        reason=now,
                        name=profile,
                    )
                )
            elif now:
                call.output.note(say("No answer for now, trying again: {reason}", reason=now))
            else:
                call.output.note(say("The service answers again."))

    return tell
