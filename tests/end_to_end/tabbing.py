"""Everything the Tab key leads to, in the window and in its dialogs: in the order in which it is seen, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import groupby, pairwise

from hands import Hands, tell
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication, QDialog, QDockWidget, QMainWindow, QPlainTextEdit, QScrollArea, QWidget

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.storage.browser_view import BrowserView

_MOST = 150
_CTRL = Qt.KeyboardModifier.ControlModifier
_DIALOGS = (
    "account.connect", "bucket.new", "object.sync", "object.pack", "dataset.mini", "bucket.settings",
    "object.properties", "help.shortcuts", "help.about", "help.report",
)  # fmt: skip
_OF_SHORT_WALK = 3


async def walk_by_tab(hands: Hands, extent: str) -> None:
    """`extent`: short or whole. Tells of each place which widgets came, and what was wrong on the way."""
    await hands.until(hands.window.isActiveWindow)
    core = hands.program.core
    storage = (await core.connections.open("lab")).storage
    await storage.create_bucket("walked")
    for name in ("a/1.txt", "b.txt", "c.txt"):
        path = ObjectPath("walked", name)
        await core.planes.run("lab", lambda plane, path=path: plane.put(path, BytesBody(b"words\n")))
    hands.program.workspace.storage.open_bucket(ObjectPath("walked"))
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    await hands.until(lambda: view.model.rowCount() == 3)
    await hands.until(lambda: not view.stop.isVisible())
    places: dict[str, dict[str, list[str]]] = {}
    docks = [*hands.window.dock_titles()]
    for panel_id in docks if extent == "whole" else docks[:4]:
        hands.window.show_dock(panel_id)
        await asyncio.sleep(0)  # nobody does two things in one turn of the window
        await hands.until(hands.panel(panel_id).isVisible)
    for front in ("log", "transfers", "events") if extent == "whole" else ("events",):
        hands.window.show_dock(front)
        await hands.until(hands.panel(front).isVisible)
        places[f"window, {front}"] = await _around(hands, view.table)
    for command in _DIALOGS if extent == "whole" else _DIALOGS[:_OF_SHORT_WALK]:
        view.came.emit()
        view.table.setFocus()
        view.table.select(2)
        await hands.until(lambda: view.only() is not None)
        assert hands.window.commands.run(command), f"{command} cannot be asked for"
        places[command] = await _dialog(hands)
    tell("walked", places=places)
    await _editor(hands, view)


async def _dialog(hands: Hands) -> dict[str, list[str]]:
    await hands.until(lambda: hands.dialog() is not None)
    dialog = hands.dialog()
    assert dialog is not None
    await hands.until(lambda: dialog.isActiveWindow() and dialog.focusWidget() is not None)
    found = await _around(hands, dialog.focusWidget() or dialog)
    dialog.reject()
    await hands.until(lambda: hands.dialog() is None)
    return found


async def _editor(hands: Hands, view: BrowserView) -> None:
    """A text that takes the Tab key says how to leave it."""
    view.table.setFocus()
    view.table.select(2)
    await hands.until(lambda: hands.window.commands.get("object.edit").enabled())
    hands.window.commands.run("object.edit")
    await hands.until(lambda: hands.dialog() is not None)
    dialog = hands.dialog()
    assert isinstance(dialog, QDialog)
    [text] = dialog.findChildren(QPlainTextEdit)
    await hands.until(lambda: text.isEnabled() and not text.isReadOnly())
    text.setFocus()
    await hands.until(text.hasFocus)
    await hands.press(Qt.Key.Key_Tab)
    stays = text.hasFocus() and "\t" in text.toPlainText()
    await hands.press(Qt.Key.Key_Tab, _CTRL)
    left = not text.hasFocus()
    await hands.press(Qt.Key.Key_Backtab)
    tell("editor", stays=stays, left=left, back=text.hasFocus(), words=hands.texts(dialog))
    text.document().setModified(False)
    dialog.reject()
    await hands.until(lambda: hands.dialog() is None)


async def _around(hands: Hands, start: QWidget) -> dict[str, list[str]]:
    """Walk around, and again if something came or went meanwhile: a dialog may still read what it shows."""
    window = start.window()
    while True:
        before = _stops(window)
        found = await _once_around(hands, start)
        if _stops(window) == before:
            return found


def _stops(window: QWidget) -> list[tuple[QWidget, QRect]]:
    """The widgets that take the Tab key, with their places."""
    policies = ((one, one.focusPolicy()) for one in window.findChildren(QWidget) if one.isVisible() and one.isEnabled())
    return [(one, _place(one, window)) for one, policy in policies if policy & Qt.FocusPolicy.TabFocus]


async def _once_around(hands: Hands, start: QWidget) -> dict[str, list[str]]:
    """All that came from here on, and what was wrong."""
    start.setFocus(Qt.FocusReason.TabFocusReason)
    await hands.until(lambda: QApplication.focusWidget() is not None)
    forwards, faults = await _cycle(hands, lambda: hands.press(Qt.Key.Key_Tab))
    back, more = await _cycle(hands, lambda: hands.press(Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier))
    faults += more
    if not faults and [forwards[0], *reversed(forwards[1:])] != back:
        faults.append(f"back it is another way: {[*map(_said, back)]}")
    faults += _disorder(forwards)
    return {"stops": [_said(one) for one in forwards], "faults": faults}


async def _cycle(hands: Hands, press: Callable[[], Awaitable[None]]) -> tuple[list[QWidget], list[str]]:
    """Each widget that gets the keyboard, once around."""
    first = QApplication.focusWidget()
    assert first is not None
    came, faults = [first], list[str]()
    while True:
        before = came[-1]
        await press()
        now = QApplication.focusWidget()
        if now is first:
            return came, faults
        if now is None or now is before or now in came or len(came) > _MOST:
            return came, [*faults, f"caught at {_said(before)}, then {_said(now)} after {len(came)}"]
        if not now.isVisible() or _in_sight(now).isEmpty():
            faults.append(f"nobody sees {_said(now)}")
        came.append(now)


def _in_sight(widget: QWidget) -> QRect:
    """What its parents do not cut off of it; what is in it may cover all of it."""
    seen, place = widget.rect(), widget
    while not place.isWindow():
        seen = seen.translated(place.pos())
        parent = place.parentWidget()
        if parent is None:
            break
        seen, place = seen.intersected(parent.rect()), parent
    return seen


def _disorder(came: list[QWidget]) -> list[str]:
    """Within a panel it goes from left to right and from above to below."""
    faults = []
    window = came[0].window()
    at = min(range(len(came)), key=lambda number: _place(came[number], window).topLeft().toTuple()[::-1])
    for panel, group in groupby([*came[at:], *came[:at]], _panel):
        for one, two in pairwise(group):
            if _goes_back(_place(one, panel), _place(two, panel)):
                faults.append(f"{_said(two)} comes after {_said(one)}")
    at = next((number for number, (one, two) in enumerate(pairwise(came), 1) if _dock(one) is not _dock(two)), 0)
    panels = [panel for panel, _ in groupby([*came[at:], *came[:at]], _dock)]
    if len(set(map(id, panels))) != len(panels):
        faults.append(f"back and forth between {[panel.objectName() or type(panel).__name__ for panel in panels]}")
    return faults


def _panel(widget: QWidget) -> QWidget:
    """The dock, the page, or the bar it is in; in a dialog its page."""
    above = widget
    while (parent := above.parentWidget()) is not None and not above.isWindow():
        if isinstance(above, QDockWidget) or isinstance(parent, QMainWindow) or isinstance(above, QScrollArea):
            return above
        above = parent
    return above


def _dock(widget: QWidget) -> QWidget:
    """The dock, the pages or the bar it is in."""
    above = widget
    while (parent := above.parentWidget()) is not None and not isinstance(parent, QMainWindow) and not above.isWindow():
        above = parent
    return above


def _place(widget: QWidget, panel: QWidget) -> QRect:
    return QRect(widget.mapTo(panel, QPoint()) if panel.isAncestorOf(widget) else QPoint(), widget.size())


def _goes_back(one: QRect, two: QRect) -> bool:
    is_beside = min(one.bottom(), two.bottom()) - max(one.top(), two.top()) > min(one.height(), two.height()) // 2
    if is_beside:
        return two.right() <= one.left()
    shares_columns = min(one.right(), two.right()) > max(one.left(), two.left())
    return two.bottom() <= one.top() and shares_columns


def _said(widget: QWidget | None) -> str:
    if widget is None:
        return "nothing"
    return f"{type(widget).__name__} “{widget.accessibleName() or widget.toolTip() or getattr(widget, 'text', str)()}”"
