from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from end_to_end.outside import outside_of_tasks
from support.folder_cloud import FolderCloud, offline
from support.log_bench import RUN, Bench, bench, numbered
from support.panel_bench import light_theme
from support.waiting import until
from traindeck.domain.jobs.job import RunState
from traindeck.domain.readings.failure_rules import RuleText
from traindeck.domain.readings.failures import Failure
from traindeck.domain.readings.tracking import tracked_number
from traindeck.ui.kit.edits import FIND, edit_of
from traindeck.ui.kit.theme import Theme
from traindeck.ui.logs.log_selection import Spot
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.shell.kept_widgets import KeptWidgets
from traindeck.viewmodels.logs.log_feed import LogFeed, log_place
from traindeck.viewmodels.shell.window_state import WindowState

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from support.qt_support import Stalls


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


async def test_a_window_that_comes_later_shows_the_line_that_was_at_the_top(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        state = WindowState(tmp_path / "window.json")
        KeptWidgets(state, on.view).take(on.view)
        await on.write(*numbered(3000))
        on.wheel(30)
        await until(lambda: not on.feed.state.is_following and on.is_painted)
        top = on.top_line()
        assert top.startswith("line 2")
        on.view.close()  # what comes behind it was scrolled by nobody
        await on.write(*numbered(3000, "more"))

        later = window_after(on, theme, qtbot, state)
        await until(lambda: later.top_line() == top)
        assert not later.feed.state.is_following
        assert not later.view.pane.pill.isVisible(), "what was there at the start is not new"
        later.view.close()
        later.feed.close()

        # The service began the log anew, and it is shorter: nothing of it was seen before.
        on.cloud.logs.file("r1", "worker-0").path.write_bytes(b"".join(b"new %d\n" % n for n in range(500)))
        anew = window_after(on, theme, qtbot, state)
        await until(lambda: anew.has_last("new 499"))
        await until(lambda: anew.feed.state.is_following and anew.is_at_end)
        anew.feed.close()


async def test_a_panel_that_is_made_while_a_line_is_looked_for_shows_that_line(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    """News of a line opens the log: its panel came late, took up where it was before, and showed the beginning."""
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(3000))
        state = WindowState(tmp_path / "window.json")
        lines = [f"line {number}\n" for number in range(2000)]
        on.feed.show_at(RUN, "worker-0", len("".join(lines)))
        later = LogView(on.feed, theme)
        qtbot.addWidget(later)
        later.resize(600, 400)
        KeptWidgets(state, later).take(later)
        later.show()
        await until(lambda: later.pane.top_number == 2000)
        assert not on.feed.state.is_following

        # In another language there is a panel anew, and a run that is over writes no more.
        row = on.feed.lines.row(later.pane.top_number)
        place = None if row is None else on.feed.place_at(row.begin)
        assert place is not None
        on.feed.found_row = None  # somebody has scrolled since
        state.put("place.log", asdict(place))
        anew = LogView(on.feed, theme)
        qtbot.addWidget(anew)
        anew.resize(600, 400)
        KeptWidgets(state, anew).take(anew)
        anew.show()
        await until(lambda: anew.pane.top_number == 2000)


def window_after(on: Bench, theme: Theme, qtbot: QtBot, state: WindowState) -> Bench:
    """The same log in a program that was started again."""
    feed = LogFeed(on.cloud.logs, on.cloud.watch, on.cloud.disk, on.cloud.scope)
    feed.place_wanted = log_place(state.get("place.log"))
    feed.show(RUN)
    view = LogView(feed, theme)
    qtbot.addWidget(view)
    KeptWidgets(state, view).take(view)
    view.resize(600, 400)
    view.show()
    return Bench(on.cloud, feed, view)


async def test_the_newest_line_stays_in_sight(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        for part in range(5):
            await on.write(*numbered(30, f"part {part} line"))
            assert on.is_at_end
        assert on.view.pane.pill.isHidden()


async def test_scrolling_up_stops_following_and_a_pill_counts(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(200))
        on.wheel(3)
        assert not on.feed.state.is_following
        await until(lambda: on.is_painted)
        seen = on.top_line()
        await on.write(*numbered(37, "new"))
        assert on.top_line() == seen
        assert on.view.pane.pill.isVisible()
        assert on.view.pane.pill.text() == "37 new lines"
        qtbot.mouseClick(on.view.pane.pill, Qt.MouseButton.LeftButton)
        assert on.is_at_end
        assert on.feed.state.is_following
        assert on.view.pane.pill.isHidden()


async def test_reaching_the_end_or_the_end_key_follows_again(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(200))
        on.wheel(3)
        on.wheel(-10)
        assert on.feed.state.is_following
        qtbot.keyClick(on.view.pane, Qt.Key.Key_PageUp)
        assert not on.feed.state.is_following
        qtbot.keyClick(on.view.pane, Qt.Key.Key_End)
        assert on.feed.state.is_following
        assert on.is_at_end
        qtbot.keyClick(on.view.pane, Qt.Key.Key_Home)
        await until(lambda: on.top_line() == "line 0")
        qtbot.keyClick(on.view.pane, Qt.Key.Key_PageDown)
        assert not on.feed.state.is_following


async def test_dragging_the_scroll_bar_counts_as_scrolling(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(200))
        on.bar.setSliderDown(True)
        on.bar.setSliderPosition(20)
        on.bar.setSliderDown(False)
        assert not on.feed.state.is_following
        on.bar.setSliderDown(True)
        on.bar.setSliderPosition(on.bar.maximum())
        on.bar.setSliderDown(False)
        assert on.feed.state.is_following


async def test_a_click_or_a_selection_changes_nothing(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(200))
        viewport = on.view.pane.viewport()
        qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(30, 20))
        qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=QPoint(10, 20))
        await outside_of_tasks(lambda: qtbot.mouseMove(viewport, QPoint(60, 60)))
        qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
        qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(30, 40))
        chosen = on.view.pane.selected_words()
        assert chosen
        assert on.feed.state.is_following
        await on.write("one more")
        assert on.is_at_end
        assert on.view.pane.selected_words() == chosen


async def test_what_is_read_stays_while_more_comes(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(5000))
        on.wheel(20)
        await until(lambda: on.is_painted)
        seen = on.top_line()
        await on.write(*numbered(900, "new"))
        assert on.top_line() == seen
        qtbot.keyClick(on.view.pane, Qt.Key.Key_Home)
        await until(lambda: on.top_line() == "line 0")  # nothing has fallen off


async def test_a_flood_does_not_hold_up_the_window(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*(f"step {number} loss 0.1234 accuracy 0.98 time 1.2 s" for number in range(20_000)))
        await until(lambda: on.shown().endswith("step 19999 loss 0.1234 accuracy 0.98 time 1.2 s"))
        for part in range(20):
            await on.write(*numbered(400, f"part {part}"))
        assert on.is_at_end
        assert on.feed.lines.rows == 28_000


async def test_a_progress_bar_is_redrawn_in_place(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("begin")
        path = on.cloud.logs.file("r1").path
        for share in (b"10%", b"\r20%", b"\r30%"):
            with path.open("ab") as file:
                file.write(share)
            shown = f"begin\n{share.decode().strip()}"
            await until(lambda shown=shown: on.shown() == shown)


async def test_the_header_says_how_things_stand(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("hello")
        assert on.view.chip.text() == "Running"
        assert "6 B" in on.view.facts.text()
        on.cloud.jobs.trouble = offline()
        on.cloud.watch_runs()
        await until(lambda: "cannot be reached" in on.view.reason.text() and "Next attempt" in on.view.reason.text())
        assert on.shown().startswith("hello")
        on.cloud.watch.tell(replace(RUN, state=RunState.FAILED, reason="Exit code 1"))
        assert on.view.chip.text() == "Failed"
        assert on.view.reason.text() == "Exit code 1"
        memory = RuleText("The GPU ran out of memory.", "GPU 显存不足。")
        on.feed.failure_of = lambda _: Failure("gpu-memory", memory, memory, memory)
        on.feed.look_at_failure()
        assert on.view.reason.text() == "The GPU ran out of memory."


async def test_find_selects_and_goes_round(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(300), "Loss is nan", *numbered(10, "end"))
        find = edit_of(FIND, on.view.pane)
        assert find is not None and find.enabled()
        find.run()
        assert on.view.find_bar.isVisible() and on.view.pane.painter.is_searched
        qtbot.keyClicks(on.view.find_bar.words, "loss")
        await until(lambda: on.view.find_bar.hits.text() == "Hits: 1")
        for _ in range(2):
            qtbot.keyClick(on.view.find_bar.words, Qt.Key.Key_Return)
            await until(lambda: on.view.pane.selected_words() == "Loss")
            on.view.pane.selection.clear()
        qtbot.keyClick(on.view.find_bar.words, Qt.Key.Key_Escape)
        assert on.view.find_bar.isHidden() and not on.view.pane.painter.is_searched


async def test_what_is_no_expression_is_said_below_and_the_field_keeps_its_place(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(10))
        bar = on.view.find_bar
        bar.open_bar()
        qtbot.keyClicks(bar.words, "[")
        await until(lambda: bar.hits.text() == "Nothing found")
        place = bar.words.geometry()
        bar.expression.click()
        await until(bar.trouble.isVisible)
        assert "missing ]" in bar.trouble.text() and "Put a backslash" in bar.trouble.text()
        await until(lambda: bar.height() > place.height() + bar.trouble.height())
        assert bar.words.x() == place.x() and bar.words.width() >= place.width()
        qtbot.keyClicks(bar.words, "3]")
        await until(lambda: bar.hits.text() == "Hits: 1")
        assert bar.trouble.isHidden()


async def test_a_view_opened_later_shows_what_came_before(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("one", "two")
        later = LogView(on.feed, theme)
        qtbot.addWidget(later)
        later.resize(400, 200)
        later.grab()
        assert [row.words for row in later.pane.rows_in_sight()] == ["one", "two"]


async def test_nothing_open_says_what_to_do(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        view = LogView(feed, theme)
        qtbot.addWidget(view)
        view.show()
        assert view.empty.isVisible()
        assert "Show log" in view.empty.hint.text()
        feed.close()


async def test_a_selected_number_is_known_by_its_place_in_the_line(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("😀 queue depth 37 items")
        await until(lambda: on.has_last("😀 queue depth 37 items"))
        row = on.feed.lines.row(0)
        assert row is not None and on.view.pane.selection.piece_of(row) == (len(row.words), len(row.words))
        on.view.pane.selection.choose(Spot(0, 15), Spot(0, 17))  # as Qt counts, the picture is two
        begin, end = on.view.pane.selection.piece_of(row)
        assert row.words[begin:end] == "37"
        number = tracked_number(row.words, begin, end)
        assert number.name == "queue depth" and re.search(number.expression, "😀 queue  depth 4 items")
