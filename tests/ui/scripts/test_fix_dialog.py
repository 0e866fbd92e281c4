"""Scripts are adapted from the menu: looked at file by file, applied, undone."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from support.folder_cloud import digits_spec
from support.jobs_window import JobsWindow, jobs_window
from support.waiting import until
from traindeck.domain.jobs.checks import CheckFix
from traindeck.domain.texts import text
from traindeck.ui.scripts.fix_dialog import FixDialog
from traindeck.ui.shell.help_dialog import HelpDialog

TRAIN = """\
import argparse

import torch
import net

parser = argparse.ArgumentParser()
parser.add_argument("--data_path", default="data")
parser.add_argument("--lr", type=float, default=0.1)
password = "Correct-Horse-7"
args = parser.parse_args()
model = torch.nn.DataParallel(net.Net()).cuda()  # all of it
"""
NET = "import torch\n\nZERO = torch.zeros(3).cuda()\n\n\nclass Net(torch.nn.Module):\n    pass\n"


def write_project(on: JobsWindow) -> Path:
    code = on.folder / "code"
    (code / "train.py").write_bytes(TRAIN.encode())
    (code / "net.py").write_bytes(NET.encode())
    on.form.load_spec(digits_spec(), code)
    return code


def is_gone(dialog: FixDialog) -> bool:
    return not isValid(dialog) or not dialog.isVisible()


async def opened(on: JobsWindow, command: str) -> FixDialog:
    on.do(command)
    dialog = await on.dialog(FixDialog)
    assert not (dialog.preview.state.is_reading and dialog.head.isVisible()), "said where the lines will be"
    await until(lambda: not dialog.preview.state.is_reading)
    return dialog


async def test_what_is_ticked_is_changed_and_undone_by_the_toast(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        code = write_project(on)
        dialog = await opened(on, "job.ascend")
        names = [dialog.model.row(row).path for row in range(dialog.model.rowCount())]
        assert sorted(names) == ["net.py", "train.py"]
        assert ".npu()" in dialog.lines.right.toPlainText() + dialog.lines.both.toPlainText()
        left = [dialog.left_model.row(row) for row in range(dialog.left_model.rowCount())]
        assert [(one.file, one.line) for one in left] == [("train.py", 11)]
        shown = dialog.lines.left.toPlainText() + dialog.lines.right.toPlainText() + dialog.lines.both.toPlainText()
        assert "password" in shown and "Correct-Horse-7" not in shown
        assert (code / "train.py").read_bytes() == TRAIN.encode(), "nothing is written before it is applied"
        dialog.resize(1300, 700)
        await until(lambda: dialog.lines.currentWidget() is dialog.lines.beside)
        dialog.resize(800, 500)
        await until(lambda: dialog.lines.currentWidget() is dialog.lines.both)
        number = names.index("net.py")
        dialog.files.selectRow(number)
        await until(lambda: "ZERO" in dialog.lines.both.toPlainText() + dialog.lines.right.toPlainText())
        unticked = dialog.model.index(names.index("train.py"), 0)
        dialog.model.setData(unticked, Qt.CheckState.Unchecked.value, Qt.ItemDataRole.CheckStateRole)
        dialog.apply_button.click()
        await until(lambda: is_gone(dialog))
        assert (code / "train.py").read_bytes() == TRAIN.encode()
        assert b"import torch_npu\n\nZERO = torch.zeros(3).npu()" in (code / "net.py").read_bytes()
        assert on.told()[-1] == "1 file was changed."
        on.notices.journal.undo_last()
        await until(lambda: on.told()[-1] == "1 file is as it was.")
        assert (code / "net.py").read_bytes() == NET.encode()
        on.do("job.fix_back")
        await until(lambda: "can be undone" in on.told()[-1])
        assert not on.cloud.reported


async def test_an_entry_script_becomes_the_boot_file_and_undo_gives_the_old_one_back(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        code = write_project(on)
        dialog = await opened(on, "job.modelarts")
        assert b"parse_known_args" in (dialog.preview.changes[0].after or b"")
        dialog.way.setCurrentIndex(1)
        await until(lambda: [one.path for one in dialog.preview.changes] == ["modelarts_entry.py"])
        assert "modelarts_entry.py" in dialog.head.text()
        dialog.apply_button.click()
        await until(lambda: is_gone(dialog))
        assert on.form.state.spec.boot == "modelarts_entry.py" and (code / "modelarts_entry.py").is_file()
        # As if the program had been closed meanwhile: nothing but the disk knows of it.
        on.do("job.fix_back")
        await until(lambda: on.form.state.spec.boot == "train.py")
        assert not (code / "modelarts_entry.py").exists()


async def test_a_file_that_was_edited_meanwhile_is_not_overwritten(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        code = write_project(on)
        on.parts.mend(CheckFix(text("Show the fix…"), script_fix="parse-known-args"))
        dialog = await on.dialog(FixDialog)
        await until(lambda: not dialog.preview.state.is_reading)
        assert not dialog.way.isVisible()
        edited = TRAIN + "print('mine')\n"
        (code / "train.py").write_text(edited, encoding="utf-8")
        dialog.apply_button.click()
        await until(lambda: "changed in the meantime" in dialog.told.text())
        assert dialog.isVisible() and (code / "train.py").read_text(encoding="utf-8") == edited
        dialog.again.click()
        await until(lambda: b"mine" in (dialog.preview.changes[0].after or b""))
        dialog.apply_button.click()
        await until(lambda: is_gone(dialog))
        assert "parse_known_args()[0]" in (code / "train.py").read_text(encoding="utf-8")


async def test_both_versions_run_in_the_lab_before_anything_is_written(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        code = write_project(on)
        dialog = await opened(on, "job.modelarts")
        before = len(on.room.runs.state.runs)
        assert dialog.try_button.isEnabled(), dialog.try_button.toolTip()
        dialog.try_button.click()
        await until(lambda: bool(dialog.told.text()), 20)
        await until(lambda: len(on.room.runs.state.runs) > before)
        assert "submitted to the Lab" in dialog.told.text()
        assert (code / "train.py").read_bytes() == TRAIN.encode()
        tries = on.cloud.paths.script_fixes / "tries"
        assert not list(tries.glob("*"))
        dialog.reject()


async def test_the_way_from_a_script_to_a_job_can_be_read_beside_the_window(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        on.do("help.script")
        dialog = await on.dialog(HelpDialog)
        assert "Adapt for Ascend" in dialog.page.toPlainText() and not dialog.isModal()
        dialog.close_button.click()
