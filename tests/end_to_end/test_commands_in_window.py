"""Every command of the whole program, where it stands and what its key is; and the palette under a window manager."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.servers.window_process import WindowProcess
from support.servers.xvfb import Xvfb, is_installed

# What only the menus of rows and tabs offered once.
_OF_ROWS = {
    *(f"transfer.{name}" for name in ("files", "target", "begin", "pause", "resume", "retry", "verify", "first")),
    *("transfer.cancel", "transfer.remove", "transfer.clear", "event.show", "run.pin", "view.close_others"),
}

_ON_TOOLBAR = {"job.new", "run.again", "run.stop", "run.log", "view.palette", "account.connect"}


def check(told: dict[str, Any], language: str) -> None:
    commands, menus = told["commands"], told["menus"]
    assert len(commands) > 70
    assert [one["id"] for one in commands if not one["menu"]] == [], "each is in a menu"
    assert {one["id"] for one in commands} >= _OF_ROWS
    every = {one["id"] for one in commands}
    assert every - set(told["in_bar"]) == set(), "each can be chosen in the menu bar"
    assert every - set(told["in_palette"]) == set(), "each is found by its name"
    assert {one["id"] for one in commands if one["keys"]} - set(told["on_sheet"]) == set()
    shown = [words for entries in menus.values() for words in entries]
    assert not {words.replace("&", "") for words in shown} & every, "an entry says what it does, not what it is called"
    assert set(told["tips"]) - {""} == _ON_TOOLBAR and all(told["tips"][one] for one in _ON_TOOLBAR)
    assert {"account.connect", "account.lab", "run.billing"} <= every, "the card of a failure leads there"
    over = {
        kind: {one["id"] for one in commands if f"objects.{kind}" in one["contexts"]}
        for kind in ("file", "folder", "several", "bucket", "nothing")
    }
    assert len(set(map(frozenset, over.values()))) == len(over), "each kind of row has a menu of its own"
    for everywhere in ("object.new_folder", "object.upload", "object.upload_folder", "edit.paste"):
        assert all(everywhere in ids for ids in over.values()), everywhere
    keys = Counter((one["keys"], one["scope"]) for one in commands if one["keys"])
    assert [key for key, times in keys.items() if times > 1] == []
    of_window = {one["keys"] for one in commands if one["keys"] and not one["scope"]}
    assert [one["id"] for one in commands if one["scope"] and one["keys"] in of_window] == []
    assert len(menus[""]) == 8
    for where, entries in menus.items():
        letters = [mnemonic(entry) for entry in entries]
        assert all(letters), f"{language} {where}: {entries}"
        assert len(set(letters)) == len(letters), f"{language} {where}: {entries}"


def mnemonic(entry: str) -> str:
    entry = entry.replace("&&", "")
    at = entry.find("&")
    return entry[at + 1].upper() if at >= 0 else ""


@pytest.mark.skipif(os.name == "nt" or not is_installed, reason="an X server and xdotool are Linux's")
@pytest.mark.parametrize("manager", ["", pytest.param("openbox", marks=pytest.mark.long)])
def test_every_command_has_its_menu_its_letter_and_its_key_and_the_palette_is_typed_into(
    home: Path, manager: str
) -> None:
    with (
        Xvfb(manager=manager) as screen,
        WindowProcess(home, "read_the_menus", environment=screen.environment) as window,
    ):
        window.told("window")
        for language in ("English", "Chinese"):
            check(window.told("menus"), language)
        told = window.told("window")
        if not manager:  # what it does for a person
            screen.do("windowfocus", "--sync", told["id"])
        window.told("palette wanted")
        screen.do("key", "ctrl+k", "d", "a", "r", "k", "Return")
        window.told("menu key wanted")
        screen.do("key", "shift+F10")
        assert "New bucket…" in window.told("context menu")["entries"]
        window.told("done")
        window.must_be_well()
