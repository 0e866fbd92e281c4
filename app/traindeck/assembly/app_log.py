"""The program's own log: bounded, on disk, never with a secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue

from filelock import FileLock, Timeout

from traindeck.runtime.files import local_errors

_BYTES = 2_000_000
_FORM = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
_HEARD = ("traindeck", "asyncio", "py.warnings")
_HEARD_WHEN_IT_MATTERS = ("qt",)


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Write what the program notices to `path` while the block runs.

    While another program has that file, one with a number after its name is taken: two cannot rotate the same file,
    and Windows would not let them. A thread of its own writes: a slow disk holds up nobody who has something to say.
    """
    with local_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        free, lock = _first_free(path)
        handler = RotatingFileHandler(free, maxBytes=_BYTES, backupCount=2, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter(_FORM))
    lines: SimpleQueue[logging.LogRecord] = SimpleQueue()
    ear, writer = QueueHandler(lines), QueueListener(lines, handler)
    ear.addFilter(_is_heard)
    root = logging.getLogger()
    before = root.level
    writer.start()
    root.addHandler(ear)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(ear)
        writer.stop()  # once all is written
        handler.close()
        lock.release()


def _first_free(path: Path) -> tuple[Path, FileLock]:
    """There are never more files than there were programs at once."""
    file, number = path, 1
    while True:
        lock = FileLock(file.with_name(f".{file.name}.lock"), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            number += 1
            file = path.with_name(f"{path.stem}-{number}{path.suffix}")
        else:
            return file, lock


def _is_heard(record: logging.LogRecord) -> bool:
    """Not the SDKs and their libraries: they log addresses with signatures in them."""
    family = record.name.partition(".")[0]
    if family in _HEARD_WHEN_IT_MATTERS:
        return record.levelno >= logging.WARNING
    return family in _HEARD or record.name in _HEARD
