from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud, digits_spec, offline
from support.panel_bench import light_theme
from support.waiting import until
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.ui.kit.theme import Theme
from traindeck.ui.logs.log_view import LogView
from traindeck.viewmodels.logs.log_feed import MOST_LINES, LogFeed

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
        path = on.cloud.logs.path("r1")
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
        await until(lambda: "cannot be reached" in on.view.reason.text() and "Next try" in on.view.reason.text())
        assert on.view.pane.toPlainText().startswith("hello")
        on.cloud.watch.tell(replace(RUN, state=RunState.FAILED, reason="Exit code 1"))
        assert on.view.chip.text() == "Failed"
        assert on.view.reason.text() == "Exit code 1"


async def test_find_selects_and_goes_round(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write(*numbered(300), "Loss is nan", *numbered(10, "end"))
        qtbot.keyClick(on.view.pane, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        assert on.view.find_bar.isVisible()
        qtbot.keyClicks(on.view.find_bar.words, "loss")
        assert on.view.find_bar.hits.text() == "Hits: 1"
        for _ in range(2):
            qtbot.keyClick(on.view.find_bar.words, Qt.Key.Key_Return)
            assert on.view.pane.textCursor().selectedText() == "Loss"
        qtbot.keyClick(on.view.find_bar.words, Qt.Key.Key_Escape)
        assert on.view.find_bar.isHidden()


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
