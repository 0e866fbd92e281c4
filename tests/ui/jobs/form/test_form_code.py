"""The code that goes along: what is taken, and that of an earlier run."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, QPoint, Qt

from support.dialogs import visible_dialog
from support.folder_cloud import digits_spec
from support.form_window import bench
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.ui.jobs.form.code_tree_dialog import CodeTreeDialog
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.runs.code_diff import FOLDER

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def test_the_code_is_listed_and_a_click_leaves_out_and_takes_in(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(ignore=("data.txt",))) as on:
        code = tmp_path / "code"
        (code / "lib").mkdir()
        (code / "lib" / "a[1].py").write_text("x = 1\n", encoding="utf-8")
        on.parts.code.look()
        await until(lambda: on.page.code.text() == "2 files, 21 B, 1 left out")
        qtbot.mouseClick(on.page.code, Qt.MouseButton.LeftButton)
        dialog = await visible_dialog(on.view, CodeTreeDialog)
        model = dialog.model

        def node(*path: str) -> Any:
            index = QModelIndex()
            for part in path:
                rows = range(model.rowCount(index))
                index = next(model.index(row, 0, index) for row in rows if model.index(row, 0, index).data() == part)
            return index

        assert dialog.remarks.text().startswith("Largest: ")
        line = dialog.fontMetrics().lineSpacing()
        assert line <= dialog.remarks.height() < 2 * line, "no room is kept for what is not said"
        assert dialog.remarks.mapTo(dialog, QPoint()).y() > dialog.tree.geometry().bottom(), "ticks keep their place"
        assert "“data.txt” in “ignore”" in model.index(node("data.txt").row(), 2).data()
        check = Qt.ItemDataRole.CheckStateRole
        assert model.setData(node("data.txt"), Qt.CheckState.Checked, check)
        await until(lambda: on.page.code.text() == "3 files, 27 B")
        assert on.form.state.spec.ignore == ("data.txt", "!/data.txt")
        dialog.tree.expandAll()
        assert model.setData(node("lib/", "a[1].py"), Qt.CheckState.Unchecked, check)
        await until(lambda: on.page.code.text() == "2 files, 21 B, 1 left out")
        assert on.form.state.spec.ignore[-1] == r"/lib/a\[1\].py"
        assert dialog.tree.isExpanded(node("lib/")), "what is unfolded stays so"
        assert model.setData(node("lib/", "a[1].py"), Qt.CheckState.Checked, check)
        assert on.form.state.spec.ignore == ("data.txt", "!/data.txt")
        dialog.close()


async def test_the_code_of_then_or_the_current_one_is_submitted(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent and on.sending.state.stage is None)
        first = on.sent[0]
        code = tmp_path / "code"
        (code / "train.py").write_text("print('other')\n", encoding="utf-8")
        (code / "more.py").write_text("", encoding="utf-8")
        on.form.load_spec(first.spec, code, first)
        await until(lambda: on.view.origin.differs.text() == "(2 files differ)")
        wanted: list[tuple[str, str]] = []
        on.parts.earlier.difference_wanted.connect(lambda *pair: wanted.append(pair))
        qtbot.mouseClick(on.view.origin.view, Qt.MouseButton.LeftButton)
        assert wanted == [(first.id, FOLDER)]
        qtbot.mouseClick(on.view.origin.then, Qt.MouseButton.LeftButton)
        on.form.set_rows("parameters", (("epochs", "30"), ("lr", "0.003"), ("tag", "7")))
        assert on.view.origin.words.text() == "Same as run 1 except lr 0.05 → 0.003"
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: len(on.sent) == 2 and on.sending.state.stage is None)
        assert (on.sent[1].bundle, on.sent[1].resubmission_of) == (first.bundle, first.id)
        qtbot.mouseClick(on.view.origin.now, Qt.MouseButton.LeftButton)
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: len(on.sent) == 3)
        assert on.sent[2].bundle != first.bundle and not on.cloud.reported
        assert on.sent[2].resubmission_of == first.id, "whichever code it takes, it is known what it is like"


async def test_code_of_then_that_is_gone_is_said_to_be(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent and on.sending.state.stage is None)
        shutil.rmtree(on.cloud.paths.bundles)
        on.form.load_spec(on.sent[0].spec, tmp_path / "code", on.sent[0])
        strip = on.view.origin
        await until(strip.code.isVisible)
        assert not strip.then.isEnabled() and strip.now.isEnabled() and strip.now.isChecked()
        assert "no longer on this computer" in strip.differs.text() and not strip.view.isVisible()
        assert not on.cloud.reported


async def test_a_run_that_is_gone_is_nothing_to_be_like(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    """As the form comes back after a restart, when the run was deleted elsewhere meanwhile."""
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        gone = Run("gone", 1, "digits", "lab", digits_spec(), RunState.COMPLETED, datetime.now(UTC), bundle="b" * 64)
        on.form.load_spec(gone.spec, tmp_path / "code", gone)
        await until(lambda: on.form.state.origin is None)
        assert not on.view.origin.isVisible() and on.form.state.spec.name == "digits"
        assert not on.cloud.reported
