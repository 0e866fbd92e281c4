"""Where the time of a run went, once it is over: kept beside its log, so that no service is asked for it again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from traindeck.domain.readings.phases import PHASE_WORDS, PhaseTime
from traindeck.store.small_file import keep_in, kept_in

_MOST_BYTES = 1 << 16


def kept_phases(path: Path) -> list[PhaseTime] | None:
    return kept_in(path, _MOST_BYTES, _phases)


def keep_phases(path: Path, phases: Sequence[PhaseTime]) -> None:
    keep_in(path, [{"name": one.name, "seconds": one.seconds, "over": one.is_over} for one in phases])


def _phases(found: Any) -> list[PhaseTime]:
    phases = [PhaseTime(one["name"], float(one["seconds"]), bool(one["over"])) for one in found]
    if not all(0 <= one.seconds < math.inf for one in phases):
        raise ValueError("these are no times")
    return [one for one in phases if one.name in PHASE_WORDS]
