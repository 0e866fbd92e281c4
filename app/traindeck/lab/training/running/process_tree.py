"""Finds every process of a job, also those that left their parent or their session, and ends them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psutil

from traindeck.lab.training.running.process_group import ProcessGroup

# Every process of a job has it, and what it starts inherits it.
JOB_VARIABLE = "MA_VJ_NAME"
# While it is in one of these a job may have processes.
LIVE_PHASES = ("Creating", "Pending", "Running", "Terminating")
_ORPHAN_GRACE_S = 0.5
_POLL_S = 0.05
_KILL_ROUNDS = 20
_KILL_WAIT_S = 0.5


@dataclass(frozen=True)
class ProcessId:
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    created: float

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        return cls(pid, psutil.Process(pid).create_time())

    def process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            # The time is computed from the boot time, which may be rounded differently after a restart of the Lab.
            return process if abs(process.create_time() - self.created) < 1 else None
        except psutil.NoSuchProcess:
            return None


def start_process(
    command: Sequence[str],
    folder: Path | str,
    variables: Mapping[str, str],
    output: BinaryIO,
    given: bytes = b"",
    limit: Callable[[int], None] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start one process of a job, which finds `given` on its standard input; all of them come from here.

    `limit` sets the limits of the process. What waits for `given` is still ours then, and has started nothing.
    """
    flags = 0
    if sys.platform == "win32":  # no console window, and a group that can be asked to end
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=dict(variables),
        start_new_session=True,
        creationflags=flags,
    )
    if limit is not None:
        limit(process.pid)
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as stream:  # it ends before it reads all: its output says why
            stream.write(given)
    return process


def exit_code(process: "subprocess.Popen[bytes]", keep_going: Callable[[], None]) -> int:
    """Wait for the end; where `keep_going` raises, the process is killed first."""
    try:
        while True:
            try:
                return process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                keep_going()
    except BaseException:
        process.kill()
        process.wait()
        raise


def job_mark(job_id: str) -> str:
    """The value of the variable by which the processes of this job are found."""
    return f"ma-job-{job_id}"


class ProcessTree:
    """All processes of one job: the ones started, their children, and whatever carries the job's variable."""

    def __init__(self, job_id: str, roots: Iterable[ProcessId] = ()) -> None:
        self._mark = job_mark(job_id)
        self._known: dict[int, ProcessId] = {root.pid: root for root in roots}
        self._groups: list[ProcessGroup] = []

    def add(self, root: ProcessId) -> None:
        self._known[root.pid] = root

    def watch(self, group: ProcessGroup) -> None:
        """All in this group belong to the job, too."""
        self._groups.append(group)

    def members(self) -> list[psutil.Process]:
        """Those that are alive; what was found once stays known when its parent is gone."""
        for pid, known in list(self._known.items()):
            if known.process() is None:
                del self._known[pid]
        found = set(self._known)
        for group in self._groups:
            found |= group.pids()
        if found:
            children = _children()
            below = list(found)
            while below:
                more = [child for child in children.get(below.pop(), ()) if child not in found]
                found.update(more)
                below += more
        return [process for process in map(_process, found) if process is not None and self._remember(process)]

    def end(self, grace_s: float, is_hurried: Callable[[], bool] = lambda: False) -> bool:
        """Ask all to end, kill what is left after `grace_s`, or sooner when hurried; says whether all are gone."""
        self._signal_all(self._everyone(), gently=True)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline and not is_hurried() and self.members():
            time.sleep(_POLL_S)
        for _ in range(_KILL_ROUNDS):
            members = self._everyone()
            if not members:
                return True
            for group in self._groups:
                group.kill()
            self._signal_all(members, gently=False)
            deadline = time.monotonic() + _KILL_WAIT_S
            while time.monotonic() < deadline and any(_is_alive(member) for member in members):
                time.sleep(_POLL_S)
        return False

    def _everyone(self) -> list[psutil.Process]:
        members = {process.pid: process for process in self.members()}
        for process in psutil.process_iter():
            if process.pid not in members and process.pid != os.getpid() and self._carries_variable(process):
                self._remember(process)
                members[process.pid] = process
        return list(members.values())

    def _carries_variable(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(JOB_VARIABLE) == self._mark and _is_alive(process)
        except (psutil.Error, OSError):
            return False

    def _remember(self, process: psutil.Process) -> bool:
        if not _is_alive(process):
            return False
        try:
            self._known[process.pid] = ProcessId(process.pid, process.create_time())
        except psutil.NoSuchProcess:
            return False
        return True

    @staticmethod
    def _signal_all(members: Iterable[psutil.Process], *, gently: bool) -> None:
        for process in members:
            try:
                if os.name == "posix" and os.getpgid(process.pid) == process.pid and process.is_running():
                    os.killpg(process.pid, signal.SIGTERM if gently else signal.SIGKILL)
                elif gently:
                    process.terminate()
                else:
                    process.kill()
            except (psutil.Error, ProcessLookupError, PermissionError):
                continue


def end_orphans(job_id: str, roots: Iterable[ProcessId]) -> None:
    """End what is left of a job whose Lab is gone."""
    tree, group = ProcessTree(job_id, roots), ProcessGroup.left(job_id)
    tree.watch(group)
    tree.end(_ORPHAN_GRACE_S)
    group.remove()


def _children() -> dict[int, list[int]]:
    """Every process of this computer by its parent, from one look at all of them."""
    found: dict[int, list[int]] = {}
    for pid, parent in _parents():
        found.setdefault(parent, []).append(pid)
    return found


def _parents() -> Iterator[tuple[int, int]]:
    if sys.platform != "linux":
        for process in psutil.process_iter(["ppid"]):
            yield process.pid, process.info["ppid"] or 0
        return
    for pid in psutil.pids():
        with suppress(OSError, ValueError, IndexError):
            # After the name of the program, which may hold blanks and brackets.
            yield pid, int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
