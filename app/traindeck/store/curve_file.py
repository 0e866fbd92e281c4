"""The small curve of a run, once it is over: kept beside its log, so that a list need not read that again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from traindeck.domain.readings.curves import SmallCurve
from traindeck.store.small_file import keep_in, kept_in

_MOST_BYTES = 1 << 14


def kept_curve(path: Path) -> SmallCurve | None:
    return kept_in(path, _MOST_BYTES, _curve)


def keep_curve(path: Path, curve: SmallCurve) -> None:
    values = [float(f"{value:.6g}") for value in curve.values]
    keep_in(path, {"values": values, "is_bad": curve.is_bad, "log_bytes": curve.log_bytes})


def _curve(found: Any) -> SmallCurve:
    values = tuple(float(value) for value in found["values"])
    return SmallCurve(values, bool(found["is_bad"]), int(found["log_bytes"])).checked()
