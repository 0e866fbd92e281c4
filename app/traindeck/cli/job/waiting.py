"""Following runs from a command: looking once, waiting for the end, streaming logs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.job.log_following import RunLogPrinting
from traindeck.cli.job.noticing import noticing
from traindeck.cli.job.printing import document
from traindeck.cli.main import Call
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError, KeysRefused, NotFound
from traindeck.domain.jobs.job import Run, RunState, duration_words
from traindeck.domain.texts import exact_words, say
from traindeck.runtime.beside import beside
from traindeck.runtime.clock import utc_now
from traindeck.runtime.tasks import set_within
from traindeck.services.accounts.environment import ENVIRONMENT

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.services.notices.log_rules import LineFound

_LOOK_S = 15.0
_SILENCE_S = 4.0  # of an account that has said nothing at all: who looks at what is recorded here waits no longer
_LOGS_KEPT = timedelta(days=31)
_SETTLE_S = 5.0
_GONE_S = 2.0

log = logging.getLogger(__name__)


@asynccontextmanager
async def watching(core: RunCore) -> AsyncIterator[None]:
    """The records follow the service inside; when watching fails, so does what is inside."""
    async with beside(core.watch.run()):
        yield


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
    with core.connections.keys_refused.heard_by(on_refusal):
        async with beside(wait()):
            yield


@asynccontextmanager
async def following(call: Call, core: RunCore, run: Run) -> AsyncIterator[None]:
    """The run is looked after inside; that the service does not answer, or does again, is said."""
    rules = core.rules
    with (
        core.watch.connection_state.heard_by(_weather_teller(call, core, run.profile)),
        rules.found.heard_by(partial(_say_found, call)),
        rules.refused.heard_by(partial(_say_refused, call)),
    ):
        async with (
            noticing(call, core, run), watching(core), _with_last_lines(core, run), beside(rules.run()),
            beside(core.log_copies.run()), keys_needed(core, run.profile),
        ):  # fmt: skip
            yield


@asynccontextmanager
async def _with_last_lines(core: RunCore, run: Run) -> AsyncIterator[None]:
    """Rules and copies have the end of the log as well, if the service has it soon."""
    yield
    now = await core.records.existing(run.id)
    if not now.state.is_over or not (core.log_copies.is_wanted(now) or await core.rules.are_there()):
        return
    grown = asyncio.Event()
    with core.logs.grew.heard_by(lambda _: grown.set()):
        await core.watch.finish_log(now)
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                while not await core.logs.are_whole(now):
                    await grown.wait()
                    grown.clear()
    await core.rules.look_at(now)
    if core.log_copies.is_wanted(now):
        await core.log_copies.copy_quietly(now)


def _say_found(call: Call, found: LineFound) -> None:
    call.output.note(
        say("Rule “{rule}” ({act}): {line}", rule=found.rule.name, act=say(found.rule.act.words), line=found.line)
    )
    if found.trouble is not None:
        call.output.note(found.trouble.sentence())


def _say_refused(call: Call, error: AppError) -> None:
    call.output.note(error.sentence())


def say_records(call: Call, core: RunCore) -> None:
    """That they were damaged, or that nothing can be written to them now."""
    if core.records.recovered is not None:
        call.output.note(say(core.records.recovered))
    if core.records.trouble is not None:
        call.output.note(core.records.trouble.sentence())


async def settle(
    call: Call, core: RunCore, *, patient: bool = False, only: Collection[str] | None = None
) -> AppError | None:
    """Look for jobs whose program ended before the answer; what stays unknown is said and tried again next time.

    `only`: ask no other accounts than these for late jobs.
    """
    say_records(call, core)
    words = say("An earlier job is still unconfirmed: it may exist and be charged. “traindeck job ls” shows it.")
    still_open = {run.id for run in await core.records.live() if run.state.is_open}
    try:
        async with asyncio.timeout(None if patient else _SETTLE_S):
            for run in await core.submission.settle(only, _SETTLE_S):
                if run.id not in still_open:
                    call.output.note(say("The submission of {name} arrived late: its job exists.", name=run.name))
    except TimeoutError:
        if still_open:
            call.output.note(words)
    except AppError as error:
        call.output.note(words)
        call.output.note(error.sentence())
        return error
    return None


async def find(call: Call, core: RunCore, reference: str) -> Run:
    """The run that is meant; after the records were lost it may have to be looked for at the services first."""
    try:
        return await core.run_service.find(reference)
    except NotFound:
        if not await core.records.lost_at():
            raise
    await bring_up_to_date(call, core)
    return await core.run_service.find(reference)


async def check_again(call: Call, core: RunCore, reference: str, *, patient: bool = False) -> None:
    """Look once more for a job of which nobody knows whether it was sent; what comes of it is said."""
    run = await find(call, core, reference)
    if run.state is not RunState.UNCONFIRMED:
        return
    call.output.note(say("It is not known whether {name} was submitted. Checking again…", name=run.name))
    try:
        # The Lab may have to start first.
        async with asyncio.timeout(None if patient or run.profile == LAB else _SETTLE_S):
            run = await core.submission.check_again(run.id)
    except TimeoutError:
        call.output.note(say("Account “{profile}”: there was no response in time.", profile=run.profile))
        return
    except AppError as error:
        call.output.note(error.sentence())
        return
    if run.state.is_open:
        call.output.note(say("{name} was not found. It may still exist and be charged.", name=run.name))
    elif run.state.is_remote:
        call.output.note(say("{name} was submitted.", name=run.name))
    else:
        call.output.note(str(run.reason))


async def find_now(call: Call, core: RunCore, reference: str) -> Run:
    """The run that is meant, after its account was asked."""
    run = await find(call, core, reference)
    await bring_up_to_date(call, core, only={run.profile})
    return await core.records.existing(run.id)


async def bring_up_to_date(
    call: Call, core: RunCore, ended: Run | None = None, only: Collection[str] | None = None
) -> None:
    """Ask the services about every live run once; where that fails, say so and how old the records are.

    Of `ended` the end of the log may be missing here; it is fetched. `only`: ask no other accounts than these.
    """
    await settle(call, core, only=only)
    unheard = {run.profile for run in await core.records.live() if run.state.is_remote}
    unheard = unheard if only is None else unheard.intersection(only)
    if ended is not None and await _may_lack_log(core, ended):
        await core.watch.finish_log(ended)
        unheard.add(ended.profile)
    lost_at = await core.records.lost_at()
    async with AsyncExitStack() as looking:
        for account in await _accounts(core) if lost_at else ():
            # Its jobs may be missing here: it is asked for all of them.
            if await core.adoption.is_due(account, lost_at):
                unheard.add(account)
                looking.enter_context(core.watch.looking_at(account))
        if unheard:
            await _heard(call, core, unheard)


async def look_at_job(core: RunCore, run: Run) -> Run:
    """Find out whether the job of a run that ended was deleted; without a quick answer the record stays as it is."""
    if run.profile == LAB and not await core.lab.is_running():
        return run
    try:
        async with asyncio.timeout(_GONE_S):
            return await core.run_service.notes.look_at_job(run)
    except (TimeoutError, AppError) as error:
        log.info("whether the job of %s still exists: %s", run.name, error)
        return run


async def _may_lack_log(core: RunCore, run: Run) -> bool:
    """The service keeps logs for some weeks, and a Lab that does not run was asked before it ended."""
    if not run.state.is_over or not run.job_id or await core.logs.are_whole(run):
        return False
    if run.profile == LAB:
        return await core.lab.is_running()
    is_recent = utc_now() - (run.ended or run.created) < _LOGS_KEPT
    return is_recent or not any(core.logs.file(run.id, task).size() for task in run.tasks)


async def _accounts(core: RunCore) -> list[str]:
    """A Lab that does not run has no live jobs either."""
    accounts = [profile.name for profile in core.book.all() if profile.has_training]
    return [*accounts, LAB] if await core.lab.is_running() else accounts


async def _heard(call: Call, core: RunCore, unheard: set[str]) -> None:
    """Wait until each of these accounts has answered once."""
    heard = asyncio.Event()

    def on_answer(profile: str) -> None:
        if trouble := core.watch.trouble(profile):
            reason = trouble.sentence()
            silent[profile] = say("Account “{profile}”: no response: {reason}", profile=profile, reason=reason)
        else:
            silent.pop(profile, None)
        unheard.discard(profile)
        if not unheard:
            heard.set()

    silent: dict[str, str] = {}
    # Not an error that goes through the watching: the group of its tasks would wrap it.
    with core.watch.connection_state.heard_by(on_answer):
        async with watching(core):
            if not await set_within(heard, _SILENCE_S) and any(_begins_to_answer(core, name) for name in unheard):
                await set_within(heard, _LOOK_S - _SILENCE_S)
    for profile in sorted(unheard):
        silent[profile] = say("Account “{profile}”: there was no response in time.", profile=profile)
    for profile, words in silent.items():
        call.output.note(words)
        seen = [run.checked for run in await core.records.live() if run.profile == profile and run.checked is not None]
        if seen:
            words = say(
                "Its active jobs are shown as last known; the last change was seen at {time}.",
                time=exact_words(max(seen)),
            )
        else:
            words = say("Its active jobs are shown as last known.")
        call.output.note(words)


def _begins_to_answer(core: RunCore, profile: str) -> bool:
    """A first response came, or the Lab may still be starting."""
    return profile == LAB or core.watch.accounts[profile].last_answer is not None


async def until_over(call: Call, core: RunCore, run: Run, *, follow: bool) -> Run:
    """Wait for the end of a run and say on the way what becomes of it; Ctrl-C ends the waiting only."""
    try:
        with core.watch.changed.heard_by(_state_teller(call, run)):
            async with following(call, core, run):
                if follow:
                    await RunLogPrinting(call, core, run).print_on()
                return await core.watch.until_over(run.id)
    except asyncio.CancelledError:
        call.output.note(
            say(
                "“{name}” continues to run. “traindeck job wait {run}” waits again, “traindeck job stop "
                "{run}” stops it.",
                name=run.name,
                run=run.id,
            )
        )
        raise


def said_how_it_ended(call: Call, run: Run, *, beside_log: bool = False) -> int:
    """The document comes last; words go beside the log, not into it."""
    words = say(
        "{name}: {state}, duration {time}",
        name=run.name,
        state=say(run.state_words),
        time=duration_words(run.run_seconds(run.ended or run.created)),
    )
    if beside_log and not call.output.json_wanted:
        call.output.note(words)
    else:
        call.output.result(document(run), words)
    if run.state is RunState.COMPLETED:
        return DONE
    if run.reason:
        call.output.note(str(run.reason))
    if run.state is RunState.UNCONFIRMED:
        call.output.note(say("“traindeck job wait {run}” checks again.", run=run.id))
    elif run.state.is_remote:
        call.output.note(say("“traindeck job logs {run}” shows its output.", run=run.id))
    return FAILED


def _state_teller(call: Call, run: Run) -> Callable[[Run], None]:
    last = say(run.state_words)

    def tell(changed: Run) -> None:
        nonlocal last
        if changed.id == run.id and say(changed.state_words) != last:
            last = say(changed.state_words)
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
                        "Waiting for valid keys: {reason} “traindeck profile add {name} --replace” replaces them.",
                        reason=now,
                        name=profile,
                    )
                )
            elif trouble is not None:
                account = core.watch.accounts[profile]
                call.output.setback(trouble, account.tries, account.next_look)
            else:
                call.output.note(say("The service is responding again."))

    return tell
