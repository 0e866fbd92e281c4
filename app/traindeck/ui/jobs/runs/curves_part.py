"""The curves of a run, on its page and in a dock; what draws them is loaded when somebody looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say, say_list
from traindeck.ui.jobs.runs.run_parts import RunPart
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.ui.readings.chart_loading import chart_loading
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.jobs.runs.run_page import RunPage
from traindeck.viewmodels.jobs.runs.run_words import run_title

if TYPE_CHECKING:
    from traindeck.ui.readings.curves_view import CurvesView
    from traindeck.viewmodels.readings.curves import CurveLine, Curves


class LoadedCurves(QWidget):
    """The chart as soon as what draws it is loaded: a step of that for each turn of the loop."""

    def __init__(self, curves: Curves, theme: Theme, export: Callable[[CurvesView], object]) -> None:
        super().__init__()
        self._curves, self._theme, self._export = curves, theme, export
        self._made: CurvesView | None = None
        self.view: CurvesView | None = None
        self._waiting = EmptyPage(say("Loading the chart…"), "")
        self._column = column_of(self._waiting, inside=self, margins=0)
        self._steps = chart_loading()
        self._loading = QTimer(self, interval=0)
        self._loading.timeout.connect(self._load)
        self._loading.start()

    def _load(self) -> None:
        """The last two steps make the chart and put it in its place."""
        for _ in self._steps:
            return
        self._loading.stop()  # what fails from here on would fail again in each turn
        from traindeck.ui.readings.curves_view import CurvesView

        if self._made is None:
            self._made = CurvesView(self._curves, self._theme)
            self._made.setParent(self)
            self._loading.start()
            return
        view = self.view = self._made
        view.export_wanted.connect(self._ask_export)
        self._waiting.hide()
        self._column.addWidget(view)
        view.show()

    def _ask_export(self) -> None:
        if self.view is not None:
            self._export(self.view)


class CurvesPart(RunPart):
    """Several runs in one chart: those that are selected together in the list."""

    def __init__(self, page: RunPage, theme: Theme) -> None:
        super().__init__()
        self._page = page
        if page.curves is None:
            column_of(EmptyPage(say("No curves are known."), ""), inside=self, margins=0)
            return
        self._loaded = LoadedCurves(page.curves, theme, page.runs.chart_export_wanted.emit)
        column_of(self._loaded, inside=self, margins=(SPACE, 0, SPACE, SPACE))

    @property
    def view(self) -> CurvesView | None:
        return self._loaded.view if self._page.curves is not None else None

    def show_run(self, run: Run) -> None:
        if self._page.curves is not None:
            self._page.curves.show(run)


class CurvesPanel(QWidget):
    """The same in a dock: of the run that is selected, and of those that are selected with it."""

    def __init__(self, runs: RunList, theme: Theme) -> None:
        super().__init__()
        self._runs = runs
        self.name = ElidedLabel(role="strong")
        self.empty = EmptyPage(say("No run is selected."), say("Select a run in the list, or submit a job."))
        self._curves: Curves | None = None
        self._loaded: LoadedCurves | None = None
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.empty)
        if runs.readings is None:
            return
        curves = self._curves = runs.readings.curves()
        self._loaded = LoadedCurves(curves, theme, runs.chart_export_wanted.emit)
        inside = QWidget()
        self.name.setContentsMargins(SPACE, 0, SPACE, 0)
        column_of(self.name, (self._loaded, 1), inside=inside, margins=(0, HALF, 0, 0), spacing=0)
        self._pages.addWidget(inside)
        for told in (runs.selection_changed, runs.chosen_changed, runs.changed):
            told.connect(self._follow)
        self.destroyed.connect(curves.close)
        self._follow()

    @property
    def view(self) -> CurvesView | None:
        return self._loaded.view if self._loaded is not None else None

    def shown(self) -> tuple[CurveLine, ...]:
        return self._curves.state.lines if self._curves is not None else ()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._follow()

    def _follow(self) -> None:
        run = self._runs.state.selected_run
        self._pages.setCurrentIndex(0 if run is None or self._curves is None else 1)
        if run is not None and self._curves is not None and self.isVisible():
            self._curves.show(run)
            self.name.setText(say_list(map(run_title, self._curves.shown_runs)))
