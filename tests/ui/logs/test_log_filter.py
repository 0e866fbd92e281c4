"""What is shown of a log, what is marked in it, and what can be taken out of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractSlider, QApplication

from support.log_bench import RUN, Bench, bench, numbered
from support.panel_bench import light_theme
from support.waiting import until
from traindeck.domain.jobs.job import LogChunk
from traindeck.ui.kit.edits import COPY, SELECT_ALL, edit_of
from traindeck.ui.kit.theme import DARK_COLORS, LIGHT_COLORS, Theme
from traindeck.ui.logs.log_colours import LEAST_CONTRAST, colour_of, contrast, readable
from traindeck.ui.logs.row_marks import LogLink, links_in
from traindeck.viewmodels.logs.log_appearance import Bookmark, LogAppearance
from traindeck.viewmodels.logs.log_filter import LineLevel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

    from support.qt_support import Stalls


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def words_shown(on: Bench) -> list[str]:
    return on.shown().split("\n")


async def test_the_filter_hides_lines_says_how_many_and_follows(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(400), "loss nan", "loss 0.5")
        bar = on.view.filter_bar
        bar.open_bar()
        qtbot.keyClicks(bar.words, "loss -nan")
        await until(lambda: bar.hidden.text() == "401 lines hidden" and words_shown(on) == ["loss 0.5"])
        for line in ("loss 0.4", "other", "loss 0.3"):
            await append(on, line)
        await until(lambda: words_shown(on) == ["loss 0.5", "loss 0.4", "loss 0.3"])
        await until(lambda: bar.hidden.text() == "402 lines hidden")
        place = bar.words.geometry()
        bar.words.setText("/(/")
        await until(lambda: "not a regular expression" in bar.trouble.text())
        await until(
            lambda: bar.trouble.isVisible() and bar.words.x() == place.x() and bar.words.width() >= place.width()
        )
        assert "Put a backslash" in bar.trouble.text()
        bar.words.setText("")
        bar.levels.setCurrentIndex(bar.levels.findData(LineLevel.ERRORS))
        bar.levels.activated.emit(0)
        await until(lambda: bar.hidden.text() == "405 lines hidden")
        qtbot.keyClick(bar.words, Qt.Key.Key_Escape)
        await until(lambda: len(on.feed.lines) == 405)
        assert bar.isHidden()


async def test_the_pill_leads_to_nothing_where_the_end_is_in_sight(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(400), "loss nan")
        on.view.pane.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
        await append(on, "one", "two")
        await until(on.view.pane.pill.isVisible)
        on.view.filter_bar.open_bar()
        on.view.filter_bar.words.setText("loss")
        await until(lambda: words_shown(on) == ["loss nan"])
        assert not on.view.pane.pill.isVisible()


async def append(on: Bench, *lines: str) -> None:
    content = "".join(f"{line}\n" for line in lines).encode()
    on.size += len(content)
    await on.cloud.logs.take("r1", "worker-0", LogChunk(content, on.size))


async def test_a_filter_that_hides_all_says_so(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        pane = on.view.pane
        assert pane._placeholder.startswith("No output yet")
        await on.write(*numbered(30))
        on.feed.filter.ask("nothing like it", LineLevel.ALL)
        await until(lambda: on.feed.filter.state.hidden == 30)
        assert pane._placeholder == "No line matches the filter."
        on.feed.filter.ask("", LineLevel.ALL)
        await until(lambda: not on.feed.filter.state.is_on)
        assert pane._placeholder.startswith("No output yet")


async def test_repeats_are_one_line_that_can_be_opened(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await append(on, "begin", *["again"] * 12, "end")
        await until(lambda: words_shown(on) == ["begin", "again", "end"])
        row = on.feed.lines.row(1)
        assert row is not None and on.view._badge_of(row) == "× 12 ▾"
        pane = on.view.pane
        place = QPoint(pane.viewport().width() - 30, int(1.5 * pane.layouts.line_height) + 4)
        qtbot.mouseClick(pane.viewport(), Qt.MouseButton.LeftButton, pos=place)
        await until(lambda: len(on.feed.lines) == 14)
        assert on.view._badge_of(row) == "× 12 ▴"
        await append(on, "end")
        await until(lambda: len(on.feed.lines) == 14 and on.feed.lines.rows == 15)
        on.feed.look.change(folds=False)
        await until(lambda: len(on.feed.lines) == 15)


async def test_copying_takes_words_over_any_length_without_colours(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await append(on, *(f"\x1b[31mline {number}\x1b[0m" for number in range(9000)))
        await until(lambda: on.feed.lines.rows == 9000)
        on.view.pane.setFocus()
        for name in (SELECT_ALL, COPY):
            edit = edit_of(name, on.view.pane)
            assert edit is not None and edit.enabled()
            edit.run()
        expected = "\n".join(numbered(9000))
        await until(lambda: QApplication.clipboard().text() == expected)
        assert on.feed.state.is_following, "a selection changes nothing"
        QApplication.clipboard().clear()


async def test_a_very_long_line_is_copied_as_the_one_that_it_is(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        line = "x" * 100_000 + "end"
        await append(on, "a", line, "b")
        await until(lambda: on.feed.lines.rows == 15 and len(on.feed.lines) == 15)
        on.view.pane.setFocus()
        for name in (SELECT_ALL, COPY):
            edit = edit_of(name, on.view.pane)
            assert edit is not None
            edit.run()
        await until(lambda: QApplication.clipboard().text() == f"a\n{line}\nb")
        QApplication.clipboard().clear()


async def test_the_selection_grows_by_keys(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await append(on, *numbered(5))
        await until(lambda: len(words_shown(on)) == 5)
        pane, shift = on.view.pane, Qt.KeyboardModifier.ShiftModifier
        qtbot.keyClick(pane, Qt.Key.Key_Down, shift)
        qtbot.keyClick(pane, Qt.Key.Key_Right, shift)
        assert pane.selected_words() == "line 0\nl"
        await until(lambda: pane.accessibleDescription() == "line 0\nl")
        qtbot.keyClick(pane, Qt.Key.Key_End, shift)
        assert pane.selected_words() == "line 0\nline 1"


async def test_ctrl_home_works_while_the_end_is_followed(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(3000))
        qtbot.keyClick(on.view.pane, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: on.top_line() == "line 0")
        assert not on.feed.state.is_following
        await append(on, "more")
        await until(lambda: on.feed.state.new_lines == 1)
        assert on.top_line() == "line 0"


async def test_wrapped_lines_end_at_the_bottom(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        on.feed.look.change(wraps=True, zoom=2)
        await append(on, *(f"{number} " + "word " * 60 for number in range(300)), "the end")
        await until(lambda: words_shown(on)[-1] == "the end" and on.is_painted)
        pane = on.view.pane
        placed = list(pane._laid_out())
        bottom = placed[-1][0] + placed[-1][1].lines * pane.layouts.line_height
        assert bottom <= pane.viewport().height()
        on.wheel(2)
        assert not on.feed.state.is_following
        on.wheel(-4)
        assert on.feed.state.is_following


async def test_going_to_a_line_a_time_an_error_and_a_bookmark(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        lines = [f"2024-05-01 10:{n // 60:02}:{n % 60:02} INFO step {n}" for n in range(2000)]
        lines[700], lines[1500] = "ValueError: bad", "2024-05-01 10:25:00 ERROR worse"
        await append(on, *lines)
        await until(lambda: on.feed.lines.rows == 2000)
        travel, pane = on.feed.travel, on.view.pane

        async def reached(words: str) -> None:
            await until(lambda: pane.selected_words() == words)

        travel.go_to_line(1234)
        await reached(lines[1233])
        assert not on.feed.state.is_following
        travel.go_to_time("10:16:40")
        await reached(lines[1000])
        travel.find_error(1000, backwards=True)
        await reached("ValueError: bad")
        travel.find_error(700, backwards=False)
        await reached(lines[1500])
        missed: list[object] = []
        travel.missed.connect(missed.append)
        travel.find_error(1500, backwards=False)
        travel.go_to_time("noon")
        await until(lambda: bool(missed))
        row = on.feed.lines.row(1500)
        assert row is not None
        on.feed.look.put_bookmark("r1", "worker-0", Bookmark(row.begin, "look here"))
        assert on.view._flag_of(row) == "link"
        await save_and_compare(on, tmp_path / "copy.log")


async def save_and_compare(on: Bench, target: Path) -> None:
    on.feed.travel.save(target, only_shown=False)
    path = on.feed.path
    assert path is not None
    await until(lambda: target.exists() and target.read_bytes() == path.read_bytes())
    on.feed.filter.ask("ERROR", LineLevel.ALL)
    await until(lambda: len(on.feed.lines) == 2)
    on.feed.travel.save(target, only_shown=True)
    await until(lambda: target.read_text() == "ValueError: bad\n2024-05-01 10:25:00 ERROR worse\n")


async def test_scrolling_a_long_log_holds_nothing_up(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await append(on, *(f"step {n} loss 0.1 损失 {n % 7}" for n in range(200_000)))
        await until(lambda: on.feed.lines.rows == 200_000)
        for place in range(0, 200_000, 9973):
            on.bar.setValue(place)
            await until(lambda: on.is_painted)
            on.view.pane.viewport().repaint()
        assert len(on.feed.lines._rows) < 6000


def test_links() -> None:
    words = '  File "/home/ma-user/job/train.py", line 41, in f see obs://results/a/b.txt, or obs://x'
    assert [link[2:] for link in links_in(words)] == [
        ("/home/ma-user/job/train.py", 41),
        ("obs://results/a/b.txt", 0),
    ]
    assert links_in("nothing") == [] and isinstance(links_in(words)[0], LogLink)


@given(st.one_of(st.integers(0, 255), st.integers(1 << 24, (1 << 25) - 1)), st.booleans())
def test_every_colour_can_be_read_in_both_themes(code: int, is_dark: bool) -> None:
    ground = QColor((DARK_COLORS if is_dark else LIGHT_COLORS)["sunken"])
    assert contrast(readable(colour_of(code), ground), ground) >= LEAST_CONTRAST - 0.01


def test_what_was_kept_of_the_look_may_be_anything() -> None:
    odd: list[object] = [
        None,
        [],
        {"zoom": "x", "highlights": [1, "a"], "bookmarks": {"r": 1, "s": [[1], [-1, "x"], [5, "n"]]}},
    ]
    for kept in odd:
        look = LogAppearance(kept)
        assert not look.state.wraps and look.state.zoom == 0
    told: list[object] = []
    look = LogAppearance(None, told.append)
    look.highlight([" loss ", "", "loss", "nan"])
    look.put_bookmark("r", "worker-0", Bookmark(7, "note"))
    look.zoom_by(100)
    again = LogAppearance(told[-1])
    assert (again.state, again.bookmarks("r", "worker-0")) == (look.state, [Bookmark(7, "note")])
    again.remove_bookmark("r", "worker-0", 7)
    assert again.bookmarks("r", "worker-0") == []


async def test_workers_have_tabs_and_one_for_all_of_them(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        run = replace(RUN, tasks=("worker-0", "worker-1"))
        for worker, content in (("worker-0", b"2024-05-01 10:00:01 a\n"), ("worker-1", b"2024-05-01 10:00:00 b\n")):
            await on.cloud.logs.take("r1", worker, LogChunk(content, len(content)))
        on.feed.show(run)
        await until(lambda: words_shown(on) == ["2024-05-01 10:00:01 a"])
        tabs = on.view.tasks
        assert [tabs.tabText(number) for number in range(tabs.count())] == ["worker-0", "worker-1", "All workers"]
        qtbot.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=tabs.tabRect(2).center())
        both = ["worker-1 │ 2024-05-01 10:00:00 b", "worker-0 │ 2024-05-01 10:00:01 a"]
        await until(lambda: words_shown(on) == both)
        assert "in order of time" in on.view.facts.text()
        content = b"2024-05-01 10:00:02 c\n"
        await on.cloud.logs.take("r1", "worker-1", LogChunk(content, 2 * len(content)))
        await until(lambda: words_shown(on)[-1] == "worker-1 │ 2024-05-01 10:00:02 c")
        folder = on.feed.path
        assert folder is not None
        on.feed.show(run, "worker-1")
        await until(lambda: not folder.exists() and len(words_shown(on)) == 2)
