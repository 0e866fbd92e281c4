"""Looking into objects by hand: the panel that follows the list, and the editor."""

from __future__ import annotations

from hands import Hands, tell
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.previews.preview_view import PreviewView
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_drag import carried_in
from traindeck.ui.storage.text_editor_dialog import TextEditorDialog

BUCKET = ObjectPath("looked-at")
FILES = {"a.csv": b"name,size\nx,1\n", "notes.txt": "第一行\r\n".encode()}


async def look_and_edit(hands: Hands) -> None:
    """The space bar shows what is chosen, a text is edited in place, and the keyboard stays in the list."""
    workspace, core = hands.program.workspace, hands.program.core
    await hands.until(hands.window.isActiveWindow)
    await (await core.connections.open("lab")).storage.create_bucket(BUCKET.bucket)
    for name, content in FILES.items():
        await core.planes.run("lab", lambda plane, name=name, content=content: plane.put(
            BUCKET.join(name), BytesBody(content)
        ))  # fmt: skip
    workspace.storage.open_bucket(BUCKET)
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    await hands.until(lambda: view.model.rowCount() == 2)
    tell("before", shown=bool(view.findChildren(PreviewView)))
    await hands.choose_cell(view.table, 0, 0)
    await hands.press(Qt.Key.Key_Space)
    await hands.until(lambda: view.findChildren(PreviewView))
    [panel] = view.findChildren(PreviewView)
    await hands.until(lambda: panel.cells.isVisible() and panel.cells.cells.rowCount() == 1)
    tell("table", about=panel.about.text(), has_keys=view.table.hasFocus())
    await hands.press(Qt.Key.Key_Down)
    await hands.until(lambda: panel.text.isVisible())
    tell("text", words=panel.text.toPlainText())
    await hands.click(panel.edit)
    dialog = await hands.opened(TextEditorDialog)
    assert isinstance(dialog, TextEditorDialog)
    await hands.until(lambda: not dialog.text.isReadOnly() and dialog.text.hasFocus())
    await hands.type("new ")
    await hands.press(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    await hands.until(lambda: not dialog.text.document().isModified())
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: panel.text.toPlainText().startswith("new "))
    pieces: list[bytes] = []
    await core.planes.run("lab", lambda plane: plane.get(BUCKET.join("notes.txt"), pieces.append))
    tell("stored", words=b"".join(pieces).decode())
    hands.window.activateWindow()
    await hands.until(hands.window.isActiveWindow)  # the editor was
    await hands.choose_cell(view.table, 1, 0)
    await hands.press(Qt.Key.Key_Space)
    await hands.until(lambda: not panel.isVisible())
    await core.planes.run("lab", lambda plane: plane.put(BUCKET.join("late.txt"), BytesBody(b"late")))
    await hands.press(Qt.Key.Key_5, Qt.KeyboardModifier.ControlModifier)  # events know nothing to read anew
    await hands.press(Qt.Key.Key_F5)
    await hands.until(lambda: view.model.rowCount() == 3)
    await hands.choose_cell(view.table, 0, 0)
    await hands.press(Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    await hands.until(lambda: carried_in(QGuiApplication.clipboard().mimeData()) is not None)
