"""A command at a pseudo terminal, as a person sees it and types to it."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.waiting import PATIENT_S

SIZE = (24, 80)
# Ctrl-C is a signal only where the terminal is the controlling one.
OWNING = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"


class Terminal:
    def __init__(self, own: int, process: subprocess.Popen[bytes]) -> None:
        self._own = own
        self._process = process
        self.seen = ""

    def read_until(self, words: str) -> None:
        start = len(self.seen)
        while words not in self.seen[start:]:
            block = self._read()
            assert block, f"“{words}” was never said: {self.seen}"

    def type(self, words: str) -> None:
        os.write(self._own, words.encode())

    def end(self) -> int:
        while self._read():
            continue
        return self._process.wait(PATIENT_S)

    def _read(self) -> bytes:
        assert select.select([self._own], [], [], PATIENT_S)[0], f"nothing more was said: {self.seen}"
        try:
            block = os.read(self._own, 4096)
        except OSError:  # Linux says so when the other side is closed
            return b""
        self.seen += block.decode(errors="replace")
        return block


@contextmanager
def terminal(tmp_path: Path, *words: str) -> Iterator[Terminal]:
    with program_at_terminal(tmp_path, sys.executable, "-m", "traindeck", *words) as seen:
        yield seen


@contextmanager
def program_at_terminal(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> Iterator[Terminal]:
    """`environment` is all the program gets; without it, that of the test."""
    import fcntl
    import pty
    import termios

    own, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-c", OWNING, *words],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, cwd=folder, env=environment,
        )  # fmt: skip
        os.close(theirs)
        try:
            yield Terminal(own, process)
        finally:
            process.kill()
            process.wait(PATIENT_S)
    finally:
        os.close(own)
