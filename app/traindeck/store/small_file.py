"""What was worked out about a run that is over, in a small file beside its log, so that nobody works it out again."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from traindeck.runtime.files import write_whole

log = logging.getLogger(__name__)

Found = TypeVar("Found")


def kept_in(path: Path, most_bytes: int, read: Callable[[Any], Found]) -> Found | None:
    """None: nothing is kept, or nothing that `read` makes sense of."""
    try:
        with path.open("rb") as file:
            return read(json.loads(file.read(most_bytes)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        log.warning("%s cannot be read: %s", path, error)
        return None


def keep_in(path: Path, content: object) -> None:
    """What cannot be written here is worked out once more."""
    try:
        if path.parent.is_dir():  # else the run was deleted meanwhile, and its folder stays away
            write_whole(path, json.dumps(content).encode())
    except OSError as error:
        log.warning("%s was not written: %s", path, error)
