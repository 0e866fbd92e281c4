"""The folder of a Lab from outside: whether a Lab runs on it, and how it is ended."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
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
    instance: str  # of this start of it, and no other


def running_lab(root: Path) -> RunningLab | None:
    """The Lab of this folder, if one answers."""
    facts = _facts(root)
    status = _status(facts) if facts else None
    if facts is None or status is None:
        return None
    try:
        return RunningLab(
            **{name: str(facts[name]) for name in ("obs", "modelarts", "iam", "started", "instance")},
            pid=int(facts["pid"]),
            version=str(status["version"]),
            live_jobs=int(status["live_jobs"]),
            owner=status.get("owner"),
            ends_itself=bool(status.get("ends_itself")),
        )
    except (KeyError, TypeError, ValueError):
        return None


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
    needed = {"obs", "modelarts", "iam", "pid", "started", "instance"}
    return content if isinstance(content, dict) and needed <= content.keys() else None


def _status(facts: dict[str, Any]) -> dict[str, Any] | None:
    """What the Lab says; None where nobody answers, or somebody else got its port."""
    try:
        status = json.loads(_asked(facts, "GET", "/lab/status", {}))
    except (OSError, ValueError):
        return None
    is_it = isinstance(status, dict) and status.get("instance") == facts["instance"]
    return status if is_it else None


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
