"""Objects looked into and edited in the real window, against the real Lab."""

from __future__ import annotations

from pathlib import Path

from support.servers.window_process import WindowProcess


def test_what_is_chosen_is_shown_and_can_be_edited(home: Path) -> None:
    with WindowProcess(home, "look_and_edit") as window:
        assert not window.told("before")["shown"]
        table = window.told("table")
        assert table["about"].startswith("Table, 2 columns")
        assert table["has_keys"], "the list is gone through with the keys while the panel follows"
        assert window.told("text")["words"] == "第一行\n"
        assert window.told("stored")["words"] == "new 第一行\r\n"
        window.must_be_well()
