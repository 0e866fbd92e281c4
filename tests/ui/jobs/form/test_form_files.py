"""Job files that are dropped or opened, and the form as their text."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QPoint, QRect, Qt, QUrl
from PySide6.QtGui import QDragMoveEvent
from PySide6.QtWidgets import QApplication

from support.folder_cloud import digits_spec
from support.form_window import bench
from support.panel_bench import drop
from support.waiting import until
from traindeck.domain.jobs.form import job_file
from traindeck.ui.jobs.form.check_list import COLOR_ROLE, WrappedRows, WrappedWords
from traindeck.ui.kit.theme import SPACE, Theme

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def test_a_dropped_job_file_fills_the_form(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        path = tmp_path / "code" / "job.toml"
        path.write_text(job_file.to_toml(digits_spec(name="from-file")), encoding="utf-8")
        (tmp_path / "picture.png").write_bytes(b"")
        assert drop(on.view, [path], QPoint(50, 50))
        await until(lambda: on.editor("name").text() == "from-file")
        assert on.view.file.text() == "job.toml"
        qtbot.keyClicks(on.editor("name"), "x")
        assert on.view.file.text() == "job.toml •"


async def test_what_is_of_no_use_is_refused_without_waiting_for_the_disk(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        picture = tmp_path / "picture.png"
        picture.write_bytes(b"")
        before = on.form.state.spec
        # Let go before the disk has answered: it is said what may be dropped.
        assert drop(on.view, [picture], QPoint(50, 50))
        await until(lambda: on.cloud.reported)
        assert "picture.png" in on.cloud.reported[0][1].sentence()
        await until(lambda: not on.form.may_take(picture))
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(picture))])
        button, key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        move = QDragMoveEvent(QPoint(50, 50), Qt.DropAction.CopyAction, data, button, key)
        QApplication.sendEvent(on.view, move)
        assert not move.isAccepted()
        assert on.form.state.spec == before
        folder = tmp_path / "digits.py"  # what it is counts, not its name
        folder.mkdir()
        assert drop(on.view, [folder], QPoint(50, 50))
        await until(lambda: on.form.state.code_place == folder)
        on.cloud.reported.clear()


async def test_the_form_as_text_and_back_with_mistakes_at_their_line(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        path = tmp_path / "code" / "job.toml"
        path.write_text("# mine\n" + job_file.to_toml(digits_spec()), encoding="utf-8")
        on.form.open_file(path)
        await until(lambda: on.form.state.file)
        on.form.set_field("nodes", 2)
        qtbot.mouseClick(on.view.text_button, Qt.MouseButton.LeftButton)
        await until(lambda: on.view.text is not None and "nodes = 2" in on.view.text.text.toPlainText())
        assert on.view.text is not None
        words = on.view.text.text
        assert words.toPlainText().startswith("# mine\n")
        words.setPlainText(words.toPlainText().replace("nodes = 2", "nodez = 2"))
        marks = on.view.text.marks
        await until(lambda: "nodez" in marks.item(0).text())
        line = next(number for number, one in enumerate(words.toPlainText().splitlines(), 1) if "nodez" in one)
        assert f"Line {line}:" in marks.item(0).text() and "“nodes”" in marks.item(0).text()
        assert on.form.state.spec.nodes == 2
        on.sending.submit()
        await until(lambda: on.sending.state.told is not None)
        assert not on.sent, "what cannot be read is not sent"
        on.user.answer = False
        qtbot.mouseClick(on.view.text_button, Qt.MouseButton.LeftButton)
        await until(lambda: on.user.asked)
        assert on.parts.written.state.is_open, "nothing typed is thrown away"
        marks.item(0).setText("✗ Line 6: Code directory: Select the folder of your code, and then some more words.")
        on.view.resize(300, 500)
        flags = Qt.TextFlag.TextWordWrap
        await until(
            lambda: (
                (room := marks.visualItemRect(marks.item(0))).height()
                >= marks.fontMetrics()
                .boundingRect(QRect(0, 0, room.width(), 999), flags, marks.item(0).text())
                .height()
            )
        )
        words.setPlainText(words.toPlainText().replace("nodez = 2", "nodes = 3"))
        await until(lambda: on.form.state.spec.nodes == 3)
        qtbot.mouseClick(on.view.text_button, Qt.MouseButton.LeftButton)
        assert on.editor("nodes").value() == 3
        on.form.save_file(path)
        await until(lambda: not on.form.state.is_dirty)
        assert path.read_text(encoding="utf-8").startswith("# mine\n")


async def test_marks_are_at_the_lines_of_the_text_that_is_there(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        qtbot.mouseClick(on.view.text_button, Qt.MouseButton.LeftButton)
        await until(lambda: on.view.text is not None and "digits" in on.view.text.text.toPlainText())
        assert on.view.text is not None
        words, marks = on.view.text.text, on.view.text.marks

        def marked() -> list[int]:
            return [one.cursor.blockNumber() + 1 for one in words.extraSelections()]

        words.setPlainText(f"{words.toPlainText()}\n\nno toml\n")
        await until(lambda: "not valid TOML" in marks.item(0).text())
        assert marked() == [words.blockCount() - 1]
        on.form.new()
        await until(lambda: marks.item(0).text().startswith("✗ Line 2: Name"))
        assert marked()[0] == 2 and words.toPlainText().splitlines()[1] == 'name = ""'


async def test_words_that_a_scroll_bar_parts_have_their_second_line(theme: Theme, qtbot: QtBot) -> None:
    rows = WrappedRows()
    qtbot.addWidget(rows)
    rows.setItemDelegate(WrappedWords(theme, rows))
    rows.setResizeMode(WrappedRows.ResizeMode.Adjust)
    rows.addItems(["Code directory: Select the folder of your code."] * 6)
    for row in range(rows.count()):
        rows.item(row).setData(COLOR_ROLE, "bad")
    words = rows.fontMetrics().horizontalAdvance(rows.item(0).text())
    rows.resize(words + 2 * SPACE + 2 * rows.frameWidth() + 3, 60)
    rows.show()
    for _ in range(5):
        await asyncio.sleep(0)
    assert rows.verticalScrollBar().isVisible()
    heights = [rows.visualItemRect(rows.item(row)).height() for row in range(rows.count())]
    assert heights == [rows.sizeHintForRow(row) for row in range(rows.count())]
    assert heights[0] > 2 * rows.fontMetrics().height(), "parted by the scroll bar"
