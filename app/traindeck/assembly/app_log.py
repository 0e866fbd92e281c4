"""The program's own log: bounded, on disk, never with a secret."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from traindeck.domain.errors import DiskFull, Unwritable
from traindeck.domain.settings import APP_LOG
from traindeck.runtime.files import let_go, local_errors, our_file, our_folder
from traindeck.runtime.log_lines import LogLines

if TYPE_CHECKING:
    from io import TextIOWrapper
    from logging.handlers import QueueHandler, RotatingFileHandler

    from filelock import FileLock

_FORM = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
_HEARD = ("traindeck", "asyncio", "py.warnings")
_HEARD_WHEN_IT_MATTERS = ("qt",)


@contextmanager
def log_to(path: Path, most_bytes: Callable[[], int] = lambda: APP_LOG.default) -> Iterator[None]:
    """Write what the program notices to `path` while the block runs; `most_bytes` is asked when it begins.

    While another program has that file, one with a number after its name is taken: two cannot rotate the same file,
    and Windows would not let them. A thread of its own writes: a slow disk holds up nobody who has something to say.
    """
    with suppress(DiskFull, Unwritable), local_errors(path):  # then nothing is logged
        our_folder(path.parent)
    handler = _Late(partial(_in_thread, path, most_bytes))
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


class _Late(logging.Handler):
    """Begins with the first line: most commands have nothing to say, and beginning takes as long as they do."""

    def __init__(self, begin: Callable[[ExitStack], logging.Handler]) -> None:
        super().__init__()
        self._begin = begin
        self._begun: logging.Handler | None = None
        self._owned = ExitStack()
        self._is_closed = False

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_closed:
            return  # another thread was just about to say something
        try:
            if self._begun is None:
                self._begun = self._begin(self._owned)
        except Exception:  # noqa: BLE001 - as every handler does: what cannot be logged stops nobody
            self.handleError(record)
            return
        self._begun.emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a disk that takes nothing is told of by those who need it
            super().handleError(record)

    def close(self) -> None:
        self.acquire()  # whoever is in the middle of a line comes to its end
        self._is_closed = True
        self.release()
        self._owned.close()
        super().close()


def _in_thread(path: Path, most_bytes: Callable[[], int], owned: ExitStack) -> QueueHandler:
    from logging.handlers import QueueHandler, QueueListener

    lines: SimpleQueue[logging.LogRecord] = SimpleQueue()
    file = _Late(partial(_file, path, most_bytes))
    owned.callback(file.close)
    listener = QueueListener(lines, file)
    listener.start()
    owned.callback(listener.stop)  # once all is written
    return QueueHandler(lines)


def _file(path: Path, most_bytes: Callable[[], int], owned: ExitStack) -> RotatingFileHandler:
    from logging.handlers import RotatingFileHandler

    class OurFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            our_file(Path(self.baseFilename))
            return super()._open()

        def handleError(self, record: logging.LogRecord) -> None:
            if not isinstance(sys.exc_info()[1], OSError):
                super().handleError(record)

        def close(self) -> None:
            with suppress(OSError):  # what the disk did not take
                super().close()

    free, lock = _first_free(path)
    owned.callback(let_go, lock)
    file = OurFile(free, maxBytes=most_bytes(), backupCount=2, encoding="utf-8", delay=True)
    owned.callback(file.close)
    file.setFormatter(LogLines(_FORM))
    return file


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
