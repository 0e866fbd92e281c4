"""The columns of a table as the user wants them: hidden and shown by hand, moved, widened, and put back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QByteArray, QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QApplication, QHeaderView, QMenu, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.context_menu import letter_entries


class Columns(QObject):
    """Belongs to the header; one column is always there, that by which rows are known."""

    arranged = Signal()
    """By the user: another column is shown, or stands elsewhere."""

    def __init__(self, header: QHeaderView, name: str, *, always: int = 0, hidden: Iterable[int] = ()) -> None:
        """They are kept under this name; `hidden` are those that are not shown until somebody asks for them."""
        super().__init__(header)
        self.name = name
        self.header = header
        self._always = always
        self._at_first = frozenset(hidden)
        self._hidden = set(hidden)
        self._no_room: set[int] = set()
        self._widths: list[int] = []
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_menu)
        header.setSectionsMovable(True)
        self._apply()

    @property
    def hidden(self) -> list[int]:
        """By hand."""
        return sorted(self._hidden)

    def make_room(self, wanted: Mapping[int, bool]) -> None:
        """Columns that stay away while there is no room for them."""
        no_room = {column for column, has_room in wanted.items() if not has_room}
        if no_room != self._no_room:
            self._no_room = no_room
            self._apply()

    def begin(self, state: QByteArray, hidden: Collection[object]) -> None:
        """As it is now is how it comes; then as it was left, where that is known."""
        header, columns = self.header, range(self.header.count())
        for column in columns:
            header.showSection(column)
        self._widths = [header.sectionSize(column) for column in columns]
        header.restoreState(state)
        header.setSectionsMovable(True)  # what was kept by an older version says that they are not
        self._hidden = {column for column in columns if column in hidden and column != self._always}
        self._apply()

    def toggle(self, column: int, *_: bool) -> None:
        """Hide this one, or show it."""
        self._hidden ^= {column}
        self._apply()
        self.arranged.emit()

    def reset(self) -> None:
        """All as it comes; what the rows are sorted by stays."""
        header = self.header
        for column, width in enumerate(self._widths):
            header.moveSection(header.visualIndex(column), column)
            if header.sectionResizeMode(column) != QHeaderView.ResizeMode.Stretch:
                header.resizeSection(column, width)
        self._hidden = set(self._at_first)
        self._apply()
        self.arranged.emit()

    def menu(self) -> QMenu:
        """A column each; those for which the window is too narrow cannot be shown now."""
        menu = QMenu(self.header)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for column in sorted(range(self.header.count()), key=self.header.visualIndex):
            title = self.header.model().headerData(column, Qt.Orientation.Horizontal)
            if not title:
                continue
            action = menu.addAction(str(title).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(column not in self._hidden)
            action.setEnabled(column != self._always and column not in self._no_room)
            if column in self._no_room:
                action.setToolTip(say("There is no room for this column here."))
            action.triggered.connect(partial(self.toggle, column))
        menu.addSeparator()
        menu.addAction(say("Reset columns"), self.reset)
        letter_entries(menu)
        return menu

    def _show_menu(self, place: QPoint) -> None:
        self.menu().popup(self.header.viewport().mapToGlobal(place))

    def _apply(self) -> None:
        for column in range(self.header.count()):
            self.header.setSectionHidden(column, column in self._hidden or column in self._no_room)


def columns_with_focus() -> Columns | None:
    """Of the table that has the keyboard."""
    widget: QWidget | None = QApplication.focusWidget()
    while widget is not None and not isinstance(widget, QAbstractItemView):
        widget = widget.parentWidget()
    return widget.findChild(Columns) if widget is not None else None


def show_columns_menu() -> None:
    """Where the keyboard is: at the head of the table."""
    if (columns := columns_with_focus()) is not None:
        columns.menu().popup(columns.header.viewport().mapToGlobal(columns.header.viewport().rect().bottomLeft()))
