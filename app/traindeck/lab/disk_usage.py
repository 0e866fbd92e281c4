"""What the folder of a Lab holds: counted from outside while a Lab may be at work on it, and removed when none is."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from filelock import FileLock, Timeout

from traindeck.lab.root_folder import LOCK
from traindeck.lab.training.running.process_tree import LIVE_PHASES, ProcessId, end_orphans

_WAIT_S = 5.0
_TOLD_EVERY = 1000
# What the Lab makes and can make again; accounts, ports, settings and its own log stay.
_CONTENT = ("obs", "jobs", "environments", "moxing", "volumes")
_ASIDE = "emptied-"
_OBJECTS = """
SELECT count(*), coalesce(sum(size), 0) FROM
(SELECT size FROM objects UNION ALL SELECT size FROM versions WHERE NOT is_marker)
"""

Result = TypeVar("Result")
Query = Callable[[sqlite3.Connection], Any]
OnQuery = Callable[[Callable[[], None]], Callable[[], None]]
"""Given what breaks a question off; the answer takes it back when the question is answered."""


class LabRunningError(Exception):
    """A Lab runs on this folder, so it cannot be touched."""


class LeftoversError(Exception):
    """The Lab is empty, but what it held is still on the disk; the cause says why."""


class Contents(NamedTuple):
    """What users put there; old versions count as objects. None is what could not be read."""

    buckets: int | None
    objects: int | None
    object_bytes: int | None
    jobs: int | None
    live: tuple[str, ...]  # the names of the jobs that are not over


class DiskUse(NamedTuple):
    """The bytes of all files; not whole where a folder could not be looked into."""

    size_bytes: int
    is_whole: bool


def contents(root: Path, on_query: OnQuery | None = None) -> Contents:
    objects = _asked(root / "obs" / "index.sqlite3", _objects, on_query, (0, 0, 0))
    jobs = _asked(root / "jobs" / "jobs.sqlite3", _jobs, on_query, (0, ()))
    return Contents(*(objects or (None, None, None)), *(jobs or (None, ())))


def disk_use(root: Path, on_bytes: Callable[[int], None] = lambda total: None) -> DiskUse:
    """Look at every file; `on_bytes` hears the sum so far, and may raise to end it."""
    total = seen = 0
    is_whole = True
    folders = [str(root)]
    while folders:
        folder = folders.pop()
        try:
            entries = os.scandir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            if folder == str(root):
                raise
            is_whole = False
            continue
        with entries:
            for entry in entries:
                try:
                    if leads_inside(entry):
                        folders.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # gone a moment ago
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
                seen += 1
                if seen % _TOLD_EVERY == 0:
                    on_bytes(total)
    return DiskUse(total, is_whole)


def empty(root: Path, on_file: Callable[[int], None] = lambda removed: None) -> None:
    """Remove all objects, jobs and installed packages; raises LabRunningError where a Lab would lose its ground.

    They leave the Lab's sight all together or not at all; only then are they removed, file by file. `on_file` hears
    how many are gone, and may raise: the rest goes with the next emptying.
    """
    if not root.exists():
        return
    try:
        with FileLock(root / LOCK).acquire(timeout=0):
            # Once the records of a killed Lab are gone, nobody knows any more what it left running.
            started_by: dict[str, list[ProcessId]] = _asked(root / "jobs" / "jobs.sqlite3", _processes, None, {}) or {}
            for job_id, started in started_by.items():
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


def leads_inside(entry: os.DirEntry[str]) -> bool:
    """Whether this is a folder of its own, not a link or a junction to one elsewhere."""
    if not entry.is_dir(follow_symlinks=False):
        return False
    if sys.platform != "win32":
        return True
    return entry.stat(follow_symlinks=False).st_reparse_tag != stat.IO_REPARSE_TAG_MOUNT_POINT


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


def _asked(path: Path, query: Query, on_query: OnQuery | None, without: Any) -> Any:
    try:
        path.stat()
    except FileNotFoundError:
        return without
    except OSError:
        return None
    # On a full or a write-protected disk SQLite cannot make its shared memory; without a log there is nothing to share.
    ways = ["mode=ro"] if path.with_name(f"{path.name}-wal").exists() else ["mode=ro", "mode=ro&immutable=1"]
    for way in ways:
        try:
            with ExitStack() as stack:
                database = sqlite3.connect(f"{path.as_uri()}?{way}", uri=True, timeout=_WAIT_S)
                stack.callback(database.close)
                if on_query:
                    stack.callback(on_query(database.interrupt))
                return query(database)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                break
    return None


def _objects(database: sqlite3.Connection) -> tuple[int, int, int]:
    (buckets,) = database.execute("SELECT count(*) FROM buckets").fetchone()
    count, size_bytes = database.execute(_OBJECTS).fetchone()
    return buckets, count, size_bytes


def _jobs(database: sqlite3.Connection) -> tuple[int, tuple[str, ...]]:
    (count,) = database.execute("SELECT count(*) FROM jobs").fetchone()
    live = database.execute(f"SELECT name FROM jobs WHERE phase IN {LIVE_PHASES} ORDER BY create_time").fetchall()
    return count, tuple(name for (name,) in live)


def _processes(database: sqlite3.Connection) -> dict[str, list[ProcessId]]:
    """What was started for each job that is not over."""
    found: dict[str, list[ProcessId]] = {}
    asked = f"SELECT id, pid, created FROM jobs LEFT JOIN processes ON job_id = id WHERE phase IN {LIVE_PHASES}"
    for job_id, pid, created in database.execute(asked):
        of_job = found.setdefault(job_id, [])
        if pid is not None:
            of_job.append(ProcessId(pid, created))
    return found
