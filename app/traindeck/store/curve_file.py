"""The small curve of a run, once it is over: kept beside its log, so that a list need not read that again."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from traindeck.domain.readings.curves import SmallCurve
from traindeck.runtime.files import write_whole

log = logging.getLogger(__name__)

_MOST_BYTES = 1 << 14


def kept_curve(path: Path) -> SmallCurve | None:
    """None: nothing is kept, or nothing that can be read."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
        values = tuple(float(value) for value in found["values"])
        return SmallCurve(values, bool(found["is_bad"]), int(found["log_bytes"])).checked()
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        log.warning("%s cannot be read: %s", path, error)
        return None


def keep_curve(path: Path, curve: SmallCurve) -> None:
    """What cannot be written here is read once more."""
    values = [float(f"{value:.6g}") for value in curve.values]
    words = json.dumps({"values": values, "is_bad": curve.is_bad, "log_bytes": curve.log_bytes})
    try:
        if path.parent.is_dir():  # else the run was deleted meanwhile, and its folder stays away
            write_whole(path, words.encode())
    except OSError as error:
        log.warning("%s was not written: %s", path, error)
