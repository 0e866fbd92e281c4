"""What is seldom asked for: each walked once by real keys and clicks, with what it did."""

from __future__ import annotations

from pathlib import Path

from support.servers.window_process import WindowProcess


def test_buckets(home: Path) -> None:
    with WindowProcess(home, "walk_through_buckets") as window:
        moved = window.told("moved")
        assert moved["walked"] == ["b.txt", "c.txt", "sub/a.txt", "sub/d.txt"]
        assert moved["full"] == ["2", "b.txt", "x/1"]
        print(window.told("deleted"))
        print(window.told("asked"))
        print(window.told("asked"))
        print(window.told("removed"))
        window.must_be_well()
