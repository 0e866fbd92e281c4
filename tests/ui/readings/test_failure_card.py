"""The card of a failed run: what happened, the line that shows it, and buttons that act."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from support.folder_cloud import digits_spec
from support.panel_bench import User, light_theme
from support.read_runs import read_runs, write_log
from support.reading_corpora import FAILURES, READINGS
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.ui.jobs.runs.run_list_view import RunListView
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.runs.run_page import DETAILS, OVERVIEW, SUB_PAGES, RunPage

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

NOW = datetime.now(UTC)


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def a_run(number: int, state: RunState = RunState.FAILED, **changes: Any) -> Run:
    run = Run(
        f"r{number}", number, f"digits-{number}", "lab", digits_spec(), state, NOW, bundle="b", job_id=f"j{number}",
        started=NOW,
    )  # fmt: skip
    return replace(run, **changes)


def page_view(cloud: Any, runs: Any, theme: Theme, qtbot: QtBot, run_id: str) -> RunPageView:
    view = RunPageView(RunPage(runs, cloud.service, cloud.watch, cloud.scope, run_id), theme, User())
    qtbot.addWidget(view)
    view.resize(760, 560)
    view.show()
    return view


async def test_a_failed_run_says_why_and_leads_to_the_line(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with read_runs(tmp_path, a_run(1, tasks=("worker-0", "worker-1"))) as (cloud, runs, _):
        write_log(cloud, a_run(1), b"epoch 1/3 loss 0.5\n")
        write_log(cloud, a_run(1), (FAILURES / "real" / "shape.log").read_bytes(), "worker-1")
        runs.refresh()
        await until(lambda: runs.state.is_known)
        view = page_view(cloud, runs, theme, qtbot, "r1")
        card = view.overview.failure
        await until(card.isVisible)
        assert card.title.text() == "The shapes of two tensors do not fit."
        assert card.proof.text().startswith("Line 23: RuntimeError: addmm: mat1 and mat2")
        assert "data, model or labels" in card.cause.text().lower() and card.todo.text()
        assert not view.note.isVisible(), "the card says it"
        view.tabs.setCurrentIndex(SUB_PAGES.index(DETAILS))
        await until(view.note.isVisible)
        assert view.note.text() == "The shapes of two tensors do not fit."
        view.tabs.setCurrentIndex(SUB_PAGES.index(OVERVIEW))
        await until(lambda: not view.note.isVisible())
        lines: list[tuple[str, str, int]] = []
        runs.line_wanted.connect(lambda run, worker, offset: lines.append((run.id, worker, offset)))
        qtbot.mouseClick(card.proof, Qt.MouseButton.LeftButton)
        ((run_id, worker, offset),) = lines
        held = cloud.logs.file(run_id, worker).read(offset, 20)
        assert (run_id, worker) == ("r1", "worker-1") and held.startswith(b"RuntimeError: ")
        wanted: list[str] = []
        runs.mending_wanted.connect(lambda run, offer: wanted.append(offer.name))
        assert [button.text() for button in card.buttons] == ["Show the code", "Change Running parameters"]
        for button in card.buttons:
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert wanted == ["show-code", "edit:parameters"]
        qtbot.mouseClick(card.copy, Qt.MouseButton.LeftButton)
        assert "mat1 and mat2" in QGuiApplication.clipboard().text()
        view.page.close()


async def test_what_is_not_known_is_shown_with_its_traceback_and_no_cause(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with read_runs(tmp_path, a_run(1), a_run(2, RunState.COMPLETED)) as (cloud, runs, feed):
        write_log(cloud, a_run(1), (FAILURES / "real" / "custom.log").read_bytes())
        write_log(cloud, a_run(2), (FAILURES / "real" / "custom.log").read_bytes())
        runs.refresh()
        await until(lambda: runs.state.is_known)
        failed, fine = (page_view(cloud, runs, theme, qtbot, run_id) for run_id in ("r1", "r2"))
        card = failed.overview.failure
        await until(card.isVisible)
        assert "CurriculumExhausted" in card.proof.text() and "Traceback" in card.said.text()
        assert not card.cause.isVisible() and not card.buttons[0].isVisible()
        await until(lambda: feed.of("r2") is not None)
        assert not fine.overview.failure.isVisible(), "it ended well"
        failed.page.close()
        fine.page.close()


async def test_the_head_and_the_list_say_how_far_it_is(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    live = a_run(1, RunState.RUNNING)
    async with read_runs(tmp_path, live) as (cloud, runs, feed):
        runs.refresh()
        await until(lambda: runs.state.is_known)
        rows = RunListView(runs, theme, User())
        qtbot.addWidget(rows)
        rows.show()
        log = (READINGS / "logs" / "nan.log").read_bytes()
        write_log(cloud, live, log[: len(log) // 2])
        await until(lambda: feed.of("r1") is not None)
        view = page_view(cloud, runs, theme, qtbot, "r1")
        await until(lambda: "Progress –" not in view.facts.text())
        assert "epoch 14/30" in view.facts.text() and "46 %" in view.facts.text()
        assert rows.model.times(live)[0].startswith("46 %")
        curve = rows.model.curve(live)
        assert curve is not None and len(curve.values) > 10
        assert curve.values[0] > curve.values[-1] and not curve.is_bad
        write_log(cloud, live, log)
        await until(lambda: (found := rows.model.curve(live)) is not None and found.is_bad)
        await until(lambda: "The last loss is NaN" in view.note.text())
        rows.grab()
        over = replace(live, state=RunState.COMPLETED)
        await cloud.records.change("r1", state=over.state)
        cloud.watch.tell(over)
        await until(lambda: "The last loss is NaN" in view.note.text())
        view.page.close()


async def test_of_a_failure_that_no_rule_knows_the_head_says_what_the_service_said(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    run = a_run(1, reason="The pool was taken away.")
    async with read_runs(tmp_path, run) as (cloud, runs, _):
        write_log(cloud, run, b"epoch 1/3 loss 0.5\n")
        runs.refresh()
        await until(lambda: runs.state.is_known)
        view = page_view(cloud, runs, theme, qtbot, "r1")
        await until(view.overview.failure.isVisible)
        view.tabs.setCurrentIndex(SUB_PAGES.index(DETAILS))
        await until(view.note.isVisible)
        assert view.note.text() == "The pool was taken away."
        view.page.close()


async def test_after_a_restart_each_row_in_sight_has_its_curve(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    """Of runs that nobody looks at no log is read."""
    runs_there = [a_run(number, RunState.COMPLETED) for number in range(1, 31)]
    async with read_runs(tmp_path, *runs_there) as (cloud, _, _):
        for run in runs_there:
            write_log(cloud, run, b"".join(b"epoch %d/9 loss %.2f\n" % (epoch, 1 / epoch) for epoch in range(1, 10)))
    async with read_runs(tmp_path) as (cloud, runs, feed):
        rows = RunListView(runs, theme, User())
        qtbot.addWidget(rows)
        rows.resize(420, 300)
        rows.show()
        runs.refresh()
        await until(lambda: runs.state.is_known)
        newest = runs.run("r30")
        assert newest is not None
        await until(lambda: (found := rows.model.curve(newest)) is not None and len(found.values) == 9)
        assert cloud.paths.run_curve("r30").exists() and feed.of("r1") is None
        assert not cloud.paths.run_curve("r1").exists()


async def test_the_small_curve_of_a_run_that_ended_is_there_after_a_restart(tmp_path: Path, qapp: QApplication) -> None:
    """However long its log is: nothing of that is read for it."""
    run, over = (a_run(1, state) for state in (RunState.RUNNING, RunState.COMPLETED))
    async with read_runs(tmp_path, run) as (cloud, runs, feed):
        runs.refresh()
        await until(lambda: runs.state.is_known)
        cloud.watch.tell(run)
        losses = b"".join(b"step %d loss %.4f\n" % (step, 1 / step) for step in range(1, 60_000))
        write_log(cloud, run, losses + b"step 1 loss nan\n")
        assert cloud.logs.file(run.id).size() > 1 << 20
        await cloud.records.change(run.id, state=over.state)
        cloud.watch.tell(over)
        await until(cloud.paths.run_curve(run.id).exists)
        before = feed.curve_of(over)
        assert before is not None and len(before.values) == 48 and before.is_bad
    assert tmp_path.joinpath("home", "runs", "r1", "curve.json").stat().st_size < 1000
    async with read_runs(tmp_path) as (cloud, _, feed):
        cloud.paths.run_log(run.id, "worker-0").write_bytes(b"\0" * before.log_bytes)
        await until(lambda: feed.curve_of(over) is not None)
        after = feed.curve_of(over)
        assert after is not None and after.is_bad
        assert after.values == tuple(float(f"{value:.6g}") for value in before.values)
