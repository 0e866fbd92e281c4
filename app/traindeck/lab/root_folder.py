"""The folder of a Lab from outside: whether a Lab runs on it, and how it is ended and emptied."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from traindeck.lab.disk_usage import leads_inside, live_processes
from traindeck.lab.files import read_json
from traindeck.lab.training.running.process_tree import end_orphans

TOKEN_HEADER = "X-Lab-Token"
RUNNING = "running.json"
LOCK = "lab.lock"
_ANSWER_S = 3.0
_LOOK_EVERY_S = 0.05
# What the Lab makes and can make again; accounts, ports, settings and its own log stay.
_CONTENT = ("obs", "jobs", "environments", "moxing")
_ASIDE = "emptied-"
# Loopback is not asked for through anybody's proxy.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
Result = TypeVar("Result")


class LabRunningError(Exception):
    """A Lab runs on this folder, so it cannot be touched."""


class LeftoversError(Exception):
    """The Lab is empty, but what it held is still on the disk; the cause says why."""


@dataclass(frozen=True, slots=True)
class RunningLab:
    """A Lab that answers."""

    obs: str
    modelarts: str
    iam: str
    pid: int
    started: str
    version: str
    live_jobs: int
    owner: int | None  # the process that ends it with itself
    ends_itself: bool  # when nobody has used it for a while


def _unheard(_: int) -> None:
    return


def running_lab(root: Path) -> RunningLab | None:
    """The Lab of this folder, if one answers."""
    facts = _facts(root)
    status = _status(facts) if facts else None
    if facts is None or status is None:
        return None
    return RunningLab(
        obs=str(facts["obs"]),
        modelarts=str(facts["modelarts"]),
        iam=str(facts["iam"]),
        pid=int(facts["pid"]),
        started=str(facts["started"]),
        version=str(status["version"]),
        live_jobs=int(status["live_jobs"]),
        owner=status.get("owner"),
        ends_itself=bool(status.get("ends_itself")),
    )


def silent_pid(root: Path, is_alive: Callable[[int, str], bool]) -> int | None:
    """The process of a Lab that does not answer; `is_alive` knows it by its number and the time it began."""
    facts = _facts(root)
    if facts is None or not is_alive(int(facts["pid"]), str(facts["started"])):
        return None
    return int(facts["pid"])


def stop(root: Path, within_s: float) -> bool:
    """End the Lab of this folder with its jobs; False where none runs or it does not end in time."""
    facts = _facts(root)
    if facts is None or _status(facts) is None:
        return False
    url = f"{facts['modelarts']}/lab/stop"
    request = urllib.request.Request(url, b"", {TOKEN_HEADER: str(facts.get("token", ""))}, method="POST")
    with _opener.open(request, timeout=_ANSWER_S) as answer:
        answer.read()
    deadline = time.monotonic() + within_s
    # The lock is the last thing a Lab lets go.
    while time.monotonic() < deadline:
        if not _is_locked(root):
            return True
        time.sleep(_LOOK_EVERY_S)
    return False


def empty(root: Path, on_file: Callable[[int], None] = _unheard) -> None:
    """Remove all objects, jobs and installed packages; raises LabRunningError where a Lab would lose its ground.

    They leave the Lab's sight all together or not at all; only then are they removed, file by file. `on_file` hears
    how many are gone, and may raise: the rest goes with the next emptying.
    """
    if not root.exists():
        return
    try:
        with FileLock(root / LOCK).acquire(timeout=0):
            # Once the records of a killed Lab are gone, nobody knows any more what it left running.
            for job_id, started in live_processes(root).items():
                end_orphans(job_id, started)
            _set_aside(root)
    except Timeout as error:
        raise LabRunningError(str(root)) from error
    removed = 0
    try:
        for place in root.glob(f"{_ASIDE}*"):
            for _ in _removed_files(place):
                removed += 1
                on_file(removed)
    except OSError as error:
        raise LeftoversError(str(root)) from error


def _set_aside(root: Path) -> None:
    # Renamed where they are: that needs no room on a full disk.
    mark = f"{_ASIDE}{secrets.token_hex(4)}."
    moved: list[str] = []
    try:
        for name in _CONTENT:
            if (root / name).exists():
                (root / name).rename(root / f"{mark}{name}")
                moved.append(name)
    except OSError:
        for name in moved:
            (root / f"{mark}{name}").rename(root / name)
        raise


def _removed_files(place: Path) -> Iterator[Path]:
    """Remove the folder; the answer is each file that is gone."""
    waiting, seen = [place], []
    while waiting:
        folder = waiting.pop()
        seen.append(folder)
        for entry in _insist(_entries, folder) or ():
            path = Path(entry.path)
            if leads_inside(entry):
                waiting.append(path)
            else:
                _insist(Path.unlink, path)
                yield path
    for folder in reversed(seen):
        _insist(Path.rmdir, folder)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _insist(act: Callable[[Path], Result], path: Path) -> Result | None:
    """A job may have left what is closed to its own user; what is gone already is as good as done."""
    try:
        return act(path)
    except FileNotFoundError:
        return None
    except PermissionError:
        path.parent.chmod(0o700)
        if not path.is_symlink():
            path.chmod(0o700)
        return act(path)


def _facts(root: Path) -> dict[str, Any] | None:
    try:
        content = read_json(root / RUNNING)
    except (OSError, ValueError):
        return None
    needed = {"obs", "modelarts", "iam", "pid", "started", "instance"}
    return content if isinstance(content, dict) and needed <= content.keys() else None


def _status(facts: dict[str, Any]) -> dict[str, Any] | None:
    """What the Lab says; None where nobody answers, or somebody else got its port."""
    try:
        with _opener.open(f"{facts['modelarts']}/lab/status", timeout=_ANSWER_S) as answer:
            status = json.load(answer)
    except (OSError, http.client.HTTPException, ValueError):
        return None
    is_it = isinstance(status, dict) and status.get("instance") == facts["instance"]
    return status if is_it else None


def _is_locked(root: Path) -> bool:
    try:
        with FileLock(root / LOCK).acquire(timeout=0):
            return False
    except Timeout:
        return True
