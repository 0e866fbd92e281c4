"""Searching, filtering and folding against a plain reference, on any bytes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.readings.encodings import UTF_8
from traindeck.runtime.blocking import CancelToken
from traindeck.services.logs.bounded_expression import BoundedExpression
from traindeck.services.logs.line_filter import filter_of
from traindeck.services.logs.line_fold import FoldedRepeats
from traindeck.services.logs.line_pattern import SearchPattern
from traindeck.services.logs.log_document import LogDocument
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_index import LONGEST_ROW
from traindeck.services.logs.row_scan import RowScan, first_hit, hits_of
from traindeck.services.logs.row_set import RowSet
from traindeck.services.logs.row_text import searched
from traindeck.services.logs.wanted import LineLevel, Wanted

LINES = st.lists(
    st.one_of(
        st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")),
        st.sampled_from(
            [b"", b"loss 0.5", b"Loss nan", b"aaa", b"ERROR oom", b"DEBUG x", b"loss 0.5\r", b"\x1b[31mlo\x1b[0mss"]
        ),
        st.text("损失Lloss Kaſß\xa0", max_size=8).map(str.encode),
        st.integers(1, 300).map(lambda count: b"loss 0.5\n" * count + b"loss 0.5"),
    ),
    max_size=40,
)
TOKEN = CancelToken()


def document(folder: Path, content: bytes) -> LogDocument:
    path = folder / "log"
    path.write_bytes(content)
    made = LogDocument(LogFile(path))
    while made.look(TOKEN).is_behind:
        pass
    return made


def all_of(scan: RowScan) -> RowScan:
    while True:
        scan.take(scan.look(TOKEN))
        if scan.is_all:
            return scan


def plain_lines(content: bytes) -> list[bytes]:
    """Each line as it is looked through."""
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    if content.endswith(b"\r"):
        lines[-1] += b"\r"  # no line end yet
    if not content or content.endswith(b"\n"):
        lines.pop()
    return [searched(line, UTF_8, is_plain=False) for line in lines]


def members(rows: RowSet) -> list[int]:
    return rows.slice(0, len(rows))


PATTERNS = st.one_of(
    st.sampled_from(["loss", "LOSS", "a", "aa", "损", "ss", "k", "s", "0.5", "loss 0", " "]).map(Wanted),
    st.sampled_from(["Loss", "aa", "损失"]).map(lambda words: Wanted(words, minds_case=True)),
    st.sampled_from([r"lo+s", r"^loss", r"\d$", r"[^a]s", r"\s\d", r"nan|oom", "损.?"]).map(
        lambda words: Wanted(words, is_expression=True)
    ),
    st.sampled_from(["loss", "a", "损失"]).map(lambda words: Wanted(words, is_whole_word=True)),
)


@settings(max_examples=80, deadline=None)
@given(LINES, PATTERNS, st.integers(-1, 50))
def test_search_finds_what_is_found_line_by_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], wanted: Wanted, start: int
) -> None:
    content = b"\n".join(lines)
    log, pattern = document(tmp_path_factory.mktemp("log"), content), SearchPattern(wanted)
    counts = [len(pattern.places(line)) for line in plain_lines(content)]
    slowly = [sum(end > begin for begin, end in pattern._expression.spans(line)) for line in plain_lines(content)]
    assert counts == slowly, "quick and slow see the same"
    scan = all_of(RowScan(log, hits_of(pattern)))
    rows = [row for row, count in enumerate(counts) if count]
    assert (scan.hits, members(scan.rows)) == (sum(counts), rows)
    after = next((row for row in rows if row > start), None)
    before = next((row for row in reversed(rows) if row < start), None)
    assert first_hit(log, pattern, start, backwards=False, token=TOKEN) == after
    assert first_hit(log, pattern, start, backwards=True, token=TOKEN) == before
    assert scan.rows.beside(start) == after or start < 0
    assert scan.rows.beside(start, backwards=True) == before


@settings(max_examples=60, deadline=None)
@given(LINES, st.sampled_from(["loss", "-loss", "loss -nan", "/^lo/ 0.5", '"loss 0" -/5$/', "-/^$/", "损 -失"]))
def test_the_filter_lets_through_what_fits_line_by_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], typed: str
) -> None:
    content = b"\n".join(lines)
    log, chosen = document(tmp_path_factory.mktemp("log"), content), filter_of(typed)
    scan = all_of(RowScan(log, lambda chunk: (chosen.rows(chunk), 0)))
    expected = []
    for row, line in enumerate(plain_lines(content)):
        has = [pattern._expression.is_in(line) for pattern in chosen.wanted]
        lacks = [not pattern._expression.is_in(line) for pattern in chosen.unwanted]
        if all(has) and all(lacks):
            expected.append(row)
    assert members(scan.rows) == expected
    assert scan.rows.known == len(plain_lines(content))


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_only_lines_that_say_the_same_as_the_one_before_are_folded(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    content = b"".join(line + b"\n" for line in lines)
    log = document(tmp_path_factory.mktemp("log"), content)
    scan = all_of(RowScan(log, FoldedRepeats().judge))
    plain = plain_lines(content)
    assert members(scan.rows) == [row for row, line in enumerate(plain) if not row or line != plain[row - 1]]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.integers(0, 9000)), min_size=1, max_size=4), st.data())
def test_a_set_of_rows_is_a_set(parts: list[set[int]], data: st.DataObject) -> None:
    rows, plain, known = RowSet(), set[int](), 0
    for part in parts:
        more = known + data.draw(st.integers(1, 9000))
        fresh = {row for row in part if known <= row < more}
        rows.extend(more, np.array(sorted(fresh), np.int64))
        plain |= fresh
        known = more
        if data.draw(st.booleans()):
            known = data.draw(st.integers(0, known))
            rows.cut(known)
            plain = {row for row in plain if row < known}
        if data.draw(st.booleans()):
            first, last = sorted((data.draw(st.integers(0, known)), data.draw(st.integers(0, known))))
            rows.put(first, last, belongs=(belongs := data.draw(st.booleans())))
            plain = plain | set(range(first, last)) if belongs else plain - set(range(first, last))
    expected = sorted(plain)
    assert (rows.known, len(rows), members(rows)) == (known, len(expected), expected)
    row = data.draw(st.integers(0, known))
    assert rows.before(row) == sum(one < row for one in expected)
    assert (row in rows) == (row in plain)
    if expected:
        place = data.draw(st.integers(0, len(expected) - 1))
        assert rows.at(place) == expected[place]
    both = rows.both(rows)
    assert members(both) == expected
    assert int(rows.shares(7).sum()) == len(expected)


def test_a_piece_that_grows_is_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"loss 1\nloss")
    log = LogDocument(LogFile(path))
    log.look(TOKEN)
    scan = all_of(RowScan(log, hits_of(SearchPattern(Wanted("loss")))))
    assert (scan.hits, members(scan.rows)) == (2, [0, 1])
    for more, hits, rows in [(b" 2\nlo", 2, [0, 1]), (b"ss\n", 3, [0, 1, 2]), (b"x\n" * 60_000 + b"loss", 4, None)]:
        with path.open("ab") as file:
            file.write(more)
        log.look(TOKEN)
        all_of(scan)
        assert scan.hits == hits and rows in (None, members(scan.rows))
    assert members(scan.rows) == [0, 1, 2, 60_003]


def test_a_word_that_goes_over_the_edge_of_a_row_is_found(tmp_path: Path) -> None:
    log = document(tmp_path, b"x" * (LONGEST_ROW - 2) + b"needle" + b"y" * 100_000)
    scan = all_of(RowScan(log, hits_of(SearchPattern(Wanted("needle")))))
    assert (scan.hits, members(scan.rows)) == (1, [0])


def test_gbk_is_searched_as_it_is_read(tmp_path: Path) -> None:
    log = document(tmp_path, "第一轮 损失 0.5\n完成\n损失\n".encode("gbk"))
    assert members(all_of(RowScan(log, hits_of(SearchPattern(Wanted("损失"))))).rows) == [0, 2]


@pytest.mark.parametrize(
    ("shown", "typed", "chosen"),
    [
        ("epoch 3 训练 损失值：0.5", "损失值", "损失值"),
        ("GRÖSSE ΣΊΣΥΦΟΣ", "σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("die Straße", "STRASSE", "Straße"),
        ("in the 𠀀𠀁 İstanbul here", "HERE", "here"),
        ("a\xa0b", "A B", "a\xa0b"),
        ("a b", "A\xa0B", "a b"),
    ],
)
def test_finding_is_right_in_every_script(shown: str, typed: str, chosen: str) -> None:
    pattern = SearchPattern(Wanted(typed))
    assert [shown[begin:end] for begin, end in pattern.spans(shown)] == [chosen]
    assert len(pattern.places(shown.encode())) == 1


@pytest.mark.parametrize("typed", ["(", "[a", "a{3,1}", r"(?=x)", r"(a)\1", "x{1001}"])
def test_an_expression_that_cannot_be_used_is_refused_with_a_sentence(typed: str) -> None:
    with pytest.raises(InvalidInput, match="not a regular expression"):
        SearchPattern(Wanted(typed, is_expression=True))


def test_an_expression_that_hangs_other_engines_does_not_hang_this_one(tmp_path: Path) -> None:
    log = document(tmp_path, b"a" * 5000 + b"!\n")
    assert re.match("(a+)+b", "aaa") is None
    assert all_of(RowScan(log, hits_of(SearchPattern(Wanted("(a+)+(a+)+b", is_expression=True))))).hits == 0


def test_levels(tmp_path: Path) -> None:
    content = (
        b"2024-05-01 INFO begin\nDEBUG x\n[W] careful\nUserWarning: old\nERROR boom\n"
        b"Traceback (most recent call last):\nRuntimeError: out of memory\nno errors at all\n"
    )
    log = document(tmp_path, content)

    def shown(level: LineLevel) -> list[int]:
        chosen = filter_of("", level)
        return members(all_of(RowScan(log, lambda chunk: (chosen.rows(chunk), 0))).rows)

    assert shown(LineLevel.ERRORS) == [4, 5, 6]
    assert shown(LineLevel.WARNINGS) == [2, 3, 4, 5, 6]
    assert shown(LineLevel.NO_DEBUG) == [0, 2, 3, 4, 5, 6, 7]
    assert shown(LineLevel.ALL) == list(range(8))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("[", "missing ]"),
        ("x[a", "missing ]: [a"),
        ("a(", "missing )"),
        ("a)", "unexpected )"),
        ("a(?=b)", "not available: (?="),
        (r"(a)\1", r"unknown escape sequence: \1"),
        ("a*b**", "impossible repetition: **"),
        ("step\\", "a backslash at the end"),
        ("(step\\", "a backslash at the end"),
        ("x)(y", "unexpected )"),
        ("x)\\", "unexpected )"),
    ],
)
def test_what_is_wrong_with_an_expression_names_its_own_words_alone(words: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        BoundedExpression(words)
    assert str(refused.value.title) == f"“{words}” is not a regular expression: {reason}."
    for is_whole_word in (False, True):
        with pytest.raises(InvalidInput) as refused:
            SearchPattern(Wanted(words, is_expression=True, is_whole_word=is_whole_word))
        assert str(refused.value.title) == f"“{words}” is not a regular expression: {reason}."
