"""What is printed: tables and sentences for people, JSON for programs, each on its own stream."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import zip_longest
from types import FrameType
from typing import TextIO, TypeVar
from unicodedata import category

from traindeck.cli.columns import aligned, room_of, width, with_name, wrapped
from traindeck.domain.errors import AppError, LocalTrouble
from traindeck.domain.texts import exact_words, printable, say, text

Shown = TypeVar("Shown")
_SETBACK_EVERY_S = 5.0
_INTERRUPTED_S = 1.0  # how long a reader has, after an interrupt, to take what is being written
_GONE = {errno.EPIPE, errno.EINVAL}  # Windows says EINVAL for a pipe nobody reads any more


class ReaderGone(Exception):
    """Whoever read our output has heard enough, as `head` does."""


class Output:
    """Standard output for results, standard error for everything said beside them."""

    def __init__(
        self, *, json_wanted: bool = False, verbose: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.json_wanted = json_wanted
        self.verbose = verbose
        self.before_writing: Callable[[], None] | None = None
        self.draw_setback: Callable[[str], None] | None = None
        """Where a line shows how far the work is, it shows what is tried again, too."""
        self.goes_on_unheard = False
        """The work counts, not what is said of it; else the command ends with its reader."""
        self._clock = clock
        self._setback, self._setback_timed, self._setback_said_at = "", False, 0.0
        self._written_to: TextIO | None = None
        self._is_interrupted = False

    def document(self, content: Mapping[str, object] | Sequence[object]) -> None:
        """One JSON document on a line of its own."""
        # Every encoding can say ASCII; UTF-8 leaves names readable.
        ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
        self._write(sys.stdout, _steers_nothing(json.dumps(content, ensure_ascii=ascii_only, default=_plain)) + "\n")

    def result(self, content: Mapping[str, object] | Sequence[object], words: str) -> None:
        """What a command was asked for, as JSON or in words."""
        if self.json_wanted:
            self.document(content)
        else:
            self.line(words)

    def named_result(self, content: Mapping[str, object], before: str, name: str, after: str) -> None:
        """The same of something with a name, which gives way where the terminal is narrow."""
        if self.json_wanted:
            self.document(content)
        else:
            self.named(before, name, after)

    def line(self, words: str) -> None:
        self._write(sys.stdout, _lines(words, room_of(sys.stdout)))

    def whole_line(self, words: str) -> None:
        """Of what is copied from the terminal: no end of line is put into it."""
        self._write(sys.stdout, _lines(words))

    def note(self, words: str) -> None:
        """Said beside the result; never on standard output."""
        self._write(sys.stderr, _lines(words, room_of(sys.stderr)))

    def named(self, before: str, name: str, after: str, *, is_note: bool = False) -> None:
        stream = sys.stderr if is_note else sys.stdout
        room = room_of(stream)
        parts = printable(before), printable(name), printable(after)
        lines = ["".join(parts)] if room is None else with_name(*parts, room)
        self._write(stream, "".join(f"{line}\n" for line in lines))

    def setback(self, error: AppError, tries: int, next_try: datetime | None, *, is_stream: bool = False) -> None:
        """Something failed and is tried again: the first time it is said at once, then not faster than it is read."""
        reason = say(error.title)
        if next_try is not None:
            words = say(
                "{reason} Failed attempts: {count}; next attempt at {time}.",
                reason=reason, count=tries, time=exact_words(next_try)[11:],
            )  # fmt: skip
        else:
            words = say("{reason} Will try again later.", reason=reason)
        if self.draw_setback is not None:
            self.draw_setback(words)
        kind, is_timed = error.title.english, next_try is not None  # the same of other files is no news
        is_old = self._clock() - self._setback_said_at >= _SETBACK_EVERY_S
        if kind == self._setback and not (is_timed and (is_old or not self._setback_timed)):
            return
        self._setback, self._setback_timed, self._setback_said_at = kind, is_timed, self._clock()
        if self.draw_setback is None:
            self.note(words)
        if is_stream and self.json_wanted:
            why = {"title": reason, "hint": say(error.hint), "kind": error.kind}
            self.document({"trying_again": {**why, "tries": tries, "next_try": next_try}})

    def facts(self, rows: Sequence[tuple[str, str]]) -> None:
        """What is too long goes on below itself: nothing of it may be missing."""
        room = room_of(sys.stdout)
        if room is None or not rows:
            self._aligned(aligned(rows))
            return
        beside = min(max(width(printable(title)) for title, _ in rows), room // 2)
        for title, value in rows:
            values = wrapped(printable(value), room - beside - 2)
            titles = wrapped(printable(title), beside)
            self._aligned(aligned(list(zip_longest(titles, values, fillvalue="")), least=(beside,)))

    def table(
        self,
        heads: Sequence[str],
        rows: Sequence[Sequence[str]],
        right: frozenset[int] = frozenset(),
        firm: frozenset[int] = frozenset(),
    ) -> None:
        self._aligned(aligned([heads, *rows], right, columns=room_of(sys.stdout), firm=firm))

    def _aligned(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._write(sys.stdout, f"{line}\n")

    def rows(
        self,
        found: Iterable[Shown],
        document: Callable[[Shown], Mapping[str, object]],
        row: Callable[[Shown], Sequence[str]],
        right: frozenset[int] = frozenset(),
        least: Sequence[int] = (),
    ) -> None:
        """A document for each as it comes, or what is there now as lines below each other."""
        if self.json_wanted:
            for one in found:
                self.document(document(one))
        else:
            self._aligned(aligned([row(one) for one in found], right, least, room_of(sys.stdout)))

    def bytes(self, content: bytes) -> None:
        """Bytes of a log or an object, unchanged; beside JSON they go to standard error."""
        stream = sys.stderr if self.json_wanted else sys.stdout
        with self._writing(stream):
            stream.flush()
            left = memoryview(content)
            while left:  # an unbuffered stream takes less than it is given when a signal comes
                left = left[stream.buffer.write(left) :]

    def drawn(self, words: str) -> None:
        """Of a log what was made for a terminal, with what steers it; where `bytes` would go."""
        self._write(sys.stderr if self.json_wanted else sys.stdout, words)

    def _write(self, stream: TextIO | None, words: str) -> None:
        if stream is None:  # a program without a console, as Windows starts them
            return
        with self._writing(stream):
            stream.write(words)

    @contextmanager
    def _writing(self, stream: TextIO) -> Iterator[None]:
        if self.before_writing:
            self.before_writing()
        try:
            with self._bounded(stream):
                yield
                stream.flush()
        except OSError as error:
            silence(stream)
            if error.errno in _GONE:
                if self.goes_on_unheard or stream is sys.stderr:
                    return
                raise ReaderGone from error
            raise LocalTrouble(
                text("The output could not be written: {problem}.", problem=error.strerror),
                text("Check the disk or the program that receives the output."),
                str(error),
            ) from error

    @contextmanager
    def ended_by_interrupts(self) -> Iterator[None]:
        """Let an interrupt end the program though nobody reads what it writes: that goes nowhere, a moment later.

        asyncio only cancels what is awaited, and a write is not.
        """
        before = signal.getsignal(signal.SIGINT)
        if sys.platform == "win32" or not callable(before) or threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupted(number: int, frame: FrameType | None) -> None:
            self._is_interrupted = True
            self._hurry()
            before(number, frame)

        at_alarm = signal.signal(signal.SIGALRM, lambda *_: self._let_go())
        signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            signal.signal(signal.SIGALRM, at_alarm)
            self._is_interrupted = False

    @contextmanager
    def _bounded(self, stream: TextIO) -> Iterator[None]:
        self._written_to = stream
        self._hurry()
        try:
            yield
        finally:
            self._written_to = None
            if self._is_interrupted and sys.platform != "win32":
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _hurry(self) -> None:
        if self._is_interrupted and self._written_to is not None and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, _INTERRUPTED_S)

    def _let_go(self) -> None:
        if self._written_to is not None:
            silence(self._written_to)


def _lines(words: str, columns: int | None = None) -> str:
    lines = [printable(line) for line in words.split("\n")]
    if columns is not None:
        lines = [piece for line in lines for piece in wrapped(line, columns)]
    return "".join(f"{line}\n" for line in lines)


def _steers_nothing(document: str) -> str:
    """JSON leaves the newer control characters and those of direction as they are."""
    if document.isprintable():
        return document
    return "".join(
        f"\\u{ord(character):04x}" if category(character)[0] == "C" and character <= "\uffff" else character
        for character in document
    )


def _plain(value: object) -> str:
    """What JSON has no word of its own for: a moment, and nothing else."""
    assert isinstance(value, datetime), type(value)
    return value.isoformat()


def silence(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, so that the end of the program says nothing about it."""
    try:
        target = stream.fileno()
    except (io.UnsupportedOperation, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, target)
    os.close(nowhere)


def prepare_streams() -> None:
    """UTF-8 where no console decides otherwise, and no character that stops the program."""
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        chosen = stream.isatty() or "PYTHONIOENCODING" in os.environ
        encoding = stream.encoding if chosen else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")


def end_streams() -> None:
    """Say what is still buffered now: at the very end Python would complain about a reader that left."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            silence(stream)
