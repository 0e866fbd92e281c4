from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication, QInputDialog

from support.dialogs import visible_dialog
from support.folder_cloud import FolderCloud, code_folder, offline
from support.panel_bench import ShownTransfers, User, light_theme
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Kind
from traindeck.domain.transfers.records import TransferState
from traindeck.services.transfers import Transfer, Transfers
from traindeck.ui.kit.table_models import SHARE_ROLE
from traindeck.ui.kit.theme import Theme
from traindeck.ui.transfers.transfer_commands import transfer_commands
from traindeck.ui.transfers.transfer_files_dialog import FilesModel, TransferFilesDialog
from traindeck.ui.transfers.transfer_view import TransferTableModel, TransferView
from traindeck.viewmodels.shell.commands import without_mnemonic
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.transfers.transfer_list import PAGE, TransferList, TransferRow

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from support.qt_support import Stalls


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


JUMPS: list[Topic] = []


def start_upload(cloud: FolderCloud, source: Path) -> None:
    async def up() -> None:
        await cloud.transfers.upload("lab", source, ObjectPath("bucket", "code/"))

    cloud.scope.start("up", up)


def moving(number: int, done: int) -> Transfer:
    return Transfer(number, Kind.UPLOAD, "a", "b", total_bytes=1000, done_bytes=done)


def opened(
    cloud: FolderCloud, theme: Theme, qtbot: QtBot, source: Transfers | None = None
) -> tuple[TransferList, TransferView]:
    transfers = TransferList(source or cloud.transfers, cloud.scope)
    view: TransferView

    def show_files(row: TransferRow) -> None:
        TransferFilesDialog(transfers, row, theme, view).show()

    view = TransferView(transfers, theme, transfer_commands(transfers, User(), show_files, JUMPS.append))
    qtbot.addWidget(view)
    view.resize(700, 200)
    view.show()
    return transfers, view


async def test_a_transfer_is_cancelled_by_the_button_and_by_the_key(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        assert view.empty.isVisible()
        cloud.storage.wait = asyncio.Event()
        source = code_folder(tmp_path / "code")

        async def upload() -> None:
            await cloud.transfers.upload("lab", source, ObjectPath("bucket", "code/"))

        for way in ("button", "key"):
            cloud.scope.start(way, upload)
            await until(lambda: transfers.state.live == 1)
            view.table.clearSelection()
            assert not view.cancel.isEnabled()
            view.table.selectRow(0)
            if way == "button":
                qtbot.mouseClick(view.cancel, Qt.MouseButton.LeftButton)
            else:
                qtbot.keyClick(view.table, Qt.Key.Key_Delete)
            await until(lambda: transfers.state.live == 0)
            assert view.model.index(0, TransferTableModel.PROGRESS).data() == "Canceled"
        qtbot.mouseClick(view.clear, Qt.MouseButton.LeftButton)
        assert view.empty.isVisible()
        transfers.close()


async def test_a_failure_is_told_with_its_reason(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        row = Transfer(1, Kind.UPLOAD, "/home/li/数据", "obs://bucket/数据/", total_bytes=200, done_bytes=50)
        cloud.transfers._take([row])
        transfers.look()
        cell = view.model.index(0, TransferTableModel.PROGRESS)
        assert (cell.data(), cell.data(SHARE_ROLE)) == ("25%", 0.25)
        assert view.trouble.isHidden()
        cloud.transfers._take([replace(row, error=offline(), tries=1)])
        transfers.look()
        assert view.trouble.isVisible() and "cannot be reached" in view.trouble.text()
        cloud.transfers._take([replace(row, state=TransferState.FAILED, error=offline())])
        transfers.look()
        assert cell.data() == "Failed: The service cannot be reached."
        assert "Look at the network." in cell.data(Qt.ItemDataRole.ToolTipRole)
        assert view.trouble.isVisible() and "Look at the network." in view.trouble.text()
        assert not view.grab().isNull()
        transfers.close()


async def test_the_space_key_pauses_and_goes_on(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        cloud.storage.wait = asyncio.Event()
        source = code_folder(tmp_path / "code")
        start_upload(cloud, source)
        await until(lambda: transfers.state.live == 1)
        view.table.selectRow(0)
        qtbot.keyClick(view.table, Qt.Key.Key_Space)
        await until(lambda: transfers.state.rows[0].transfer.state is TransferState.PAUSED)
        assert not view.pause.isEnabled() and view.resume.isEnabled()
        cloud.storage.wait = None
        qtbot.keyClick(view.table, Qt.Key.Key_Space)
        await until(lambda: transfers.state.rows[0].transfer.state is TransferState.DONE)
        transfers.close()


async def test_buttons_and_menu_offer_what_fits_the_chosen_rows(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        states = (TransferState.RUNNING, TransferState.PAUSED, TransferState.PARTLY, TransferState.DONE)
        cloud.transfers._take([Transfer(4 - at, Kind.UPLOAD, "a", "b", state) for at, state in enumerate(states)])
        transfers.look()
        everything = (view.pause, view.resume, view.retry, view.verify, view.first, view.list, view.cancel)
        assert not any(button.isEnabled() for button in everything)
        assert all(button.accessibleName() == button.toolTip() != "" for button in everything)
        expected = [
            {view.pause, view.first, view.list, view.cancel},
            {view.resume, view.first, view.list, view.cancel},
            {view.retry, view.verify, view.list},
            {view.verify, view.list},
        ]
        for number, wanted in enumerate(expected):
            view.table.selectRow(number)
            assert {button for button in everything if button.isEnabled()} == wanted
        view.table.selectAll()
        assert {button for button in everything if button.isEnabled()} == {*everything} - {view.list}
        menu = view.menu()
        entries = [action for action in menu.actions() if action.text()]
        offered = {without_mnemonic(one.text().partition("\t")[0]): one.isEnabled() for one in entries}
        assert offered == {
            "Show the files": False,
            "Show the target": False,
            "Start the planned transfer": False,
            "Pause": True,
            "Resume": True,
            "Try again": True,
            "Verify again": True,
            "Move to the front of the queue": True,
            "Cancel transfer": True,
            "Remove from the list": True,
            "Clear finished": True,
        }
        menu.close()
        transfers.close()


async def test_a_transfer_leads_to_its_target_and_one_that_is_over_leaves_the_list_alone(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        rows = [
            Transfer(4, Kind.UPLOAD, "/home/li/a", "obs://bucket/a", TransferState.RUNNING, "lab"),
            Transfer(3, Kind.UPLOAD, "/home/li/b/", "obs://bucket/b/", TransferState.DONE, "lab"),
            Transfer(2, Kind.DOWNLOAD, "obs://bucket/run.exe", "/home/li/run.exe", TransferState.DONE, "lab"),
            Transfer(1, Kind.REMOVE, "obs://bucket/c", "", TransferState.DONE, "lab"),
        ]
        cloud.transfers._take(rows)
        transfers.look()

        def entry(words: str) -> QAction:
            menu = view.menu()
            return next(one for one in menu.actions() if without_mnemonic(one.text().partition("\t")[0]) == words)

        JUMPS.clear()
        for number in range(3):
            view.table.selectRow(number)
            entry("Show the target").trigger()
        assert [
            Topic(Subject.PLACE, "obs://bucket/a", "lab"),
            Topic(Subject.PLACE, "obs://bucket/b/", "lab"),
            Topic(Subject.FILE, "/home/li"),
        ] == JUMPS, "a file is never opened: it may be a program"
        view.table.selectRow(3)
        assert not entry("Show the target").isEnabled()
        view.table.selectRow(0)
        assert not entry("Remove from the list").isEnabled(), "it is under way"
        view.table.selectAll()
        entry("Remove from the list").trigger()
        assert [row.id for row in transfers.state.rows] == [4]
        transfers.close()


async def test_the_rate_is_limited_from_the_panel(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        cloud.transfers._take([moving(1, 10)])
        transfers.look()
        assert view.rate.text() == "No limit"
        view.rate.menu().aboutToShow.emit()
        offered = {action.text(): action for action in view.rate.menu().actions() if action.text()}
        assert offered["No limit"].isChecked()
        offered["5 MB/s"].trigger()
        assert (transfers.rate_limit, view.rate.text()) == (5_000_000, "At most 5 MB/s")
        offered["Another limit…"].trigger()
        dialog = await visible_dialog(view.window(), QInputDialog)
        qtbot.keyClicks(dialog.focusWidget(), "2.5")
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
        assert not dialog.isVisible() and view.rate.text() == "At most 2.5 MB/s"
        view.rate.menu().aboutToShow.emit()
        checked = [action.text() for action in view.rate.menu().actions() if action.isChecked()]
        assert checked == ["2.5 MB/s"]
        transfers.close()


async def test_the_list_of_files_begins_with_the_problems_and_is_copied(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        in_the_way = cloud.storage.place(ObjectPath("bucket", "code/data.txt"))
        in_the_way.mkdir(parents=True)
        source = code_folder(tmp_path / "code")
        start_upload(cloud, source)
        await until(lambda: bool(transfers.state.rows) and transfers.state.live == 0)
        view.table.selectRow(0)
        qtbot.keyClick(view.table, Qt.Key.Key_Return)
        dialog = await visible_dialog(view, TransferFilesDialog)
        assert dialog.filter.currentText() == "Problems only"
        await until(lambda: dialog.model.rowCount() == 1)
        shown = [str(dialog.model.index(0, column).data()) for column in range(5)]
        assert shown[:4] == ["Transfer failed", "", "data.txt", "6 B"] and shown[4]
        dialog.filter.setCurrentText("All files")
        await until(lambda: dialog.model.rowCount() == 2)
        dialog.table.selectAll()
        qtbot.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
        lines = QGuiApplication.clipboard().text().splitlines()
        expected = [["Transfer failed", "", "data.txt"], ["Uploaded", "✓", "train.py"]]
        assert [line.split("\t")[:3] for line in lines] == expected
        assert shown[4] in lines[0]

        dialog.filter.setCurrentText("Problems only")
        await until(lambda: dialog.model.rowCount() == 1)
        in_the_way.rmdir()
        qtbot.mouseClick(view.retry, Qt.MouseButton.LeftButton)
        # Another state has other results: the list is read anew.
        await until(lambda: view.model.index(0, TransferTableModel.PROGRESS).data() == "✓ Verified")
        await until(lambda: dialog.footing.text() == "No matching files.")
        dialog.filter.setCurrentText("Uploaded")
        confirmed = FilesModel.CONFIRMED
        await until(lambda: [dialog.model.index(row, confirmed).data() for row in range(3)] == ["✓", "✓", None])
        dialog.filter.setCurrentText("Not confirmed")
        await until(lambda: dialog.footing.text() == "No matching files.")
        dialog.reject()

        (source / "data.txt").write_bytes(b"other!")
        view.table.selectRow(0)
        qtbot.mouseClick(view.verify, Qt.MouseButton.LeftButton)
        await until(lambda: len(transfers.state.rows) == 2 and transfers.state.live == 0)
        assert view.model.index(0, TransferTableModel.FILES).data() == "1 differs · 1 verified"
        view.table.selectRow(0)
        view.list.click()
        dialog = await visible_dialog(view, TransferFilesDialog)
        await until(lambda: dialog.model.rowCount() == 1)
        assert dialog.model.index(0, FilesModel.RESULT).data() == "Different"
        dialog.reject()
        transfers.close()


async def test_a_narrow_panel_keeps_what_cannot_be_done_without(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        cloud.transfers._take([moving(1, 10)])
        transfers.look()
        less_needed = (TransferTableModel.FILES, TransferTableModel.SIZE)
        for width, hidden in ((580, [True, True]), (720, [False, True]), (900, [False, False])):
            view.resize(width, 200)
            await until(lambda hidden=hidden: [view.table.isColumnHidden(one) for one in less_needed] == hidden)
            assert view.table.columnWidth(TransferTableModel.SOURCE) >= 100
            assert view.table.horizontalScrollBar().maximum() == 0
        assert view.model.index(0, TransferTableModel.SOURCE).data(Qt.ItemDataRole.ToolTipRole) == "a → b"
        transfers.close()


@pytest.mark.parametrize("width", [352, 440, 560, 1200])
async def test_the_buttons_never_make_the_panel_wider(width: int, tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    """A panel that asks for more room than there is lies over its neighbours."""
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        cloud.transfers._take([replace(moving(1, 10), state=TransferState.READY)])
        transfers.look()
        transfers.limit_rate(100_000_000)
        assert view.minimumSizeHint().width() <= 352
        view.table.selectRow(0)
        view.resize(width, 200)
        buttons = [view.rate, *view.tools, view.clear]
        await until(lambda: width < 600 or view.clear.isVisible())
        seen = [button for button in buttons if button.isVisible()]
        assert {view.rate, view.begin, view.pause, view.cancel} <= set(seen)
        await until(lambda: all(one.width() >= one.minimumSizeHint().width() for one in seen))
        assert all(one.mapTo(view, one.rect().topRight()).x() < width for one in seen)
        assert all(left.geometry().right() < right.geometry().left() for left, right in pairwise(seen))
        transfers.close()


async def test_a_million_files_come_as_somebody_scrolls(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        million = ShownTransfers(Transfer(1, Kind.UPLOAD, "a", "b", TransferState.DONE), 1_000_000)
        transfers, view = opened(cloud, theme, qtbot, cast("Any", million))
        view.table.selectRow(0)
        qtbot.mouseClick(view.list, Qt.MouseButton.LeftButton)
        dialog = await visible_dialog(view, TransferFilesDialog)
        assert dialog.filter.currentText() == "All files"
        await until(lambda: dialog.model.rowCount() == PAGE)
        assert million.asked == 1
        for pages in range(2, 12):
            dialog.table.scrollToBottom()
            await until(lambda pages=pages: dialog.model.rowCount() >= pages * PAGE)
        number = dialog.model.rowCount() - 1
        assert dialog.model.index(number, FilesModel.NAME).data() == f"{number:07}"
        assert million.asked < 20
        dialog.reject()
        transfers.close()


async def test_a_thousand_moving_rows_leave_the_window_free(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        transfers, view = opened(cloud, theme, qtbot)
        for step in range(20):
            for number in range(1000):
                done = step * 10
                cloud.transfers._rows[number] = moving(number, done)
            cloud.transfers.changed.tell(cloud.transfers._rows[0])
            await until(lambda done=done: transfers.state.rows and transfers.state.rows[0].transfer.done_bytes == done)
        assert view.model.rowCount() == 1000
        transfers.close()
