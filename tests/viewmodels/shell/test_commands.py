"""Commands: one list for menus, shortcuts and the palette."""

from typing import Any

import pytest

from traindeck.viewmodels.shell.commands import Command, Commands, matching


def nothing() -> None:
    pass


def command(command_id: str, title: str, **more: Any) -> Command:
    return Command(command_id, title, nothing, **more)


def test_the_palette_finds_every_typed_word_and_puts_beginnings_first() -> None:
    commands = Commands()
    commands.add(
        command("view.log", "Show the log"),
        command("log.clear", "Clear"),
        command("log.save", "Log: save a copy"),
        command("run.stop", "&Stop the run"),
    )
    assert [found.id for found in matching(commands.all(), "log")] == ["log.save", "view.log", "log.clear"]
    assert [found.id for found in matching(commands.all(), "LOG show")] == ["view.log"]
    assert [found.id for found in matching(commands.all(), "stop")] == ["run.stop"]
    assert len(matching(commands.all(), "")) == 4


def test_a_chinese_command_is_found_by_its_english_id_too() -> None:
    commands = Commands()
    commands.add(command("run.stop", "停止(&S)"))
    assert matching(commands.all(), "停止")[0].plain_title == "停止"
    assert matching(commands.all(), "run stop")


@pytest.mark.parametrize(
    ("title", "plain"), [("&Open", "Open"), ("Save && quit", "Save & quit"), ("主题(&T)…", "主题…"), ("a (b)", "a (b)")]
)
def test_mnemonics_are_not_shown_in_the_palette(title: str, plain: str) -> None:
    assert command("x", title).plain_title == plain


def test_a_command_that_cannot_be_done_is_not_done() -> None:
    commands, done, may = Commands(), list[int](), list[int]()
    commands.add(Command("a", "A", lambda: done.append(1), enabled=lambda: bool(may)))
    assert not commands.run("a")
    may.append(1)
    assert commands.run("a")
    assert done == [1]
    assert not commands.run("unheard of")


def test_ids_and_shortcuts_are_given_once() -> None:
    commands = Commands()
    commands.add(command("a", "A", shortcut="Ctrl+K"))
    with pytest.raises(ValueError, match="two commands"):
        commands.add(command("a", "B"))
    with pytest.raises(ValueError, match=r"Ctrl\+K is taken by a"):
        commands.add(command("b", "B", shortcut="Ctrl+K"))
    commands.remove(["a"])
    commands.add(command("b", "B", shortcut="Ctrl+K"))
