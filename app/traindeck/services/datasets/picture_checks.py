"""Whether pictures can be decoded: asked of processes of their own, which are ended when one takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Self

from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.own_program import harmless_environment
from traindeck.services.previews.pictures import MOST_BYTES, MOST_PIXELS, dimensions, format_of

_START_S = 60.0
_PATIENCE_S = 20.0
"""For the start of a process, and for one picture, on a machine that does other things too."""
_MOST_DECODERS = 3
_BMP_SIZE = slice(2, 6)
_PNG_END = b"IEND\xaeB`\x82"


class NoChecks(Exception):
    """Pictures cannot be decoded here; `why` says what is missing."""

    def __init__(self, why: Text) -> None:
        super().__init__(why)
        self.why = why


class PictureChecks:
    """Some processes; enter it, and every one of them is gone when it is left."""

    def __init__(self, command: Sequence[str], calls: BlockingCalls, patience_s: float = _PATIENCE_S) -> None:
        self._command = command
        self._calls = calls
        self._patience_s = patience_s
        self._turns = asyncio.Semaphore(min(_MOST_DECODERS, os.cpu_count() or 1))
        self._idle: list[_Decoder] = []
        self._all: list[_Decoder] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for decoder in self._all:
            await self._calls.run(partial(_ended, decoder))

    async def trouble(self, content: bytes) -> Text | None:
        """What is wrong with a picture; None: nothing. NoChecks: that cannot be known here."""
        form = format_of(content[:64])
        if not form:
            return text("Not a PNG, JPEG, GIF, BMP or WebP picture, whatever its name says.")
        width, height = dimensions(form, content)
        if len(content) > MOST_BYTES or width * height > MOST_PIXELS:
            raise NoChecks(text("Too large to be decoded."))
        # Readers make do without their ends.
        if form == "BMP" and len(content) < int.from_bytes(content[_BMP_SIZE], "little"):
            return _CUT_OFF
        if form == "PNG" and content.rfind(_PNG_END) < 0:
            return _CUT_OFF
        async with self._turns:
            decoder = self._idle.pop() if self._idle else self._new()
            answer = await self._calls.run(lambda token: decoder.ask(form, content, token))
            if decoder.is_alive:
                self._idle.append(decoder)
            else:
                self._all.remove(decoder)
            return answer

    def _new(self) -> _Decoder:
        decoder = _Decoder(self._command, self._patience_s)
        self._all.append(decoder)
        return decoder


_CUT_OFF = text("The file is cut off.")


class _Decoder:
    """One process; its calls block."""

    def __init__(self, command: Sequence[str], patience_s: float) -> None:
        self._command = command
        self._patience_s = patience_s
        self._process: subprocess.Popen[bytes] | None = None
        self._formats: set[str] = set()
        self._is_late = False

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ask(self, form: str, content: bytes, token: CancelToken) -> Text | None:
        if self._process is None:
            self._start()
        assert self._process is not None
        forget = token.on_cancel(self._process.kill)
        try:
            if not self._formats:
                with self._killed_after(_START_S):
                    self._formats = set(self._answer().get("formats", ()))
            if form.lower() not in self._formats:
                raise NoChecks(text("Pictures cannot be decoded on this computer."))
            with self._killed_after(self._patience_s):
                return self._asked(form.lower(), content)
        finally:
            forget()
            token.check()

    @contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._too_late)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _asked(self, form: str, content: bytes) -> Text | None:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(f"{form} {len(content)}\n".encode())
            self._process.stdin.write(content)
            self._process.stdin.flush()
            why = str(self._answer()["why"])
        except (OSError, KeyError, NoChecks):
            self.end()
            if self._is_late:
                return text("Decoding it took too long and was ended.")
            return text("Decoding it crashed the decoder.")
        if not why:
            return None
        if "premature end" in why.lower():
            return _CUT_OFF
        return text("It cannot be decoded: {problem}.", problem=why.rstrip("."))

    def _answer(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise NoChecks(text("Pictures cannot be decoded on this computer."))
        return found

    def _start(self) -> None:
        apart: dict[str, Any] = {"creationflags": 0x08000000} if sys.platform == "win32" else {}
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=harmless_environment() | {"PYTHONUTF8": "1"},
                **apart,
            )
        except OSError as error:
            raise NoChecks(text("Pictures cannot be decoded on this computer.")) from error

    def _too_late(self) -> None:
        self._is_late = True
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # of what was still to be written
                    pipe.close()


def _ended(decoder: _Decoder, _: CancelToken) -> None:
    decoder.end()
