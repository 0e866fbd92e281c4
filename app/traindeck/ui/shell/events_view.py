"""Everything that happened as a panel: the newest above, narrowed by kind and words, and a way to the thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHeaderView, QLineEdit, QMenu, QStackedLayout, QTableView, QWidget

from traindeck.domain.events import KeptEvent
from traindeck.domain.texts import exact_words, say, text
from traindeck.ui.kit.cards import EmptyPage
from traindeck.ui.kit.columns import Columns
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.edits import COPY, FIND, Edit, Edits, HasEdits
from traindeck.ui.kit.kept_place import KeptRows
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.property_page import Soon
from traindeck.ui.kit.tables import Index, KeyedView, TitledModel, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.shell.events import (
    EventGroup,
    Events,
    copied,
    is_in,
    kind_of,
    searched,
    title_of,
    topic_of,
)
from traindeck.viewmodels.shell.journal import NewsKind, Topic

_ICONS = {
    NewsKind.DONE: ("check", "good"),
    NewsKind.FAILED: ("error", "bad"),
    NewsKind.NOTE: ("info", "link"),
    NewsKind.BEGAN: ("warning", "warn"),
    NewsKind.OVER: ("check", "dim"),
}
_KINDS = {
    NewsKind.DONE: text("Done"),
    NewsKind.FAILED: text("Failed", "event"),
    NewsKind.NOTE: text("Information"),
    NewsKind.BEGAN: text("Problem"),
    NewsKind.OVER: text("Resolved"),
}
_TIME_WIDTH = 21 * SPACE
_AT_A_TIME = 500
_WITH_REASON = 88 * SPACE


class EventTableModel(TitledModel):
    """The newest first; what comes goes in above, what is too old goes below."""

    COLUMNS = 3
    TIME, TITLE, REASON = range(COLUMNS)

    def __init__(self, events: Events, theme: Theme) -> None:
        super().__init__()
        self._events = events
        self._theme = theme
        self._rows: list[KeptEvent] = []
        self._searched: dict[int, str] = {}
        self._words: list[str] = []
        self._group = EventGroup.ALL
        self._preparing = QTimer(self, interval=0)
        self._preparing.timeout.connect(self._prepare)
        events.added.connect(self._on_added)
        events.loaded.connect(self._read)
        self._read()

    def narrow(self, group: EventGroup, typed: str) -> None:
        self._group, self._words = group, typed.casefold().split()
        self._read()

    def event_at(self, row: int) -> KeptEvent:
        return self._rows[row]

    def row_name(self, index: Index) -> str:
        return str(self._rows[index.row()].number)

    def row_named(self, name: str) -> QModelIndex:
        row = next((row for row, event in enumerate(self._rows) if str(event.number) == name), None)
        return QModelIndex() if row is None else self.index(row, EventTableModel.TITLE)

    def headers(self) -> Sequence[str]:
        return (say("Time"), say("Event"), say("Details"))

    def count_rows(self) -> int:
        return len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        event, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            if column == self.TIME:
                return exact_words(event.at)
            words = say(title_of(event) if column == self.TITLE else event.hint)
            return words.partition("\n")[0]
        if role == Qt.ItemDataRole.DecorationRole and column == self.TITLE:
            return self._theme.icon(*_ICONS[kind_of(event)])
        if role == Qt.ItemDataRole.ToolTipRole and column != self.TIME:
            return "\n".join(filter(None, (say(title_of(event)), say(event.hint))))
        if role == Qt.ItemDataRole.AccessibleTextRole and column == self.TITLE:
            return say("{label}: {value}", label=say(_KINDS[kind_of(event)]), value=say(title_of(event)))
        return None

    def _read(self) -> None:
        self.beginResetModel()
        self._rows = [event for event in reversed(self._events.rows) if self._fits(event)]
        self.endResetModel()
        self._preparing.start()

    def _on_added(self, fresh: Sequence[KeptEvent]) -> None:
        fitting = [event for event in reversed(fresh) if self._fits(event)]
        if fitting:
            self.beginInsertRows(QModelIndex(), 0, len(fitting) - 1)
            self._rows[:0] = fitting
            self.endInsertRows()
        oldest = self._events.rows[0].number if self._events.rows else 0
        kept = len(self._rows)
        while kept and self._rows[kept - 1].number < oldest:
            kept -= 1
        if kept < len(self._rows):
            self.beginRemoveRows(QModelIndex(), kept, len(self._rows) - 1)
            del self._rows[kept:]
            self.endRemoveRows()

    def _prepare(self) -> None:
        """What a search looks at, some of it at a time, so that the first letter typed does not wait for all."""
        left = (event for event in reversed(self._events.rows) if event.number not in self._searched)
        some = list(islice(left, _AT_A_TIME))
        self._searched.update((event.number, searched(event)) for event in some)
        if len(some) < _AT_A_TIME:
            self._preparing.stop()

    def _fits(self, event: KeptEvent) -> bool:
        if not is_in(event, self._group):
            return False
        if not self._words:
            return True
        words = self._searched.get(event.number)
        if words is None:
            words = self._searched[event.number] = searched(event)
        return all(word in words for word in self._words)


class EventTable(KeyedView, QTableView):
    """Return shows the thing; the system's key for it copies."""

    show_wanted = Signal()
    copy_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        plain_table(self, say("Events"))
        self.columns = Columns(self.horizontalHeader(), "events", always=EventTableModel.TITLE)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.doubleClicked.connect(self.show_wanted)

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {Qt.Key.Key_Return: self.show_wanted}

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_wanted.emit()
        else:
            super().keyPressEvent(event)


class EventsView(HasEdits, QWidget):
    """`jump` shows what a piece of news is about."""

    def __init__(self, events: Events, theme: Theme, jump: Callable[[Topic], None]) -> None:
        super().__init__()
        self._events = events
        self._jump = jump
        self.model = EventTableModel(events, theme)
        self.table = EventTable()
        self.table.setModel(self.model)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(EventTableModel.TITLE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(EventTableModel.REASON, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(EventTableModel.TIME, _TIME_WIDTH)
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(say("Filter events"))
        self.typed.setAccessibleName(self.typed.placeholderText())
        self.typed.setClearButtonEnabled(True)
        self.group = QComboBox()
        self.group.setAccessibleName(say("Which events"))
        for group in EventGroup:
            self.group.addItem(say(group.value), group)
        self.count = label(role="small")
        self.reason = label(role="small", wraps=True, copies=True)
        self.reason.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self.empty = EmptyPage(
            say("Nothing has happened yet."), say("Runs, transfers, accounts and the Lab are noted here.")
        )
        self.none = EmptyPage(say("No event matches."), say("Clear the filter to see all of them."))
        self._pages = QStackedLayout()
        self._head = QWidget()
        margins = (SPACE, HALF, SPACE, HALF)
        row_of((self.typed, 1), self.group, self.count, inside=self._head, margins=margins, spacing=SPACE)
        layout = column_of(self._head, (self._pages, 1), inside=self, margins=0, spacing=0)
        for page in (self.empty, self.none, self.table):
            self._pages.addWidget(page)
        layout.addWidget(self.reason)
        self.setFocusProxy(self.table)
        KeptRows("events", self.table, self.model)
        self._soon = Soon(self, self._narrow)
        self.typed.textChanged.connect(lambda _: self._soon.ask())
        self.group.activated.connect(lambda _: self._narrow())
        self.table.show_wanted.connect(self.show_selected)
        self.table.copy_wanted.connect(self.copy_selected)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._show_reason())
        for signal in (self.model.modelReset, self.model.rowsInserted, self.model.rowsRemoved):
            signal.connect(self._refresh)
        theme.changed.connect(self.table.viewport().update)
        events.load()
        self._refresh()

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 20 * SPACE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.table.columns.make_room({EventTableModel.REASON: self.width() >= _WITH_REASON})

    def selected(self) -> list[KeptEvent]:
        """From above to below."""
        return [self.model.event_at(number) for number in sorted(row.row() for row in self._selected_rows())]

    def show_selected(self) -> None:
        event = next(iter(self.selected()), None)
        topic = topic_of(event) if event is not None else None
        if topic is not None:
            self._jump(topic)

    def leads_somewhere(self) -> bool:
        chosen = self.selected()
        return len(chosen) == 1 and topic_of(chosen[0]) is not None

    def edits(self, focused: QWidget) -> Edits:
        """What is copied of its rows says more than their cells."""
        edits = {FIND: Edit(self.typed.setFocus, lambda: self._head.isVisible())}
        if focused is self.table:
            edits[COPY] = Edit(self.copy_selected, lambda: bool(self.selected()))
        return edits

    def copy_selected(self) -> None:
        if chosen := self.selected():
            QGuiApplication.clipboard().setText("\n".join(map(copied, chosen)))

    def menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chosen = self.selected()
        for words, key, act, is_possible in (
            (say("Show"), "Return", self.show_selected, self.leads_somewhere()),
            (say("Copy"), "Ctrl+C", self.copy_selected, bool(chosen)),
        ):
            action = menu.addAction(f"{words}\t{keys_words(key)}")
            action.setEnabled(is_possible)
            action.triggered.connect(act)
        return menu

    def _selected_rows(self) -> list[QModelIndex]:
        return self.table.selectionModel().selectedRows()

    def _show_menu(self, place: QPoint) -> None:
        self.menu().popup(self.table.viewport().mapToGlobal(place))

    def _narrow(self) -> None:
        self.model.narrow(self.group.currentData(), self.typed.text())

    def _refresh(self, *_: object) -> None:
        page = self.table if self.model.count_rows() else self.none if self._events.rows else self.empty
        self._pages.setCurrentWidget(page)
        self._head.setVisible(bool(self._events.rows))
        self.count.setText(f"{self.model.count_rows():,}")
        self._show_reason()

    def _show_reason(self) -> None:
        """All of it, where one is selected: in a cell it is cut."""
        chosen = self.selected()
        words = say(chosen[0].hint) if len(chosen) == 1 else ""
        self.reason.setText(words)
        self.reason.setVisible(bool(words))
