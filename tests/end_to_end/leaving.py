"""A window left in the middle of things, and the one that comes after it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hands import Hands, tell
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget
from scrolled import fill_lists, scroll_all, tops

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_table import CLASS

_PLACES = (ObjectPath("first", "deep/"), ObjectPath("second"), ObjectPath("third"))


async def leave_open(hands: Hands) -> None:
    """Three tabs, the second in front, its rows sorted by size, a form that was not saved, and long lists scrolled."""
    workspace, core = hands.program.workspace, hands.program.core
    storage = (await core.connections.open("lab")).storage
    for place in _PLACES:
        await storage.create_bucket(place.bucket)
        for name, size in (("a.bin", 30), ("b.bin", 10), ("c.bin", 20)):
            path = ObjectPath(place.bucket, place.key + name)
            await core.planes.run("lab", lambda plane, path=path, size=size: plane.put(path, BytesBody(bytes(size))))
        workspace.storage.open_bucket(place)
    hands.window.tabs.setCurrentIndex(hands.window.tabs.count() - 2)
    view = _front(hands)
    await hands.until(lambda: view.model.rowCount() == 3)
    view.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    form = hands.program.models.jobs.form
    form.set_field("name", "left-in-the-middle")
    form.set_rows("parameters", (("lr", "0.5"),))
    written = hands.program.models.jobs.parts.written
    written.open()
    await hands.until(lambda: "left-in-the-middle" in written.state.source)
    written.edit(f"{written.state.source}[half a ta")
    runs = hands.window.findChild(QDockWidget, "dock.runs")
    hands.window.resizeDocks([runs], [320], Qt.Orientation.Horizontal)
    hands.program.models.preferences.recent.use("view.theme.dark")
    view.table.columns.toggle(CLASS)
    await fill_lists(hands, _PLACES[1])
    await scroll_all(hands, view)
    seen = await _seen(hands) | {"tops": await tops(hands, view)}
    state = hands.window.state
    await hands.until(lambda: not hands.window._noting.isActive() and (state.get("tabs") or {}).get("current") == 2)
    tell("left", docks=state.get("docks"), **seen)
    await hands.until(lambda: False)


async def find_open(hands: Hands, left: str) -> None:
    """What a person sees first; `left`: what was at the top of each list."""
    await hands.until(lambda: hands.window.tabs.count() >= 3)
    view = _front(hands)
    await hands.until(lambda: view.model.rowCount() == 43)
    await hands.until(lambda: hands.program.models.jobs.form.state.spec.name)
    await hands.until(view.table.top_key)
    await hands.until(lambda: not hands.program.models.jobs.log.state.is_following)
    await hands.until(lambda: hands.panel("buckets").model.row_named("obs://many-03/inside/020").isValid())
    # What is restored a moment after its rows are there.
    found: dict[str, str] = {}
    for _ in range(20):
        found = await tops(hands, view)
        if found == json.loads(left):
            break
        await asyncio.sleep(0.05)
    tell("found", **await _seen(hands), tops=found)


def _front(hands: Hands) -> BrowserView:
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    return view


async def _seen(hands: Hands) -> dict[str, Any]:
    view, tabs, form = _front(hands), hands.window.tabs, hands.program.models.jobs.form.state
    largest = "a.bin" if view.model.rowCount() == 3 else "039.txt"
    await hands.until(lambda: view.model.index(0, 0).data() == largest)  # by size
    runs = hands.window.findChild(QDockWidget, "dock.runs")
    assert isinstance(runs, QDockWidget)
    await hands.until(lambda: runs.width() == 320)
    return {
        "tabs": [tabs.tabText(number) for number in range(tabs.count())],
        "place": str(view.place),
        "name": form.spec.name,
        "parameters": [list(row) for row in form.rows["parameters"]],
        "unsaved": form.is_dirty,
        "typed": hands.program.models.jobs.parts.written.unread,
        "hidden": view.table.columns.hidden,
        "recent": hands.program.models.preferences.recent.ids,
        "selected": hands.program.models.jobs.runs.state.selected,
    }
