from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud, digits_spec, offline
from support.panel_bench import light_theme
from support.waiting import until
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.ui.kit.edits import FIND, edit_of
from traindeck.ui.kit.theme import Theme
from traindeck.ui.logs.log_view import SLICE_LINES, FindBar, LogPane, LogView
from traindeck.ui.shell.kept_widgets import KeptWidgets
from traindeck.viewmodels.logs.log_feed import (
    LONGEST_LINE,
    MOST_LINES,
    LogBatch,
    LogFeed,
    count_in,
    folded,
    hits_in,
    log_place,
)
from traindeck.viewmodels.shell.window_state import WindowState

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from support.qt_support import Stalls

RUN = Run("r1", 1, "digits-1", "lab", digits_spec(), RunState.RUNNING, datetime.now(UTC), job_id="job-1")


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


class Bench:
    def __init__(self, cloud: FolderCloud, feed: LogFeed, view: LogView) -> None:
        self.cloud, self.feed, self.view = cloud, feed, view
        self.bar = view.pane.verticalScrollBar()
        self.size = 0

    async def write(self, *lines: str) -> None:
        content = "".join(f"{line}\n" for line in lines).encode()
        self.size += len(content)
        await self.cloud.logs.take("r1", "worker-0", LogChunk(content, self.size))
        await until(lambda: self.feed.lines_so_far().lines[-1:] == (lines[-1],))

    @property
    def is_at_end(self) -> bool:
        return self.bar.value() == self.bar.maximum()

    def top_line(self) -> str:
        return self.view.pane.firstVisibleBlock().text()

    def wheel(self, notches: int) -> None:
        viewport = self.view.pane.viewport()
        place = QPointF(viewport.rect().center())
        event = QWheelEvent(
            place,
            QPointF(viewport.mapToGlobal(place.toPoint())),
            QPoint(),
            QPoint(0, 120 * notches),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(viewport, event)


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        await cloud.records.add(RUN)
        feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        view = LogView(feed, theme)
        qtbot.addWidget(view)
        view.resize(600, 240)
        view.show()
        feed.show(RUN)
        await until(lambda: feed.state.is_read)
        yield Bench(cloud, feed, view)
        feed.close()


async def test_a_window_that_comes_later_shows_the_line_that_was_at_the_top(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        state = WindowState(tmp_path / "window.json")
        KeptWidgets(state, on.view).take(on.view)
        await on.write(*numbered(3000))
        on.wheel(30)
        await until(lambda: not on.feed.state.is_following)
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
        await until(lambda: anew.feed.lines_so_far().lines[-1:] == ("new 499",))
        await until(lambda: anew.feed.state.is_following and anew.is_at_end)
        anew.feed.close()


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


def numbered(count: int, word: str = "line") -> list[str]:
    return [f"{word} {number}" for number in range(count)]


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
        assert on.top_line() == "line 0"
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
        qtbot.mouseMove(viewport, QPoint(60, 60))
        qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
        qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(30, 40))
        chosen = on.view.pane.textCursor().selectedText()
        assert chosen
        assert on.feed.state.is_following
        await on.write("one more")
        assert on.is_at_end
        assert on.view.pane.textCursor().selectedText() == chosen


async def test_what_is_read_stays_when_old_lines_fall_off(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(MOST_LINES))
        on.wheel(20)
        seen = on.top_line()
        await on.write(*numbered(900, "new"))
        assert on.view.pane.document().blockCount() == MOST_LINES + 1
        assert on.top_line() == seen


async def test_a_flood_does_not_hold_up_the_window(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*(f"step {number} loss 0.1234 accuracy 0.98 time 1.2 s" for number in range(20_000)))
        await until(
            lambda: on.view.pane.toPlainText().rstrip().endswith("step 19999 loss 0.1234 accuracy 0.98 time 1.2 s")
        )
        for part in range(20):
            await on.write(*numbered(400, f"part {part}"))
        assert on.is_at_end
        assert on.view.pane.document().blockCount() <= MOST_LINES + 1


async def test_a_progress_bar_is_redrawn_in_place(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("begin")
        path = on.cloud.logs.file("r1").path
        for share in (b"10%", b"\r20%", b"\r30%"):
            with path.open("ab") as file:
                file.write(share)
            shown = f"begin\n{share.decode().strip()}"
            await until(lambda shown=shown: on.view.pane.toPlainText() == shown)


async def test_the_header_says_how_things_stand(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("hello")
        assert on.view.chip.text() == "Running"
        assert "6 B" in on.view.facts.text()
        on.cloud.jobs.trouble = offline()
        on.cloud.watch_runs()
        await until(lambda: "cannot be reached" in on.view.reason.text() and "Next attempt" in on.view.reason.text())
        assert on.view.pane.toPlainText().startswith("hello")
        on.cloud.watch.tell(replace(RUN, state=RunState.FAILED, reason="Exit code 1"))
        assert on.view.chip.text() == "Failed"
        assert on.view.reason.text() == "Exit code 1"


async def test_find_selects_and_goes_round(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(300), "Loss is nan", *numbered(10, "end"))
        find = edit_of(FIND, on.view.pane)
        assert find is not None and find.enabled()
        find.run()
        assert on.view.find_bar.isVisible()
        qtbot.keyClicks(on.view.find_bar.words, "loss")
        assert on.view.find_bar.hits.text() == "Hits: 1"
        for _ in range(2):
            qtbot.keyClick(on.view.find_bar.words, Qt.Key.Key_Return)
            assert on.view.pane.textCursor().selectedText() == "Loss"
        qtbot.keyClick(on.view.find_bar.words, Qt.Key.Key_Escape)
        assert on.view.find_bar.isHidden()


@pytest.fixture
def pane(theme: Theme, qtbot: QtBot) -> LogPane:
    """Without a bound, so that it may hold more than a log that is followed."""
    pane = LogPane(theme)
    qtbot.addWidget(pane)
    pane.setMaximumBlockCount(0)
    return pane


async def test_the_newest_words_are_counted_slice_by_slice(pane: LogPane, qtbot: QtBot) -> None:
    pane.setPlainText("\n".join(f"Step {number} 损失值 {number % 7}" for number in range(30_500)))
    bar = FindBar(pane)
    qtbot.addWidget(bar)
    counts: list[tuple[int, bool]] = []
    bar._search.counted.connect(lambda hits, is_all: counts.append((hits, is_all)))
    bar.show()
    qtbot.keyClicks(bar.words, "st")
    # A key costs one slice, however many lines there are.
    assert counts == [(SLICE_LINES, False)] * 2 and bar.hits.text() == f"Hits so far: {SLICE_LINES:,}"
    bar.words.setText("损失值 3")
    await until(lambda: counts[-1][1])
    assert bar.hits.text() == f"Hits: {sum(number % 7 == 3 for number in range(30_500)):,}"
    slices = [hits for hits, _ in counts[2:]]
    assert slices == sorted(slices) and len(slices) == 31
    assert [is_all for _, is_all in counts].count(True) == 1
    bar.words.setText("Schritt")
    await until(lambda: bar.hits.text() == "Nothing found")
    bar.close_bar()


async def test_long_lines_are_a_slice_sooner(pane: LogPane, qtbot: QtBot) -> None:
    pane.setPlainText("\n".join("x" * LONGEST_LINE for _ in range(100)))
    bar = FindBar(pane)
    qtbot.addWidget(bar)
    bar.words.setText("xxxx")
    assert bar.hits.text() == "Hits so far: 25,000"
    await until(lambda: bar.hits.text() == "Hits: 100,000")


async def test_what_arrives_while_it_is_open_is_counted_too(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(10), "the end")
        on.view.find_bar.open_bar()
        on.view.find_bar.words.setText("END")
        assert on.view.find_bar.hits.text() == "Hits: 1"
        await on.write("another end")
        await until(lambda: on.view.find_bar.hits.text() == "Hits: 2")
        on.feed.cleared.emit()
        await until(lambda: on.view.find_bar.hits.text() == "Nothing found")


@pytest.mark.parametrize(
    ("shown", "typed", "chosen"),
    [
        ("epoch 3\n训练 损失值：0.5\nend", "损失值", "损失值"),
        ("GRÖSSE ΣΊΣΥΦΟΣ", "σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("die Straße", "STRASSE", "Straße"),
        ("in the 𠀀𠀁 İstanbul here", "HERE", "here"),
        ("a\xa0b", "A B", "a b"),
    ],
)
async def test_finding_is_right_in_every_script(
    pane: LogPane, qtbot: QtBot, shown: str, typed: str, chosen: str
) -> None:
    pane.setPlainText(shown)
    bar = FindBar(pane)
    qtbot.addWidget(bar)
    bar.words.setText(typed)
    assert bar.hits.text() == "Hits: 1"
    for modifier in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
        qtbot.keyClick(bar.words, Qt.Key.Key_Return, modifier)
        assert pane.textCursor().selectedText().replace("\xa0", " ") == chosen


async def test_finding_goes_on_over_slices_both_ways_and_around(pane: LogPane, qtbot: QtBot) -> None:
    lines = [f"line {number}" for number in range(3 * SLICE_LINES)]
    lines[5], lines[2500] = "here here", "Here"
    pane.setPlainText("\n".join(lines))
    bar = FindBar(pane)
    qtbot.addWidget(bar)
    bar.words.setText("here")

    async def hit(modifier: Qt.KeyboardModifier) -> tuple[int, int]:
        before = pane.textCursor().position()
        qtbot.keyClick(bar.words, Qt.Key.Key_Return, modifier)
        await until(lambda: pane.textCursor().position() != before)
        cursor = pane.textCursor()
        return cursor.blockNumber(), cursor.positionInBlock()

    down, up = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
    assert [await hit(down) for _ in range(4)] == [(5, 4), (5, 9), (2500, 4), (5, 4)]
    assert [await hit(up) for _ in range(4)] == [(2500, 4), (5, 9), (5, 4), (2500, 4)]
    await until(lambda: bar.hits.text() == "Hits: 3")
    at = pane.textCursor().position()
    bar.words.setText("there")
    qtbot.keyClick(bar.words, Qt.Key.Key_Return)
    await until(lambda: bar.hits.text() == "Nothing found" and bar._search._finding is None)
    assert pane.textCursor().position() == at


async def test_lines_that_come_and_go_do_not_lead_the_search_astray(pane: LogPane, qtbot: QtBot) -> None:
    pane.setMaximumBlockCount(2 * SLICE_LINES + 1)
    pane.setPlainText("\n".join(f"x {number}" for number in range(2 * SLICE_LINES)))
    bar = FindBar(pane)
    qtbot.addWidget(bar)
    bar.words.setText("x")
    new = tuple(f"x new {number}" for number in range(500))
    pane.add(LogBatch(new, "x open"), LogBatch((), ""))
    counts: list[int] = []
    bar._search.counted.connect(lambda hits, is_all: counts.append(hits) if is_all else None)
    # What was counted and has gone since, and what came; then only what is there.
    await until(lambda: len(counts) == 2)
    assert counts[-1] == pane.toPlainText().count("x") == pane.document().blockCount()
    bar.words.setText("")


@given(st.text("aAßsSİi\u0307 𠀀损Σσς\xa0", max_size=12), st.text("aAsSßi\u0307 损σ", min_size=1, max_size=3))
def test_what_is_counted_is_what_is_found(line: str, wanted: str) -> None:
    hits = hits_in(line, folded(wanted))
    assert count_in(line, folded(wanted)) == len(hits)
    assert all(folded(line[begin:end]) == folded(wanted) for begin, end in hits)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(hits))


async def test_a_view_opened_later_shows_what_came_before(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("one", "two")
        later = LogView(on.feed, theme)
        qtbot.addWidget(later)
        assert later.pane.toPlainText() == "one\ntwo\n"


async def test_nothing_open_says_what_to_do(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        view = LogView(feed, theme)
        qtbot.addWidget(view)
        view.show()
        assert view.empty.isVisible()
        assert "Show log" in view.empty.hint.text()
        feed.close()
