"""Lists longer than the window, somebody who reads in the middle of each, and where that is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hands import Hands, log_words
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractItemView

from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.viewmodels.shell.journal import NewsKind

_MADE = datetime(2026, 11, 19, 8, tzinfo=UTC)
_BEHIND = ("transfers", "events", "log")
"""Docks that share a place; the last one stays in front."""


async def fill_lists(hands: Hands, second: ObjectPath) -> None:
    """Runs, a log, buckets and folders, objects, transfers and events."""
    program, models = hands.program, hands.program.models
    core = program.core
    storage = (await core.connections.open("lab")).storage

    async def put(path: ObjectPath, size: int) -> None:
        await core.planes.run("lab", lambda plane: plane.put(path, BytesBody(bytes(size))))

    for number in range(1, 31):
        run = Run(f"r{number}", 0, f"left-{number}", "lab", models.jobs.form.state.spec, RunState.COMPLETED, _MADE)
        await core.records.add(replace(run, started=_MADE, ended=_MADE))
        models.notices.journal.tell(NewsKind.NOTE, text("event {number}", number=number), is_quiet=True)
    for number in range(12):
        await storage.create_bucket(f"many-{number:02}")
    for number in range(40):
        await put(ObjectPath("many-03", f"inside/{number:03}"), 1)
        await put(second.join(f"{number:03}.txt"), number + 100)
    file = core.paths.home / "sent.txt"
    file.write_bytes(b"x")
    for number in range(20):
        await core.transfers.upload("lab", file, ObjectPath("third", f"sent-{number}"))
    lines = b"".join(b"line %d\n" % number for number in range(400))
    await core.logs.take("r20", "worker-0", LogChunk(lines, len(lines)))
    models.jobs.runs.refresh()
    models.storage.buckets.refresh()
    await hands.until(lambda: len(models.jobs.runs.state.runs) == 30)
    models.jobs.runs.select("r20")


async def scroll_all(hands: Hands, view: BrowserView) -> None:
    """As far as the middle, with two folders open among the buckets."""
    buckets = hands.panel("buckets")
    inside = ("obs://many-03/", "obs://many-03/inside/")
    for folder in inside:
        await hands.until(lambda folder=folder: buckets.model.row_named(folder).isValid())
        buckets.rows.expand(buckets.model.row_named(folder))
    await hands.until(lambda: buckets.model.row_named(f"{inside[1]}020").isValid())
    buckets.rows.scrollTo(buckets.model.row_named(f"{inside[1]}010"), QAbstractItemView.ScrollHint.PositionAtTop)
    view.refresh()
    await hands.until(lambda: view.model.rowCount() == 43)
    view.table.scrollTo(view.model.index(9, 0), QAbstractItemView.ScrollHint.PositionAtTop)
    runs = hands.panel("runs")
    runs.rows.scrollTo(runs.model.row_named("r15"), QAbstractItemView.ScrollHint.PositionAtTop)
    for name in _BEHIND[:-1]:
        hands.window.show_dock(name)
        await hands.until(hands.panel(name).isVisible)
        table = hands.panel(name).table
        await hands.until(lambda table=table: table.model().rowCount() >= 20)
        table.scrollTo(table.model().index(7, 1), QAbstractItemView.ScrollHint.PositionAtTop)
    hands.window.show_dock(_BEHIND[-1])
    pane, feed = hands.panel("log").pane, hands.program.models.jobs.log
    await hands.until(lambda: pane.isVisible() and "line 399" in log_words(pane))
    feed.follow_end(False)
    pane.verticalScrollBar().setValue(123)
    await hands.until(lambda: [row.words for row in pane.rows_in_sight()[:1]] == ["line 123"])  # rows are read beside


async def tops(hands: Hands, view: BrowserView) -> dict[str, str]:
    """What is in the row at the top of each."""
    found = {"objects": view.table.top_key()}
    for name in _BEHIND:
        hands.window.show_dock(name)
        await hands.until(hands.panel(name).isVisible)
        if name != "log":
            found[name] = _top(hands.panel(name).table, 1)
    pane, feed = hands.panel("log").pane, hands.program.models.jobs.log
    await hands.until(lambda: pane.rows_in_sight() and feed.place_wanted is None)
    found["log"] = pane.rows_in_sight()[0].words
    found["runs"] = _top(hands.panel("runs").rows, 0)
    found["buckets"] = _top(hands.panel("buckets").rows, 0)
    return found


def _top(view: QAbstractItemView, column: int) -> str:
    return str(view.indexAt(QPoint(1, 1)).siblingAtColumn(column).data())
