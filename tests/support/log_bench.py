"""The panel of a log over a folder that is a cloud."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud, digits_spec
from support.waiting import until
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.ui.kit.theme import Theme
from traindeck.ui.logs.log_view import LogView
from traindeck.viewmodels.logs.log_feed import LogFeed

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

RUN = Run("r1", 1, "digits-1", "lab", digits_spec(), RunState.RUNNING, datetime.now(UTC), job_id="job-1")


class Bench:
    def __init__(self, cloud: FolderCloud, feed: LogFeed, view: LogView) -> None:
        self.cloud, self.feed, self.view = cloud, feed, view
        self.bar = view.pane.verticalScrollBar()
        self.size = 0

    async def write(self, *lines: str) -> None:
        content = "".join(f"{line}\n" for line in lines).encode()
        self.size += len(content)
        await self.cloud.logs.take("r1", "worker-0", LogChunk(content, self.size))
        # The last row is in memory while the end is followed; else it is enough that it was counted.
        await until(lambda: self.feed.state.size_bytes == self.size and self.has_last(lines[-1]))

    def has_last(self, line: str) -> bool:
        lines = self.feed.lines
        last = lines.row(lines.rows - 1)
        return not self.feed.state.is_following or (last is not None and last.words == line and self.is_painted)

    @property
    def is_painted(self) -> bool:
        return self.view.pane.is_settled

    @property
    def is_at_end(self) -> bool:
        return self.bar.value() == self.bar.maximum()

    def top_line(self) -> str:
        row = self.feed.lines.row(self.view.pane.top_number)
        return "" if row is None else row.words

    def shown(self) -> str:
        """What is in sight."""
        return "\n".join(row.words for row in self.view.pane.rows_in_sight())

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
