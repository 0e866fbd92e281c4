"""What a person does with objects, runs and the window itself, and what is said and seen of it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from hands import Hands, tell
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QDockWidget, QLineEdit, QPlainTextEdit, QWidget
from shiboken6 import isValid

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.kit.dialogs import ErrorReport, NameDialog
from traindeck.ui.shell.bars import StatusBar
from traindeck.ui.shell.toasts import Toast, Toasts
from traindeck.ui.storage.browser_view import BrowserView

_CTRL = Qt.KeyboardModifier.ControlModifier
_CTRL_SHIFT = _CTRL | Qt.KeyboardModifier.ShiftModifier


async def read_the_toasts(hands: Hands, file: str) -> None:
    """New folders where the place is open and where it is not, an upload, a copy and a move: what each toast offers."""
    await hands.until(hands.window.isActiveWindow)
    buckets = hands.panel("buckets")
    await hands.click(buckets.add)
    dialog = await hands.dialog_saying("New bucket")
    await hands.until(lambda: isinstance(hands.focused(), QLineEdit) and hands.focused().window() is dialog)
    await hands.type("toasted")
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: hands.dialog() is None)
    await hands.until(lambda: buckets.place == ObjectPath("toasted"))
    tell("bucket", selected=str(buckets.place), tabs=hands.window.open_tabs())

    await _in_front(hands)
    buckets.rows.setFocus()
    await hands.until(buckets.rows.hasFocus)
    await _new_folder(hands, "closed")
    await _toast(hands, "Created the folder “closed”.", "Show")
    view = _front(hands)
    await hands.until(lambda: _selected(view) == "closed")
    await _into(hands, view)
    await _new_folder(hands, "open")
    await hands.until(lambda: _selected(view) == "open")
    await _toast(hands, "Created the folder “open”.")

    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(Path(file)))])
    QGuiApplication.clipboard().setMimeData(data)
    await _into(hands, view)
    await hands.press(Qt.Key.Key_V, _CTRL)
    name = Path(file).name
    await hands.until(lambda: view.model.rowCount() == 3)
    await _toast(hands, f"Uploaded “{name}” to obs://toasted/.", "Show")
    await hands.until(lambda: _selected(view) == name)

    await _into(hands, view)
    await hands.press(Qt.Key.Key_C, _CTRL)
    view.browser.go(ObjectPath("toasted", "open/"))
    await hands.until(lambda: view.browser.rows.shown.look.folder == "open/" and view.browser.rows.shown.as_of)
    await hands.press(Qt.Key.Key_V, _CTRL)
    await hands.until(lambda: view.model.rowCount() == 1)
    view.browser.up()
    await _toast(hands, f"Copied “{name}” to obs://toasted/open/.", "Show")
    await hands.until(lambda: _selected(view) == name and view.place == ObjectPath("toasted", "open/"))

    await _into(hands, view)
    await hands.press(Qt.Key.Key_X, _CTRL)
    view.browser.go(ObjectPath("toasted", "closed/"))
    await hands.until(lambda: view.browser.rows.shown.look.folder == "closed/" and view.browser.rows.shown.as_of)
    await hands.press(Qt.Key.Key_V, _CTRL)
    await hands.until(lambda: view.model.rowCount() == 1)
    await _toast(hands, f"Moved “{name}” to obs://toasted/closed/.", "Undo")
    await hands.until(lambda: view.model.rowCount() == 0)
    await _toast(hands, "The move was undone.", "Show")
    await hands.until(lambda: _selected(view) == name and view.place == ObjectPath("toasted", "open/"))
    tell("done")


async def arrange_by_name(hands: Hands) -> None:
    """Each arrangement from the menu and from the palette, after the docks were thrown about."""
    await hands.until(hands.window.isActiveWindow)
    for name in ("Data", "Watch", "Train"):
        for way in ("menu", "palette"):
            for panel_id in ("runs", "log", "job"):
                hands.window.toggle_dock(panel_id)
                await asyncio.sleep(0)
            if way == "menu":
                await hands.choose("View", "Arrangement", name)
            else:
                await hands.press(Qt.Key.Key_K, _CTRL)
                await hands.type(f"Arrangement: {name}")
                await hands.press(Qt.Key.Key_Return)
            window = hands.window
            shown = [panel_id for panel_id in window.dock_titles() if window.is_dock_shown(panel_id)]
            front = [panel_id for panel_id in ("log", "transfers", "events") if hands.panel(panel_id).isVisible()]
            below = hands.panel(front[0]).height() / window.height() if front else 0.0
            tell("arranged", name=name, way=way, shown=shown, front=front, below=below)


async def pin_a_run(hands: Hands) -> None:
    """By real clicks: the pinned tab keeps its run while another is selected; taken off, it follows again."""
    await hands.until(hands.window.isActiveWindow)
    runs, sample = hands.program.models.jobs.runs, hands.program.models.jobs.sample_run
    for number in (1, 2):
        await hands.until(lambda: sample.start() or sample.stage)  # it rests a moment after each
        await hands.until(lambda number=number: len(runs.state.runs) == number and runs.state.runs[0].state.is_over)
    rows = hands.panel("runs").rows
    await hands.choose_cell(rows, 0, 0)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), RunPageView))
    following = hands.window.tabs.currentWidget()
    assert isinstance(following, RunPageView)
    await hands.click(following.pin)
    await hands.until(lambda: hands.window.tabs.currentWidget() is not following)
    pinned = hands.window.tabs.currentWidget()
    assert isinstance(pinned, RunPageView)
    await hands.choose_cell(rows, 1, 0)
    await hands.until(lambda: "Run 1" in following.title.text())
    tell("pinned", kept=pinned.title.text(), follows=following.title.text(), checks=[pinned.pin.isChecked()])
    hands.window.tabs.setCurrentWidget(pinned)
    await hands.click(pinned.pin)
    await hands.until(lambda: hands.window.tabs.currentWidget() is following)
    tell("unpinned", tabs=len(hands.window.open_tabs()), title=following.title.text(), is_on=following.pin.isChecked())


async def _new_folder(hands: Hands, name: str) -> None:
    await hands.press(Qt.Key.Key_N, _CTRL_SHIFT)
    await hands.until(lambda: isinstance(hands.dialog(), NameDialog))
    await hands.until(lambda: isinstance(hands.focused(), QLineEdit))
    await hands.type(name)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: hands.dialog() is None)
    await _in_front(hands)


async def _into(hands: Hands, view: BrowserView) -> None:
    await _in_front(hands)
    view.table.setFocus()
    await hands.until(lambda: view.table.hasFocus())


async def _in_front(hands: Hands) -> None:
    """As a window manager does it when a dialog goes; the platform without a screen has none."""
    await hands.until(lambda: hands.window.isActiveWindow() or hands.window.activateWindow())


async def _toast(hands: Hands, words: str, press: str = "") -> None:
    """It is in sight; its button is pressed."""
    toasts = hands.window.findChild(Toasts)
    assert isinstance(toasts, Toasts)

    def found() -> Toast | None:
        return next((toast for toast in toasts.shown if say(toast.happening.title) == words), None)

    await hands.until(found)
    toast = found()
    assert toast is not None
    buttons = {"Undo": toast.undo, "Show": toast.show_it}
    tell("toast", words=words, offers=[name for name, button in buttons.items() if button.isVisible()])
    if press:
        await hands.click(buttons[press])
        await hands.until(lambda: found() is None)


def _front(hands: Hands) -> BrowserView:
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    return view


def _selected(view: BrowserView) -> str:
    entry = view.only()
    return entry.path.name if entry else ""


async def watch_slow_work(hands: Hands, extent: str) -> None:
    """With a service that answers late: what the window says meanwhile; `short`: of two things only."""
    await hands.until(hands.window.isActiveWindow)
    storage = (await hands.program.core.connections.open("lab")).storage
    await storage.create_bucket("slow")
    hands.program.workspace.storage.open_bucket(ObjectPath("slow"))
    view = _front(hands)
    await hands.until(lambda: view.empty.isVisible() and view.browser.rows.shown.as_of)
    await _in_front(hands)
    hands.window.show_dock("transfers")
    view.setFocus()
    bar = hands.window.statusBar()
    assert isinstance(bar, StatusBar)

    async def told(words: str) -> None:
        await hands.until(lambda: words in bar.busy.text() and bar.busy.isVisible())
        tell("busy", words=bar.busy.text())
        await hands.until(lambda: not bar.busy.text())

    await _new_folder(hands, "made")
    await told("Creating obs://slow/made/…")
    await hands.until(lambda: view.model.rowCount() == 1)
    if extent == "whole":
        await _watch_more_slow_work(hands, view, told)
    hands.window.commands.run("job.sample")
    await told("Preparing the sample…")
    tell("done")


async def _watch_more_slow_work(hands: Hands, view: BrowserView, told: Callable[[str], Awaitable[None]]) -> None:
    moving = hands.program.models.storage.moving
    moving.rename("lab", ObjectPath("slow", "made/"), "renamed")
    await told("Renaming “made” to “renamed”…")
    await _in_front(hands)
    await hands.fill(view.address, "obs://slow/nowhere/")
    await hands.press(Qt.Key.Key_Return)
    await told("Looking for obs://slow/nowhere/…")
    await hands.until(view.missing.isVisible)
    await hands.click(view.missing.create_button)
    await told("Creating obs://slow/nowhere/…")
    await hands.until(lambda: hands.program.models.storage.buckets.level(None).is_known)
    hands.panel("buckets").refresh()
    await told("Reading the buckets…")


async def drop_everywhere(hands: Hands, folder: str) -> None:
    """A folder, a file, what is gone, an address and words let go of over everything in sight."""
    await hands.until(hands.window.isActiveWindow)
    storage = (await hands.program.core.connections.open("lab")).storage
    await storage.create_bucket("dropped")
    jobs = hands.program.models.jobs
    jobs.sample_run.start()
    await hands.until(lambda: jobs.runs.state.runs and jobs.sample_run.stage is None)  # its page came to the front
    here = Path(folder)
    local = [here, here / "file.txt", here / "gone.txt"]
    offers = [[QUrl.fromLocalFile(str(path))] for path in local] + [[QUrl("https://example.com/x")], []]
    took = set[str]()
    hands.program.workspace.storage.open_bucket(ObjectPath("dropped"))
    for panel_id in hands.window.dock_titles():
        hands.window.show_dock(panel_id)
        await asyncio.sleep(0)  # nobody does two things in one turn of the window
        await hands.until(hands.panel(panel_id).isVisible)
    for first in range(len(offers)):  # so that each place gets each of them
        took |= await _drop_all(hands, offers, first)
    while len(await _keys(hands)) < 2:  # who waits for what is told gives up one day
        await asyncio.sleep(0)
    await hands.until(lambda: jobs.runs.state.runs[0].state.is_over)
    tell("dropped", took=sorted(took), objects=await _keys(hands), crashes=len(hands.visible(ErrorReport)))


async def _drop_all(hands: Hands, offers: list[list[QUrl]], first: int) -> set[str]:
    """What took any of it; whatever it asks then is left."""
    took = set[str]()
    for number, widget in enumerate(hands.visible(QWidget), first):
        urls = offers[number % len(offers)]
        if isValid(widget) and widget.isVisible():
            data = QMimeData()
            if urls:
                data.setUrls(urls)
            else:
                data.setText("words")
            if _let_go(widget, data):
                took |= {_room(widget)} if urls and urls[0].isLocalFile() and not _is_text(widget) else set()
            await asyncio.sleep(0)
            while (dialog := hands.dialog()) is not None:
                dialog.reject()
                await asyncio.sleep(0)
    return took


def _is_text(widget: QWidget) -> bool:
    """Fields take words, and the address of a file is words to them."""
    return isinstance(widget, QLineEdit | QPlainTextEdit) or isinstance(widget.parentWidget(), QPlainTextEdit)


def _room(widget: QWidget) -> str:
    """The dock it is in, or the kind of page."""
    above: QWidget | None = widget
    while above is not None and not isinstance(above, QDockWidget | BrowserView | RunPageView):
        above = above.parentWidget()
    return above.objectName() if isinstance(above, QDockWidget) else type(above).__name__


def _let_go(widget: QWidget, data: QMimeData) -> bool:
    place, none = widget.rect().center(), Qt.KeyboardModifier.NoModifier
    actions, button = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction, Qt.MouseButton.LeftButton
    for event in (
        QDragEnterEvent(place, actions, data, button, none),
        QDragMoveEvent(place, actions, data, button, none),
        QDropEvent(QPointF(place), actions, data, button, none),
    ):
        QApplication.sendEvent(widget, event)
        if not event.isAccepted():
            return False
    return True


async def _keys(hands: Hands) -> list[str]:
    storage = (await hands.program.core.connections.open("lab")).storage
    page = await storage.page("dropped", delimiter="/")
    return sorted([*(str(row.key) for row in page.rows), *page.folders])
