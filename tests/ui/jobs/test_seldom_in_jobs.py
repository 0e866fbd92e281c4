"""What is seldom asked of runs, by real keys and clicks in the window: filters, pins, failures, curves, templates."""

from __future__ import annotations

import csv
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.hands_here import HandsHere
from support.jobs_window import JobsWindow, jobs_window
from support.read_runs import write_log
from support.reading_corpora import FAILURES
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.run_query import Metric
from traindeck.ui.jobs.form.checks_dialog import ChecksDialog
from traindeck.ui.jobs.form.template_dialogs import TemplatesDialog
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.logs.log_view import LogView
from traindeck.viewmodels.jobs.runs.run_page import CODE, CURVES, SUB_PAGES

NOW = datetime.now(UTC)


def a_run(number: int, state: RunState = RunState.COMPLETED, **changes: Any) -> Run:
    run = Run(
        f"r{number}", number, f"digits-{number}", "lab", digits_spec(), state, NOW, bundle="b", job_id=f"j{number}",
        started=NOW, ended=NOW,
    )  # fmt: skip
    return replace(run, **changes)


def with_runs(*runs: Run) -> Callable[[FolderCloud], Awaitable[None]]:
    async def add(cloud: FolderCloud) -> None:
        for run in runs:
            await cloud.records.add(run)

    return add


def listed(on: JobsWindow) -> list[int]:
    runs = on.room.runs
    return [row.number for row in map(runs.row, runs.state.rows) if isinstance(row, Run)]


def page_of(on: JobsWindow) -> RunPageView:
    assert isinstance(on.page, RunPageView)
    return on.page


async def test_each_entry_of_the_filter_menu_filters_or_sorts_the_runs(qapp: QApplication, tmp_path: Path) -> None:
    runs = (
        a_run(1, RunState.FAILED, tags=("R&D",), ended=NOW - timedelta(hours=3)),
        a_run(2, starred=True, spec=digits_spec(name="beta")),
        a_run(3, profile="work", created=NOW - timedelta(days=40)),
    )
    async with jobs_window(qapp, tmp_path, with_runs(*runs)) as on:
        hands, bar = HandsHere(on.window), on.runs.search
        for number, loss in ((1, 0.1), (3, 0.4)):
            await on.cloud.records.set_metrics(f"r{number}", {"val_loss": Metric(loss, loss, 9.0)})
        bar._search.look_for_choices()
        await until(lambda: bar._search.metrics)

        async def shows(*numbers: int) -> None:
            await hands.until(lambda: listed(on) == list(numbers) and not bar._search.is_searching)

        for words, numbers in (
            (("Starred",), [2]),
            (("State", "Failed"), [1]),
            (("Account", "work"), [3]),
            (("Tag", "R&D"), [1]),
            (("Time", "Last 7 days"), [2, 1]),
            (("Best by", "val_loss"), [1, 3]),
            (("Sort by", "Name"), [3, 2, 1]),
        ):
            await hands.choose_from(bar.filters, *words)
            await shows(*numbers)
            assert bar.told.text() and bar.clear.isVisible()
            if words == ("Sort by", "Name"):
                await hands.choose_from(bar.filters, "Sort by", "Ascending")
                await shows(1, 2, 3)
            if words == ("State", "Failed"):
                await hands.choose_from(bar.filters, "State", "Completed")
                await shows(3, 2, 1)
            await hands.click(bar.clear)
            await hands.until(lambda: on.room.runs.search.found is None and len(listed(on)) == 3)
        await hands.choose_from(bar.filters, "Also search the logs")
        write_log(on.cloud, runs[2], b"epoch 1 sharpness 0.1\n")
        await hands.click(bar.words)
        await hands.type("sharpness")
        await shows(3)


async def test_a_run_is_pinned_starred_and_copied_from_its_menu(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, with_runs(a_run(1), a_run(2))) as on:
        hands, rows = HandsHere(on.window), on.runs.rows
        await hands.choose_cell(rows, 0, 0, double=True)
        await hands.until(lambda: isinstance(on.window.tabs.currentWidget(), RunPageView))
        following = page_of(on)
        assert "Run 2" in following.title.text()
        await hands.click(following.pin)
        await hands.until(lambda: on.window.tabs.currentWidget() is not following)
        pinned = page_of(on)
        await hands.choose_cell(rows, 1, 0)
        await hands.until(lambda: "Run 1" in following.title.text())
        assert "Run 2" in pinned.title.text() and pinned.pin.isChecked() and not following.pin.isChecked()
        await hands.choose("Run", "Keep this run as a tab of its own")
        await hands.until(lambda: page_of(on) is following)
        assert len(on.window.open_tabs()) == 1 and "Run 2" in following.title.text()

        await hands.choose_at(rows, 1, 0, "Star")
        await hands.until(lambda: on.room.runs.run("r1").starred)
        await hands.choose_at(rows, 1, 0, "Copy job ID")
        assert QGuiApplication.clipboard().text() == "j1"
        await hands.choose_from(following.more, "Copy name")
        await hands.until(lambda: QGuiApplication.clipboard().text() == "digits-1")


async def test_each_button_of_a_failure_leads_to_what_mends_it(qapp: QApplication, tmp_path: Path) -> None:
    async def before(cloud: FolderCloud) -> None:
        run = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        write_log(cloud, run, (FAILURES / "real" / "shape.log").read_bytes())
        cloud.jobs.move("Failed", "job-1", duration_ms=1000)

    async with jobs_window(qapp, tmp_path, before, reads=True) as on:
        hands = HandsHere(on.window)
        on.cloud.watch_runs()
        await until(lambda: [run.state for run in on.room.runs.state.runs] == [RunState.FAILED])
        await hands.choose_cell(on.runs.rows, 0, 0, double=True)
        await hands.until(lambda: isinstance(on.window.tabs.currentWidget(), RunPageView))
        card = page_of(on).overview.failure
        await hands.until(card.isVisible)
        await hands.click(card.proof)
        log = on.window.panel("log")
        assert isinstance(log, LogView)
        await hands.until(lambda: "RuntimeError" in log.pane.selected_words() or log.pane.top_number > 0)
        await hands.click(hands.button("Change Running parameters", card))
        table = on.job.fields["parameters"].editor
        await hands.until(lambda: table.isAncestorOf(hands.focused()) or hands.focused() is table)
        assert on.form.state.origin is not None
        await hands.click(hands.button("Show the code", card))
        await hands.until(lambda: SUB_PAGES[page_of(on).tabs.currentIndex()] == CODE)


async def test_a_chart_is_exported_as_a_table_and_as_a_picture(qapp: QApplication, tmp_path: Path) -> None:
    run = a_run(1)
    async with jobs_window(qapp, tmp_path, with_runs(run), reads=True) as on:
        write_log(on.cloud, run, b"".join(b"epoch %d/9 loss %.2f\n" % (epoch, 1 / epoch) for epoch in range(1, 10)))
        hands = HandsHere(on.window)
        await hands.choose_cell(on.runs.rows, 0, 0, double=True)
        await hands.until(lambda: isinstance(on.window.tabs.currentWidget(), RunPageView))
        page = page_of(on)
        await hands.click(page.tabs, page.tabs.tabRect(SUB_PAGES.index(CURVES)).center())
        await hands.until(lambda: page.curves.view is not None and page.curves.view.chart.isVisible())
        view = page.curves.view
        for name in ("curves.csv", "curves.png"):
            await hands.click(view.keep)
            await hands.choose_path(tmp_path / name)
            await hands.until((tmp_path / name).exists)
        rows = list(csv.reader((tmp_path / "curves.csv").read_text("utf-8-sig").splitlines()))
        assert len(rows) == 10, rows
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
        await hands.click(view.whole)
        await hands.click(view.chart.viewport(), QPoint(200, 60))


async def test_templates_are_kept_used_and_deleted_and_the_checks_are_shown(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        hands = HandsHere(on.window)
        on.form.load_spec(digits_spec(name="first"), tmp_path / "code")
        for name in ("one", "two"):
            await hands.choose("Job", "Save as template…")
            await hands.answer("Save the form as a template", name)
        await hands.choose("Job", "New from template…")
        dialog = await hands.opened(TemplatesDialog)
        await hands.until(lambda: dialog.list.count() == 2)
        await hands.click(dialog.list.viewport(), dialog.list.visualItemRect(dialog.list.item(1)).center())
        await hands.click(dialog.delete)
        question = await hands.dialog_saying("Delete the template “two”?")
        await hands.click(hands.button("Delete", question))
        await hands.until(lambda: dialog.list.count() == 1)
        on.form.set_field("name", "typed")
        await hands.click(dialog.use)
        await hands.all_closed()
        await hands.until(lambda: on.form.state.spec.name == "first")

        await hands.choose("Job", "All checks…")
        checks = await hands.opened(ChecksDialog)
        await hands.until(lambda: checks.list.count() > 3 and checks.again.isEnabled())
        before = on.parts.checks.state.report
        await hands.click(checks.again)
        await hands.until(lambda: on.parts.checks.state.report is not before and checks.again.isEnabled())
        await hands.click(checks.close_button)
        await hands.all_closed()
        await hands.choose("Job", "Edit as text")
        await hands.until(lambda: on.parts.written.state.is_open)
