"""Walked through as a person would: nothing is cut, nothing lies over anything, no stall, no word of Qt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.sample_home import shorten_the_sample
from support.servers.window_process import WindowProcess
from support.servers.xvfb import Xvfb, is_installed

WHOLE_S = 900.0
EPOCHS = 4
"""Enough for all that a run shows; it is waited for."""
LANGUAGES = ("English", "简体中文")


def must_be_well(home: Path, pictures: Path, *words: str, environment: Mapping[str, str] | None = None) -> None:
    """Toured to the end, with nothing wrong in any place."""
    with WindowProcess(home, "tour", str(pictures), *words, environment=environment) as window:
        window.told("over", WHOLE_S)
        places = [told for told in window.heard if told["what"] == "place"]
        assert {told["name"]: told["faults"] for told in places if told["faults"]} == {}
        assert window.ended() == 0
        window.must_be_quiet()


def on_a_screen(home: Path, pictures: Path, size: str, scale: float, *words: str) -> None:
    with Xvfb(size, manager="openbox") as screen:
        must_be_well(home, pictures, *words, environment={**screen.environment, "QT_SCALE_FACTOR": str(scale)})


def test_a_short_tour(home: Path, tmp_path: Path) -> None:
    must_be_well(home, tmp_path, "short", "简体中文", "Dark")


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt" or not is_installed, reason="an X server is Linux's")
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_short_tour_at_150_percent(home: Path, tmp_path: Path, language: str) -> None:
    on_a_screen(home, tmp_path, "1920x1080", 1.5, "short", language, "Light")


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt" or not is_installed, reason="an X server is Linux's")
@pytest.mark.parametrize("theme", ["Light", "Dark"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("size", "scale"), [("960x600", 1), ("1280x800", 1), ("1920x1080", 1), ("1920x1080", 2)])
def test_the_whole_tour(home: Path, tmp_path: Path, size: str, scale: int, language: str, theme: str) -> None:
    shorten_the_sample(home, EPOCHS)
    on_a_screen(home, tmp_path, size, scale, "whole", language, theme)
