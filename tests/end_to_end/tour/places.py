"""Where the tour leads: what everybody sees in the first minutes, and, in the whole one, all the rest."""

from __future__ import annotations

from pathlib import Path

from hands import Hands, tell
from PySide6.QtCore import QBuffer, QByteArray, QPoint, Qt
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import QAbstractButton, QTableView
from tour.job_places import costs, form, runs, states
from tour.walk import Walk

from traindeck.domain.jobs.job import RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.domain.transfers.orders import SEND, Kind, Order
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.transfers import TransferState
from traindeck.services.transfers.engine import TransferEngine
from traindeck.ui.accounts.profile_dialog import ProfileDialog
from traindeck.ui.jobs.runs.run_rows import RUN_ROLE
from traindeck.ui.lab.lab_page_view import LabPageView
from traindeck.ui.shell.menus import menu_titles
from traindeck.ui.shell.problem_report_dialog import ProblemReportDialog
from traindeck.ui.shell.settings_page import SettingsPage
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.transfers.sync_dialog import SyncDialog
from traindeck.ui.transfers.transfer_files_dialog import TransferFilesDialog

_TRAINING_S = 600.0
_CTRL, _SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def picture() -> bytes:
    """Colours that run into each other."""
    image, content = QImage(320, 240, QImage.Format.Format_RGB32), QBuffer()
    for y in range(image.height()):
        for x in range(image.width()):
            image.setPixel(x, y, 0x204060 + (x << 15 & 0xFF0000) + (y << 8))
    QImageWriter(content, QByteArray(b"png")).write(image)
    return bytes(content.data().data())


_FILES = {
    "a-name-that-is-so-long-that-no-column-of-any-table-will-ever-be-wide-enough-for-it-2026-12-30.bin": bytes(70_000),
    "cat.png": picture(),
    "labels.csv": b"name,label\n" + b"".join(b"picture-%d.png,%d\n" % (number, number % 10) for number in range(200)),
    "notes.txt": "第一行\nsecond line\n".encode(),
    "settings.json": b'{"epochs": 30, "learning rate": 0.05}',
    "训练数据说明与标注规范.md": "# 说明\n".encode(),
}
_BUCKET = ObjectPath("tour")


async def tour(hands: Hands, pictures: str, extent: str, language: str, theme: str) -> None:
    """`extent`: short or whole."""
    await hands.until(hands.window.isActiveWindow)
    walk, is_whole = Walk(hands, Path(pictures)), extent == "whole"
    walk.files.mkdir()
    hands.window.showMaximized()  # else every screen that is large enough would show the same
    await hands.until(hands.window.isMaximized)
    await hands.choose("View", "Theme", theme)
    if language != "English":
        old = hands.window
        await hands.choose("View", "Language", language)
        await hands.until(lambda: hands.window is not old and hands.window.isActiveWindow())
        assert hands.window.isMaximized()
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
    if is_whole:
        await docks(walk, "empty dock")
        welcome = hands.window.tabs.currentWidget()
        assert welcome is not None
        await walk.look_down("welcome", welcome)
    await sample(walk, to_the_end=is_whole)
    await docks(walk, "dock")
    await bucket(walk)
    for menu_id, title in menu_titles().items():
        await walk.menu(menu_id, title)
        if is_whole:
            await walk.entries(menu_id, title)
    await walk.palette()
    if is_whole:
        for place in (
            objects,
            buckets,
            runs,
            costs,
            log,
            transfers,
            form,
            settings,
            account,
            report,
            sync,
            lab,
            states,
        ):
            await place(walk)
    tell("over", places=walk.number)


async def sample(walk: Walk, *, to_the_end: bool) -> None:
    hands = walk.hands
    await walk.look("welcome")
    welcome = hands.window.tabs.currentWidget()
    assert isinstance(welcome, WelcomePage)
    await hands.click(welcome.sample)
    rows = hands.panel("runs").model

    def state() -> RunState | None:
        run = rows.index(0, 0).data(RUN_ROLE)
        return run.state if run is not None else None

    await hands.until(lambda: state() is RunState.RUNNING)
    await walk.look("running")
    if to_the_end:
        await hands.until(lambda: (now := state()) is not None and now.is_over, _TRAINING_S)
        await walk.look("completed")


async def docks(walk: Walk, name: str) -> None:
    for number, panel_id in enumerate(walk.hands.window.dock_titles(), start=1):
        await walk.hands.press(Qt.Key(Qt.Key.Key_0 + number), _CTRL)
        await walk.look(f"{name} {panel_id}")


async def bucket(walk: Walk) -> None:
    """The sample's data: rows, the preview, and the menu over a folder, several and nothing."""
    hands, view = walk.hands, await opened(walk.hands, ObjectPath("digits"))
    await walk.look("bucket")
    await hands.choose_cell(view.table, 0, 0)
    await hands.press(Qt.Key.Key_Space)
    await walk.look("preview")
    await hands.press(Qt.Key.Key_Space)
    first = view.table.visualRect(view.model.index(0, 0))
    await walk.context("a row", view.table.viewport(), first.center())
    await hands.press(Qt.Key.Key_A, _CTRL)
    # Not where the last click was: two there in a moment are a double click.
    await walk.context("all rows", view.table.viewport(), first.center() - QPoint(first.width() // 4, 0))
    below = free_place(view)
    await hands.click(view.table.viewport(), below)
    await walk.context("nothing", view.table.viewport(), below)
    await hands.choose_cell(view.table, 0, 0)


async def objects(walk: Walk) -> None:
    """Whatever can be done with objects, each dialog looked at; and each kind of preview."""
    hands, core = walk.hands, walk.hands.program.core
    storage = (await core.connections.open("lab")).storage
    await storage.create_bucket(_BUCKET.bucket)
    await look_at_empty_bucket(walk)
    for name, content in _FILES.items():
        for path in (_BUCKET.join(name), _BUCKET.join(f"folder/{name}")):
            await core.planes.run("lab", lambda plane, path=path, content=content: plane.put(path, BytesBody(content)))
    view = await opened(hands, _BUCKET, is_empty=True)
    await hands.press(Qt.Key.Key_F5)
    await hands.until(lambda: view.model.rowCount() == len(_FILES) + 1)
    view = await opened(hands, _BUCKET)
    await hands.choose_cell(view.table, 0, 0)
    await hands.press(Qt.Key.Key_Space)
    for row in range(view.model.rowCount()):
        await hands.choose_cell(view.table, row, 0)
        await hands.until(lambda: say("Reading…") not in hands.texts())
        await walk.look(f"preview of {view.model.index(row, 0).data()}")
    await hands.press(Qt.Key.Key_Space)

    async def back_to(row: int) -> None:
        again = await opened(hands, _BUCKET)
        await hands.until(lambda: again.model.rowCount() >= len(_FILES) + 1)
        if row >= 0:
            await hands.choose_cell(again.table, row, 0)
        else:
            await hands.click(again.table.viewport(), free_place(again))

    def at(row: int) -> QPoint:
        place: QPoint = view.table.visualRect(view.model.index(row, 0)).center()
        return place - QPoint(40 * (row % 2), 0)

    folder, file = 0, view.model.rowCount() - 2
    for name, row in (("folder", folder), ("file", file)):
        await back_to(row)
        await walk.context_entries(
            name,
            view.table.viewport(),
            lambda row=row: at(row),
            lambda row=row: back_to(row),
        )

    async def all_again() -> None:
        await back_to(1)
        await hands.press(Qt.Key.Key_A, _CTRL)

    await all_again()
    await walk.context_entries("several", view.table.viewport(), lambda: at(1), all_again)
    await back_to(-1)
    await walk.context_entries("nothing", view.table.viewport(), lambda: free_place(view), lambda: back_to(-1))
    await hands.click(view.search)
    await hands.type("nothing is called so")
    await walk.look("nothing found")
    await hands.press(Qt.Key.Key_A, _CTRL)
    await hands.press(Qt.Key.Key_Delete)


async def look_at_empty_bucket(walk: Walk) -> None:
    view = await opened(walk.hands, _BUCKET, is_empty=True)
    await walk.hands.until(lambda: view.browser.rows.shown.below)
    await walk.look("empty bucket")


async def buckets(walk: Walk) -> None:
    hands = walk.hands
    tree = hands.panel("buckets").rows

    async def back() -> None:
        await hands.press(Qt.Key.Key_2, _CTRL)
        await hands.choose_cell(tree, 0, 0)

    await back()
    await hands.press(Qt.Key.Key_Right)
    await walk.look("bucket unfolded")
    place = tree.visualRect(tree.model().index(0, 0)).center()
    await walk.context_entries("bucket", tree.viewport(), lambda: place, back)


async def log(walk: Walk) -> None:
    hands = walk.hands
    await hands.press(Qt.Key.Key_3, _CTRL)
    await hands.press(Qt.Key.Key_F, _CTRL)
    await hands.type("epoch")
    await walk.look("find in the log")
    await hands.type(" that never was")
    await walk.look("find in vain")
    await hands.press(Qt.Key.Key_Escape)


async def transfers(walk: Walk) -> None:
    hands = walk.hands
    await hands.press(Qt.Key.Key_4, _CTRL)
    await all_kinds_of_transfers(walk)
    view = hands.panel("transfers")
    table: QTableView = view.table
    for row in range(view.model.rowCount()):
        await hands.choose_cell(table, row, 1)
        await walk.look(f"transfer {row + 1}")
    await hands.choose_cell(table, 0, 1)
    place = table.visualRect(view.model.index(0, 2)).center()
    await walk.context("a transfer", table.viewport(), place)
    await hands.choose_cell(table, 0, 1)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: isinstance(hands.dialog(), TransferFilesDialog))
    await walk.look("files of a transfer")
    await walk.leave()
    await hands.open_menu_of(view.rate)
    await walk.look("limits of the rate")
    await walk.leave()
    await hands.press(Qt.Key.Key_5, _CTRL)
    events = hands.panel("events")
    await hands.choose_cell(events.table, 0, 1)
    await walk.context("an event", events.table.viewport(), events.table.visualRect(events.model.index(0, 1)).center())
    await hands.fill(events.typed, "no such event")
    await walk.look("no such event")
    await hands.press(Qt.Key.Key_A, _CTRL)
    await hands.press(Qt.Key.Key_Delete)


async def all_kinds_of_transfers(walk: Walk) -> None:
    """One that is done, one that is planned, one that cannot be done and one that is paused."""
    hands, engine, here = walk.hands, walk.hands.program.core.transfers, str(Path(__file__).parent)
    done = await engine.begin(Order(Kind.UPLOAD, "lab", here, f"{_BUCKET}sent/", SEND))
    planned = await engine.begin(Order(Kind.UPLOAD, "lab", here, f"{_BUCKET}planned/"), needs_confirmation=True)
    failed = await engine.begin(Order(Kind.DOWNLOAD, "lab", f"{_BUCKET}never-was.bin", str(walk.files)))
    large = walk.files / "large.bin"
    large.write_bytes(bytes(40_000_000))
    engine.set_rate(500_000)
    paused = await engine.begin(Order(Kind.UPLOAD, "lab", str(large), str(_BUCKET)))

    def state(number: int) -> TransferState | None:
        return next((row.state for row in engine.rows() if row.id == number), None)

    await hands.until(lambda: state(paused) is TransferState.RUNNING)
    engine.ask(TransferEngine.pause, paused)
    ends = {done: TransferState.DONE, planned: TransferState.READY, paused: TransferState.PAUSED}
    await hands.until(lambda: all(state(number) is end for number, end in ends.items()))
    await hands.until(lambda: (end := state(failed)) is not None and end.is_over)
    engine.set_rate(0)


async def settings(walk: Walk) -> None:
    hands = walk.hands
    await hands.press(Qt.Key.Key_Comma, _CTRL)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), SettingsPage))
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, SettingsPage)
    await hands.until(page.search.hasFocus)
    await hands.press(Qt.Key.Key_F11)
    await walk.look_down("settings", page)
    await hands.press(Qt.Key.Key_F11)
    await hands.press(Qt.Key.Key_W, _CTRL)


async def account(walk: Walk) -> None:
    """Opened, unfolded, with what is wrong, and kept for the session; nobody answers at these addresses."""
    hands = walk.hands
    await hands.click(hands.window.menus.toolbar.widgetForAction(hands.window.menus.actions["account.connect"]))
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProfileDialog)
    await hands.until(dialog.isActiveWindow)
    await walk.look("account")
    await hands.type("not a key")
    await hands.press(Qt.Key.Key_Return)
    await walk.look("account with mistakes")
    await hands.click(dialog.more)
    await walk.look_down("account, more", dialog)
    await walk.leave()


async def report(walk: Walk) -> None:
    hands = walk.hands
    hands.window.commands.run("help.report")
    await hands.until(lambda: isinstance(hands.dialog(), ProblemReportDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProblemReportDialog)
    await hands.until(dialog.save.isEnabled)
    await walk.look("report a problem")
    await walk.leave()


async def sync(walk: Walk) -> None:
    """A folder compared with the bucket, to the preview of what would be done."""
    hands = walk.hands
    hands.panel("runs")
    view = await opened(hands, _BUCKET)
    await hands.click(view.table.viewport(), free_place(view))
    view.table.setFocus()
    hands.window.commands.run("object.sync")
    await hands.until(lambda: isinstance(hands.dialog(), SyncDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, SyncDialog)
    await hands.fill(dialog.folder, str(Path(__file__).parent))
    await hands.click(dialog.look)
    await hands.until(lambda: dialog.begin.isEnabled())
    await walk.look("sync with its preview")
    await hands.fill(dialog.folder, "/no/such/folder")
    await hands.click(dialog.look)
    await hands.until(dialog.look.isEnabled)
    await walk.look("sync of a folder that is not there")
    await walk.leave()


async def lab(walk: Walk) -> None:
    """Its page, and the window without it."""
    hands = walk.hands
    await hands.click(hands.window.statusBar().findChild(QAbstractButton, "status.lab"))
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, LabPageView)
    await walk.look_down("lab", page)
    page.stop.click()
    await walk.look("stop the lab")
    if (dialog := hands.dialog()) is not None:
        await hands.click(next(one for one in dialog.findChildren(QAbstractButton) if one.objectName()))
    await hands.until(page.start.isEnabled)
    hands.panel("buckets").refresh()
    await walk.look("lab stopped")
    await docks(walk, "lab stopped, dock")
    page.start.click()
    await hands.until(page.stop.isEnabled)
    await walk.look("lab started")


async def opened(hands: Hands, place: ObjectPath, *, is_empty: bool = False) -> BrowserView:
    hands.program.workspace.storage.open_bucket(place)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    await hands.until(lambda: view.place == place and (is_empty or view.model.rowCount() > 0))
    if not is_empty and not has_free_place(view):
        view.table.setFocus()
        await hands.press(Qt.Key.Key_F11)
        await hands.until(lambda: has_free_place(view))
    return view


def has_free_place(view: BrowserView) -> bool:
    last = view.table.visualRect(view.model.index(view.model.rowCount() - 1, 0))
    return last.bottom() + last.height() < view.table.viewport().height()


def free_place(view: BrowserView) -> QPoint:
    """Below the last row."""
    return QPoint(view.table.viewport().width() // 2, view.table.viewport().height() - 4)
