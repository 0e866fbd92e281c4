"""The page that tells what a dataset holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
from traindeck.domain.datasets.report_words import ReportLine
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.datasets.report_view import DatasetReportView, FindingRow
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.datasets.dataset_look import DatasetReportPage

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def rows(view: DatasetReportView) -> list[FindingRow]:
    return [row for row in view.rows if isinstance(row, FindingRow)]


async def test_a_folder_of_this_computer(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        root = made.folder_per_class(tmp_path / "pets")
        made.write(root, {"cat/half.png": made.png(1)[:50], "cat/<b>&amp;.png": b""})
        page = DatasetReportPage(str(root), LAB, datasets_of(cloud), cloud.scope)
        view = DatasetReportView(page, theme)
        qtbot.addWidget(view)
        view.show()
        page.look(contents=True)
        assert view.stop.isVisible() and not view.again.isEnabled()
        await until(lambda: page.state.report is not None)
        assert view.again.isEnabled() and not view.stop.isVisible() and not view.read.isVisible()
        bad = [row for row in rows(view) if row.finding.level is ReportLine.BAD]
        assert [row.finding.words for row in bad] == ["1 file is empty.", "1 picture is broken."]
        QTest.mouseClick(bad[0].more, Qt.MouseButton.LeftButton)
        assert bad[0].names.isVisible() and bad[0].names.text() == "cat/<b>&amp;.png"
        assert bad[0].names.textFormat() is Qt.TextFormat.PlainText, "a name from outside is no markup"
        assert view.table.model().rowCount() == 2
        wanted: list[str] = []
        view.mini_wanted.connect(wanted.append)
        QTest.mouseClick(view.mini, Qt.MouseButton.LeftButton)
        assert wanted == [str(root)]
        (root / "cat/half.png").unlink()
        QTest.mouseClick(view.again, Qt.MouseButton.LeftButton)
        await until(lambda: not page.state.is_busy)
        assert next(row.finding.words for row in rows(view)) == "1 file is empty."
        assert not [row for row in rows(view) if "broken" in row.finding.words]
        view.close()


async def test_of_a_bucket_contents_are_read_only_when_asked_for(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        made.folder_per_class(cloud.storage.place(ObjectPath("bucket", "pets")))
        await cloud.storage.put(b"\x89PNG\r\n\x1a\nxx", ObjectPath("bucket", "pets/cat/half.png"))
        page = DatasetReportPage("obs://bucket/pets/", LAB, datasets_of(cloud), cloud.scope)
        view = DatasetReportView(page, theme)
        qtbot.addWidget(view)
        view.show()
        page.look(contents=False)
        await until(lambda: page.state.report is not None)
        assert page.state.report is not None and page.state.report.contents is None
        assert view.status.text() == "Only names and sizes were looked at."
        assert any("unknown, no contents were read" in row.finding.words for row in rows(view))
        QTest.mouseClick(view.read, Qt.MouseButton.LeftButton)
        await until(lambda: not page.state.is_busy)
        assert any(row.finding.words == "1 picture is broken." for row in rows(view)) and not view.status.text()
        view.close()


async def test_what_cannot_be_looked_at_says_so(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        page = DatasetReportPage(str(tmp_path / "none"), LAB, datasets_of(cloud), cloud.scope)
        view = DatasetReportView(page, theme)
        qtbot.addWidget(view)
        view.show()
        page.look(contents=True)
        await until(lambda: page.state.trouble is not None)
        assert "does not exist" in view.status.text() and not view.summary_card.isVisible()
        view.close()
