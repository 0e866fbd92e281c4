"""What was read out of a log, put into words: for terminal and window alike."""

from __future__ import annotations

from traindeck.domain.jobs.job import duration_words
from traindeck.domain.readings.reading import Progress
from traindeck.domain.texts import say

_BARS = "▁▂▃▄▅▆▇█"


def progress_words(progress: Progress) -> str:
    """“epoch 19/30 · step 44/100 · 62 % · 7:01 left”; what is not known is left out, and nothing known is empty."""
    return " · ".join(words for words in (place_words(progress), share_words(progress), left_words(progress)) if words)


def place_words(progress: Progress) -> str:
    parts = []
    if progress.epoch is not None:
        parts.append(say("epoch {place}", place=_of(progress.epoch, progress.epochs)))
    if progress.step is not None:
        parts.append(say("step {place}", place=_of(progress.step, progress.steps)))
    return " · ".join(parts)


def share_words(progress: Progress) -> str:
    # Not 100 % before all of it is done.
    return "" if progress.share is None else f"{int(progress.share * 100)} %"


def left_words(progress: Progress) -> str:
    if progress.seconds_left is None or (progress.share or 0.0) >= 1.0:
        return ""
    return say("{time} left", time=duration_words(progress.seconds_left))


def _of(number: float, total: int | None) -> str:
    words = f"{number:,.6g}" if number != int(number) else f"{int(number):,}"
    return words if total is None else f"{words}/{total:,}"


def sparkline(values: list[float]) -> str:
    """A small picture of a curve in characters."""
    if not values:
        return ""
    low, high = min(values), max(values)
    room = high - low
    return "".join(_BARS[int((value - low) / room * (len(_BARS) - 1)) if room else 0] for value in values)
