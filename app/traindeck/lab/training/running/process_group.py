"""A control group of Linux for the processes of a worker, where this computer lets us have one."""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "traindeck-job-"
_MOUNT = re.compile(r"\\(\d{3})")
_ID_LENGTH = 36
_REMOVE_S = 2.0
_POLL_S = 0.02


@dataclass(frozen=True)
class ProcessGroup:
    """Its folders, one for each hierarchy; every process that a member starts is a member."""

    folders: tuple[Path, ...] = ()

    @classmethod
    def made(cls, job_id: str, task: str, most_processes: int, memory_bytes: int) -> ProcessGroup:
        """With limits where the controllers for them are ours; without any folder where nothing is allowed."""
        name = f"{_PREFIX}{job_id}-{task}"
        folders = []
        for parent in _parents():
            with suppress(OSError):
                folder = parent / name
                folder.mkdir(exist_ok=True)
                folders.append(folder)
        group = cls(tuple(folders))
        group._write("pids.max", most_processes)
        group._write("memory.max", memory_bytes)
        group._write("memory.swap.max", 0)
        return group

    @classmethod
    def left(cls, job_id: str) -> ProcessGroup:
        """What a Lab that was killed has left of this job, wherever in the hierarchies it was."""
        return cls(tuple(folder for folder in _folders() if folder.name.startswith(f"{_PREFIX}{job_id}-")))

    @classmethod
    def left_of(cls, job_ids: Container[str]) -> ProcessGroup:
        """What is left of these jobs, each named by its UUID."""
        start = len(_PREFIX)
        return cls(tuple(folder for folder in _folders() if folder.name[start : start + _ID_LENGTH] in job_ids))

    def add(self, pid: int) -> None:
        self._write("cgroup.procs", pid)

    def pids(self) -> set[int]:
        found: set[int] = set()
        for folder in self.folders:
            with suppress(OSError):
                found.update(map(int, (folder / "cgroup.procs").read_text(encoding="ascii").split()))
        return found

    def was_full(self) -> bool:
        """Whether a process was refused for the limit of processes."""
        return self._count("pids.events", "max") > 0

    def ran_out_of_memory(self) -> bool:
        return self._count("memory.events", "oom_kill") > 0

    def kill(self) -> None:
        """All at once, where the kernel does that."""
        self._write("cgroup.kill", 1)

    def remove(self) -> None:
        """After the last process; one that is just ending may keep the folder for a moment."""
        deadline = time.monotonic() + _REMOVE_S
        for folder in self.folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError as error:
                    if error.errno != errno.EBUSY or time.monotonic() > deadline:
                        break  # the next start of the Lab tries again
                    time.sleep(_POLL_S)

    def _write(self, name: str, value: int) -> None:
        for folder in self.folders:
            # Opened without making it: a hierarchy has the files of its own controllers alone.
            with suppress(OSError):
                handle = os.open(folder / name, os.O_WRONLY)
                try:
                    os.write(handle, str(value).encode("ascii"))
                finally:
                    os.close(handle)

    def _count(self, name: str, row: str) -> int:
        for folder in self.folders:
            with suppress(OSError, ValueError):
                for line in (folder / name).read_text(encoding="ascii").splitlines():
                    key, _, value = line.partition(" ")
                    if key == row and int(value):
                        return int(value)
        return 0


def _parents() -> list[Path]:
    """Where we are ourselves, as far as we may make groups there."""
    return [own for _, own in _hierarchies() if os.access(own, os.W_OK)]


def _folders() -> Iterator[Path]:
    """The folders of all jobs of all Labs."""
    for top, _ in _hierarchies():
        for place, names, _ in os.walk(top):
            yield from (Path(place, name) for name in names if name.startswith(_PREFIX))


def _hierarchies() -> list[tuple[Path, Path]]:
    """That of version 2, and that for processes of version 1: its top, and where we are in it."""
    if sys.platform != "linux":
        return []
    found = []
    with suppress(OSError):
        own = [row.split(":", 2) for row in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
        mounts = [row.split() for row in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
        for number, controllers, path in own:
            is_second = number == "0" and not controllers
            if not is_second and controllers != "pids":
                continue
            for mount in mounts:
                kind, options = mount[mount.index("-") + 1], mount[-1].split(",")
                if kind == "cgroup2" if is_second else kind == "cgroup" and "pids" in options:
                    top = Path(_MOUNT.sub(lambda code: chr(int(code[1], 8)), mount[4]))
                    inside = path if mount[3] == "/" else "/" + path.removeprefix(mount[3]).lstrip("/")
                    found.append((top, top / inside.lstrip("/")))
                    break
    return found
