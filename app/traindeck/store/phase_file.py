"""Where the time of a run went, once it is over: kept beside its log, so that no service is asked for it again."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from pathlib import Path

from traindeck.domain.readings.phases import PHASE_WORDS, PhaseTime
from traindeck.runtime.files import write_whole

log = logging.getLogger(__name__)

_MOST_BYTES = 1 << 16


def kept_phases(path: Path) -> list[PhaseTime] | None:
    """None: nothing is kept, or nothing that can be read."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
        phases = [PhaseTime(one["name"], float(one["seconds"]), bool(one["over"])) for one in found]
        if not all(0 <= one.seconds < math.inf for one in phases):
            raise ValueError("these are no times")
        return [one for one in phases if one.name in PHASE_WORDS]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        log.warning("%s cannot be read: %s", path, error)
        return None


def keep_phases(path: Path, phases: Sequence[PhaseTime]) -> None:
    """What cannot be written here is asked for once more."""
    words = json.dumps([{"name": one.name, "seconds": one.seconds, "over": one.is_over} for one in phases])
    try:
        if path.parent.is_dir():  # else the run was deleted meanwhile, and its folder stays away
            write_whole(path, words.encode())
    except OSError as error:
        log.warning("%s was not written: %s", path, error)
