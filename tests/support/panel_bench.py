"""What the tests of the panels share: a theme, a user who answers, and drops without a mouse."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget

from support.waiting import until
from traindeck.domain.errors import AppError
from traindeck.domain.texts import Text
from traindeck.domain.transfers.records import Item, ItemState
from traindeck.runtime.resources import resource
from traindeck.runtime.tasks import Listeners, TaskScope
from traindeck.services.transfers import Transfer, Transfers
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_table import NAME, ObjectTable
from traindeck.viewmodels.ports import Way
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.places import ChangedPlaces


@contextmanager
def light_theme(application: QObject) -> Iterator[Theme]:
    assert isinstance(application, QApplication)
    theme = Theme(application, resource("icons"), "light")
    try:
        yield theme
    finally:
        theme.close()


@contextmanager
def following(tree: BucketTree, transfers: Transfers, scope: TaskScope) -> Iterator[None]:
    """What transfers change is read again, as in a window."""
    changes = ChangedPlaces(transfers, scope)
    changes.touched.connect(lambda _, folder: tree.was_touched(folder))
    changes.arrived.connect(lambda _, folder: tree.arrived.emit(folder))
    try:
        yield
    finally:
        changes.close()


class ShownTransfers:
    """One transfer as the test wants it, with `count` files that are made when they are asked for."""

    def __init__(self, row: Transfer, count: int = 0) -> None:
        self.changed: Listeners[Transfer] = Listeners()
        self.row = row
        self.count = count
        self.asked = 0
        self.trouble: AppError | None = None
        self.wait: asyncio.Event | None = None

    def rows(self) -> list[Transfer]:
        return [self.row]

    async def items(
        self,
        transfer_id: int,
        states: Sequence[ItemState] = (),
        *,
        is_verified: bool | None = None,
        after: str = "",
        most: int = 0,
    ) -> list[Item]:
        self.asked += 1
        if self.wait is not None:
            await self.wait.wait()
        if self.trouble is not None:
            raise self.trouble
        first = int(after) + 1 if after else 0
        names = [f"{number:07}" for number in range(first, min(first + most, self.count))]
        return [Item(name, name, state=states[0]) for name in names]

    def forget(self, transfer_ids: Sequence[int]) -> None:
        raise AssertionError(transfer_ids)

    def _refuse(self, transfer_id: int) -> None:
        raise AssertionError(transfer_id)

    cancel = pause = resume = retry = verify = move_first = _refuse


class User:
    """Answers every question the same way and remembers what was asked."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.facts: list[str] = []
        """What was told with the last question that had several ways out."""
        self.way = ""

    async def __call__(self, question: Text, button: Text) -> bool:
        self.asked.append(f"{question} [{button}]")
        return self.answer

    confirm = __call__

    async def choose(self, question: Text, facts: Sequence[Text], ways: Sequence[Way]) -> str:
        """The first way, unless another was named."""
        self.facts = [str(fact) for fact in facts]
        self.asked.append(f"{question} " + "".join(f"[{way.action}]" for way in ways))
        wanted = self.way or (ways[0].id if ways else "")
        return wanted if self.answer else ""


def drop(widget: QWidget, paths: Sequence[Path], place: QPoint) -> bool:
    """Bring local files from a file manager and let go of them; whether the widget took them."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return let_go(widget, data, place, actions=Qt.DropAction.CopyAction) is not None


def let_go(
    widget: QWidget,
    data: QMimeData,
    place: QPoint,
    keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
    actions: Qt.DropAction = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction,
) -> Qt.DropAction | None:
    """Bring it over the widget and let go of it; what the widget did with it."""
    button = Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(place, actions, data, button, keys)
    QApplication.sendEvent(widget, enter)
    if not enter.isAccepted():
        return None
    move = QDragMoveEvent(place, actions, data, button, keys)
    QApplication.sendEvent(widget, move)
    if not move.isAccepted():
        return None
    drop = QDropEvent(QPointF(place), actions, data, button, keys)
    QApplication.sendEvent(widget, drop)
    assert drop.dropAction() == move.dropAction(), "the mouse showed something else than what was done"
    return drop.dropAction() if drop.isAccepted() else None


class TableBench:
    """A browser's table as its user sees it: by names."""

    view: BrowserView

    @property
    def table(self) -> ObjectTable:
        return self.view.table

    def names(self) -> list[str]:
        model = self.view.model
        return [str(model.index(row, NAME).data()) for row in range(model.rowCount())]

    async def shows(self, *names: str) -> None:
        await until(lambda: self.names() == list(names))

    def selected(self) -> list[str]:
        names = self.names()
        return [names[rank] for first, last in self.table.ranges() for rank in range(first, last + 1)]

    def select(self, *names: str) -> None:
        flags = self.table.selectionModel().SelectionFlag
        self.table.clearSelection()
        for name in names:
            index = self.view.model.index(self.names().index(name), 0)
            self.table.selectionModel().select(index, flags.Select | flags.Rows)
