"""A transfer tells of its bytes at once, however slow the line is."""

from __future__ import annotations

from pathlib import Path

from support.servers.window_process import WindowProcess
from support.waiting import IS_ALONE, OF_OTHERS_S, slowness

RATE = 100_000
HALF_SECOND = 0.5


def test_a_large_file_over_a_slow_line_shows_bytes_in_half_a_second(home: Path, tmp_path: Path) -> None:
    """At this rate a piece as it is read from the disk takes ten seconds."""
    file = tmp_path / "large.bin"
    with file.open("wb") as content:
        content.truncate(200_000_000)
    with WindowProcess(home, "paste_and_watch", str(file), str(RATE)) as window:
        told = window.told("bytes")
        assert told["done"] > 0
        if IS_ALONE:
            limit_s = HALF_SECOND * slowness() + OF_OTHERS_S
            assert told["done"] <= RATE * limit_s
            assert told["shown_s"] <= limit_s
        assert told["words"][0].endswith("kB"), "“0%” for minutes would be no news"
        window.must_be_well()
