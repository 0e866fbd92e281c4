"""A process that another one forks, with as much of `subprocess.Popen` as tests of windows and Labs use."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

import pytest

from support.leftovers import LENT
from support.waiting import PATIENT_S


class Forker:
    """The process that forks; it is started with the first request, and lives until the tests are over."""

    def __init__(self, script: Path) -> None:
        self._script = script
        self._process: subprocess.Popen[bytes] | None = None
        self._ours: socket.socket | None = None

    def start(
        self, words: Sequence[str], environment: Mapping[str, str], errors: int, output: int | None = None
    ) -> ForkedProcess:
        """Without a descriptor for its output, the process has a pipe to the test."""
        ours = self._ours or self._begun()
        read, write = os.pipe() if output is None else (None, os.dup(output))
        ended, end = os.pipe()
        wanted = {"words": [*words], "environment": dict(environment), "folder": str(Path.cwd())}
        socket.send_fds(ours, [json.dumps(wanted).encode()], [write, errors, end])
        os.close(write)
        os.close(end)
        pid = int(_answer(ours))
        return ForkedProcess(pid, None if read is None else os.fdopen(read, encoding="utf-8"), ended)

    def close(self) -> None:
        if self._process is not None and self._ours is not None:
            LENT.discard(self._process.pid)
            self._ours.close()
            self._process.wait(PATIENT_S)
            self._process = self._ours = None

    def _begun(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Of no home: what is left of one is ended with its test.
        environment = {name: value for name, value in os.environ.items() if name != "TRAINDECK_HOME"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(self._script), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=self._script.parent,
                env=environment | {"PYTHONUTF8": "1"},
            )
        LENT.add(self._process.pid)
        self._ours = ours
        assert _answer(ours) == b"ready", "the process that forks did not start"
        return ours


class ForkedProcess:
    def __init__(self, pid: int, stdout: IO[str] | None, ended: int) -> None:
        self.pid = pid
        self.stdin = None
        self.stdout = stdout
        self.returncode: int | None = None
        self._ended = ended

    def poll(self) -> int | None:
        return self.returncode if self._is_over(0.0) else None

    def wait(self, timeout: float | None = None) -> int:
        if not self._is_over(timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _is_over(self, timeout: float | None) -> bool:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            self.returncode = int(os.read(self._ended, 100))
            os.close(self._ended)
        return self.returncode is not None


class Forked(Protocol):
    forker: Forker | None


@contextmanager
def forking(kind: type[Forked], script: Path, config: pytest.Config) -> Iterator[None]:
    """Fork all of this kind in the ordinary run; with `--all` each loads its program itself."""
    if sys.platform != "linux" or "not long" not in str(config.option.markexpr):
        yield
        return
    kind.forker = forker = Forker(script)
    try:
        yield
    finally:
        kind.forker = None
        forker.close()


def _answer(ours: socket.socket) -> bytes:
    assert select.select([ours], [], [], PATIENT_S)[0]
    return ours.recv(100)
