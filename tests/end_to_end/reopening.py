"""A home of an earlier version in today's window: tells what is seen, and lets what was begun come to its end."""

from __future__ import annotations

from hands import Hands, tell
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget

from traindeck.domain.transfers.records import TransferState
from traindeck.viewmodels.jobs.runs.run_words import state_words

_LONG_S = 90.0
_PAUSED, _GOING = 4, 5  # as numbered by their journal


async def open_old_home(hands: Hands) -> None:
    """Look around; what was under way goes on by itself, what was paused goes on when it is told to."""
    window, core, models = hands.window, hands.program.core, hands.program.models
    table = hands.panel("transfers").table

    least: dict[int, int] = {}

    def state(number: int) -> TransferState | None:
        found = next((row for row in core.transfers.rows() if row.id == number), None)
        if found is not None and found.done_bytes:
            least[number] = min(found.done_bytes, least.get(number, found.done_bytes))
        return found.state if found is not None else None

    await hands.until(lambda: hands.panel("runs").rows.model().rowCount() == 4)
    await hands.until(lambda: state(_GOING) is TransferState.DONE, _LONG_S)
    await hands.until(lambda: table.model().rowCount() == 5)
    place = window.geometry()
    tell(
        "seen",
        words=hands.texts(),
        size=[place.width(), place.height()],
        docks=sorted(dock.objectName() for dock in window.findChildren(QDockWidget) if not dock.isHidden()),
        runs=[[run.name, state_words(run)] for run in models.jobs.runs.state.runs],
        transfers=rows_of(table),
        favourites=[str(path) for name in ("lab", "work") for path in models.storage.favourites.of(name)],
        account=models.accounts.accounts.current,
        rate=models.transfers.list.rate_limit,
        background=window.palette().window().color().lightness(),
    )
    window.findChild(QDockWidget, "dock.transfers").raise_()
    paused = next(row for row in range(5) if "paused.bin" in " ".join(rows_of(table)[row]))
    await hands.choose_cell(table, paused, 1)
    await hands.press(Qt.Key.Key_Space)
    await hands.until(lambda: state(_PAUSED) is TransferState.DONE, _LONG_S)
    tell("gone on", least_bytes=[least[_PAUSED], least[_GOING]])


def rows_of(table: object) -> list[list[str]]:
    """The words of a table."""
    model = table.model()  # type: ignore[attr-defined]
    rows, columns = range(model.rowCount()), range(model.columnCount())
    return [[str(model.index(row, column).data() or "") for column in columns] for row in rows]
