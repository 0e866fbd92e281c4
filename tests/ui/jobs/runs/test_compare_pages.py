"""The tabs that compare and the tab of costs, as they are used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit

from support.folder_cloud import NPU, FolderCloud, code_folder, digits_spec
from support.jobs_window import jobs_window
from support.panel_bench import User, light_theme
from support.waiting import until
from traindeck.domain.jobs.job import RemoteJob, Run
from traindeck.services.jobs.billing import Billing
from traindeck.services.jobs.comparing import RunComparing
from traindeck.store.price_file import PriceFile
from traindeck.ui.jobs.costs.billing_view import PER_HOUR, STOP, BillingView
from traindeck.ui.jobs.runs.choose_run_dialog import OTHER_FOLDER, ChooseRunDialog
from traindeck.ui.jobs.runs.code_diff_view import CodeDiffView
from traindeck.ui.jobs.runs.compare_view import CompareView
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.costs.billing_page import BillingPage
from traindeck.viewmodels.jobs.runs.code_diff import FOLDER, CodeDiff
from traindeck.viewmodels.jobs.runs.run_comparison import RunsBeside

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

NOW = datetime.now(UTC)


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


@asynccontextmanager
async def two_runs(folder: Path) -> AsyncIterator[tuple[FolderCloud, Run, Run]]:
    """Of one job, with another rate and one line changed at either end of a long file."""
    async with FolderCloud(folder) as cloud:
        code = code_folder(folder / "code")
        lines = [f"line {number}" for number in range(100)]
        (code / "train.py").write_text("\n".join(lines))
        first = await cloud.submission.submit(digits_spec(), code)
        lines[2], lines[90] = "changed", "changed too"
        (code / "train.py").write_text("\n".join(lines))
        second = await cloud.submission.submit(digits_spec(parameters=(("epochs", 30), ("lr", 0.5))), code)
        yield cloud, first, second


async def test_eight_runs_stand_beside_each_other_and_a_ninth_is_refused(
    qapp: QApplication, tmp_path: Path, qtbot: QtBot
) -> None:
    """From the selection in the list to the difference of two files, as somebody does it in the window."""

    async def nine(cloud: FolderCloud) -> None:
        code = code_folder(tmp_path / "code")
        for number in range(9):
            (code / "train.py").write_text(f"rate = {number // 4}\n")
            await cloud.submission.submit(digits_spec(parameters=(("epochs", 30), ("lr", number / 10))), code)

    async with jobs_window(qapp, tmp_path, nine) as on:
        on.runs.rows.selectAll()
        compare = on.shell.commands.get("run.compare")
        assert not compare.enabled() and compare.why_not() == "Select 2 to 8 runs."
        on.runs.rows.setFocus()
        oldest = on.runs.model.index(8, 0)
        on.runs.rows.selectionModel().select(oldest, QItemSelectionModel.SelectionFlag.Deselect)
        on.do("run.compare")
        await until(lambda: isinstance(on.page, CompareView) and on.page.runs.state.is_known)
        view = on.page
        assert isinstance(view, CompareView)
        key = on.window.current_tab()
        assert on.window.tab_title(key) == "Compare 2, 3, 4, 5, 6, 7, 8, 9"
        model = view.model
        names = [model.row(number).name for number in range(model.rowCount())]
        assert model.columnCount() == 9 and "epochs" not in names
        row = names.index("lr")
        assert [model.index(row, column).data() for column in range(1, 9)] == [
            "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8",
        ]  # fmt: skip
        table = view.table
        last = table.visualRect(model.index(row, 8))
        table.scrollTo(model.index(row, 8))
        assert last.width() >= table.fontMetrics().horizontalAdvance("0.8"), "a run that is not in sight is reached"
        view.markdown.click()
        head = QGuiApplication.clipboard().text().splitlines()[0]
        assert head.count("Run ") == 8
        place = model.index(names.index("train.py"), 8)
        table.setCurrentIndex(place)
        qtbot.keyClick(table, Qt.Key.Key_Return)
        await until(lambda: on.window.tab_title(on.window.current_tab()) == "Code 2 ↔ 9")


async def test_only_differences_are_shown_and_a_row_of_code_leads_to_the_difference(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with two_runs(tmp_path) as (cloud, first, second):
        beside = RunsBeside(
            [first.id, second.id], RunComparing(cloud.records, cloud.connections, cloud.service.bundles), cloud.scope
        )
        view = CompareView(beside, theme)
        qtbot.addWidget(view)
        view.resize(800, 500)
        view.show()
        beside.load()
        await until(lambda: beside.state.is_known)

        def names() -> list[str]:
            return [view.model.row(number).name for number in range(view.model.rowCount())]

        assert {"lr", "tag", "train.py"} <= set(names()) and "epochs" not in names() and "data.txt" not in names()
        assert "hidden" in view.told.text()
        view.markdown.click()
        words = QGuiApplication.clipboard().text()
        assert "| lr | 0.05 | 0.5 |" in words and "epochs" not in words
        view.csv.click()
        assert "lr,0.05,0.5" in QGuiApplication.clipboard().text()
        assert not view.diff.isEnabled() and view.diff.toolTip()
        wanted: list[tuple[str, str, str]] = []
        view.diff_wanted.connect(lambda *pair: wanted.append(pair))
        view.table.setCurrentIndex(view.model.index(names().index("train.py"), 2))
        qtbot.keyClick(view.table, Qt.Key.Key_Return)
        assert wanted == [(first.id, second.id, "train.py")]
        view.equal.click()
        assert {"epochs", "data.txt"} <= set(names())
        beside.close()


async def test_the_differences_are_stepped_through_side_by_side_and_one_below_the_other(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with two_runs(tmp_path) as (cloud, first, second):
        diff = CodeDiff(first.id, second.id, cloud.service, cloud.scope)
        view = CodeDiffView(diff, theme)
        qtbot.addWidget(view)
        view.resize(1000, 240)
        view.show()
        diff.load()
        await until(lambda: bool(diff.state.lines))
        assert view.lines.currentWidget() is view.lines.beside
        assert "line 2" in view.lines.left.toPlainText() and "changed" not in view.lines.left.toPlainText()
        assert view.lines.left.textCursor().block().text() == "line 2"
        view.after.click()
        assert view.lines.left.textCursor().block().text() == "line 90"
        assert view.lines.right.textCursor().block().text() == "changed too"
        view.before.click()
        assert view.lines.right.textCursor().block().text() == "changed"
        await until(lambda: view.lines.right.verticalScrollBar().maximum() >= 3)  # laid out
        view.lines.right.verticalScrollBar().setValue(3)
        assert view.lines.left.verticalScrollBar().value() == 3
        view.unified.click()
        assert view.lines.currentWidget() is view.lines.both and "- line 2" in view.lines.both.toPlainText()
        view.after.click()
        assert view.lines.both.textCursor().block().text() == "- line 90"
        view.unified.click()
        view.resize(600, 300)
        assert view.lines.currentWidget() is view.lines.both and not view.unified.isEnabled() and view.unified.toolTip()
        view.resize(1000, 300)
        assert (
            view.lines.currentWidget() is view.lines.beside and view.unified.isEnabled() and not view.unified.toolTip()
        )
        view.unified.click()
        image = view.lines.both.viewport().grab().toImage()
        colors = {image.pixelColor(image.width() - 4, y).name() for y in range(image.height())}
        assert {theme.color("bad_soft").name(), theme.color("good_soft").name()} <= colors
        diff.close()


async def test_where_nothing_differs_there_is_nothing_to_step_through(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with two_runs(tmp_path) as (cloud, first, second):
        for other, differs in ((first, False), (second, True)):
            diff = CodeDiff(first.id, other.id, cloud.service, cloud.scope)
            view = CodeDiffView(diff, theme)
            qtbot.addWidget(view)
            diff.load()
            await until(lambda diff=diff: diff.state.is_known)
            assert [one.isEnabled() for one in (view.before, view.after, view.unified)] == [differs] * 3
            diff.close()


async def test_a_dialog_offers_the_folder_and_the_runs_of_the_job_first(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with two_runs(tmp_path) as (cloud, first, second):
        other = await cloud.submission.submit(digits_spec(name="another"), tmp_path / "code")
        dialog = ChooseRunDialog(second, await cloud.records.all(), None)
        qtbot.addWidget(dialog)
        assert dialog.chosen == FOLDER
        offered = [dialog.list.item(row).data(Qt.ItemDataRole.UserRole) for row in range(dialog.list.count())]
        assert offered == [FOLDER, OTHER_FOLDER, first.id, other.id]
        dialog.words.setText("another")
        assert dialog.chosen == other.id
        dialog.show()
        dialog.words.setFocus()
        qtbot.keyClick(dialog.words, Qt.Key.Key_Return)
        assert dialog.result() == QDialog.DialogCode.Accepted


async def test_each_job_that_is_charged_has_its_stop_and_prices_are_typed_in_place(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await cloud.add_cloud_profile("work")
        begun = NOW - timedelta(hours=2)
        cloud.jobs.jobs["x"] = RemoteJob("x", "theirs", "Running", NOW, begun, user="zhang", flavor=NPU.id)
        prices = PriceFile(cloud.paths.home / "prices.toml")
        billing = Billing(cloud.records, cloud.connections, cloud.service, prices, cloud.disk)
        page, user = BillingPage(billing, cloud.choices, cloud.profiles, cloud.watch, cloud.scope), User()
        view = BillingView(page, theme, user)
        qtbot.addWidget(view)
        view.resize(900, 500)
        view.show()
        page.open()
        await until(lambda: view.jobs.rowCount() == 1 and view.prices.rowCount() > 0)
        assert view.jobs.index(0, PER_HOUR).data() == "unknown"
        assert "price unknown" in view.sum.text()
        view.tabs.setCurrentIndex(1)
        row = view.prices.number_of(NPU.id)
        assert row is not None
        view.price_table.setCurrentIndex(view.prices.index(row, 1))
        view.price_table.edit(view.prices.index(row, 1))
        (editor,) = view.price_table.viewport().findChildren(QLineEdit)
        qtbot.keyClicks(editor, "23.5")
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        await until(lambda: view.jobs.index(0, PER_HOUR).data() == "23.50 CNY")
        view.limit.setText("10")
        view.limit.editingFinished.emit()
        await until(lambda: "of 10.00 CNY" in view.month.text() and view.used.isVisible())
        view.tabs.setCurrentIndex(0)
        place = view.table.visualRect(view.jobs.index(0, STOP)).center()
        qtbot.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place))
        await until(lambda: cloud.jobs.jobs["x"].phase == "Terminated")
        assert "theirs" in user.asked[0]
        cloud.watch_runs()
        await until(lambda: view.listed.currentWidget() is view.empty)
        page.close()
