"""TensorBoard on a folder, where the user has installed it; ours carries none along."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from traindeck.domain.errors import AppError, LocalTrouble, NotFound
from traindeck.domain.texts import text
from traindeck.domain.transfers.name_filter import FilterRules
from traindeck.runtime.own_program import harmless_environment
from traindeck.runtime.tasks import TaskScope

EVENT_FILES: FilterRules = ((True, "*tfevents*"),)
"""What TensorBoard reads of the outputs of a run."""

_ADDRESS = re.compile(rb"https?://(?:localhost|127\.0\.0\.1):\d+/?")
_BEGINS_S = 60.0
_ENDS_S = 5.0
_MOST_SAID = 20_000


def has_event_files(folder: Path) -> bool:
    return next(folder.rglob("*tfevents*"), None) is not None


def installed() -> str | None:
    """Where the program is."""
    return shutil.which("tensorboard")


@asynccontextmanager
async def tensorboard(folder: Path) -> AsyncIterator[str]:
    """Its address while the block runs; only this computer can open it."""
    program = installed()
    if program is None:
        raise NotFound(
            text("TensorBoard is not installed."),
            text("Install it with “pip install tensorboard”, in an environment whose programs are on the PATH."),
        )
    process = await asyncio.create_subprocess_exec(
        program, "--logdir", str(folder), "--host", "127.0.0.1", "--port", "0",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=harmless_environment(),
        start_new_session=os.name != "nt",  # Ctrl-C is ours: we end it
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_BEGINS_S):
            address = await _address(process.stdout)
        async with TaskScope(_quiet) as scope:
            scope.start("read what it says", partial(_swallow, process.stdout))
            yield address
    except TimeoutError:
        raise _failed(f"no address after {_BEGINS_S:.0f} s") from None
    finally:
        await _ended(process)


def _quiet(_: str, __: AppError) -> None:
    """That it can no longer be read shows in its page."""


async def _address(said: asyncio.StreamReader) -> str:
    words = b""
    while piece := await said.read(4096):
        words = (words + piece)[-_MOST_SAID:]
        if found := _ADDRESS.search(words):
            return found[0].decode()
    raise _failed(words.decode(errors="replace").strip())


async def _swallow(said: asyncio.StreamReader) -> None:
    """Else it would wait for somebody to read."""
    while await said.read(65536):
        pass


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_ENDS_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _failed(detail: str) -> LocalTrouble:
    return LocalTrouble(
        text("TensorBoard could not be started."),
        text("Start it by hand to see why: “tensorboard --logdir” with this folder."),
        detail,
    )
