"""A chart of what runs measured, and below it of what they used, over the same time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QBuffer, QIODevice, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QSlider, QWidget

from traindeck.domain.jobs.run_table import number_words
from traindeck.domain.texts import say, text
from traindeck.ui.kit.cards import EmptyPage, fill_scrolling, push_button, show_words
from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.theme import CURVE_COLORS, HALF, SPACE, Theme, set_role
from traindeck.ui.readings.chart_key import ChartKey
from traindeck.viewmodels.readings.curves import AXES, CurveLine, Curves

_AXES = {"step": text("Step"), "epoch": text("Epoch"), "time": text("Seconds since the start")}
_ROLES = {
    "loss": text("Loss"),
    "val_loss": text("Validation loss"),
    "accuracy": text("Accuracy"),
    "val_accuracy": text("Validation accuracy"),
    "lr": text("Learning rate"),
    "throughput": text("Throughput"),
    "step_time": text("Seconds per step"),
    "grad_norm": text("Gradient norm"),
    "perplexity": text("Perplexity"),
}
_STEPS = 100
_AXIS_WIDTH = 52
_DOT = 9
_MOST_SMOOTH = 0.99
_LEAST = 13 * SPACE
_WIDE, _MOST_WIDE = 1.6, 400
"""A wider line takes Qt ten times as long: 20 ms for three of 1,900 points, which lie so close that nobody sees it."""


class Chart(pg.PlotWidget):  # type: ignore[misc]
    """Lines with a cross-hair that the mouse and the arrow keys move."""

    def __init__(self, name: str, key: ChartKey | None = None) -> None:
        """`key` says which line is which; without one a legend inside does."""
        super().__init__(enableMenu=False)
        self._key = key
        # It makes its menus all the same, as windows of nobody.
        menu = self.plotItem.ctrlMenu
        menu.setParent(self, menu.windowFlags())
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.legend = self.addLegend(offset=(-10, 10), labelTextSize="9pt") if key is None else None
        self.cross = pg.InfiniteLine(angle=90)
        self.cross.hide()
        self.addItem(self.cross, ignoreBounds=True)
        self.words = QLabel()
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.bad = pg.ScatterPlotItem(size=_DOT, pen=None)
        self.plotItem.vb.addItem(self.bad, ignoreBounds=True)
        self._lines: Sequence[CurveLine] = ()
        self._drawn: list[pg.PlotDataItem] = []
        self._is_log = False
        self._surface: QColor | None = None
        self.scene().sigMouseMoved.connect(self._on_mouse)

    def sizeHint(self) -> QSize:
        """A page that scrolls gives it what it asks for: it asks for little, and takes all that is left."""
        return QSize(super().sizeHint().width(), _LEAST)

    def show_lines(self, lines: Sequence[CurveLine], theme: Theme, *, is_log: bool = False) -> None:
        """The same lines are moved on, not made anew: a zoom stays."""
        self._dress(theme)
        if is_log != self._is_log:
            self._is_log = is_log
            self.setLogMode(y=is_log)
        if [line.label for line in lines] != [line.label for line in self._lines]:
            for item in self._drawn:
                self.removeItem(item)
            self._drawn = [self.plot(name=line.label, antialias=True) for line in lines]
            self.cross.hide()  # it stands at a place of the lines that were there before
            self.words.clear()
        self._lines = lines
        for item, line in zip(self._drawn, lines, strict=True):
            xs, ys = np.asarray(line.xs, float), np.asarray(line.ys, float)
            ys = np.where(np.isfinite(ys) & ((ys > 0) | (not is_log)), ys, np.nan)
            width = _WIDE if len(xs) <= _MOST_WIDE else 1.0
            item.setPen(pg.mkPen(_color(line, theme), width=width))
            item.setData(xs, ys, connect="finite")
            # One value is no line yet, and is to be seen all the same.
            if (symbol := "o" if len(xs) == 1 else None) != item.opts["symbol"]:
                item.setSymbolPen(None)
                item.setSymbolBrush(item.opts["pen"].color())
                item.setSymbol(symbol)
        self._show_bad(lines, theme)
        if self._key is not None:
            self._key.show_lines([line.label for line in lines], [_color(line, theme) for line in lines])
        if self.cross.isVisible():
            self._say_values()

    def _show_bad(self, lines: Sequence[CurveLine], theme: Theme) -> None:
        """A red dot where a line becomes NaN or infinite, and where it ends so, as high as its last finite value."""
        spots: list[tuple[float, float]] = []
        for line in lines:
            ys = np.asarray(line.ys, float)
            holes = ~np.isfinite(ys)
            if not line.marks_holes or not holes.any():
                continue
            begins = holes & ~np.concatenate(([False], holes[:-1]))
            begins[-1] = holes[-1]
            known = np.maximum.accumulate(np.where(holes, 0, np.arange(len(ys))))
            heights = np.where(np.isfinite(ys[known]), ys[known], np.nanmin(ys[~holes]) if not holes.all() else 1.0)
            if self._is_log:
                heights = np.log10(np.where(heights > 0, heights, 1.0))
            spots += zip(np.asarray(line.xs, float)[begins], heights[begins], strict=True)
        self.bad.setBrush(pg.mkBrush(theme.color("bad")))
        self.bad.setData(pos=np.array([spot for spot in spots if math.isfinite(spot[0])]).reshape(-1, 2))

    def _dress(self, theme: Theme) -> None:
        """In the colours of the theme; once for each, because axes and legend are laid out anew."""
        surface = theme.color("surface")
        if surface == self._surface:
            return
        self._surface = surface
        self.setBackground(surface)
        for side in ("left", "bottom"):
            self.getAxis(side).setPen(theme.color("border_strong"))
            self.getAxis(side).setTextPen(theme.color("dim"))
            self.getAxis(side).setStyle(maxTickLevel=1)
            self.getAxis(side).enableAutoSIPrefix(False)  # thousandths of a percent are nothing one reads
        self.getAxis("left").setWidth(_AXIS_WIDTH)  # so that two charts below each other have the same time
        if self.legend is not None:
            self.legend.setLabelTextColor(theme.color("text"))
            ground = theme.color("surface")
            ground.setAlpha(210)
            self.legend.setBrush(pg.mkBrush(ground))
        self.cross.setPen(pg.mkPen(theme.color("dim"), style=Qt.PenStyle.DashLine))
        self.showGrid(x=True, y=True, alpha=0.15)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """From point to point of the first line; Home shows all."""
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if event.key() in steps and self._lines and len(self._lines[0].xs):
            xs = self._lines[0].xs
            at = _nearest(xs, self.cross.value()) + steps[Qt.Key(event.key())] if self.cross.isVisible() else 0
            self._put(xs[min(max(0, at), len(xs) - 1)])
        elif event.key() == Qt.Key.Key_Home:
            self.enableAutoRange()
        else:
            super().keyPressEvent(event)

    def _on_mouse(self, place: QPointF) -> None:
        if self.sceneBoundingRect().contains(place):
            self._put(self.plotItem.vb.mapSceneToView(place).x())

    def _put(self, x: float) -> None:
        self.cross.setPos(x)
        self.cross.show()
        self._say_values()

    def _say_values(self) -> None:
        x = self.cross.value()
        parts = [number_words(x)]
        for line in self._lines:
            at = _nearest(line.xs, x)
            if at >= 0:
                value = line.ys[at]
                shown = number_words(value) if line.marks_holes or math.isfinite(value) else "–"
                parts.append(say("{label}: {value}", label=line.label, value=shown))
        self.words.setText(" · ".join(parts))


class CurvesView(QWidget):
    """Which number, over what; with the mouse wheel or by dragging the chart is zoomed and moved."""

    export_wanted = Signal()
    """Keep it as a picture or a table."""

    def __init__(self, curves: Curves, theme: Theme) -> None:
        super().__init__()
        self.curves = curves
        self._theme = theme
        self.name, self.axis = QComboBox(), QComboBox()
        self.name.setAccessibleName(say("Number"))
        self.name.setPlaceholderText("–")  # nothing was measured yet
        self.axis.setAccessibleName(say("Axis"))
        for axis in AXES:
            self.axis.addItem(say(_AXES[axis]), axis)
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setRange(0, _STEPS)
        self.smoothing.setFixedWidth(12 * SPACE)
        self.smoothing.setAccessibleName(say("Smoothing"))
        self.log, self.resources = QCheckBox(say("Logarithmic")), QCheckBox(say("Resources"))
        self.whole = push_button(say("Show all"), self._show_all, tip=say("Show all of the curves (Home)"))
        self.keep = push_button(say("Export…"), self.export_wanted.emit)
        self.key = ChartKey()  # each worker has several lines, and the chart is low
        self.chart, self.used = Chart(say("Curves")), Chart(say("Resources"), self.key)
        self.used.setXLink(self.chart)
        self.used.setLabel("left", "%")
        self.used.setYRange(0, 100)  # that nothing is used is seen at once
        self.trouble = label("", "warn", wraps=True)
        self.empty = EmptyPage(
            say("The log has no numbers yet."), say("Losses and scores are shown as soon as the script prints them.")
        )
        self._build()
        self.name.activated.connect(lambda _: curves.change(name=self.name.currentData()))
        self.axis.activated.connect(lambda _: curves.change(axis=self.axis.currentData()))
        self.smoothing.valueChanged.connect(lambda value: curves.change(smoothing=value / _STEPS * _MOST_SMOOTH))
        self.log.toggled.connect(lambda wanted: curves.change(is_log=wanted))
        self.resources.toggled.connect(lambda wanted: curves.change(shows_resources=wanted))
        curves.changed.connect(self._on_changed)
        theme.changed.connect(self._on_changed)
        self._on_changed()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.curves.look(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.curves.look(False)

    def picture(self) -> bytes:
        """The chart as PNG."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self.chart.grab().save(buffer, "PNG")
        return bytes(buffer.data().data())

    def export(self, path: Path) -> None:
        """As the ending says: a picture of what is seen, or a table of all numbers of the run."""
        if path.suffix.lower() == ".png":
            self.curves.export(path, self.picture())
        else:
            self.curves.export_table(path)

    def _build(self) -> None:
        smoothing = QWidget()  # in a narrow place its name stays beside it
        row_of(label(say("Smoothing"), "dim"), self.smoothing, inside=smoothing, margins=0, spacing=SPACE)
        head = FlowLayout(
            self.name, self.axis, smoothing, self.log, self.resources, self.whole, self.keep, spacing=SPACE
        )
        for words in (self.chart.words, self.used.words):
            set_role(words, "dim")
            words.setWordWrap(True)
        for chart in (self.chart, self.used):
            chart.setMinimumHeight(_LEAST)  # on a low page it is scrolled to, not pressed flat
        column = column_of(
            head, self.trouble, self.empty, self.chart.words, (self.chart, 3),
            self.key, self.used.words, (self.used, 2),
            margins=(SPACE, SPACE, SPACE, SPACE), spacing=HALF,
        )  # fmt: skip
        fill_scrolling(self, column)

    def _show_all(self) -> None:
        self.chart.enableAutoRange()
        self.used.enableAutoRange(axis="x")

    def _on_changed(self) -> None:
        state = self.curves.state
        known = [self.name.itemData(at) for at in range(self.name.count())]
        if known != [*state.names]:
            self.name.clear()
            for name in state.names:
                self.name.addItem(say(_ROLES[name]) if name in _ROLES else name, name)
        self.name.setCurrentIndex(max(0, self.name.findData(state.name)))
        self.axis.setCurrentIndex(self.axis.findData(state.axis))
        has_some = bool(state.lines)
        self.name.setVisible(bool(state.names))
        for choice in (self.axis, self.smoothing, self.log):
            choice.setEnabled(bool(state.names))
        for button in (self.whole, self.keep):
            button.setEnabled(has_some or state.shows_resources)
        if state.is_over:
            hint = say("To follow one, select it in the log, then “Track this number”.")
            self.empty.say(say("No numbers were found in the log."), hint)
        else:
            self.empty.restore()
        self.empty.setVisible(not has_some and not state.shows_resources)
        self.chart.setVisible(has_some)
        self.chart.words.setVisible(has_some)
        for widget in (self.key, self.used, self.used.words):
            widget.setVisible(state.shows_resources)
        show_words(self.trouble, state.trouble.sentence() if state.trouble is not None else "")
        # Where no line knows its place on the axis, the numbers stand in their order, and are not said to be steps.
        axis = say("In the order of the log") if state.is_in_order else say(_AXES[state.axis])
        # Below each other they have one axis, and its name stands below both.
        for chart, words in ((self.chart, "" if state.shows_resources else axis), (self.used, axis)):
            if chart.getAxis("bottom").labelText != words:
                chart.setLabel("bottom", words)
        self.chart.show_lines(state.lines, self._theme, is_log=state.is_log)
        self.used.show_lines(state.resources, self._theme)


def _color(line: CurveLine, theme: Theme) -> str:
    return CURVE_COLORS[line.color % len(CURVE_COLORS)][_is_dark(theme)]


def _is_dark(theme: Theme) -> bool:
    return bool(theme.color("surface").lightness() < 128)


def _nearest(xs: Sequence[float], x: float) -> int:
    """-1: there is none."""
    places = np.asarray(xs, float)
    if not len(places) or np.all(np.isnan(places)):
        return -1
    return int(np.nanargmin(np.abs(places - x)))
