"""The list of events with a real mouse and keyboard: live, narrowed, copied, and a way to the thing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from end_to_end.outside import outside_of_tasks
from support.frame_bench import texts_cut
from support.panel_bench import light_theme
from support.qt_support import press, watched_for_stalls
from support.waiting import fail_with, until
from traindeck.domain.events import KeptEvent
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.store.events import EventStore
from traindeck.ui.shell.events_view import EventsView, EventTableModel
from traindeck.viewmodels.shell.events import EventGroup, Events
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, Topic

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)


class Bench:
    def __init__(self, view: EventsView, journal: Journal, events: Events, jumps: list[Topic]) -> None:
        self.view, self.journal, self.events, self.jumps = view, journal, events, jumps

    def titles(self) -> list[str]:
        """Of the first few."""
        model = self.view.model
        return [str(model.index(row, EventTableModel.TITLE).data()) for row in range(min(9, model.rowCount()))]


@asynccontextmanager
async def bench(qapp: QApplication, home: Path, before: int = 0) -> AsyncIterator[Bench]:
    with closing(BlockingCalls(1, "events")) as writer, closing(EventStore(home / "events.db", writer)) as store:
        old = [
            KeptEvent(NOW + timedelta(seconds=number), "note", Text(f"old {number}"), subject="run", topic=f"r{number}")
            for number in range(before)
        ]
        await store.add(old, 10_000)
        with light_theme(qapp) as theme:
            async with TaskScope(fail_with) as scope:
                journal, jumps = Journal(), list[Topic]()
                events = Events(store, journal, scope, lambda: 10_000)
                view = EventsView(events, theme, jumps.append)
                view.resize(800, 300)
                view.show()
                await until(lambda: events.is_loaded)
                yield Bench(view, journal, events, jumps)
                await events.flush()
                view.close()
                view.deleteLater()


async def test_it_says_what_will_be_there_and_then_is_live(qapp: QApplication, tmp_path: Path) -> None:
    async with bench(qapp, tmp_path) as at:
        assert at.view.empty.isVisible()
        at.journal.done(text("first"))
        at.journal.tell(NewsKind.FAILED, text("second"), text("Because."))
        await until(lambda: at.titles() == ["second", "first"])
        assert at.view.table.isVisible()
        at.view.table.selectRow(0)
        assert at.view.reason.text() == "Because."
        at.view.typed.setText("no such words")
        await until(at.view.none.isVisible)


async def test_a_row_leads_to_its_thing_by_mouse_and_key_and_is_copied(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with bench(qapp, tmp_path) as at:
        at.journal.tell(NewsKind.DONE, text("a run"), topic=Topic(Subject.RUN, "r7", "work"))
        at.journal.tell(NewsKind.NOTE, text("nowhere"))
        await until(lambda: len(at.titles()) == 2)
        table = at.view.table
        cell = table.visualRect(at.view.model.index(1, EventTableModel.TITLE)).center()
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=cell)
        qtbot.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=cell)
        press(table, Qt.Key.Key_Return)
        assert at.jumps == [Topic(Subject.RUN, "r7", "work")] * 2
        assert [action.isEnabled() for action in at.view.menu().actions()] == [True, True]
        table.selectAll()
        press(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        lines = qapp.clipboard().text().splitlines()
        assert [line.split("\t")[1] for line in lines] == ["nowhere", "a run"]
        table.clearSelection()
        table.selectRow(0)
        press(table, Qt.Key.Key_Return)
        assert len(at.jumps) == 2
        assert [action.isEnabled() for action in at.view.menu().actions()] == [False, True]


@pytest.mark.timed
async def test_ten_thousand_rows_scroll_are_narrowed_and_grow_without_a_stall(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with bench(qapp, tmp_path, before=10_000) as at:
        count = at.view.model.rowCount
        assert count() == 10_000
        with watched_for_stalls() as stalls:
            bar = at.view.table.verticalScrollBar()
            for share in range(20):
                bar.setValue(bar.maximum() * share // 20)
                await outside_of_tasks(qapp.processEvents)
            at.view.typed.setText("old 4242")
            await until(lambda: at.titles() == ["old 4242"])
            at.view.typed.clear()
            await until(lambda: count() == 10_000)
            at.view.group.setCurrentIndex(at.view.group.findData(EventGroup.TROUBLES))
            at.view.group.activated.emit(0)
            assert at.titles() == []
            at.view.group.setCurrentIndex(0)
            at.view.group.activated.emit(0)
            at.journal.done(text("new"))
            await until(lambda: at.titles()[0] == "new")
        assert count() == 10_000  # the oldest went
        stalls.check()


async def test_nothing_is_cut_in_either_language(qapp: QApplication, tmp_path: Path) -> None:
    for language in ("en", "zh_CN"):
        speak(language)
        async with bench(qapp, tmp_path) as at:
            assert texts_cut(at.view) == []
            at.journal.done(text("Dark"))
            await until(lambda at=at: bool(at.titles()))
            at.view.resize(460, 200)
            assert texts_cut(at.view) == []
