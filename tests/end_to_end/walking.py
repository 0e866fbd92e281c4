"""What a person seldom asks for, each by real keys and clicks, and what it did."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from hands import Hands, tell
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.kit.dialogs import Question
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.ui.storage.browser_view import BrowserView

_CTRL = Qt.KeyboardModifier.ControlModifier


async def walk_seldom(hands: Hands) -> None:
    """All in one window: its start takes longer than most of what is done in it."""
    await hands.until(hands.window.isActiveWindow)
    await _ask_everything(hands)
    await _walk_through_buckets(hands)


async def _walk_through_buckets(hands: Hands) -> None:
    """Objects are moved and copied by name, deleted ones come back, a bucket is emptied and another deleted."""
    core = hands.program.core
    connection = await core.connections.open("lab")
    for bucket in ("walked", "full", "gone"):
        await connection.storage.create_bucket(bucket)
    await connection.settings.set_versioning("walked", enabled=True)
    for place in ("walked/a.txt", "walked/b.txt", "walked/c.txt", "walked/sub/d.txt", "full/x/1", "full/2", "gone/3"):
        bucket, _, key = place.partition("/")
        path = ObjectPath(bucket, key)
        await core.planes.run("lab", lambda plane, path=path: plane.put(path, BytesBody(b"words")))
    buckets = hands.panel("buckets")
    hands.program.models.storage.buckets.refresh(None)
    await hands.until(lambda: buckets.model.row_named("obs://walked/").isValid())
    await _open(hands, "walked")
    view = _front(hands)
    await hands.until(lambda: view.model.rowCount() == 4)

    await hands.choose_at(view.table, _row(view, "a.txt"), 0, "Move to…")
    await _answer(hands, "Move “a.txt”", "obs://walked/sub/")
    await hands.until(lambda: "a.txt" not in _names(view))
    await hands.choose_at(view.table, _row(view, "b.txt"), 0, "Copy to…")
    await _answer(hands, "Copy “b.txt”", "obs://full")
    await _until_stored(hands, "full", {"x/1", "2", "b.txt"})
    tell("moved", walked=await _stored(hands, "walked"), full=await _stored(hands, "full"))

    await hands.choose_cell(view.table, _row(view, "c.txt"), 0)
    await hands.press(Qt.Key.Key_Delete)
    await hands.until(lambda: "c.txt" not in _names(view))
    await hands.choose_at(buckets.rows, _bucket(hands, "walked"), 0, "Show deleted objects…")
    dialog = await hands.dialog_saying("2 deleted objects")
    tell("deleted", words=hands.texts(dialog))
    await hands.click(hands.button("Undelete all", dialog))
    await _until_stored(hands, "walked", {"a.txt", "b.txt", "c.txt", "sub/a.txt", "sub/d.txt"})
    await _in_front(hands)
    await hands.until(lambda: {"a.txt", "c.txt"} <= set(_names(view)))

    await hands.choose_cell(buckets.rows, _bucket(hands, "full"), 0)
    await hands.choose("Storage", "Bucket", "Empty bucket…")
    tell("question", words=await _confirm(hands, "Delete"))
    await _until_stored(hands, "full", set())
    await hands.choose_cell(buckets.rows, _bucket(hands, "gone"), 0)
    await hands.choose("Storage", "Bucket", "Delete bucket…")
    tell("question", words=await _confirm(hands, "Empty and delete", "gone"))
    await hands.until(lambda: not buckets.model.row_named("obs://gone/").isValid())
    tell("removed", buckets=sorted(bucket.name for bucket in await connection.storage.buckets()))


async def _ask_everything(hands: Hands) -> None:
    """Each command that ends in three dots, where it can be done: it opens a dialog, a menu or a page."""
    core, models = hands.program.core, hands.program.models
    await (await core.connections.open("lab")).storage.create_bucket("asked")
    for key in ("file.txt", "folder/inside.txt"):
        path = ObjectPath("asked", key)
        await core.planes.run("lab", lambda plane, path=path: plane.put(path, BytesBody(b"words")))
    models.jobs.sample_run.start()
    await hands.until(lambda: models.jobs.runs.state.runs and models.jobs.runs.state.runs[0].state.is_over)
    buckets = hands.panel("buckets")
    hands.program.models.storage.buckets.refresh(None)
    await hands.until(lambda: buckets.model.row_named("obs://asked/").isValid())

    async def row_of_tab(name: str) -> None:
        hands.program.workspace.storage.open_bucket(ObjectPath("asked"))
        await hands.until(lambda: name in _names(_front(hands)))
        await hands.choose_cell(_front(hands).table, _row(_front(hands), name), 0)

    async def run() -> None:
        await hands.choose_cell(hands.panel("runs").rows, 0, 0)

    async def log() -> None:
        hands.window.show_dock("log")
        await hands.until(lambda: models.jobs.log.state.is_read and hands.panel("log").pane.isVisible())
        hands.panel("log").pane.setFocus()

    async def bucket() -> None:
        await hands.choose_cell(buckets.rows, _bucket(hands, "asked"), 0)

    opened: dict[str, str] = {}
    for way in (run, log, bucket, partial(row_of_tab, "file.txt"), partial(row_of_tab, "folder")):
        await way()
        for command in hands.window.commands.all():
            if command.plain_title.endswith("…") and command.id not in opened and command.enabled():
                opened[command.id] = await _opens(hands, command.id)
                tell("opened", id=command.id, shown=opened[command.id])
                await way()
    dots = {one.id for one in hands.window.commands.all() if one.plain_title.endswith("…")}
    tell("all opened", never=sorted(dots - set(opened)))


async def _opens(hands: Hands, command_id: str) -> str:
    """What is there after the command was chosen in its menu; it is closed again."""
    window = hands.window
    before, front, focused = window.open_tabs(), window.current_tab(), hands.focused()
    action = window.menus.actions[command_id]
    QTimer.singleShot(0, action.trigger)

    def seen() -> str:
        if (dialog := hands.dialog()) is not None:
            return type(dialog).__name__
        if isinstance(QApplication.activePopupWidget(), QMenu):
            return "menu"
        if hands.visible(CommandPalette):
            return "palette"
        if isinstance(hands.focused(), QLineEdit) and hands.focused() is not focused:
            return "field"
        return "page" if (window.open_tabs(), window.current_tab()) != (before, front) else ""

    with suppress(AssertionError):
        await hands.until(seen, 60.0)
    what = seen()
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
        await asyncio.sleep(0)
    while (dialog := hands.dialog()) is not None:
        dialog.reject()
        await asyncio.sleep(0)
    if hands.visible(CommandPalette):
        await hands.press(Qt.Key.Key_Escape)
        await hands.until(lambda: not hands.visible(CommandPalette))
    for key in window.open_tabs():
        if key not in before:
            window.close_tab(key)
    await _in_front(hands)
    return what


async def _open(hands: Hands, bucket: str) -> None:
    buckets = hands.panel("buckets")
    await hands.choose_cell(buckets.rows, _bucket(hands, bucket), 0, double=True)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
    await hands.until(lambda: _front(hands).place == ObjectPath(bucket))


async def _answer(hands: Hands, title: str, words: str) -> None:
    """Type it into the dialog that asks, and press Return."""
    await hands.dialog_saying(title)
    await hands.until(lambda: isinstance(hands.focused(), QLineEdit) and hands.focused().window() is hands.dialog())
    await hands.press(Qt.Key.Key_A, _CTRL)
    await hands.type(words)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: hands.dialog() is None)
    await _in_front(hands)


async def _confirm(hands: Hands, button: str, typed: str = "") -> str:
    """Press this button of the question, with what it wants typed; the answer is the question."""
    await hands.until(lambda: isinstance(hands.dialog(), Question))
    question = hands.dialog()
    assert isinstance(question, Question)
    words: str = hands.texts(question)
    if typed:
        await hands.fill(question.typed, typed)
    await hands.click(hands.button(button, question))
    await hands.until(lambda: hands.dialog() is None)
    await _in_front(hands)
    return words


async def _in_front(hands: Hands) -> None:
    """As a window manager does it when a dialog closes."""
    await hands.until(lambda: hands.window.isActiveWindow() or hands.window.activateWindow())


def _bucket(hands: Hands, bucket: str) -> int:
    row: int = hands.panel("buckets").model.row_named(f"obs://{bucket}/").row()
    return row


def _front(hands: Hands) -> BrowserView:
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    return view


def _names(view: BrowserView) -> list[str]:
    return [str(view.model.index(row, 0).data()) for row in range(view.model.rowCount())]


def _row(view: BrowserView, name: str) -> int:
    return _names(view).index(name)


async def _stored(hands: Hands, bucket: str) -> list[str]:
    storage = (await hands.program.core.connections.open("lab")).storage
    page = await storage.page(bucket)
    return sorted(str(row.key) for row in page.rows)


async def _until_stored(hands: Hands, bucket: str, keys: set[str]) -> None:
    while set(await _stored(hands, bucket)) != keys:
        await asyncio.sleep(0.02)
