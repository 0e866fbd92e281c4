"""The tables of the form: parameters, inputs and outputs, volumes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QLineEdit

from support.folder_cloud import digits_spec
from support.form_window import CTRL, bench
from support.panel_bench import let_go
from support.waiting import until
from traindeck.domain.jobs.job_spec import Channel, ChannelAccess, Volume, VolumeKind
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.object_drag import mime_of
from traindeck.viewmodels.storage.moving import Carried

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def test_parameters_are_pasted_and_removed_by_key(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.page._tables["parameters"]
        QGuiApplication.clipboard().setText("lr=0.2; momentum=0.9")
        table.setFocus()
        qtbot.keyClick(table, Qt.Key.Key_V, CTRL)
        assert dict(on.form.state.spec.parameters) == {"epochs": 30, "lr": 0.2, "tag": "7", "momentum": 0.9}
        table.selectionModel().clear()
        table.setCurrentIndex(table.pairs.index(0, 0))
        qtbot.keyClick(table, Qt.Key.Key_Delete)
        assert [name for name, _ in on.form.state.spec.parameters] == ["lr", "tag", "momentum"]


@pytest.mark.parametrize(
    "pasted",
    [
        "python train.py --lr 0.2 --momentum=0.9 --tag 7",
        "torchrun --nproc_per_node 8 train.py \\\n  --lr=0.2 \\\n  --momentum 0.9",
        '{"lr": 0.2, "momentum": 0.9}',
        '[{"name": "lr", "value": "0.2"}, {"name": "momentum", "value": "0.9"}]',
        "lr: 0.2\nmomentum: 0.9",
    ],
    ids=["command line", "torchrun over lines", "JSON", "JSON of the service", "lines"],
)
async def test_parameters_are_pasted_in_every_spelling_by_a_key_into_what_is_there(
    tmp_path: Path, theme: Theme, qtbot: QtBot, pasted: str
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.page._tables["parameters"]
        QGuiApplication.clipboard().setText(pasted)
        table.setFocus()
        qtbot.keyClick(table, Qt.Key.Key_V, CTRL)
        assert dict(on.form.state.spec.parameters) == {"epochs": 30, "lr": 0.2, "tag": "7", "momentum": 0.9}
        assert not on.form.state.all_errors


async def test_a_job_sent_while_a_cell_is_edited_has_what_was_typed(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.page._tables["parameters"]
        table.setCurrentIndex(table.pairs.index(0, 1))
        qtbot.keyClick(table, Qt.Key.Key_F2)
        cell = table.viewport().findChildren(QLineEdit)[-1]
        cell.setCursorPosition(0)
        qtbot.keyClicks(cell, "12")
        assert cell.text() == "1230"
        assert cell.cursorPosition() == 2
        on.sending.submit()
        await until(lambda: on.sent)
        assert dict(on.sent[0].spec.parameters)["epochs"] == 1230
        qtbot.keyClick(cell, Qt.Key.Key_Escape)
        assert dict(on.form.state.spec.parameters)["epochs"] == 30


async def test_objects_dropped_on_a_field_give_it_their_address(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        data = ObjectPath("digits", "more data/")
        inputs = on.page._tables["inputs"]

        def over(row: int) -> QPoint:
            place = QPoint(20, inputs.viewport().rect().top() + inputs.rowViewportPosition(row) + 5)
            return inputs.viewport().mapTo(on.view, place)

        first = mime_of(Carried("lab", (data,)))
        assert let_go(on.view, first, over(0)) == Qt.DropAction.CopyAction
        assert on.form.state.spec.inputs == (Channel("data_url", "obs://digits/more data/"),)
        two = mime_of(Carried("lab", (data, ObjectPath("digits", "labels.csv"))))
        assert let_go(on.view, two, over(1)) == Qt.DropAction.CopyAction
        assert on.form.state.spec.inputs[1:] == (
            Channel("more_data", "obs://digits/more data/"), Channel("labels_csv", "obs://digits/labels.csv"),
        )  # fmt: skip
        name = on.editor("name")
        assert let_go(on.view, first, name.mapTo(on.view, name.rect().center())) is None
        assert on.form.state.spec.name == "digits"


async def test_channels_say_how_they_are_passed_and_volumes_what_they_are(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        inputs = on.page._tables["inputs"]
        inputs.setCurrentIndex(inputs.pairs.index(0, 2))
        inputs.edit(inputs.currentIndex())
        box = inputs.findChild(QComboBox)
        assert box is not None
        box.setCurrentIndex(1)
        box.activated.emit(1)
        assert on.form.state.spec.inputs == (Channel("data_url", "obs://digits/data/", ChannelAccess.ENVIRONMENT),)
        on.page.more.unfold(True)
        await until(on.page._tables["volumes"].isVisible)
        for width in (300, 900):
            on.view.resize(width, 500)
            await until(lambda width=width: on.page.width() > width - 60 and on.page.width() <= width)
            head = on.page._tables["volumes"].horizontalHeader()
            await until(lambda head=head: head.length() == head.width())
            for column, title in enumerate(on.page._tables["volumes"].pairs.headers()):
                assert head.sectionSize(column) >= head.fontMetrics().horizontalAdvance(title) + 12, title
        on.form.set_rows("volumes", (("/data", "192.168.0.10:/", "nfs", "ro"),))
        assert on.form.state.spec.volumes == (Volume(VolumeKind.NFS, "192.168.0.10:/", "/data", read_only=True),)


async def test_parameters_are_ordered_by_key_and_by_dragging_their_number(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.page._tables["parameters"]
        table.setFocus()
        table.setCurrentIndex(table.pairs.index(0, 0))
        qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
        assert [name for name, _ in on.form.state.spec.parameters] == ["lr", "epochs", "tag"]
        table.verticalHeader().moveSection(2, 0)
        assert [name for name, _ in on.form.state.spec.parameters] == ["tag", "lr", "epochs"]
        assert table.pairs.index(0, 0).data() == "tag" and table.verticalHeader().logicalIndex(0) == 0


async def test_tab_goes_through_a_table_and_leaves_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(parameters=(("lr", 0.1),))) as on:
        table = on.page._tables["parameters"]

        def cell() -> QLineEdit:
            return table.viewport().findChildren(QLineEdit)[-1]

        on.page.boot.setFocus()
        table.setFocus()
        table.setCurrentIndex(table.pairs.index(0, 0))
        qtbot.keyClick(table, Qt.Key.Key_Return)
        for words in ("rate", "0.2", "epochs", "3"):
            cell().selectAll()
            qtbot.keyClicks(cell(), words)
            qtbot.keyClick(cell(), Qt.Key.Key_Tab)
            await until(lambda: len(table.viewport().findChildren(QLineEdit)) == 1)
        assert on.form.state.rows["parameters"] == (("rate", "0.2"), ("epochs", "3"))
        qtbot.keyClick(cell(), Qt.Key.Key_Tab)
        left = on.view.window().focusWidget()
        assert left is not None and left is not table and not table.isAncestorOf(left)
        table.setFocus()
        qtbot.keyClick(table, Qt.Key.Key_Tab)
        left = on.view.window().focusWidget()
        assert left is not table and not table.isAncestorOf(left)
