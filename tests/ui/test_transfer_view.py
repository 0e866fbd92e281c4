from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from folder_cloud import FolderCloud, code_folder, offline
from panel_bench import light_theme
from traindeck.domain.objects import ObjectPath
from traindeck.domain.transfers import Kind, TransferState
from traindeck.services.transfers import Transfer
from traindeck.ui.table_models import SHARE_ROLE, TransferTableModel
from traindeck.ui.theme import Theme
from traindeck.ui.transfer_view import TransferView
from traindeck.viewmodels.transfer_list import TransferList
from waiting import until

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from qt_support import Stalls


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def moving(number: int, done: int) -> Transfer:
    return Transfer(number, Kind.UPLOAD, "a", "b", total_bytes=1000, done_bytes=done)


def opened(cloud: FolderCloud, theme: Theme, qtbot: QtBot) -> tuple[TransferList, TransferView]:
    transfers = TransferList(cloud.transfers)
    view = TransferView(transfers, theme)
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
            assert not view.cancel.isEnabled()
            view.table.selectRow(0)
            if way == "button":
                qtbot.mouseClick(view.cancel, Qt.MouseButton.LeftButton)
            else:
                qtbot.keyClick(view.table, Qt.Key.Key_Delete)
            await until(lambda: transfers.state.live == 0)
            assert view.model.index(0, TransferTableModel.PROGRESS).data() == "Cancelled"
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
        cloud.transfers._take([replace(row, state=TransferState.FAILED, error=offline())])
        transfers.look()
        assert cell.data() == "The service cannot be reached."
        assert "Look at the network." in cell.data(Qt.ItemDataRole.ToolTipRole)
        assert not view.grab().isNull()
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
