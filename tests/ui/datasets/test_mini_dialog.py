"""The dialog that makes a small copy, driven as a user would."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from support import dataset_files as made
from support.dataset_bench import datasets_of
from support.folder_cloud import FolderCloud
from support.panel_bench import light_theme
from support.waiting import until
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.domain.transfers.orders import Order
from traindeck.domain.transfers.records import TransferState
from traindeck.ui.datasets.mini_dialog import MiniDialog
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.datasets.mini_form import MiniForm, MiniStage
from traindeck.viewmodels.storage.deleting import News


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def opened(cloud: FolderCloud, source: str) -> tuple[MiniDialog, list[News]]:
    told: list[News] = []
    dialog = MiniDialog(MiniForm(source, LAB, datasets_of(cloud), cloud.scope, told.append))
    dialog.show()  # it deletes itself when it is closed
    return dialog, told


def press(button: object) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)  # type: ignore[call-overload]


def shown(dialog: MiniDialog) -> list[list[str]]:
    model = dialog.table.model()
    if model is None:
        return []
    return [[model.index(row, column).data() for column in range(3)] for row in range(model.rowCount())]


async def test_nothing_is_written_before_it_was_seen(tmp_path: Path, theme: Theme) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        root = made.with_csv(tmp_path / "pets")
        dialog, told = opened(cloud, str(root))
        form = dialog.form
        assert dialog.target.text() == f"{root}_mini" and not dialog.make.isEnabled()
        dialog.per_class.setValue(3)
        dialog.source.setFocus()
        QTest.keyClick(dialog.source, Qt.Key.Key_Return)
        await until(lambda: form.state.stage is MiniStage.SHOWN)
        assert dialog.focusWidget() is dialog.source, "it stands where it stood"
        assert shown(dialog) == [["even", "3", "10"], ["odd", "3", "10"]]
        assert "6 of 20 samples in 2 classes" in dialog.summary.text() and "gone.png" in dialog.notes.text()
        assert not (tmp_path / "pets_mini").exists()

        press(dialog.by_share)
        assert not dialog.make.isEnabled() and shown(dialog) == [], "another choice wants another look"
        assert dialog.empty.isVisible(), "what the empty room is for"
        dialog.percent.setValue(10)
        dialog.percent.setFocus()
        QTest.keyClick(dialog.percent, Qt.Key.Key_Return)
        await until(lambda: form.state.stage is MiniStage.SHOWN)
        assert shown(dialog) == [["even", "1", "10"], ["odd", "1", "10"]]
        dialog.target.setText(str(tmp_path / "small"))
        assert dialog.make.isEnabled(), "where it goes changes nothing of what it is"
        press(dialog.make)
        await until(lambda: form.state.stage is MiniStage.DONE)
        lines = (tmp_path / "small/labels.csv").read_text().splitlines()
        assert len(lines) == 3 and len(list((tmp_path / "small/images").iterdir())) == 2
        assert "2 of 20 samples" in say(told[0].message)
        dialog.close()


async def test_a_folder_of_a_bucket_within_the_service(tmp_path: Path, theme: Theme) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        made.with_csv(cloud.storage.place(ObjectPath("bucket", "pets")))
        dialog, _ = opened(cloud, "obs://bucket/pets/")
        form = dialog.form
        assert dialog.target.text() == "obs://bucket/pets_mini/"
        dialog.per_class.setValue(2)
        QTest.keyClick(dialog.seed, Qt.Key.Key_Return)
        await until(lambda: form.state.stage is MiniStage.SHOWN)
        press(dialog.make)
        await until(lambda: form.state.stage is MiniStage.DONE)
        there = cloud.storage.place(ObjectPath("bucket", "pets_mini"))
        assert len((there / "labels.csv").read_text().splitlines()) == 5
        assert len(list((there / "images").iterdir())) == 4 == len(list((there / "masks").iterdir()))
        dialog.close()


async def test_making_can_be_stopped_and_gone_on_with(tmp_path: Path, theme: Theme) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        made.with_csv(cloud.storage.place(ObjectPath("bucket", "pets")))
        dialog, told = opened(cloud, "obs://bucket/pets/")
        form = dialog.form
        press(dialog.look)
        await until(lambda: form.state.stage is MiniStage.SHOWN)
        gate = asyncio.Event()
        # Looking at the target goes on; what is copied waits.
        stop_listening = cloud.transfers.changed.add(lambda _: setattr(cloud.storage, "wait", gate))
        press(dialog.make)
        await until(lambda: cloud.storage.wait)
        stop_listening()
        await until(lambda: dialog.form._moving)
        press(dialog.stop)
        assert form.state.stage is MiniStage.SHOWN and dialog.make.isEnabled()
        gate.set()
        await until(lambda: [row.state for row in cloud.transfers.rows()] == [TransferState.CANCELLED])
        press(dialog.make)
        await until(lambda: form.state.stage is MiniStage.DONE)
        assert len(told) == 1 and cloud.storage.place(ObjectPath("bucket", "pets_mini/labels.csv")).exists()
        dialog.close()


async def test_a_stop_before_the_number_of_the_transfer_is_known_ends_it_too(
    tmp_path: Path, theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        made.with_csv(cloud.storage.place(ObjectPath("bucket", "pets")))
        dialog, _ = opened(cloud, "obs://bucket/pets/")
        press(dialog.look)
        await until(lambda: dialog.form.state.stage is MiniStage.SHOWN)
        begin, begun, known = cloud.transfers.begin, asyncio.Event(), asyncio.Event()

        async def slowly(order: Order) -> int:
            cloud.storage.wait = asyncio.Event()  # nothing is copied
            number = await begin(order)
            begun.set()
            await known.wait()
            return number

        monkeypatch.setattr(cloud.transfers, "begin", slowly)
        press(dialog.make)
        await begun.wait()
        press(dialog.stop)
        known.set()
        await until(lambda: [row.state for row in cloud.transfers.rows()] == [TransferState.CANCELLED])
        dialog.close()


async def test_what_is_wrong_is_said_and_can_be_mended(tmp_path: Path, theme: Theme) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        root = made.folder_per_class(tmp_path / "pets")
        dialog, _ = opened(cloud, "")
        form = dialog.form
        assert not dialog.look.isEnabled()
        for words, part in (("relative", "not a full path"), (str(tmp_path / "none"), "does not exist")):
            dialog.source.setText(words)
            press(dialog.look)
            await until(lambda: form.state.trouble is not None)
            assert part in dialog.summary.text()
        dialog.source.setText(str(root))
        dialog.target.setText(str(root / "inside"))
        press(dialog.look)
        await until(lambda: form.state.trouble is not None)
        assert "inside the dataset" in dialog.summary.text()
        other = made.write(tmp_path / "other", {"mine.txt": "x"})
        dialog.target.setText(str(other))
        press(dialog.look)
        await until(lambda: form.state.stage is MiniStage.SHOWN)
        press(dialog.make)
        await until(lambda: form.state.trouble is not None)
        assert "already contains other files, such as mine.txt" in dialog.summary.text() and dialog.make.isEnabled()
        assert [place.name for place in other.iterdir()] == ["mine.txt"]
        dialog.close()


async def test_looking_can_be_stopped(tmp_path: Path, theme: Theme) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        dialog, _ = opened(cloud, str(made.folder_per_class(tmp_path / "pets")))
        form = dialog.form
        press(dialog.look)
        assert form.state.stage is MiniStage.LOOKING and dialog.stop.isVisible() and not dialog.source.isEnabled()
        press(dialog.stop)
        assert form.state.stage is MiniStage.ASKING and dialog.look.isEnabled() and not dialog.stop.isVisible()
        dialog.close()
