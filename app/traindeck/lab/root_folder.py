"""The folder of a Lab from outside: whether a Lab runs on it, and how it is ended."""

from __future__ import annotations

import json
import re
import socket
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from traindeck.lab.files import read_json

TOKEN_HEADER = "X-Lab-Token"
RUNNING = "running.json"
LOCK = "lab.lock"
_ANSWER_S = 3.0
_ANSWER_BYTES = 64 * 1024
_FINE = re.compile(rb"HTTP/1\.[01] 2\d\d\b")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_LOOK_EVERY_S = 0.05
_CLOCK_ERROR_S = 2.0
_NOTED = frozenset({"obs", "modelarts", "iam", "pid", "started", "instance"})


@dataclass(frozen=True, slots=True)
class LivingLab:
    """A Lab whose process is there: what it wrote about itself."""

    obs: str
    modelarts: str
    iam: str
    pid: int
    started: str
    instance: str  # of this start of it, and no other


@dataclass(frozen=True, slots=True)
class RunningLab(LivingLab):
    """A Lab that answers."""

    version: str
    live_jobs: int
    owner: int | None  # the process that ends it with itself
    ends_itself: bool  # when nobody has used it for a while


def running_lab(root: Path) -> RunningLab | None:
    """The Lab of this folder, if one answers in time; one that does not may be alive all the same."""
    facts = _facts(root)
    status = _status(facts) if facts else None
    if facts is None or status is None:
        return None
    try:
        return RunningLab(
            **_noted(facts),
            version=str(status["version"]),
            live_jobs=int(status["live_jobs"]),
            owner=status.get("owner"),
            ends_itself=bool(status.get("ends_itself")),
        )
    except (KeyError, TypeError, ValueError):
        return None


def living_lab(root: Path) -> LivingLab | None:
    """The Lab of this folder; where none answers, its file and its process say whether there is one.

    Silence alone says nothing: on a loaded machine an answer takes its time.
    """
    running = running_lab(root)
    if running is not None:
        return running
    facts = _facts(root)
    try:
        lab = LivingLab(**_noted(facts)) if facts else None
    except (TypeError, ValueError):
        return None
    return lab if lab is not None and _is_of_that_time(lab.pid, lab.started) else None


def stop(root: Path, within_s: float) -> bool:
    """End the Lab of this folder with its jobs; False where none runs or it does not end in time."""
    facts = _facts(root)
    if facts is None or _status(facts) is None:
        return False
    _asked(facts, "POST", "/lab/stop", {TOKEN_HEADER: str(facts.get("token", ""))})
    deadline = time.monotonic() + within_s
    # The lock is the last thing a Lab lets go.
    while time.monotonic() < deadline:
        if not _is_locked(root):
            return True
        time.sleep(_LOOK_EVERY_S)
    return False


def _facts(root: Path) -> dict[str, Any] | None:
    try:
        content = read_json(root / RUNNING)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.keys() >= _NOTED else None


def _noted(facts: dict[str, Any]) -> dict[str, Any]:
    """What a Lab wrote about itself, as the fields of its record."""
    return {name: str(facts[name]) for name in _NOTED if name != "pid"} | {"pid": int(facts["pid"])}


def _status(facts: dict[str, Any]) -> dict[str, Any] | None:
    """What the Lab says; None where nobody answers, or somebody else got its port."""
    try:
        status = json.loads(_asked(facts, "GET", "/lab/status", {}))
    except (OSError, ValueError):
        return None
    is_it = isinstance(status, dict) and status.get("instance") == facts["instance"]
    return status if is_it else None


def _is_of_that_time(pid: int, started: str) -> bool:
    """Whether the process is the one that wrote this, not a later one with its number, nor one that is over."""
    import psutil  # only where nobody answers

    try:
        process = psutil.Process(pid)
        is_old_enough = process.create_time() <= datetime.fromisoformat(started).timestamp() + _CLOCK_ERROR_S
        return is_old_enough and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ValueError):
        return False


def _asked(facts: dict[str, Any], method: str, path: str, headers: dict[str, str]) -> bytes:
    """Straight to it: loopback is not asked for through anybody's proxy."""
    address = urlsplit(str(facts["modelarts"]))
    lines = {"Host": address.netloc, "Content-Length": "0", **headers}
    asked = f"{method} {path} HTTP/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    said = b""
    # Not by a client of the library: the loading takes longer than both questions of a command.
    with socket.create_connection((address.hostname or "", address.port or 80), _ANSWER_S) as line:
        line.sendall(f"{asked}\r\n".encode("latin-1"))
        while not _is_whole(said) and (piece := line.recv(_ANSWER_BYTES)):
            said += piece
    head, _, body = said.partition(b"\r\n\r\n")
    if _FINE.match(head) is None:
        raise OSError(f"no answer of a Lab: {head[:80]!r}")
    return body


def _is_whole(said: bytes) -> bool:
    """Whoever answers may keep the line open."""
    head, end, body = said.partition(b"\r\n\r\n")
    length = _LENGTH.search(head) if end else None
    return len(said) >= _ANSWER_BYTES or (length is not None and len(body) >= int(length[1]))


def _is_locked(root: Path) -> bool:
    from filelock import FileLock, Timeout  # slow to load too

    try:
        with FileLock(root / LOCK).acquire(timeout=0):
            return False
    except Timeout:
        return True
