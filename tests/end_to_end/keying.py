"""Tab and the arrows pressed hundreds of times in the whole window: what nobody sees has no keys and no other value."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import cycle

from hands import Hands, tell
from outside import outside_of_tasks
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)
from shiboken6 import isValid

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.storage.browser_view import BrowserView

_KEYS = ((Qt.Key.Key_Tab, Qt.Key.Key_Down), (Qt.Key.Key_Tab, Qt.Key.Key_Up), (Qt.Key.Key_Right, Qt.Key.Key_Left))
_TRAINING_S = 100.0

Values = dict[QWidget, tuple[object, ...]]


async def press_keys_everywhere(hands: Hands, arrangement: str, part: str, times: str) -> None:
    """From every widget in sight on, with a run, a bucket and a filled form behind tabs.

    `part`: of how many, as “0/3”; each takes some of the widgets.
    """
    await _fill(hands)
    arrange = _ARRANGEMENTS[arrangement]
    await arrange(hands)
    first, parts = map(int, part.split("/"))
    pressed, faults, starts = 0, list[str](), 0
    for start in _starts(hands.window)[first::parts]:
        if not (isValid(start) and start.isVisible()):
            await arrange(hands)
        if not faults and isValid(start) and start.isVisible() and start.isEnabled():
            starts += 1
            came = await _press(hands, start, int(times))
            pressed += came[0]
            faults += came[1]
    tell("pressed", pressed=pressed, starts=starts, faults=faults[:5], hidden=len(_hidden(_inputs(hands))))


async def _fill(hands: Hands) -> None:
    """A run that is over, a bucket with objects, a form with values; each panel has been seen once."""
    await hands.until(hands.window.isActiveWindow)
    program, core = hands.program, hands.program.core
    program.models.jobs.sample_run.start()
    runs = program.models.jobs.runs
    await hands.until(lambda: runs.state.runs and runs.state.runs[0].state.is_over, _TRAINING_S)
    storage = (await core.connections.open("lab")).storage
    await storage.create_bucket("pressed")
    for name in ("a/1.txt", "b.txt", "c.txt"):
        path = ObjectPath("pressed", name)
        await core.planes.run("lab", lambda plane, path=path: plane.put(path, BytesBody(b"words\n")))
    for panel_id in hands.window.dock_titles():
        hands.window.show_dock(panel_id)
        await asyncio.sleep(0)  # nobody does two things in one turn of the window
        await hands.until(hands.panel(panel_id).isVisible)
    form = hands.panel("job")
    await hands.until(lambda: form.page.version.count() > 0 and form.page.boot.count() > 0)
    for command in ("account.lab", "help.welcome"):
        hands.window.commands.run(command)
        await asyncio.sleep(0)
    program.workspace.storage.open_bucket(ObjectPath("pressed"))
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))


async def _as_it_was(hands: Hands) -> None:
    """All docks; the log before its neighbours, the bucket before the other pages."""
    for panel_id in ("runs", "buckets", "job", "log"):
        hands.window.show_dock(panel_id)
        await asyncio.sleep(0)  # the window answers between two
    await _bucket_in_front(hands)


async def _without_some(hands: Hands) -> None:
    """The form and two more are closed."""
    for panel_id in ("runs", "job", "log"):
        if hands.window.is_dock_shown(panel_id):
            hands.window.toggle_dock(panel_id)
            await asyncio.sleep(0)
    await _bucket_in_front(hands)


async def _form_behind(hands: Hands) -> None:
    """The form shares its place with the buckets, which stand before it."""
    docks = [hands.window.findChild(QDockWidget, f"dock.{name}") for name in ("buckets", "job")]
    hands.window.show_dock("job")
    await asyncio.sleep(0)
    hands.window.tabifyDockWidget(*docks)
    for panel_id in ("runs", "log", "buckets"):
        hands.window.show_dock(panel_id)
        await asyncio.sleep(0)
    await hands.until(lambda: not hands.panel("job").isVisible())
    await _bucket_in_front(hands)


async def _bucket_in_front(hands: Hands) -> None:
    hands.program.workspace.storage.open_bucket(ObjectPath("pressed"))
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    browser = view.browser
    await hands.until(lambda: view.model.rowCount() == 3 and browser.rows.shown.below is not None)
    await hands.until(lambda: not browser.state.is_reading and browser.state.swept is None)


_ARRANGEMENTS = {"all docks": _as_it_was, "some docks": _without_some, "form behind": _form_behind}


async def _press(hands: Hands, start: QWidget, times: int) -> tuple[int, list[str]]:
    """Two keys at a time; the window has its other work in between."""
    start.setFocus(Qt.FocusReason.TabFocusReason)
    inputs, pressed, faults = _inputs(hands), 0, list[str]()

    def press(keys: Iterable[Qt.Key]) -> None:
        nonlocal pressed
        for key in keys:
            before, at = _hidden(inputs), _said(QApplication.focusWidget())
            handle = (QApplication.activePopupWidget() or QApplication.activeWindow() or hands.window).windowHandle()
            QTest.keyClick(handle, key)
            pressed += 1
            faults.extend(f"from {_said(start)}, {key.name} at {at}: {fault}" for fault in _wrong(before))
            if (popup := QApplication.activePopupWidget()) is not None:
                popup.close()

    for keys in cycle(_KEYS):
        if pressed >= times or faults:
            break
        await outside_of_tasks(partial(press, keys))
    return pressed, faults


def _wrong(before: Values) -> Iterator[str]:
    focused = QApplication.focusWidget()
    if focused is not None and not focused.isVisible():
        yield f"{_said(focused)} has the keys, and nobody sees it"
    for widget, value in before.items():
        if isValid(widget) and not widget.isVisible() and _value(widget) != value:
            yield f"{_said(widget)} was {value} and is {_value(widget)}"


def _inputs(hands: Hands) -> list[tuple[QWidget, list[QWidget]]]:
    """What can be changed, of each panel and page."""
    window = hands.window
    panels = [window.panel(panel_id) for panel_id in window.dock_titles()]
    panels += [page for number in range(window.tabs.count()) if (page := window.tabs.widget(number)) is not None]
    return [(panel, [widget for widget in (panel, *panel.findChildren(QWidget)) if _value(widget)]) for panel in panels]


def _hidden(inputs: Iterable[tuple[QWidget, list[QWidget]]]) -> Values:
    """The values in panels and on pages that are not in sight."""
    unseen = (widgets for panel, widgets in inputs if isValid(panel) and not panel.isVisible())
    return {widget: _value(widget) for widgets in unseen for widget in widgets if isValid(widget)}


def _value(widget: QWidget) -> tuple[object, ...]:
    match widget:
        case QComboBox():
            return widget.currentIndex(), widget.currentText()
        case QAbstractSpinBox() | QLineEdit():
            return (widget.property("text"), widget.property("value"))
        case QPlainTextEdit() if not widget.isReadOnly():
            return (widget.toPlainText(),)
        case QAbstractButton() if widget.isCheckable():
            return (widget.isChecked(),)
        case QAbstractItemView():
            chosen = widget.selectionModel().selectedIndexes() if widget.selectionModel() else []
            return "rows", *sorted({index.row() for index in chosen})
        case QTabBar():
            return (widget.currentIndex(),)
    return ()


def _starts(window: QWidget) -> list[QWidget]:
    seen = [widget for widget in window.findChildren(QWidget) if widget.isVisible() and widget.isEnabled()]
    return [widget for widget in seen if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.window() is window]


def _said(widget: QWidget | None) -> str:
    if widget is None:
        return "nothing"
    return f"{type(widget).__name__} “{widget.accessibleName() or widget.toolTip() or widget.objectName()}”"
