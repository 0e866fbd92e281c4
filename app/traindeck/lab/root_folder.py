"""The folder of a Lab from outside: whether a Lab runs on it, what it holds, and how it is emptied."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import sqlite3
import stat
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from traindeck.lab.own_api import TOKEN_HEADER
from traindeck.lab.private_files import read_json

RUNNING = "running.json"
LOCK = "lab.lock"
_ANSWER_S = 3.0
_LOOK_EVERY_S = 0.05
# What the Lab makes and can make again; accounts, ports, settings and its own log stay.
_CONTENT = ("obs", "jobs", "environments", "moxing")
# Loopback is not asked for through anybody's proxy.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class LabRunningError(Exception):
    """A Lab runs on this folder, so it cannot be touched."""


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


@dataclass(frozen=True, slots=True)
class Holdings:
    """How much is in the folder."""

    objects: int
    object_bytes: int
    jobs: int
    total_bytes: int


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
    )


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


def holdings(root: Path) -> Holdings:
    bodies = [size for _, size in _files(root / "obs" / "bodies")]
    return Holdings(
        objects=len(bodies),
        object_bytes=sum(bodies),
        jobs=_jobs(root / "jobs" / "jobs.sqlite3"),
        total_bytes=sum(size for _, size in _files(root)),
    )


def empty(root: Path) -> None:
    """Remove all objects, jobs and installed packages; raises LabRunningError where a Lab would lose its ground."""
    try:
        with FileLock(root / LOCK).acquire(timeout=0):
            for name in _CONTENT:
                if (root / name).exists():
                    shutil.rmtree(root / name)
    except Timeout as error:
        raise LabRunningError(str(root)) from error


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


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            try:
                status = path.lstat()
            except OSError:
                continue  # gone a moment ago
            if stat.S_ISREG(status.st_mode):
                yield path, status.st_size


def _jobs(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as database:
        try:
            return int(database.execute("SELECT count(*) FROM jobs").fetchone()[0])
        except sqlite3.DatabaseError:
            return 0
