"""What the tests of the panels share: a theme, a user who answers, and drops without a mouse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget

from traindeck.domain.texts import Text
from traindeck.runtime.resources import resource
from traindeck.ui.theme import Theme


@contextmanager
def light_theme(application: QObject) -> Iterator[Theme]:
    assert isinstance(application, QApplication)
    theme = Theme(application, resource("icons"), "light")
    try:
        yield theme
    finally:
        theme.close()


class User:
    """Answers every question the same way and remembers what was asked."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, question: Text, button: Text) -> bool:
        self.asked.append(f"{question} [{button}]")
        return self.answer


def drop(widget: QWidget, paths: Sequence[Path], place: QPoint) -> bool:
    """Bring local files from a file manager and let go of them; whether the widget took them."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    action, button, no_key = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place, action, data, button, no_key)
    QApplication.sendEvent(widget, enter)
    if not enter.isAccepted():
        return False
    move = QDragMoveEvent(place, action, data, button, no_key)
    QApplication.sendEvent(widget, move)
    if move.type() is QEvent.Type.DragMove and not move.isAccepted():
        return False
    let_go = QDropEvent(QPointF(place), action, data, button, no_key)
    QApplication.sendEvent(widget, let_go)
    return let_go.isAccepted()
