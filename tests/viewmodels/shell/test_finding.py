"""The palette's search: best first, by letters of words, by the sounds of Chinese ones, and in no time."""

from __future__ import annotations

import time

import pytest

from traindeck.domain.pinyin import initials
from traindeck.domain.texts import text
from traindeck.viewmodels.shell.commands import Command, Commands
from traindeck.viewmodels.shell.finding import MOST_FOUND, Finder, PaletteEntry, command_entries
from traindeck.viewmodels.shell.recent import Recent


def nothing() -> None:
    pass


def entries(*titles: str) -> list[PaletteEntry]:
    return [PaletteEntry(f"id.{title}", title, nothing) for title in titles]


def found(typed: str, *titles: str) -> list[str]:
    return [entry.title for entry in Finder(entries(*titles)).find(typed)]


def test_every_typed_word_is_found_and_beginnings_come_first() -> None:
    titles = ("Show the log", "Clear", "Log: save a copy", "Stop the run")
    assert found("log", *titles) == ["Log: save a copy", "Show the log"]
    assert found("LOG show", *titles) == ["Show the log"]
    assert found("zzz", *titles) == []
    assert found("", *titles) == list(titles)


def test_letters_that_follow_one_another_are_enough_and_the_closest_comes_first() -> None:
    titles = ("Upload folder", "Undelete", "Run again", "Arrange all", "Bucket: Lifecycle rules")
    assert found("upfo", *titles) == ["Upload folder"]
    assert found("ra", *titles)[:2] == ["Arrange all", "Run again"], "letters in a word, then first letters of words"
    assert found("blr", *titles) == ["Bucket: Lifecycle rules"]
    assert found("lifecyc", *titles) == ["Bucket: Lifecycle rules"]


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("zcyx", "再次运行"), ("scwjj", "上传文件夹"), ("xjt", "新建桶"), ("smzq", "桶: 生命周期规则"),
        ("sc", "删除"), ("cz", "重置布局"), ("zz", "重置布局"), ("yx", "运行 7"), ("lllab", "浏览 Lab"),
        ("spst", "适配昇腾…"),
    ],
)  # fmt: skip
def test_chinese_titles_are_found_by_the_first_letters_of_their_sounds(typed: str, title: str) -> None:
    assert found(typed, title, "English only") == [title]


def test_words_that_sound_in_two_ways_are_found_by_both() -> None:
    assert set(initials("重命名")) == {"cmm", "zmm"}
    assert initials("Lab 7，日志…") == ("lab7rz",)
    assert initials("運") == ("",)  # not among the simplified ones


def test_what_was_used_lately_comes_first() -> None:
    recent = Recent()
    rows = entries("Alpha", "Alpine", "Beta")
    for entry in (rows[2], rows[1], rows[2]):
        recent.use(entry.id)
    assert recent.ids == ["id.Beta", "id.Alpine"]
    assert [entry.title for entry in Finder(rows, recent.ids).find("")] == ["Beta", "Alpine", "Alpha"]
    assert [entry.title for entry in Finder(rows, recent.ids).find("alp")] == ["Alpine", "Alpha"]


def test_what_cannot_be_done_is_found_behind_the_rest_with_the_reason() -> None:
    commands = Commands()
    commands.add(
        Command("a.one", "&Delete…", nothing, enabled=lambda: False, menu="edit", needs=text("Select a run first.")),
        Command("a.two", "Delete all", nothing, menu="edit", shortcut="Ctrl+D"),
    )
    first, second = Finder(command_entries(commands, {"edit": "&Edit"})).find("delete")
    assert (first.title, first.detail, first.keys, first.enabled) == ("Delete all", "Edit", "Ctrl+D", True)
    assert (second.title, second.detail, second.enabled) == ("Delete", "Select a run first.", False)


def test_a_chinese_command_is_found_by_its_english_id_too() -> None:
    commands = Commands()
    commands.add(Command("run.stop", "停止(&S)", nothing))
    assert Finder(command_entries(commands, {})).find("run stop")


def test_typing_on_narrows_and_deleting_widens() -> None:
    finder = Finder(entries("alpha", "alps", "beta"))
    assert len(finder.find("al")) == 2
    assert len(finder.find("alp")) == 2
    assert len(finder.find("alps")) == 1
    assert len(finder.find("al")) == 2
    assert len(finder.find("b")) == 1
    assert len(finder.find("")) == 3


def test_ten_thousand_buckets_and_a_thousand_runs_are_searched_at_once() -> None:
    names = [f"bucket-{number:05}-data" for number in range(10_000)] + [f"训练作业 {number}" for number in range(1_000)]
    finder = Finder(entries(*names))
    assert len(finder.find("")) == MOST_FOUND
    longest = 0.0
    for typed in ("b", "bd", "bda", "d", "9", "99", "x", "xl", "xlzy9"):
        began = time.thread_time()
        finder.find(typed)
        longest = max(longest, time.thread_time() - began)
    # Some 30 ms of one core; a search that grows with more than the number of rows takes seconds.
    assert longest < 2
    assert finder.find("xlzy999")[0].title == "训练作业 999"


def test_what_was_used_lately_is_so_at_the_next_start() -> None:
    kept: dict[str, list[str]] = {}
    recent = Recent()
    recent.keep_with(None, lambda ids: kept.update(recent=list(ids)))
    for entry_id in ("a", "b", "a"):
        recent.use(entry_id)
    later = Recent()
    later.keep_with(kept["recent"], lambda _: None)
    assert later.ids == ["a", "b"]
    for damaged in (7, {"a": 1}, "ab", [1, *range(50)]):
        later.keep_with(damaged, lambda _: None)
        assert all(isinstance(one, str) for one in later.ids) and len(later.ids) <= 20
