"""Another language and another theme in a window that is in use: nothing of the work is lost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from support.servers.window_process import WindowProcess

CHINESE = re.compile(r"[\u3400-\u9fff]")
# What is the same in every language: names, addresses, keys, numbers, and values of the form.
SAME = re.compile(
    r"""TrainDeck|English|digits.*|mine|obs://.*|train\.py|PyTorch|pytorch_.*|modelarts\..*|OBS|1h|lab|Ctrl\+.*|R|\.
    |[\d\s.:,/–·-]+([kM]?B)?|[0-9a-f]{8}-[0-9a-f-]{27}|/.*|\d.*|Handwritten.*|epochs|lr|hidden|data_url|train_url
    |.*\.json|ckpt/.*|epoch-.*""",
    re.VERBOSE,
)


def not_chinese(words: str) -> list[str]:
    return [line for line in words.splitlines() if not CHINESE.search(line) and not SAME.fullmatch(line)]


def is_english(words: str, home: Path) -> bool:
    shown = words.replace("\u200b", "")  # where a line of a long path may end
    return not CHINESE.search(shown.replace("简体中文", "").replace(str(home), ""))


def work_of(told: dict[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in ("tabs", "current", "name", "parameters", "place", "log")}


def test_another_language_takes_nothing_away(home: Path) -> None:
    with WindowProcess(home, "switch_language") as window:
        before = window.told("before")
        after = window.told("after")
        assert not_chinese(after["words"]) == []
        assert is_english(before["words"], home)
        assert work_of(after) == work_of(before)
        assert "finished: test_accuracy" in after["log"]
        back = window.told("back")
        assert work_of(back) == work_of(before)
        assert is_english(back["words"], home)
        window.must_be_well()


@pytest.mark.long
def test_dialogs_end_what_they_began_when_the_language_changes(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "first.txt").write_text("first", "utf-8")
    with WindowProcess(home, "switch_with_dialogs", str(folder)) as window:
        assert window.told("arrived")["names"] == ["first.txt"], "a tab shows what is sent into its folder"
        assert window.told("asked")["over"], "a question lies over the dialog that is being used"
        assert window.told("after")["transfers"] == ["done"], "a plan that nobody began is forgotten"
        window.must_be_well()


@pytest.mark.long
def test_the_language_waits_for_what_is_not_saved(home: Path, tmp_path: Path) -> None:
    with WindowProcess(home, "switch_with_draft", str(tmp_path)) as window:
        assert "Save the changes?" in window.told("asked")["words"], "asked in the language in use"
        waits = window.told("waits")
        assert waits["spoken"] == "en" and is_english(waits["words"], home)
        assert "The language changes as soon as" in waits["notice"] and "team-data" in waits["notice"]
        assert waits["rows"] == [["team", ""]], "the draft is kept"
        after = window.told("after")
        assert after["spoken"] == "zh_CN" and not after["notice"]
        assert not_chinese(after["title"]) == []
        assert after["typed"] == [str(tmp_path), 2, True, "*.tmp"]
        window.must_be_well()


def test_dark_and_light_take_hold_at_once(home: Path) -> None:
    with WindowProcess(home, "switch_theme") as window:
        for dark in (False, True, False):
            told = window.told("theme")
            assert all((lightness < 128) == dark for lightness in told["lightness"]), told
        window.must_be_well()
