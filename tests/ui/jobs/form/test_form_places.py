"""OBS paths that are typed into the form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton

from support.form_window import bench, said
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.form.form_values import USUAL_WAY

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def test_a_place_is_completed_judged_and_spelled_our_way(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        for key in ("data/a", "data_private/b"):
            await on.cloud.storage.put(b"12345", ObjectPath("bucket", key))
        on.page.more.unfold(True)
        log = on.editor("log_to")
        log.setFocus()
        qtbot.keyClicks(log, "bucket/da")
        popup = log.completer().popup()
        await until(popup.isVisible)
        assert [popup.model().index(row, 0).data() for row in range(popup.model().rowCount())] == [
            "obs://bucket/data/", "obs://bucket/data_private/",
        ]  # fmt: skip
        popup.setCurrentIndex(popup.model().index(0, 0))
        qtbot.keyClick(popup, Qt.Key.Key_Return)
        assert on.form.state.spec.log_to == "obs://bucket/data/"
        notes = on.page.notes["log_to"]
        await until(lambda: "not empty" in said(notes))

        on.form.set_rows("inputs", (("data_url", ""),))
        table = on.editor("inputs")
        table.setCurrentIndex(table.model().index(0, 1))
        table.edit(table.currentIndex())
        cell = table.findChild(QLineEdit)
        qtbot.keyClicks(cell, "s3://bucket/data")
        qtbot.keyClick(cell, Qt.Key.Key_Return)
        await until(lambda: on.form.state.rows["inputs"] == (("data_url", "obs://bucket/data", USUAL_WAY),))
        notes = on.page.notes["inputs"]
        await until(lambda: said(notes) == "data_url: “data” also matches data_private/.")
        assert notes.isVisible()
        qtbot.mouseClick(notes.findChild(QPushButton), Qt.MouseButton.LeftButton)
        assert on.form.state.rows["inputs"] == (("data_url", "obs://bucket/data/", USUAL_WAY),)
        await until(lambda: said(notes) == "data_url: 1 object, 5 B")
