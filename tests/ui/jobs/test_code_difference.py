"""One tab shows how code differs, wherever it was asked for."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QListWidget

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.jobs_window import jobs_window
from support.waiting import until
from traindeck.ui.jobs.runs.choose_run_dialog import ChooseRunDialog
from traindeck.ui.jobs.runs.code_diff_view import CodeDiffView


async def test_the_form_and_the_run_lead_to_the_same_difference_which_follows_the_folder(
    qapp: QApplication, tmp_path: Path
) -> None:
    async def sent(cloud: FolderCloud) -> None:
        await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))

    async with jobs_window(qapp, tmp_path, sent) as on:
        code = tmp_path / "code"
        (code / "train.py").write_text("print('other')\n", encoding="utf-8")
        on.do("run.edit")
        await until(lambda: on.job.origin.view.isVisible())
        assert on.job.origin.differs.text() == "(1 file differs)"
        on.job.origin.view.click()
        view = on.page
        assert isinstance(view, CodeDiffView)
        await until(lambda: "print('other')" in view.lines.right.toPlainText() + view.lines.both.toPlainText())
        place = view.files.currentIndex().row()
        (code / "train.py").write_text("print('a third')\n", encoding="utf-8")
        (code / "a.py").write_text("x = 1\n", encoding="utf-8")
        QApplication.sendEvent(view, QEvent(QEvent.Type.ActivationChange))
        await until(lambda: view.model.rowCount() == 2)
        await until(lambda: "print('a third')" in view.lines.right.toPlainText() + view.lines.both.toPlainText())
        assert view.files.currentIndex().row() == place + 1, "the same file is looked at"
        on.do("run.diff")
        dialog = await on.dialog(ChooseRunDialog)
        assert isinstance(dialog.list, QListWidget) and "folder" in dialog.list.item(0).text()
        dialog.choose.click()
        await until(lambda: not dialog.isVisible())
        assert on.page is view and len(on.window.open_tabs()) == 1
        assert not on.cloud.reported
