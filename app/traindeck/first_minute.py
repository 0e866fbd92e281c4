"""The first minute without a person: the sample goes through the real window, a picture is what remains."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from PySide6.QtCore import SignalInstance

from traindeck.bootstrap import Program
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run, RunState, duration_words
from traindeck.domain.texts import say
from traindeck.runtime.clock import utc_now
from traindeck.ui.shell.main_window import FIRST_SIZE
from traindeck.viewmodels.shell.journal import NewsKind

PICTURE = "traindeck-first-minute.png"
_OFFER_S = 60.0


async def visit(program: Program) -> int:
    """Exit status 0 when the sample completed and its outputs and the picture are there."""
    try:
        return await _walk(program)
    except AppError as error:
        _tell(error.sentence())
    except TimeoutError:
        _tell(
            say(
                "The Lab did not return its engines and specifications. For details, see its log: {file}",
                file=str(program.core.paths.lab),
            )
        )
    return 1


async def _walk(program: Program) -> int:
    core, models = program.core, program.models
    _tell(say("No display: running the sample project here."))
    await core.lab.address()
    _tell(say("The Lab is running."))
    base = await program.workspace.jobs.prepare_sample()
    async with asyncio.timeout(_OFFER_S):
        await _until(lambda: models.jobs.form.state.offer is not None, models.jobs.form.changed)
    _tell(say("Submitting the sample project from {folder}", folder=str(base)))
    run = await _submitted(program)
    if run is None:
        return 1
    async for block in core.logs.follow(run.id):
        sys.stdout.write(block.decode(errors="replace"))
        sys.stdout.flush()
    run = await core.watch.until_over(run.id)
    _tell(
        say("{name}: {state}, duration {time}", name=run.name, state=run.state.value,
            time=duration_words(run.run_seconds(utc_now())))
    )  # fmt: skip
    has_picture = await _take_picture(program)
    outputs = core.paths.run(run.id) / "outputs"
    for path in (await core.run_service.outputs.fetch(run.id, outputs)).files:
        _tell(say("downloaded {file}", file=str(path)))
    return 0 if has_picture and run.state is RunState.COMPLETED else 1


async def _take_picture(program: Program) -> bool:
    picture = Path.cwd() / PICTURE
    program.workspace.window.resize(*FIRST_SIZE)  # a screen that does not exist may be any size
    program.workspace.window.reset_layout()
    # Let the news of the end reach the widgets: one more beat of the log and the list.
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(1),
            _woken_by(program.models.jobs.log.changed, program.models.jobs.runs.ticked) as woken,
        ):
            await woken.wait()
    if not program.workspace.window.grab().save(str(picture)):
        _tell(say("The picture could not be written to {file}.", file=str(picture)))
        return False
    _tell(say("A picture of the window: {file}", file=str(picture)))
    return True


async def _submitted(program: Program) -> Run | None:
    """Press Submit; None when what came back was an error."""
    form, journal = program.models.jobs.form, program.models.notices.journal
    sending = program.models.jobs.parts.sending
    sent: list[Run] = []

    def problems() -> list[str]:
        found = [f"{say(told.title)} {say(told.hint)}" for told in journal.entries if told.kind is NewsKind.FAILED]
        told = [say(sending.state.told)] if sending.state.told is not None else []
        return [*found, *told, *(say(error) for error in form.state.errors.values())]

    sending.submitted.connect(sent.append)
    try:
        sending.submit()
        await _until(lambda: bool(sent or problems()), sending.submitted, sending.changed, journal.told)
    finally:
        sending.submitted.disconnect(sent.append)
    for problem in () if sent else problems():
        _tell(problem)
    return sent[0] if sent else None


async def _until(holds: Callable[[], bool], *changed: SignalInstance) -> None:
    async with _woken_by(*changed) as woken:
        while not holds():
            await woken.wait()
            woken.clear()


@asynccontextmanager
async def _woken_by(*signals: SignalInstance) -> AsyncIterator[asyncio.Event]:
    woken = asyncio.Event()

    def wake(*_: object) -> None:
        woken.set()

    for signal in signals:
        signal.connect(wake)
    try:
        yield woken
    finally:
        for signal in signals:
            signal.disconnect(wake)


def _tell(words: str) -> None:
    print(words, flush=True)
