"""The Lab's own log: bounded in size, and without anything a request was signed with."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from aiohttp.http_exceptions import HttpProcessingError

MAX_BYTES = 1 << 20


class _NoRequestLines(logging.Filter):
    """A line that could not be parsed is quoted in the record, and may be a signed URL."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        return kind is None or not issubclass(kind, HttpProcessingError)


@contextmanager
def logging_to(root: Path) -> Iterator[None]:
    handler = RotatingFileHandler(root / "lab.log", maxBytes=MAX_BYTES, backupCount=2, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(_NoRequestLines())
    everything = logging.getLogger()
    ours = logging.getLogger("traindeck")
    level = ours.level
    everything.addHandler(handler)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        ours.setLevel(level)
        everything.removeHandler(handler)
        handler.close()
