"""Where somebody was in a list: known by the row at the top, so that it is found again whatever came or went."""

from __future__ import annotations

from typing import Any, Protocol

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QTimer,
    Signal,
)
from PySide6.QtWidgets import QAbstractItemView


class NamesRows(Protocol):
    """A model whose rows have names that outlive the program."""

    def row_name(self, index: QModelIndex | QPersistentModelIndex) -> str: ...

    def row_named(self, name: str) -> QModelIndex: ...


class KeptPlace(QObject):
    """A list, or a log: tells where it is, and is told where it was."""

    moved = Signal(object)
    """Somebody is elsewhere now: what JSON can hold; None: at the beginning, where new rows come."""

    def __init__(self, name: str, parent: QObject) -> None:
        """It is kept under this name."""
        super().__init__(parent)
        self.name = name

    def take_up(self, kept: Any) -> None:
        """As it was left; what the file says may be anything."""
        raise NotImplementedError


class KeptRows(KeptPlace):
    """The place in a list of rows; they may come late, and are looked for until somebody moves."""

    def __init__(self, name: str, view: QAbstractItemView, model: NamesRows) -> None:
        super().__init__(name, view)
        self._view = view
        self._names = model
        self._wanted = ""
        self._is_near = False
        self._bar = view.verticalScrollBar()
        self._bar.valueChanged.connect(self._on_moved)
        self._bar.actionTriggered.connect(self._give_up)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._find)
        view.installEventFilter(self)
        view.selectionModel().currentChanged.connect(self._on_current)
        told = view.model()
        assert isinstance(told, QAbstractItemModel)
        for signal in (told.rowsInserted, told.modelReset, self._bar.rangeChanged):
            signal.connect(self._look)

    def take_up(self, kept: Any) -> None:
        self._wanted = kept if isinstance(kept, str) else ""
        self._look()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress:
            self._give_up()
        return super().eventFilter(watched, event)

    def _give_up(self, *_: object) -> None:
        """Somebody moves: where the list was before does not matter any longer."""
        self._wanted = ""

    def _on_current(self) -> None:
        """What was selected meanwhile stays in sight."""
        if self._is_near:
            self._give_up()

    def _is_looking(self) -> bool:
        return bool(self._wanted)

    def _look(self, *_: object) -> None:
        if self._is_looking():
            self._later.start()

    def _find(self) -> None:
        index = self._names.row_named(self._wanted) if self._wanted else QModelIndex()
        if index.isValid() and self._bar.maximum() > self._bar.minimum():
            self._view.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtTop)
            # As long as too few rows stand below it, it cannot be at the top: the others may still come.
            self._is_near = self._view.visualRect(index).top() > 0
            if not self._is_near:
                self._wanted = ""

    def _on_moved(self) -> None:
        # While rows come and go, or nobody sees them, nobody scrolls.
        if not self._is_looking() and self._view.isVisible():
            self._tell(self._top())

    def _top(self) -> str:
        """The name of the row there; empty: the first, above which new ones come."""
        index = self._view.indexAt(QPoint(1, 1))
        is_first = self._bar.value() == self._bar.minimum() or not index.isValid()
        return self._wanted or ("" if is_first else self._names.row_name(index))

    def _tell(self, top: str) -> None:
        self.moved.emit(top or None)
