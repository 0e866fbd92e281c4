from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.readings.encodings import GBK, UTF_8, encoding_of
from traindeck.runtime.blocking import CancelToken
from traindeck.services.logs.log_document import LogDocument
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_index import LONGEST_ROW
from traindeck.services.logs.row_text import PLAIN, Span, Style, searched, shown, styled


def lines(content: bytes, folder: Path) -> list[str]:
    path = folder / "worker-0.log"
    path.write_bytes(content)
    document, token = LogDocument(LogFile(path)), CancelToken()
    standing = document.look(token)
    while standing.is_behind:
        standing = document.look(token)
    return [row.words for row in document.rows(0, standing.rows).rows]


def test_bytes_that_are_no_text_are_shown_as_such(tmp_path: Path) -> None:
    assert lines(b"a\xff\xfeb\n", tmp_path) == ["a\ufffd\ufffdb"]


def test_a_progress_bar_is_one_line(tmp_path: Path) -> None:
    assert lines(b"10%\r20%\r30%", tmp_path) == ["30%"]
    assert lines(b"10%\r20%\r30%\r\nnext\n", tmp_path) == ["30%", "next"]
    assert lines(b"".join(b"%d%%\r" % n for n in range(1_000_000)) + b"done\n", tmp_path) == ["done"]


def test_line_ends_of_windows_are_line_ends(tmp_path: Path) -> None:
    assert lines(b"one\r\ntwo\r\n", tmp_path) == ["one", "two"]


def test_control_characters_do_not_reach_the_view(tmp_path: Path) -> None:
    assert lines(b"\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07end\x00\n", tmp_path) == ["red end"]
    assert lines("a\u2028b\u2029c\n".encode(), tmp_path) == ["a b c"]
    assert lines(b"a\tb\n", tmp_path) == ["a\tb"]
    assert lines(b"\x1b[2K\x1b[1Aup\x1b(B \x1b7\x1bPq#0\x1b\\sixel \x1b[", tmp_path) == ["up sixel ["]


def test_a_line_of_megabytes_is_shown_in_many_rows_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    for sign in ("x", "损", "é"):
        content = sign * 1_700_000
        shown_rows = lines(content.encode() + b"\nend", tmp_path)
        assert "".join(shown_rows) == content + "end"
        assert max(map(len, shown_rows)) <= LONGEST_ROW + 3


def test_gbk_is_recognised(tmp_path: Path) -> None:
    assert lines("第一轮 损失 0.5\n完成\n".encode("gbk"), tmp_path) == ["第一轮 损失 0.5", "完成"]
    assert encoding_of("训练".encode()) == UTF_8
    assert encoding_of("训练完成".encode("gbk")) == GBK
    assert encoding_of(b"plain") is None
    assert encoding_of(bytes(range(256)) * 4) == UTF_8


@pytest.mark.parametrize(
    ("parameters", "style"),
    [
        ("31", Style(fore=1)), ("1;92", Style(fore=10, is_bold=True)), ("38;5;208", Style(fore=208)),
        ("48;2;1;2;3", Style(back=1 << 24 | 0x010203)), ("38:2::9:8:7", Style(fore=1 << 24 | 0x090807)),
        ("", PLAIN), ("38;5", PLAIN), ("38;2;300;0;0", PLAIN), ("104;3;4;7;2", Style(back=12, is_italic=True,
         is_underlined=True, is_inverse=True, is_dim=True)), ("?25", PLAIN), ("999", PLAIN), ("41;0", PLAIN),
    ],
)  # fmt: skip
def test_colours_as_a_terminal_takes_them(parameters: str, style: Style) -> None:
    assert styled(PLAIN, parameters) == style


def test_colours_are_spans_of_the_words() -> None:
    words, spans = shown(b"a \x1b[1;31mred\x1b[39m bold\x1b[m end\n")
    assert words == "a red bold end"
    assert spans == (Span(2, 5, Style(fore=1, is_bold=True)), Span(5, 10, Style(is_bold=True)))


@given(st.binary(max_size=200))
def test_any_bytes_are_shown_as_words_without_control_characters(data: bytes) -> None:
    words, spans = shown(data)
    assert all(sign == "\t" or ord(sign) >= 32 for sign in words)
    assert all(0 <= span.begin < span.end <= len(words) for span in spans)
    again = searched(data, UTF_8, is_plain=False)
    assert again.count(b"\n") == data.count(b"\n")
