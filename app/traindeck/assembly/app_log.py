"""The program's own log: bounded, on disk, never with a secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from traindeck.runtime.platform_files import local_errors

_BYTES = 2_000_000
_FORM = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
_HEARD = ("traindeck", "asyncio", "py.warnings")


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Write what the program notices to `path` while the block runs."""
    with local_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=_BYTES, backupCount=2, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter(_FORM))
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


def _is_heard(record: logging.LogRecord) -> bool:
    """Not the SDKs and their libraries: they log addresses with signatures in them."""
    return record.name.partition(".")[0] in _HEARD or record.name in _HEARD
