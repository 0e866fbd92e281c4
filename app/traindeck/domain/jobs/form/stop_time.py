"""When a job is stopped: what people type, in the whole hours that the service takes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import Text, count_text, text

NO_LIMIT = "none"
MOST_HOURS = 365 * 24

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PIECE = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)\s*+([smhd])")


@dataclass(frozen=True, slots=True)
class StopTime:
    """A limit as the service keeps it: `hours`, and whether that is later than what was asked for."""

    hours: int | None
    is_rounded: bool = False

    @property
    def remark(self) -> Text | None:
        """What is to be said where the job may run longer than was asked for."""
        if not self.is_rounded or self.hours is None:
            return None
        return count_text(
            "The service counts whole hours: the job stops after {count} hour.",
            "The service counts whole hours: the job stops after {count} hours.",
            self.hours,
        )


def stop_time(stop_after: str) -> StopTime:
    """`30m`, `4h`, `2d`, `1h30m` or `none`; InvalidInput says what is wrong with anything else."""
    written = stop_after.strip().lower()
    if written == NO_LIMIT:
        return StopTime(None)
    pieces = _PIECE.findall(written)
    if not pieces or _PIECE.sub("", written).strip():
        raise InvalidInput(
            text("Enter when to stop: “30m”, “4h” or “2d”, or “none”."),
            text("The units are m for minutes, h for hours and d for days."),
        )
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in pieces)
    if seconds <= 0:
        raise InvalidInput(
            text("A job cannot stop after no time at all."),
            text("Enter for example “4h”, or “none” for no limit."),
        )
    if seconds > MOST_HOURS * 3600:
        raise InvalidInput(
            text("“{value}” is longer than a year.", value=stop_after.strip()),
            text("Enter at most 365d, or “none” for no limit."),
        )
    hours = math.ceil(seconds / 3600)
    return StopTime(hours, is_rounded=hours * 3600 != seconds)


def stop_hours(stop_after: str) -> int | None:
    """What the service is told; None: no limit."""
    return stop_time(stop_after).hours
