"""Commands: one list for menus, shortcuts and the palette."""

from typing import Any

import pytest

from traindeck.domain import texts
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.viewmodels.shell.commands import Command, Commands


def nothing() -> None:
    pass


def command(command_id: str, title: str, **more: Any) -> Command:
    return Command(command_id, title, nothing, **more)


@pytest.mark.parametrize(
    ("title", "plain"), [("&Open", "Open"), ("Save && quit", "Save & quit"), ("主题(&T)…", "主题…"), ("a (b)", "a (b)")]
)
def test_mnemonics_are_not_shown_in_the_palette(title: str, plain: str) -> None:
    assert command("x", title).plain_title == plain


@pytest.mark.parametrize(
    ("language", "submenu", "plain"), [(texts.ENGLISH, "&Go", "Go: Back"), (texts.CHINESE, "前往(&G)", "前往：Back")]
)
def test_a_submenu_stands_before_its_commands_with_the_mark_of_the_language(
    language: str, submenu: str, plain: str
) -> None:
    speak(language)
    assert command("x", "Back", submenu=submenu).plain_title == plain


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
    with pytest.raises(ValueError, match=r"Ctrl\+K is taken by a"):
        commands.add(command("b", "B", shortcut="Ctrl+K", scope="runs"))
    commands.remove(["a"])
    commands.add(command("b", "B", shortcut="Ctrl+K"))


def test_two_panels_may_each_have_a_key_of_the_same_name() -> None:
    commands = Commands()
    commands.add(command("a", "A", shortcut="Del", scope="runs"), command("b", "B", shortcut="Del", scope="objects"))
    with pytest.raises(ValueError, match="Del is taken by a"):
        commands.add(command("c", "C", shortcut="Del", scope="runs"))
    with pytest.raises(ValueError, match="Del is taken by"):
        commands.add(command("d", "D", shortcut="Del"))


def test_what_cannot_be_done_says_why() -> None:
    may = list[int]()
    why = Command("a", "A", nothing, enabled=lambda: bool(may), needs=text("Select a run first."))
    moving = Command(
        "b", "B", nothing, enabled=lambda: False, needs=lambda: text("Select one of {count}.", count=len(may))
    )
    assert (why.why_not(), moving.why_not()) == ("Select a run first.", "Select one of 0.")
    may.append(1)
    assert (why.why_not(), moving.why_not()) == ("", "Select one of 1.")
    assert command("c", "C", enabled=lambda: False).why_not() == ""
