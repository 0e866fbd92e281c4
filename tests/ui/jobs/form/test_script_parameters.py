"""The parameters that the script reads, offered in the form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton

from support.folder_cloud import digits_spec
from support.form_window import Bench, bench, said
from support.waiting import until
from traindeck.ui.kit.theme import Theme

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

SCRIPT = """
import argparse
import more

parser = argparse.ArgumentParser()
parser.add_argument("--data_url", required=True)
parser.add_argument("--train_url")
parser.add_argument("--epochs", type=int, default=10, help="how often all data is seen")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
parser.add_argument("--amp", action="store_true")
parser.add_argument("--key", required=True)
more.add(parser)
args = parser.parse_args()
"""
MORE = """
def str2bool(text):
    return text.lower() == "true"

def add(parser):
    parser.add_argument("--shuffle", type=str2bool, default=True)
"""


def write(folder: Path) -> None:
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "train.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "code" / "more.py").write_text(MORE, encoding="utf-8")


async def read(on: Bench, folder: Path) -> None:
    write(folder)
    on.parts.code.look()
    await until(lambda: on.parts.script.state.found and on.parts.script.state.found.arguments)


async def test_they_are_offered_and_what_is_wrong_is_marked(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    spec = digits_spec(parameters=(("epochz", 30), ("lr", "fast"), ("amp", True)))
    async with bench(tmp_path, theme, qtbot, spec) as on:
        await read(on, tmp_path)
        view, table, notes = on.page.script, on.page._tables["parameters"], on.page.notes["parameters"]
        assert view.isVisible()
        assert view.findChild(QPushButton).text() == "▸ train.py reads 8 parameters"
        assert said(notes).splitlines() == [
            "epochz: Did you mean “epochs”?",  # a check says what is wrong
            "lr: “fast” is not a number.",
            "amp: It takes no value, but running parameters are passed as --amp=value: the script would end with an "
            "error.",
            "key: train.py does not start without it.",
        ]
        assert table.pairs.index(0, 0).data(Qt.ItemDataRole.ForegroundRole) == theme.color("warn")
        tip = table.pairs.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
        assert "how often" not in tip and "train.py does not read it, and ends with an error." in tip
        use, add = (button for button in notes.findChildren(QPushButton) if button.isVisible())
        assert (use.text(), add.text()) == ("Use epochs", "Add key")
        qtbot.mouseClick(use, Qt.MouseButton.LeftButton)
        assert on.form.state.rows["parameters"][0] == ("epochs", "30")
        assert "how often all data is seen" in table.pairs.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
        await until(lambda: "epochz:" not in said(notes))


async def test_one_is_taken_with_its_default_and_chosen_by_its_type(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(parameters=())) as on:
        await read(on, tmp_path)
        view, table = on.page.script, on.page._tables["parameters"]
        qtbot.mouseClick(view.findChild(QPushButton), Qt.MouseButton.LeftButton)
        names = [view.table.model().index(row, 0).data() for row in range(view.table.model().rowCount())]
        assert names == ["data_url", "train_url", "epochs", "lr", "optimizer", "amp", "key", "shuffle"]
        for name in ("optimizer", "shuffle"):
            view.table.setCurrentIndex(view.table.model().index(names.index(name), 0))
            qtbot.keyClick(view.table, Qt.Key.Key_Return)
        assert on.form.state.rows["parameters"] == (("optimizer", "sgd"), ("shuffle", "true"))
        assert table.currentIndex().siblingAtColumn(0).data() == "shuffle"
        table.setCurrentIndex(table.pairs.index(0, 1))
        qtbot.keyClick(table, Qt.Key.Key_F2)
        box = table.viewport().findChildren(QComboBox)[-1]
        assert [box.itemText(number) for number in range(box.count())] == ["sgd", "adam"]
        box.setCurrentIndex(1)
        box.activated.emit(1)
        assert on.form.state.rows["parameters"][0] == ("optimizer", "adam")


async def test_a_name_is_completed_while_it_is_typed(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(parameters=())) as on:
        await read(on, tmp_path)
        table = on.page._tables["parameters"]
        table.setCurrentIndex(table.pairs.index(0, 0))
        qtbot.keyClick(table, Qt.Key.Key_F2)
        cell = table.viewport().findChildren(QLineEdit)[-1]
        qtbot.keyClicks(cell, "opt")
        completer = cell.completer()
        assert completer.currentCompletion() == "optimizer"
        completer.activated.emit("optimizer")
        assert on.form.state.rows["parameters"] == (("optimizer", ""),)


async def test_another_boot_file_and_an_edited_one_are_read_again(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        await read(on, tmp_path)
        script, folder = on.parts.script, tmp_path / "code"
        (folder / "other.py").write_text(
            "import click\n@click.command()\n@click.option('--x', default=1)\ndef f(x): ..."
        )
        on.form.set_field("boot", "other.py")
        on.parts.code.look()
        await until(lambda: script.state.found and [one.name for one in script.state.found.arguments] == ["x"])
        assert script.state.boot == "other.py"
        (folder / "other.py").write_text("print(1)")
        on.parts.code.look()
        await until(lambda: script.state.found and not script.state.found.arguments)
        assert not on.page.script.isVisible()
        on.form.set_field("boot", "missing.py")
        await until(lambda: script.state.found is None)
