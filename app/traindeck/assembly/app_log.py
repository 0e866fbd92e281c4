"""The program's own log: bounded, on disk, never with a secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from traindeck.runtime.files import local_errors, our_file, our_folder
from traindeck.runtime.log_lines import LogLines

if TYPE_CHECKING:
    from io import TextIOWrapper
    from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler

    from filelock import FileLock

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
        our_folder(path.parent)
    handler = _LateWriter(path)
    handler.addFilter(_is_heard)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
        handler.close()


class _LateWriter(logging.Handler):
    """Begins its thread with the first line: most commands have nothing to say."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = _LateFile(path)
        self._file.setFormatter(LogLines(_FORM))
        self._begun: tuple[QueueHandler, QueueListener] | None = None
        self._is_closed = False

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_closed:
            return  # another thread was just about to say something
        try:
            if self._begun is None:
                self._begun = self._begin()
        except Exception:  # noqa: BLE001 - as every handler does: what cannot be logged stops nobody
            self.handleError(record)
            return
        self._begun[0].emit(record)

    def _begin(self) -> tuple[QueueHandler, QueueListener]:
        from logging.handlers import QueueHandler, QueueListener

        lines: SimpleQueue[logging.LogRecord] = SimpleQueue()
        listener = QueueListener(lines, self._file)
        listener.start()
        return QueueHandler(lines), listener

    def close(self) -> None:
        self.acquire()  # whoever is in the middle of a line comes to its end
        try:
            self._is_closed = True
            begun, self._begun = self._begun, None
        finally:
            self.release()
        if begun is not None:
            begun[1].stop()  # once all is written
        self._file.close()
        super().close()


class _LateFile(logging.Handler):
    """Opens its file with the first line: most commands have nothing to say, and opening takes as long as they do."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._opened: tuple[RotatingFileHandler, FileLock] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._opened is None:
                self._opened = self._open()
        except Exception:  # noqa: BLE001 - as every handler does: what cannot be logged stops nobody
            self.handleError(record)
            return
        self._opened[0].emit(record)

    def _open(self) -> tuple[RotatingFileHandler, FileLock]:
        from logging.handlers import RotatingFileHandler

        class _OurFile(RotatingFileHandler):
            def _open(self) -> TextIOWrapper:
                our_file(Path(self.baseFilename))
                return super()._open()

        free, lock = _first_free(self._path)
        file = _OurFile(free, maxBytes=_BYTES, backupCount=2, encoding="utf-8", delay=True)
        file.setFormatter(self.formatter)
        return file, lock

    def close(self) -> None:
        if self._opened is not None:
            file, lock = self._opened
            self._opened = None
            file.close()
            lock.release()
        super().close()


def _first_free(path: Path) -> tuple[Path, FileLock]:
    """There are never more files than there were programs at once."""
    from filelock import FileLock, Timeout

    file, number = path, 1
    while True:
        lock = FileLock(file.with_name(f".{file.name}.lock"), thread_local=False, mode=0o600)
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
