"""What of a log reaches a terminal: colours, and nothing else that steers it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.cli.terminal_log import TerminalText

RED, PLAIN = "\x1b[31m", "\x1b[0m"
ERASE = "\r\x1b[K"
# What we write by ourselves to draw a line again, and what only colours.
ALLOWED = re.compile(r"\r\x1b\[K|\x1b\[[0-9;:]*m")


def shown(*pieces: bytes, has_colours: bool = True, columns: int = 40) -> str:
    text = TerminalText(columns, has_colours=has_colours)
    return "".join(text.feed(piece) for piece in pieces) + text.end().removesuffix(PLAIN)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"epoch 1\nepoch 2\n", "epoch 1\nepoch 2\n"),
        ("损失 0.5\n".encode(), "损失 0.5\n"),
        ("损失 0.5\n".encode("gbk"), "损失 0.5\n"),
        ("训练 ".encode() + b"\xff 0.5\n", "训练 \ufffd 0.5\n"),
        (b"\x1b[31mred\x1b[0m\n", f"{RED}red{PLAIN}\n"),
        (b"\x1b[38;5;8mgrey\x1b[0m\n", f"\x1b[38;5;8mgrey{PLAIN}\n"),
        (b"\x1b[8munseen\x1b[0;8mtoo\n", "unseentoo\n"),
        (b"\x1b[2J\x1b[1;1Hgone\n", "gone\n"),
        (b"\x1b]0;a title\x07here\n", "here\n"),
        (b"\x1b]8;;http://x\x1b\\a link\x1b]8;;\x1b\\\n", "a link\n"),
        (b"\x1b]52;c;Y29weQ==\x07pasted\n", "pasted\n"),
        (b"\x1bPq sixel\x1b\\\x1bc\x1b(0reset\n", "reset\n"),
        (b"\x1b]no end of it\nnext\n", "\nnext\n"),
        (b"a\x00b\x08\x08c\x7f\x05\n", "abc\n"),
        ("\x9b2J\u202eevil\u2066\n".encode(), "2Jevil\n"),
        (b"tab\there\r\n", "tab\there\n"),
        (b"10%\r20%\r30%\n", "30%\n"),
        (b"\x1b\x1b[2J[31mno\n", "[31mno\n"),
    ],
)
def test_only_colours_steer_the_terminal(content: bytes, expected: str) -> None:
    assert shown(content) == expected


def test_without_colours_nothing_does() -> None:
    assert shown(b"\x1b[31mred\x1b[0m\n", has_colours=False) == "red\n"


def test_a_progress_bar_is_drawn_in_place_and_its_last_state_stays() -> None:
    text = TerminalText(40, has_colours=True)
    assert text.feed(b"\r 10% of it") == " 10% of it"
    assert text.feed(b"\r 20% of it") == ERASE + " 20% of it"
    assert text.feed(b"\r 30%") == ERASE + " 30%"
    assert text.feed(b"\rdone\nnext") == ERASE + "done\nnext"
    assert text.feed(b" line\n") == " line\n"


def test_a_bar_wider_than_the_terminal_can_still_be_drawn_again() -> None:
    text = TerminalText(10, has_colours=True)
    text.feed(b"\r1")
    drawn = text.feed(b"\r" + b"#" * 100)
    assert len(drawn.removeprefix(ERASE)) < 10
    assert text.feed(b"\r100%\n") == ERASE + "100%\n"


def test_a_character_that_comes_in_two_pieces_is_shown_once_it_is_whole() -> None:
    text = TerminalText(40, has_colours=True)
    first, second = "损失".encode()[:4], "损失".encode()[4:]
    assert text.feed(first) == "损"
    assert text.feed(second + b"\n") == "失\n"


def test_a_line_without_end_passes_in_pieces() -> None:
    text, whole = TerminalText(40, has_colours=True), b"x" * 3_000_000
    pieces = [text.feed(whole[at : at + 100_000]) for at in range(0, len(whole), 100_000)]
    assert "".join(pieces) == whole.decode()


@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"\x1b", b"\x1b[", b"\x1b]", b"\r", b"\n", b"\x9b", b"31m"])))
def test_nothing_but_colours_steers_however_it_is_cut(pieces: list[bytes]) -> None:
    words = ALLOWED.sub("", shown(*pieces))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", words), repr(words)


@given(st.binary(max_size=300), st.integers(1, 20))
def test_whole_lines_do_not_depend_on_how_they_came(content: bytes, size: int) -> None:
    content = content.replace(b"\r", b"") + b"\n"
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    drawn = [line.rpartition(ERASE)[2] for line in shown(*pieces, columns=1000).split("\n")]
    assert drawn[-1] == "" and len(drawn) == content.count(b"\n") + 1
