"""What a person seldom asks for, each by real keys and clicks, and what it did."""

from __future__ import annotations

import asyncio

from hands import Hands, tell
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.kit.dialogs import Question
from traindeck.ui.storage.browser_view import BrowserView

_CTRL = Qt.KeyboardModifier.ControlModifier


async def walk_through_buckets(hands: Hands) -> None:
    """Objects are moved and copied by name, deleted ones come back, a bucket is emptied and another deleted."""
    await hands.until(hands.window.isActiveWindow)
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
    buckets.refresh()
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
    tell("asked", words=await _confirm(hands, "Delete"))
    await _until_stored(hands, "full", set())
    await hands.choose_cell(buckets.rows, _bucket(hands, "gone"), 0)
    await hands.choose("Storage", "Bucket", "Delete bucket…")
    tell("asked", words=await _confirm(hands, "Empty and delete", "gone"))
    await hands.until(lambda: not buckets.model.row_named("obs://gone/").isValid())
    tell("removed", buckets=sorted(bucket.name for bucket in await connection.storage.buckets()))


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
    words = hands.texts(question)
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
