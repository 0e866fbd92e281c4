"""The Tab key goes through the real window and its dialogs as they are seen, is caught nowhere, and goes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.servers.window_process import WindowProcess


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
