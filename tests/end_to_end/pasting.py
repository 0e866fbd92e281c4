"""A file pasted into a bucket over a slow line: what is seen of it, and when."""

from __future__ import annotations

import time
from pathlib import Path

from hands import Hands, tell
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QGuiApplication

from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.storage.browser_view import BrowserView

_BUCKET = ObjectPath("pasted")


async def paste_and_watch(hands: Hands, file: str, bytes_per_s: str) -> None:
    """From the press of the keys to the first bytes that are told in the list of transfers."""
    await hands.until(hands.window.isActiveWindow)
    storage = (await hands.program.core.connections.open("lab")).storage
    await storage.create_bucket(_BUCKET.bucket)
    hands.program.models.transfers.list.limit_rate(int(bytes_per_s))
    await hands.press(Qt.Key.Key_4, Qt.KeyboardModifier.ControlModifier)
    panel = hands.panel("transfers")
    hands.program.workspace.storage.open_bucket(_BUCKET)
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    await hands.until(lambda: view.browser.rows.shown.below and hands.window.tabs.isAncestorOf(hands.focused()))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(Path(file)))])
    QGuiApplication.clipboard().setMimeData(data)
    begun = time.monotonic()
    await hands.press(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    model = panel.model
    await hands.until(lambda: model.rowCount() == 1)
    listed = time.monotonic() - begun
    await hands.until(lambda: model.row(0).transfer.done_bytes > 0)
    row = model.row(0)
    words = [str(model.index(0, column).data()) for column in (model.PROGRESS, model.SIZE)]
    tell("bytes", listed_s=listed, shown_s=time.monotonic() - begun, done=row.transfer.done_bytes, words=words)
