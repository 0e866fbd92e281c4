"""The dialog that makes two folders alike, driven as a user would."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from support.folder_cloud import FolderCloud
from support.panel_bench import User, light_theme
from support.waiting import until
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.records import TransferState
from traindeck.ui.kit.theme import Theme
from traindeck.ui.transfers.sync_dialog import SyncDialog
from traindeck.ui.transfers.transfer_files_dialog import FilesModel
from traindeck.viewmodels.transfers.sync_form import SyncForm
from traindeck.viewmodels.transfers.transfer_list import TransferList

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

PLACE = ObjectPath("bucket", "data/")


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def opened(cloud: FolderCloud, theme: Theme, qtbot: QtBot, user: User) -> tuple[SyncDialog, TransferList]:
    transfers = TransferList(cloud.transfers, cloud.scope)
    dialog = SyncDialog(SyncForm(LAB, PLACE, cloud.transfers, cloud.scope), transfers, theme, user)
    dialog.show()  # it deletes itself when it is closed
    return dialog, transfers


def rows(dialog: SyncDialog) -> list[tuple[str, str]]:
    model = dialog.table.model()
    if model is None:
        return []
    columns = (FilesModel.RESULT, FilesModel.NAME)
    return [
        (model.index(row, columns[0]).data(), model.index(row, columns[1]).data()) for row in range(model.rowCount())
    ]


async def test_only_what_changes_is_listed_and_done_after_a_yes(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        await cloud.storage.put(b"same", PLACE.join("same"))
        await cloud.storage.put(b"old", PLACE.join("old"))
        here = tmp_path / "here"
        here.mkdir()
        (here / "same").write_bytes(b"same")
        (here / "new").write_bytes(b"12345")
        user = User(answer=False)
        dialog, transfers = opened(cloud, theme, qtbot, user)
        assert not dialog.look.isEnabled() and not dialog.begin.isEnabled() and not dialog.most.isEnabled()
        assert dialog.empty.isVisible() and dialog.empty.title.text() == "No preview yet."
        dialog._chosen([here])
        dialog.compare.setCurrentIndex(2)
        qtbot.mouseClick(dialog.delete, Qt.MouseButton.LeftButton, pos=dialog.delete.rect().center() / 2)
        assert dialog.most.isEnabled()
        qtbot.keyClick(dialog.folder, Qt.Key.Key_Return)
        await until(lambda: len(rows(dialog)) == 2)
        assert rows(dialog) == [("To upload", "new"), ("To delete", "old")] and dialog.table.isVisible()
        assert dialog.summary.text() == "To upload: 1, 5 B · To delete: 1 · identical: 1"

        qtbot.mouseClick(dialog.begin, Qt.MouseButton.LeftButton)
        await until(lambda: user.asked)
        assert dialog.isVisible() and cloud.storage.place(PLACE.join("old")).exists()
        user.answer = True
        qtbot.mouseClick(dialog.begin, Qt.MouseButton.LeftButton)
        await until(lambda: cloud.transfers.rows()[0].state is TransferState.DONE)
        assert not isValid(dialog)
        assert sorted(path.name for path in cloud.storage.place(PLACE).iterdir()) == ["new", "same"]
        transfers.close()


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
async def test_links_are_named_and_followed_when_that_is_chosen(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        here = tmp_path / "here"
        here.mkdir()
        (here / "file").write_bytes(b"12345")
        (here / "link").symlink_to("file")
        dialog, transfers = opened(cloud, theme, qtbot, User())
        dialog._chosen([here])
        qtbot.mouseClick(dialog.look, Qt.MouseButton.LeftButton)
        await until(lambda: len(rows(dialog)) == 2)
        assert rows(dialog) == [("To upload", "file"), ("Skipped", "link")]
        dialog.links.setCurrentIndex(1)
        qtbot.mouseClick(dialog.look, Qt.MouseButton.LeftButton)
        await until(lambda: rows(dialog) == [("To upload", "file"), ("To upload", "link")])
        dialog.close()
        transfers.close()


async def test_another_wish_empties_the_list_and_closing_forgets_the_plan(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        here = tmp_path / "here"
        here.mkdir()
        (here / "new").write_bytes(b"12345")
        dialog, transfers = opened(cloud, theme, qtbot, User())
        assert dialog.empty.isVisible() and not dialog.table.isVisible()
        dialog.folder.setText(str(here))
        qtbot.mouseClick(dialog.look, Qt.MouseButton.LeftButton)
        await until(lambda: rows(dialog) == [("To upload", "new")])
        assert dialog.table.isVisible() and not dialog.empty.isVisible()
        dialog.ignore.setPlainText("new")
        assert rows(dialog) == [] and not dialog.begin.isEnabled()
        assert dialog.empty.isVisible()
        qtbot.mouseClick(dialog.look, Qt.MouseButton.LeftButton)
        await until(lambda: dialog.summary.text().startswith("No changes"))
        assert not dialog.begin.isEnabled()
        dialog.folder.setText(str(tmp_path / "nowhere"))
        qtbot.mouseClick(dialog.look, Qt.MouseButton.LeftButton)
        await until(lambda: "nowhere" in dialog.summary.text())
        assert dialog.empty.isVisible()
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        await until(lambda: not [row for row in cloud.transfers.rows() if not row.state.is_over])
        transfers.close()


async def test_return_after_the_preview_does_not_close_the_dialog(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    """The button that was pressed cannot be pressed meanwhile: the keyboard went on to Close."""
    async with FolderCloud(tmp_path / "cloud") as cloud:
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "new").write_bytes(b"new")
        dialog, _ = opened(cloud, theme, qtbot, User())
        dialog.folder.setText(str(tmp_path / "here"))
        dialog.look.setFocus()
        qtbot.keyClick(dialog.look, Qt.Key.Key_Space)
        await until(lambda: dialog.begin.isEnabled())
        focused = dialog.focusWidget()
        assert focused is not dialog.close_button
        qtbot.keyClick(focused, Qt.Key.Key_Return)
        assert dialog.isVisible()
        dialog.close()
