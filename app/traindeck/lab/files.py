"""Small files of the Lab's root, readable by the owner alone and whole or not there, and the Lab's own log."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_json(path: Path, content: object) -> None:
    """Replace `path` in one step; a reader sees the old text or the new one."""
    import secrets  # slow to load, and most only read

    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # The mode is given at birth: a later chmod would leave a moment in which others can read a key.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> object:
    """The content, or None where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


MAX_BYTES = 1 << 20


class _NoRequestLines(logging.Filter):
    """A line that could not be parsed is quoted in the record, and may be a signed URL."""

    def filter(self, record: logging.LogRecord) -> bool:
        from aiohttp.http_exceptions import HttpProcessingError

        kind = record.exc_info[0] if record.exc_info else None
        return kind is None or not issubclass(kind, HttpProcessingError)


@contextmanager
def logging_to(root: Path) -> Iterator[None]:
    from logging.handlers import RotatingFileHandler  # not for those who only look whether a Lab runs

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
