"""Asking the person at the terminal, and reading what a program hands us on standard input or a pipe."""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from traindeck.cli.columns import room_of, wrapped
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import Text, say, text
from traindeck.runtime import files

STANDARD_INPUT = "-"
_MOST_READ = 1 << 20
_Result = TypeVar("_Result")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a blocking read: asyncio's own handler would wait for the read first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # it came a moment ago, and nothing has been awaited since
            raise asyncio.CancelledError
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def somebody_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(question: str) -> bool:
    """Only a clear yes is one."""
    return asked(f"{question} {say('[y/N]')} ").lower() in ("y", "yes", "是", "好")


def refuse_without_a_yes(what: Text) -> InvalidInput:
    """For a script that did not say --yes to something that cannot be undone."""
    return InvalidInput(what, text("Cannot prompt here. Add --yes to confirm."))


def is_meant(options: Namespace, without_a_yes: Text, question: str) -> bool:
    """What cannot be undone is done with --yes or after a clear yes; nobody to ask is a refusal."""
    if options.yes:
        return True
    if not somebody_is_there():
        raise refuse_without_a_yes(without_a_yes)
    return confirmed(question)


def asked(question: str) -> str:
    with interruptible():
        room = room_of(sys.stderr)
        sys.stderr.write("\n".join(wrapped(question.rstrip(), room - 1)) + " " if room else question)
        sys.stderr.flush()
        return sys.stdin.readline().strip()


def asked_unseen(question: str) -> str:
    with interruptible():
        return getpass.getpass(question, stream=sys.stderr).strip()


async def bytes_from_standard_input(wanted: int) -> bytes:
    """So many, fewer at its end; who waits is let go at once when cancelled."""
    # Not through sys.stdin: what is left reading at the end of the program would keep its lock.
    return await _unwaited(lambda: _read(0, wanted))


async def bytes_from_pipe(path: Path) -> AsyncIterator[bytes]:
    """All that is written into it; who waits is let go as above."""
    pipe = await _unwaited(lambda: os.open(path, os.O_RDONLY))
    while piece := await _unwaited(lambda: _read(pipe, _MOST_READ)):
        yield piece
    os.close(pipe)


def _read(descriptor: int, wanted: int) -> bytes:
    pieces: list[bytes] = []
    left = wanted
    while left and (piece := os.read(descriptor, min(left, _MOST_READ))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


async def _unwaited(work: Callable[[], _Result]) -> _Result:
    """In a thread of its own: nobody waits for one of these at the end."""
    outcome: Future[_Result] = Future()
    outcome.set_running_or_notify_cancel()  # who no longer waits leaves it to end, and to tell nobody

    def run() -> None:
        try:
            outcome.set_result(work())
        except OSError as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="reads what may never come", daemon=True).start()
    return await asyncio.wrap_future(outcome)


def lines_from_standard_input() -> list[str]:
    if sys.stdin is None:
        return []
    with interruptible():
        return [line.strip() for line in sys.stdin.read().splitlines()]


def text_of(name: str) -> str:
    """What is in a file; “-” is standard input."""
    if name != STANDARD_INPUT:
        return files.text_in(Path(name))
    with interruptible():
        content = sys.stdin.buffer.read(files.MOST_TEXT_BYTES + 1) if sys.stdin is not None else b""
    return files.text_of(content, name)
