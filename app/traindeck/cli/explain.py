"""`traindeck explain`: what a log says, of a run or of any file."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.readings import failure_document, failure_lines, reading_document, reading_lines
from traindeck.cli.terminal import STANDARD_INPUT, bytes_from_pipe, bytes_from_standard_input
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import say, text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_errors

if TYPE_CHECKING:
    from traindeck.services.readings.explaining import Explanation

_BLOCK = 1 << 20
_IN_OBS = "obs://"


async def explain(call: Call) -> int:
    what: str = call.options.what
    if what == STANDARD_INPUT:
        return _told(call, await _of_stream(_standard_input()), {"file": what}, what)
    if what.startswith(_IN_OBS):
        raise InvalidInput(
            text("“{path}” is in OBS, not on this computer.", path=what),
            text("Read it with “traindeck obs cat {path} | traindeck explain -”.", path=what),
        )
    if await asyncio.to_thread(Path(what).is_fifo):
        return _told(call, await _of_stream(bytes_from_pipe(Path(what))), {"file": what}, what)
    if await asyncio.to_thread(_is_path, what):
        return _told(call, await asyncio.to_thread(_of_file, Path(what)), {"file": what}, what)
    from traindeck.cli.job.waiting import find_now

    async with call.runs() as core:
        run = await find_now(call, core, what)
        found = await core.explaining.run(run)
    return _told(call, found, {"run": run.id, "name": run.name, "state": run.state.value}, run.name)


def _is_path(what: str) -> bool:
    """A file of this name, or what is written as a path and not as a run."""
    return Path(what).exists() or os.sep in what or (os.altsep is not None and os.altsep in what)


def _of_file(path: Path) -> Explanation:
    from traindeck.services.readings.explaining import explain_open

    with local_errors(path):
        if path.is_dir():
            raise InvalidInput(
                text("“{path}” is a folder, not a log.", path=str(path)), text("Specify a file, or the ID of a run.")
            )
        with path.open("rb") as file:
            return explain_open(file, CancelToken())


async def _of_stream(pieces: AsyncIterator[bytes]) -> Explanation:
    """Kept on the disk meanwhile: its beginning is looked at once its end is known."""
    from traindeck.services.readings.explaining import explain_open

    with local_errors(), tempfile.TemporaryFile() as file:
        async for piece in pieces:
            file.write(piece)
        file.flush()
        return await asyncio.to_thread(explain_open, file, CancelToken())


async def _standard_input() -> AsyncIterator[bytes]:
    while block := await bytes_from_standard_input(_BLOCK):
        yield block
        if len(block) < _BLOCK:
            break


def _told(call: Call, found: Explanation, what: dict[str, object], name: str) -> int:
    if call.output.json_wanted:
        call.output.document(
            {
                **what,
                "bytes": found.size_bytes,
                "failure": failure_document(found.failure, found.worker),
                **reading_document(found.reading),
            }
        )
        return DONE
    lines = [*(failure_lines(found.failure, found.worker) if found.failure else ()), *reading_lines(found.reading)]
    for line in lines:
        call.output.line(line)
    if not lines:
        call.output.note(say("{name} shows no failure, no progress and no numbers.", name=name))
    elif found.failure is None:
        call.output.note(say("{name} shows no failure.", name=name))
    return DONE
