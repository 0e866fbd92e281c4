"""Type a few letters of what you want, press Enter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.tables import Index
from traindeck.ui.kit.theme import Theme, set_role
from traindeck.viewmodels.shell.commands import Command, Commands, matching

_MOVES = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}
_SHORTCUT = Qt.ItemDataRole.UserRole


class _Found(QAbstractListModel):
    """The commands that match what was typed."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.commands: list[Command] = []

    def show(self, commands: list[Command]) -> None:
        self.beginResetModel()
        self.commands = commands
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self.commands)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> str | None:
        command = self.commands[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return command.plain_title
        if role == _SHORTCUT:
            return keys_words(command.shortcut)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not self.commands[index.row()].enabled():
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class _WithShortcut(QStyledItemDelegate):
    """The title on the left, its shortcut on the right."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        can_be_done = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        painter.save()
        painter.setPen(self._theme.color("on_selection" if is_selected else "dim" if can_be_done else "disabled"))
        place = option.rect.adjusted(8, 0, -10, 0)
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(index.data(_SHORTCUT)))
        painter.restore()


class CommandPalette(QDialog):
    """Every command, filtered while typing."""

    def __init__(self, commands: Sequence[Commands], theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._commands = commands
        self._owners = {command.id: source for source in commands for command in source.all()}
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Commands"))
        set_role(self, "palette")
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(say("What do you want to do?"))
        self.typed.setAccessibleName(say("Filter commands"))
        set_role(self.typed, "palette")
        self.list = QListView()
        self.list.setUniformItemSizes(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName(say("Commands"))
        self.list.setItemDelegate(_WithShortcut(theme, self.list))
        set_role(self.list, "palette")
        self._found = _Found(self)
        self.list.setModel(self._found)
        column_of(self.typed, self.list, inside=self, margins=1, spacing=0)
        self.setFocusProxy(self.typed)
        self.typed.installEventFilter(self)
        self.typed.textChanged.connect(self._filter)
        self.typed.returnPressed.connect(lambda: self._run(self.list.currentIndex()))
        self.list.clicked.connect(self._run)
        self._filter("")
        self.resize(min(560, parent.width() - 40), min(400, parent.height() - 80))
        self.move(parent.mapToGlobal(QPoint((parent.width() - self.width()) // 2, 64)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() in _MOVES:
            self.list.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)

    def _filter(self, typed: str) -> None:
        self._found.show(matching((command for source in self._commands for command in source.all()), typed))
        first = next((row for row, command in enumerate(self._found.commands) if command.enabled()), None)
        if first is not None:
            self.list.setCurrentIndex(self._found.index(first))

    def _run(self, index: QModelIndex) -> None:
        if not index.isValid() or not (command := self._found.commands[index.row()]).enabled():
            return
        self.close()
        # After the palette is gone: the command may open a dialog, which wants the focus.
        owner = self._owners[command.id]
        QTimer.singleShot(0, owner, partial(owner.run, command.id))
