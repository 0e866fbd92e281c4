"""The saved layout: kept whole, dropped when it no longer fits."""

import sys
from pathlib import Path

import pytest

from traindeck.viewmodels.shell.preferences import Layout, WindowState

LAYOUT = Layout(b"\x00geometry\xff", b"docks\x01")


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    WindowState(tmp_path / "deep" / "window.json").save(3, LAYOUT)
    assert WindowState(tmp_path / "deep" / "window.json").load(3) == LAYOUT


def test_a_layout_of_another_window_is_not_used(tmp_path: Path) -> None:
    state = WindowState(tmp_path / "window.json")
    assert state.load(1) is None
    state.save(1, LAYOUT)
    assert state.load(2) is None


@pytest.mark.parametrize("content", ["", "[]", '{"version": 1}', '{"version": 1, "geometry": "ü", "docks": ""}', "\0"])
def test_a_damaged_file_costs_the_layout_only(tmp_path: Path, content: str) -> None:
    path = tmp_path / "window.json"
    path.write_text(content, encoding="utf-8")
    assert WindowState(path).load(1) is None


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such rights there")
def test_a_place_that_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_bytes(b"")
    WindowState(tmp_path / "file" / "window.json").save(1, LAYOUT)
    assert "layout was not saved" in caplog.text
