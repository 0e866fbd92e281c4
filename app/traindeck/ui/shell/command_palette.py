"""Type a few letters of what you want, press Enter.

A part of the main window, not a window of its own: no window manager stands between it and the keyboard.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QIcon, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.overlays import StayAbove
from traindeck.ui.kit.tables import Index
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.shell.finding import Finder, LookUp, PaletteEntry, nothing_found
from traindeck.viewmodels.shell.recent import Recent

_MOVES = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}
_WIDTH, _HEIGHT, _TOP = 80 * SPACE, 54 * SPACE, 8 * SPACE
_LEAST = 16 * SPACE
_PAD = 10
_PAUSE_MS = 150
_ENTRY = Qt.ItemDataRole.UserRole


class _Found(QAbstractListModel):
    """What matches what was typed."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.entries: list[PaletteEntry] = []

    def show(self, entries: list[PaletteEntry]) -> None:
        self.beginResetModel()
        self.entries = entries
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> str | QIcon | PaletteEntry | None:
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == Qt.ItemDataRole.DecorationRole and entry.icon:
            return self._theme.icon(entry.icon, "dim")
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ". ".join(filter(None, (entry.title, entry.detail, keys_words(entry.keys))))
        return entry if role == _ENTRY else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not self.entries[index.row()].enabled:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class _Row(QStyledItemDelegate):
    """Icon and title on the left; on the right where it stands, and its key."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, option.fontMetrics.height() + 2 * SPACE - 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: PaletteEntry = index.data(_ENTRY)
        own = QStyleOptionViewItem(option)
        self.initStyleOption(own, index)
        own.text = ""
        icon, own.icon = own.icon, QIcon()
        style = own.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, own, painter, own.widget)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        title = "on_selection" if is_selected else "text" if entry.enabled else "disabled"
        aside = "on_selection" if is_selected else "dim" if entry.enabled else "disabled"
        place = own.rect.adjusted(_PAD, 0, -_PAD, 0)
        painter.save()
        icon.paint(painter, QRect(place.left(), place.center().y() - 7, 16, 16))
        place.setLeft(place.left() + 16 + SPACE)
        place.setRight(place.right() - self._words(painter, place, keys_words(entry.keys), aside, place.width()))
        room = min(place.width(), own.fontMetrics.horizontalAdvance(entry.title) + 2)
        words = own.fontMetrics.elidedText(entry.title, Qt.TextElideMode.ElideMiddle, place.width())
        painter.setPen(self._theme.color(title))
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        self._words(painter, place, entry.detail, aside, place.width() - room - 2 * SPACE)
        painter.restore()

    def _words(self, painter: QPainter, place: QRect, words: str, color: str, room: int) -> int:
        """At the right end; the answer is how much of the row they take."""
        if not words or room <= 3 * SPACE:
            return 0
        metrics = painter.fontMetrics()
        words = metrics.elidedText(words, Qt.TextElideMode.ElideRight, room)
        painter.setPen(self._theme.color(color))
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words)
        return metrics.horizontalAdvance(words) + 2 * SPACE


class CommandPalette(QWidget):
    """Covers the window, so that a click beside it closes it."""

    def __init__(self, finder: Finder, recent: Recent, theme: Theme, window: QWidget, look_up: LookUp) -> None:
        """`look_up` finds what is too much to be offered before anybody types."""
        super().__init__(window)
        self._look_up = look_up
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._look)
        self._finder = finder
        self._recent = recent
        self._before = QApplication.focusWidget()
        self._frame = QFrame(self)
        set_role(self._frame, "palette")
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(say("Commands, runs, buckets, settings"))
        self.typed.setAccessibleName(say("Search for commands, runs, buckets and settings"))
        set_role(self.typed, "palette")
        self.list = QListView()
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName(say("Matches"))
        self.list.setItemDelegate(_Row(theme, self.list))
        set_role(self.list, "palette")
        self.nothing = ElidedLabel("", "dim")  # anything may have been pasted
        self.nothing.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, 2 * SPACE)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._found = _Found(theme, self)
        self.list.setModel(self._found)
        parts = (self.typed, (self.nothing, 1), (self.list, 1))
        self._column = column_of(*parts, inside=self._frame, margins=1, spacing=0)
        self.setFocusProxy(self.typed)
        self.typed.installEventFilter(self)
        window.installEventFilter(self)
        StayAbove(self)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._keep_keys)
        self.typed.textChanged.connect(self._filter)
        self.typed.textChanged.connect(lambda _: self._pause.start())
        self.list.clicked.connect(self._act)
        self._filter("")

    def open(self) -> None:
        self.show()  # only then its parts have their sizes
        self._place()
        self.raise_()
        self.window().activateWindow()  # a floating panel may have been in use
        self.typed.setFocus(Qt.FocusReason.PopupFocusReason)

    def leave(self) -> None:
        """The focus goes back to where it was."""
        if not self.isVisible():
            return
        self.hide()
        self.deleteLater()
        if self._before is not None and isValid(self._before) and self._before.isVisible():
            self._before.activateWindow()  # a dialog beside the window may have lent its room
            self._before.setFocus(Qt.FocusReason.OtherFocusReason)

    # asked by Qt

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self.typed:
            if event.type() == QEvent.Type.Resize:
                self._place()
        elif event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # no command takes a key from it
            return True
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._on_key(event)
        return super().eventFilter(watched, event)

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Tab stays in it."""
        down, none = Qt.Key.Key_Down if is_next else Qt.Key.Key_Up, Qt.KeyboardModifier.NoModifier
        self.list.keyPressEvent(QKeyEvent(QEvent.Type.KeyPress, down, none))
        return True

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.leave()

    # inside

    def _place(self) -> None:
        window = self.window()
        self.setGeometry(window.rect())
        room = _room_in(window)
        self._frame.setGeometry(room)
        if self._found.entries:
            self._column.activate()
            room.setHeight(room.height() - self.list.viewport().height() % self.list.sizeHintForRow(0))
            self._frame.setGeometry(room)  # no row is cut

    def _keep_keys(self, _: QWidget | None, now: QWidget | None) -> None:
        """What is opened meanwhile by something else gets the keyboard afterwards: what is typed is meant for us."""
        if now is None or now is self.typed or not self.isVisible():
            return
        if now.window() is self.window():
            self._before = now
            self.typed.setFocus(Qt.FocusReason.OtherFocusReason)
        elif not now.window().isModal():  # a floating panel was clicked
            self._before = now
            self.leave()

    def _on_key(self, event: QKeyEvent) -> bool:
        if event.key() in _MOVES:
            self.list.keyPressEvent(event)
            return True
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._act(self.list.currentIndex())  # and no button of a dialog that it lies in
            return True
        is_again = event.key() == Qt.Key.Key_K and event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if is_again or event.key() == Qt.Key.Key_Escape:
            self.leave()
            return True
        return False

    def _filter(self, typed: str) -> None:
        found = self._finder.find(typed)
        self._found.show(found)
        self.list.setVisible(bool(found))
        self.nothing.setVisible(not found)
        self.nothing.setText(nothing_found(typed))
        self._place()
        first = next((row for row, entry in enumerate(found) if entry.enabled), None)
        if first is not None:
            self.list.setCurrentIndex(self._found.index(first))

    def _look(self) -> None:
        words = self.typed.text().strip()
        if words:
            self._look_up(words, partial(self._add, words))

    def _add(self, words: str, entries: Iterable[PaletteEntry]) -> None:
        """What is chosen stays chosen: somebody may be about to press Enter."""
        if not isValid(self) or words != self.typed.text().strip() or not self._finder.add(entries):
            return
        before = self.list.currentIndex().data(_ENTRY)
        self._filter(self.typed.text())
        at = next((row for row, entry in enumerate(self._found.entries) if entry is before), None)
        if at is not None:
            self.list.setCurrentIndex(self._found.index(at))

    def _act(self, index: QModelIndex) -> None:
        if not index.isValid() or not (entry := self._found.entries[index.row()]).enabled:
            return
        self._recent.use(entry.id)
        self.leave()
        # After the focus is back: what is done may ask where it is, or open a dialog that wants it.
        QTimer.singleShot(0, self.window(), partial(_run, entry))


def shows_palette(window: QWidget) -> QWidget:
    """The window; or the dialog beside it that lies, as such dialogs always do, over the place of the palette."""
    room = _room_in(window)
    for spot in (room.center(), room.topLeft(), room.topRight(), room.bottomLeft(), room.bottomRight()):
        above = QApplication.topLevelAt(window.mapToGlobal(spot))
        is_beside = isinstance(above, QDialog) and not above.isModal() and above.parent() is window
        if is_beside and above is not None and _room_in(above).height() >= _LEAST:
            return above
    return window


def _room_in(window: QWidget) -> QRect:
    width = min(_WIDTH, window.width() - 4 * SPACE)
    height = min(_HEIGHT, window.height() - 2 * _TOP)
    return QRect((window.width() - width) // 2, _TOP, width, height)


def _run(entry: PaletteEntry) -> None:
    entry.act()
