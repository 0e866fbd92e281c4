"""A credentials.csv dropped anywhere on the window means: this account."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from traindeck.domain.credentials_file import is_credentials_name


class CredentialsDrop(QObject):
    """Takes what no panel of the window has taken; files of other kinds are left alone."""

    dropped = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent | QDragMoveEvent | QDropEvent):
            path = _credentials_in(event.mimeData())
            if path is not None:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self.dropped.emit(path)
                return True
        return super().eventFilter(watched, event)


def _credentials_in(mime: QMimeData) -> Path | None:
    """One file of the console's kind."""
    files = [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
    if len(files) != 1:
        return None
    is_table = files[0].suffix.lower() == ".csv"
    return files[0] if is_table or is_credentials_name(files[0].name) else None
