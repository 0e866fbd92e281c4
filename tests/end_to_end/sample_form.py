"""The sample in the form, and what the window says of its runs."""

from __future__ import annotations

import asyncio

from hands import Hands, log_words, tell
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QWidget

from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.kit.pair_table import PairTable
from traindeck.viewmodels.jobs.runs.run_words import state_words


async def fill_in_sample(hands: Hands) -> None:
    await hands.choose("Job", "Sample project")
    await hands.until(lambda: field_edit(hands.panel("job").fields["name"]).text() == "digits")
    await hands.until(lambda: hands.panel("job").bar.submit.isEnabled() and hands.panel("job").page.version.count() > 0)
    await hands.until(lambda: hands.panel("job").page.boot.count() > 0)


async def set_parameter(hands: Hands, name: str, value: str) -> None:
    """By typing into the table of the form."""
    form = hands.panel("job")
    table = form.fields["parameters"].editor
    assert isinstance(table, PairTable)
    await hands.bring_into_view(table, form.scroll_area)
    row = next(number for number, pair in enumerate(table.pairs.rows) if pair[0] == name)
    await hands.choose_cell(table, row, 1)
    await hands.choose_cell(table, row, 1, double=True)
    await hands.until(lambda: table.viewport().findChildren(QLineEdit))
    await hands.type(value)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: (name, value) in table.pairs.rows)


async def submit_sample(hands: Hands, epochs: str) -> None:
    await fill_in_sample(hands)
    await set_parameter(hands, "epochs", epochs)
    await hands.click(hands.panel("job").bar.submit)
    pane = hands.panel("log").pane
    seen = ("Running", "Completed")  # a short one may be over by then
    await hands.until(lambda: f"epoch 1/{epochs} " in log_words(pane) and state_of(hands, 0) in seen)
    tell("streams", words=log_words(pane))


async def stay(hands: Hands) -> None:
    """Until the program is ended from outside, which is no failure."""
    hands.program.status = 0
    tell("staying")
    await asyncio.Event().wait()


def state_of(hands: Hands, row: int) -> str:
    """What the chip of that row says."""
    runs = hands.program.models.jobs.runs.state.runs
    return state_words(runs[row]) if row < min(len(runs), hands.panel("runs").rows.model().rowCount()) else ""


def log_state(hands: Hands) -> str:
    return str(hands.panel("log").chip.text())


def clipboard_words() -> str:
    return QGuiApplication.clipboard().text()


def bar_words(hands: Hands) -> str:
    bar = hands.window.notice_bar
    return hands.texts(bar) if bar.isVisible() else ""


def field_edit(field: QWidget) -> QLineEdit:
    return field.findChildren(QLineEdit)[0]


def is_in_sight(widget: QWidget) -> bool:
    return widget.visibleRegion().boundingRect() == widget.rect()


def outputs_of(page: RunPageView) -> list[str]:
    model = page.outputs.model
    return [model.row(number)[0] for number in range(model.rowCount())]


def place_of(widget: QWidget) -> dict[str, int]:
    place: QPoint = widget.mapToGlobal(widget.rect().center())
    return {"x": place.x(), "y": place.y()}


def picture_of(hands: Hands) -> dict[str, object]:
    window = hands.window
    place = window.geometry()
    return {
        "words": hands.texts(),
        "tabs": window.open_tabs(),
        "current": window.current_tab(),
        "name": field_edit(hands.panel("job").fields["name"]).text(),
        "parameters": hands.panel("job").fields["parameters"].editor.pairs.rows,
        "place": [place.x(), place.y(), place.width(), place.height()],
        "log": log_words(hands.panel("log").pane),
    }
