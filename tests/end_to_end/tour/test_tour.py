"""Walked through as a person would: nothing is cut, nothing lies over anything, no stall, no word of Qt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.servers.window_process import WindowProcess
from support.servers.xvfb import Xvfb, is_installed

WHOLE_S = 900.0
LANGUAGES = ("English", "简体中文")


def toured(window: WindowProcess, timeout_s: float) -> dict[str, list[str]]:
    """What is wrong, by place."""
    window.told("over", timeout_s)
    return {told["name"]: told["faults"] for told in window.heard if told["what"] == "place" and told["faults"]}


def test_a_short_tour(home: Path, tmp_path: Path) -> None:
    with WindowProcess(home, "tour", str(tmp_path), "short", "简体中文", "Dark") as window:
        assert toured(window, WHOLE_S) == {}
        window.ended()
        window.must_be_quiet()


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt" or not is_installed, reason="an X server is Linux's")
@pytest.mark.parametrize("theme", ["Light", "Dark"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("size", "scale"), [("960x600", 1), ("1280x800", 1), ("1920x1080", 1), ("1920x1080", 2)])
def test_the_whole_tour(home: Path, tmp_path: Path, size: str, scale: int, language: str, theme: str) -> None:
    with Xvfb(size, manager="openbox") as screen:
        around = {**screen.environment, "QT_SCALE_FACTOR": str(scale)}
        with WindowProcess(home, "tour", str(tmp_path), "whole", language, theme, environment=around) as window:
            assert toured(window, WHOLE_S) == {}
            window.ended()
            window.must_be_quiet()
