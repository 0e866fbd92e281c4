"""The Tab key goes through the real window and its dialogs as they are seen, is caught nowhere, and goes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.sample_home import shorten_the_sample
from support.servers.window_process import WindowProcess

_WHOLE_S = 280.0


@pytest.mark.parametrize("extent", ["short", pytest.param("whole", marks=pytest.mark.long)])
def test_tab_goes_where_the_eye_goes(home: Path, extent: str) -> None:
    with WindowProcess(home, "walk_by_tab", extent) as window:
        places = window.told("walked")["places"]
        assert {name: one["faults"] for name, one in places.items() if one["faults"]} == {}
        assert len(places["window, events"]["stops"]) > 20 and len(places) >= 4
        editor = window.told("editor")
        assert editor["stays"] and editor["left"] and editor["back"]
        assert "Ctrl+Tab" in editor["words"]
        window.must_be_well()


def press(home: Path, arrangement: str, part: str, times: int, fewest: int) -> None:
    shorten_the_sample(home, 1)
    with WindowProcess(home, "press_keys_everywhere", arrangement, part, str(times)) as window:
        told = window.told("pressed", _WHOLE_S)
        assert told["faults"] == []
        assert told["starts"] >= fewest and told["pressed"] >= times * told["starts"]
        assert told["hidden"] > 15
        window.must_be_well()


def test_keys_reach_only_what_is_seen(home: Path) -> None:
    """Tab and arrows from every widget; what is behind tabs or closed gets no key, and no value of it changes."""
    press(home, "form behind", "0/1", 12, 20)


@pytest.mark.long
@pytest.mark.parametrize("part", ["0/4", "1/4", "2/4", "3/4"])
@pytest.mark.parametrize("arrangement", ["all docks", "some docks", "form behind"])
def test_keys_reach_only_what_is_seen_500_times(home: Path, arrangement: str, part: str) -> None:
    press(home, arrangement, part, 500, 5)
