"""A real Lab in a process of its own, for tests of everything that talks to one."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from types import TracebackType

import psutil
import pytest

from support import planted
from support.servers.forked_process import ForkedProcess, Forker
from support.waiting import PATIENT_S
from traindeck.lab.accounts import Accounts, LabAccount

if sys.platform == "win32":
    _NEW_GROUP, _END_SIGNAL = subprocess.CREATE_NEW_PROCESS_GROUP, signal.CTRL_BREAK_EVENT
else:
    _NEW_GROUP, _END_SIGNAL = 0, signal.SIGTERM
START_S = PATIENT_S
FORKING = Path(__file__).with_name("forking_labs.py")
END_S = PATIENT_S


def account_in(root: Path, name: str) -> LabAccount:
    """Made where there is none of this name."""
    accounts = Accounts(root)
    return next((account for account in accounts.all() if account.name == name), None) or accounts.add(name)


def account_name(request: pytest.FixtureRequest) -> str:
    """The same for all tests of a file."""
    return hashlib.sha1(str(request.path).encode()).hexdigest()[:20]


class LabProcess:
    """`python -m traindeck.lab` on `root`; started by `start` or by entering it, ended by leaving it.

    Output goes to files beside the root, so that a full pipe can never stop the Lab.
    """

    obs: str
    modelarts: str
    iam: str
    access_key: str
    secret_key: str
    project_id: str
    region: str

    forker: Forker | None = None
    """Starts what needs nothing else of its start; without one, a Lab loads itself as it does for users."""

    def __init__(
        self,
        root: Path,
        *,
        port: int = 0,
        idle_exit_s: float | None = None,
        owner_pipe: bool = False,
        environment: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
        more: Sequence[str] = (),
    ) -> None:
        self.root = root
        self.stdout = root.with_name(root.name + ".stdout")
        self.stderr = root.with_name(root.name + ".stderr")
        self._owner_pipe = owner_pipe
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._orphans: list[psutil.Process] = []
        self._wrapper = wrapper
        self._words = ["--root", str(root), "--json"]
        if port:
            self._words += ["--port", str(port)]
        if idle_exit_s is not None:
            self._words += ["--idle-exit", str(idle_exit_s)]
        if owner_pipe:
            self._words.append("--owner-pipe")
        self._words += more

    def of_account(self, name: str) -> LabProcess:
        """This Lab with the keys of the account of that name: buckets, jobs and limits of its own."""
        account, lab = account_in(self.root, name), copy(self)
        lab.access_key, lab.secret_key = account.access_key, account.secret_key
        lab.project_id = account.project_id
        return lab

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def error_text(self) -> str:
        return self.stderr.read_text("utf-8", errors="replace")

    def start(self) -> LabProcess:
        """Come back when the Lab answers."""
        self.launch()
        planted.LAB_ROOTS.add(self.root)
        end = time.monotonic() + START_S
        while not (line := self._first_line()):
            code = self.exit_code(0.01)
            if code is not None or time.monotonic() > end:
                self.close()
                raise AssertionError(f"the Lab did not start (exit {code}): {self.error_text}")
        for name, value in json.loads(line).items():
            setattr(self, name, value)
        return self

    def launch(self) -> None:
        """Start without waiting, as a test of a Lab that must refuse needs it."""
        self.stdout.parent.mkdir(parents=True, exist_ok=True)
        with self.stdout.open("wb") as stdout, self.stderr.open("wb") as stderr:
            if self.forker is not None and not (self._wrapper or self._owner_pipe or self._environment):
                self._process = self.forker.start(self._words, os.environ, stderr.fileno(), stdout.fileno())
                return
            self._process = subprocess.Popen(
                [*self._wrapper, sys.executable, "-m", "traindeck.lab", *self._words],
                stdin=subprocess.PIPE if self._owner_pipe else subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **self._environment},
                creationflags=_NEW_GROUP,
            )

    def say(self, word: str) -> None:
        """A line for the owner pipe."""
        pipe = self._running.stdin
        assert pipe is not None
        pipe.write(word.encode("ascii") + b"\n")
        pipe.flush()

    def hang_up(self) -> None:
        """The owner is gone: the pipe ends without a word."""
        pipe = self._running.stdin
        assert pipe is not None
        pipe.close()

    def kill(self) -> None:
        """End it as a power cut of the program would; its jobs become orphans."""
        self._note_children()
        self._running.kill()
        self._running.wait(END_S)

    def stop(self) -> int:
        """End it in order and give its exit code."""
        self._note_children()
        self._ask_to_end()
        return self._running.wait(END_S)

    def restart(self) -> LabProcess:
        """Start again on the same root after `kill` or `stop`; ends it first where it still runs."""
        if self.exit_code(0) is None:
            self.stop()
        self._close_pipe()
        return self.start()

    def exit_code(self, timeout_s: float = END_S) -> int | None:
        """The exit code, or None where it still runs after so long."""
        try:
            return self._running.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Whatever happened before: no process is left."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._note_children()
            self._ask_to_end()
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(END_S)
        self._close_pipe()
        planted.LAB_ROOTS.discard(self.root)
        for orphan in self._orphans:
            if orphan.is_running():
                orphan.kill()
        psutil.wait_procs(self._orphans, timeout=END_S)
        self._orphans.clear()

    def __enter__(self) -> LabProcess:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _running(self) -> subprocess.Popen[bytes] | ForkedProcess:
        assert self._process is not None, "the Lab was not started"
        return self._process

    def _ask_to_end(self) -> None:
        # On Windows `terminate` is a kill; the console event is the only request a process can hear.
        self._running.send_signal(_END_SIGNAL)

    def _first_line(self) -> str:
        text = self.stdout.read_text("utf-8")
        return text.partition("\n")[0] if "\n" in text else ""

    def _note_children(self) -> None:
        try:
            self._orphans += psutil.Process(self._running.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return

    def _close_pipe(self) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.close()
