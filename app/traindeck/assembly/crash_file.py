"""Where a crash below Python leaves its trace, and what a start before this one left there."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from traindeck.runtime.files import our_opener


@contextmanager
def opened_crash_file(folder: Path, tell: Callable[[Path], None]) -> Iterator[TextIO]:
    """`tell` is told of a trace that was left. Each process has its own: a second window takes none away."""
    place = folder / f"crash-{os.getpid()}.txt"
    try:
        for left in folder.glob("crash-*.txt"):
            _look_at(left, tell)
        file = open(place, "w", encoding="utf-8", opener=our_opener)  # noqa: SIM115 - closed below
    except OSError:  # nothing can be written; what runs must be seen and stopped even so
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            yield nowhere
        return
    with file:
        faulthandler.enable(file)
        try:
            yield file
        finally:
            faulthandler.disable()
    place.unlink()


def _look_at(left: Path, tell: Callable[[Path], None]) -> None:
    import psutil  # only when there is one: it takes a while, and a megabyte and a half

    if psutil.pid_exists(int(left.stem.partition("-")[2])):
        return
    if left.stat().st_size == 0:
        left.unlink()
        return
    kept = left.with_suffix(".kept")
    left.replace(kept)
    tell(kept)
