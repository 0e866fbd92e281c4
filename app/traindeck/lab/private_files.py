"""Small files of the Lab's root that appear whole or not at all, readable by the owner alone."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path


def write_json(path: Path, content: object) -> None:
    """Replace `path` in one step; a reader sees the old text or the new one."""
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
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def read_json(path: Path) -> object:
    """The content, or None where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
