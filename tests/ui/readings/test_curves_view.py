"""Charts of runs: several in one, over step, epoch or time, smooth or not, with the machine's use below."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from end_to_end.outside import outside_of_tasks
from end_to_end.tour.inspection import overlapping
from support.folder_cloud import digits_spec
from support.panel_bench import User, light_theme
from support.read_runs import read_runs, write_log
from support.waiting import IS_ALONE, slowness, until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.resource_use import CPU, NPU, ResourceUse
from traindeck.ui.jobs.runs.curves_part import CurvesPanel, LoadedCurves
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.kit.theme import Theme
from traindeck.ui.readings.curves_view import Chart
from traindeck.viewmodels.jobs.runs.run_page import CURVES, SUB_PAGES, RunPage
from traindeck.viewmodels.readings.curves import EPOCH, TIME, CurveLine, smoothed
from traindeck.viewmodels.shell.preferences import DARK

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

NOW = datetime.now(UTC)
STARTED = datetime(2026, 3, 2, 0, 59, 30, tzinfo=UTC)
"""A minute and a half before the first line, which has the time of China."""


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def a_run(number: int) -> Run:
    return Run(
        f"r{number}", number, f"digits-{number}", "lab", digits_spec(), RunState.COMPLETED, NOW, bundle="b",
        job_id=f"j{number}", started=STARTED, ended=NOW,
    )  # fmt: skip


def log_of(number: int) -> bytes:
    lines = [
        f"2026-03-02 09:{minute:02}:00 epoch {minute}/40 step {minute * 100} "
        f"loss {number * math.exp(-minute / 12):.4f} lr 0.01 val_loss {number * math.exp(-minute / 15):.4f}\n"
        for minute in range(1, 41)
    ]
    return "".join(lines).encode()


async def test_several_runs_are_in_one_chart(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    runs_there = [a_run(number) for number in (1, 2, 3)]
    async with read_runs(tmp_path, *runs_there) as (cloud, runs, _):
        for run in runs_there:
            write_log(cloud, run, log_of(run.number))
        cloud.jobs.used["worker-0"] = ResourceUse({CPU: (10.0, None, 30.0), NPU: (None, None, None)})
        runs.refresh()
        await until(lambda: runs.state.is_known)
        page = RunPage(runs, cloud.service, cloud.watch, cloud.scope, "r2")
        view = RunPageView(page, theme, User())
        qtbot.addWidget(view)
        view.resize(900, 700)
        view.show()
        view.tabs.setCurrentIndex(SUB_PAGES.index(CURVES))
        await until(lambda: view.curves.view is not None)
        curves, chart = page.curves, view.curves.view
        assert curves is not None and chart is not None
        await until(lambda: len(curves.state.lines) == 1)
        assert curves.state.names[:3] == ("loss", "val_loss", "lr") and not chart.empty.isVisible()
        (line,) = curves.state.lines
        assert line.label == "2 loss" and list(line.xs)[:2] == [100, 200] and len(line.ys) == 40
        runs.choose(["r1", "r2", "r3"])
        await until(lambda: len(curves.state.lines) == 3)
        assert [line.label for line in curves.state.lines] == ["1 loss", "2 loss", "3 loss"]
        curves.change(axis=TIME)
        assert list(curves.state.lines[0].xs)[:2] == [90, 150], "from the start of the job, as what was measured"
        curves.change(axis=EPOCH, name="val_loss", is_log=True, smoothing=0.5)
        assert [line.label for line in curves.state.lines] == ["1 val_loss", "2 val_loss", "3 val_loss"]
        chart.chart.setFocus()
        for _ in range(3):
            qtbot.keyClick(chart.chart, Qt.Key.Key_Right)
        assert "2 val_loss: " in chart.chart.words.text()
        chart.resources.setChecked(True)
        await until(lambda: bool(curves.state.resources))
        used = curves.state.resources[0]
        assert used.label == "1 CPU worker-0" and list(used.xs) == [0, 60, 120], "NPU has no samples: no line"
        assert used.ys[0] == 10 and math.isnan(used.ys[1]) and used.ys[2] == 30, "a hole is no zero"
        assert curves.state.axis == TIME and chart.used.isVisible()
        assert [entry.text() for entry in chart.key.entries] == [f"{number} CPU worker-0" for number in (1, 2, 3)]
        assert chart.used.legend is None, "on a low chart it would lie over values"
        assert chart.used.mapTo(view, chart.used.rect().topLeft()).y() >= (
            chart.key.mapTo(view, chart.key.rect().bottomLeft()).y()
        )
        chart.export(tmp_path / "chart.png")
        chart.export(tmp_path / "chart.csv")
        await until(lambda: (tmp_path / "chart.csv").exists() and (tmp_path / "chart.png").exists())
        assert not QImage(str(tmp_path / "chart.png")).isNull()
        with (tmp_path / "chart.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["step", "epoch", "seconds", "loss", "lr", "val_loss"] and len(rows) == 41
        page.close()


async def test_a_dock_shows_the_curves_of_whatever_is_selected(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    runs_there = [a_run(number) for number in (1, 2, 3)]
    async with read_runs(tmp_path, *runs_there) as (cloud, runs, _):
        for run in runs_there:
            write_log(cloud, run, log_of(run.number))
        panel = CurvesPanel(runs, theme)
        qtbot.addWidget(panel)
        panel.resize(900, 400)
        panel.show()
        assert panel.empty.isVisible()
        await until(lambda: panel.view is not None)
        runs.refresh()
        await until(lambda: runs.state.is_known)
        runs.select("r2")
        await until(lambda: [line.label for line in panel.shown()] == ["2 loss"])
        assert panel.name.text() == "Run 2 · digits" and not panel.empty.isVisible()
        assert panel.view is not None
        chart = panel.view.chart
        await until(lambda: not overlapping(panel))
        assert chart.mapTo(panel, chart.rect().bottomLeft()).y() < panel.height(), "its axis is seen without scrolling"
        runs.select("r1")
        await until(lambda: [line.label for line in panel.shown()] == ["1 loss"])
        runs.choose(["r1", "r3"])
        await until(lambda: [line.label for line in panel.shown()] == ["1 loss", "3 loss"])
        panel.hide()
        runs.select("r2")
        assert [line.label for line in panel.shown()] == ["1 loss", "3 loss"], "what nobody sees is not worked out"
        panel.show()
        await until(lambda: panel.name.text() == "Run 2 · digits")


async def test_what_was_asked_for_is_shown_as_soon_as_it_is_there(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    runs_there = [a_run(number) for number in (1, 2)]
    async with read_runs(tmp_path, *runs_there) as (cloud, runs, _):
        write_log(cloud, runs_there[0], b"learning rate 0.05\n")
        write_log(cloud, runs_there[1], log_of(2))
        panel = CurvesPanel(runs, theme)
        qtbot.addWidget(panel)
        panel.show()
        await until(lambda: panel.view is not None)
        runs.refresh()
        await until(lambda: runs.state.is_known)
        assert panel.view is not None
        curves = panel.view.curves
        runs.select("r1")
        await until(lambda: len(curves.state.lines) == 1 and curves.state.name != "loss")
        runs.select("r2")
        await until(lambda: curves.state.names[:1] == ("loss",))
        assert curves.state.name == "loss", "the learning rate was shown for want of it"


async def test_values_without_a_place_are_not_said_to_be_steps_and_no_cross_hair_stays_of_another_run(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    runs_there = [a_run(1), a_run(2)]
    async with read_runs(tmp_path, *runs_there) as (cloud, runs, _):
        write_log(cloud, a_run(1), log_of(1))
        write_log(cloud, a_run(2), b"epoch 1/9 loss 2.0\nepoch 2/9 loss 1.0\n")
        panel = CurvesPanel(runs, theme)
        qtbot.addWidget(panel)
        panel.resize(900, 400)
        panel.show()
        runs.refresh()
        await until(lambda: runs.state.is_known)
        runs.select("r1")
        await until(lambda: bool(panel.shown()) and panel.view is not None)
        assert panel.view is not None
        chart = panel.view.chart
        assert chart.getAxis("bottom").labelText == "Step"
        qtbot.keyClick(chart, Qt.Key.Key_Right)
        assert "1 loss: " in chart.words.text()
        runs.select("r2")
        await until(lambda: [line.label for line in panel.shown()] == ["2 loss"])
        assert chart.getAxis("bottom").labelText == "In the order of the log"
        assert not chart.cross.isVisible() and not chart.words.text()
        panel.view.curves.change(axis=EPOCH)
        assert chart.getAxis("bottom").labelText == "Epoch" and list(panel.shown()[0].xs) == [1, 2]


class CountedChart(Chart):
    dressed = 0

    def setBackground(self, background: object) -> None:
        self.dressed += 1
        super().setBackground(background)


def test_what_is_costly_to_paint_is_painted_thin_and_dressed_once(theme: Theme, qtbot: QtBot) -> None:
    """While a run goes on the chart is painted each second: with wide lines that held the window for 50 ms."""
    chart = CountedChart("curves")
    qtbot.addWidget(chart)
    chart.words.setParent(chart)
    few, many = ([float(at) for at in range(count)] for count in (100, 2000))
    lines = [CurveLine("few", few, few), CurveLine("many", many, many, 1)]
    chart.show_lines(lines, theme)
    widths = [item.opts["pen"].widthF() for item in chart.plotItem.listDataItems()]
    assert widths[0] > 1 and widths[1] == 1
    before = chart.dressed
    chart.show_lines(lines, theme)
    assert chart.dressed == before
    theme.choose(DARK)
    chart.show_lines(lines, theme)
    assert chart.dressed == before + 1


def test_a_single_value_is_to_be_seen(theme: Theme, qtbot: QtBot) -> None:
    chart = CountedChart("curves")
    qtbot.addWidget(chart)
    chart.words.setParent(chart)
    for count in (1, 2):
        values = [float(at) for at in range(count)]
        chart.show_lines([CurveLine("loss", values, values)], theme)
        (item,) = chart.plotItem.listDataItems()
        assert (item.scatter.isVisible() and bool(item.scatter.data.size)) is (count == 1)


@pytest.mark.parametrize("is_log", [False, True])
def test_where_a_line_becomes_nan_there_is_a_red_dot(theme: Theme, qtbot: QtBot, is_log: bool) -> None:
    chart = CountedChart("curves")
    qtbot.addWidget(chart)
    chart.words.setParent(chart)
    nan, inf = math.nan, math.inf
    xs = [float(at) for at in range(7)]
    used = CurveLine("NPU", xs, [1.0, nan, nan, 2.0, 3.0, nan, nan], marks_holes=False)
    chart.show_lines([CurveLine("loss", xs, [0.1, nan, 100.0, 10.0, inf, nan, nan]), used], theme, is_log=is_log)
    spots = [(spot.pos().x(), spot.pos().y()) for spot in chart.bad.points()]
    heights = [-1.0, 1.0, 1.0] if is_log else [0.1, 10.0, 10.0]
    assert [x for x, _ in spots] == [1.0, 4.0, 6.0] and [y for _, y in spots] == pytest.approx(heights)
    assert chart.bad.opts["brush"].color() == theme.color("bad")
    chart.show_lines([CurveLine("loss", xs, [nan] * 7)], theme, is_log=is_log)
    assert [spot.pos().x() for spot in chart.bad.points()] == [0.0, 6.0]
    chart.show_lines([CurveLine("loss", xs, xs), used], theme, is_log=is_log)
    assert not len(chart.bad.points())
    chart._put(1.0)
    assert "NPU: –" in chart.words.text()


async def test_without_numbers_it_says_so(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with read_runs(tmp_path, a_run(1)) as (cloud, runs, feed):
        write_log(cloud, a_run(1), b"hello\n")
        runs.refresh()
        await until(lambda: runs.state.is_known)
        page = RunPage(runs, cloud.service, cloud.watch, cloud.scope, "r1")
        view = RunPageView(page, theme, User())
        qtbot.addWidget(view)
        view.show()
        view.tabs.setCurrentIndex(SUB_PAGES.index(CURVES))
        await until(lambda: feed.of("r1") is not None)
        await until(lambda: view.curves.view is not None and view.curves.view.empty.isVisible())
        assert view.curves.view is not None
        words = view.curves.view.empty.title.text()
        assert words == "No numbers were found in the log.", "the run is over: none will come"
        assert not view.curves.view.name.isVisible(), "there is none to choose"
        assert not view.curves.view.keep.isEnabled() and not view.curves.view.whole.isEnabled()
        page.close()


async def test_on_a_low_page_the_chart_is_scrolled_to_and_not_pressed_flat(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with read_runs(tmp_path, a_run(1)) as (cloud, runs, _):
        write_log(cloud, a_run(1), log_of(1))
        runs.refresh()
        await until(lambda: runs.state.is_known)
        page = RunPage(runs, cloud.service, cloud.watch, cloud.scope, "r1")
        view = RunPageView(page, theme, User())
        qtbot.addWidget(view)
        view.resize(330, 260)
        view.show()
        view.tabs.setCurrentIndex(SUB_PAGES.index(CURVES))
        await until(lambda: view.curves.view is not None and view.curves.view.chart.isVisible())
        chart = view.curves.view
        assert chart is not None
        await until(lambda: overlapping(view) == [])
        assert chart.chart.height() >= 100
        page.close()


async def test_a_chart_that_cannot_be_made_is_not_made_again_each_turn(
    tmp_path: Path, theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("traindeck.ui.readings.curves_view.CurvesView")  # as where a library is damaged
    async with read_runs(tmp_path) as (_, _, feed):
        curves = feed.curves()
        with qtbot.capture_exceptions() as raised:
            chart = LoadedCurves(curves, theme, str)
            qtbot.addWidget(chart)
            await until(lambda: bool(raised))
            for _ in range(10):
                await outside_of_tasks(QApplication.processEvents)
        assert len(raised) == 1 and chart.view is None
        curves.close()


_LOADS = """
import sys, time
from PySide6.QtWidgets import QApplication
from traindeck.ui.readings.chart_loading import chart_loading
application = QApplication([])
left, other, took = chart_loading(), chart_loading(), []
for loading in (left, other):
    next(loading)
while "pyqtgraph" not in sys.modules:
    next(left)
left.close()  # its chart goes while the library is half there
begun = time.thread_time()
for _ in other:
    took.append(time.thread_time() - begun)
    begun = time.thread_time()
print(len(took), max(took), "pyqtgraph" in sys.modules, "traindeck.ui.readings.curves_view" in sys.modules)
"""


@pytest.mark.timed
def test_what_draws_charts_is_loaded_in_short_steps() -> None:
    """At once it held the window up for 150 ms; and charts that are opened together wait for the same steps."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADS], capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    count, longest, *is_there = done.stdout.split()
    assert int(count) > 1 and is_there == ["True", "True"]  # how many there are depends on the machine
    assert not IS_ALONE or float(longest) < 0.1 * slowness()


def test_smoothing_leaves_holes_and_begins_where_the_values_begin() -> None:
    assert list(smoothed([1.0, 1.0, 1.0], 0.9)) == pytest.approx([1.0, 1.0, 1.0])
    found = list(smoothed([2.0, math.nan, 4.0], 0.5))
    assert found[0] == 2.0 and math.isnan(found[1]) and 2.0 < found[2] < 4.0
    assert list(smoothed([3.0, 5.0], 0.0)) == [3.0, 5.0]
