"""A window left in the middle of things, and the one that comes after it."""

from __future__ import annotations

from typing import Any

from hands import Hands, tell
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.storage.browser_view import BrowserView

_PLACES = (ObjectPath("first", "deep/"), ObjectPath("second"), ObjectPath("third"))


async def leave_open(hands: Hands) -> None:
    """Three tabs, the second in front, its rows sorted by size, and a form that was not saved."""
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
    runs = hands.window.findChild(QDockWidget, "dock.runs")
    hands.window.resizeDocks([runs], [320], Qt.Orientation.Horizontal)
    seen = await _seen(hands)
    state = hands.window.state
    await hands.until(lambda: not hands.window._noting.isActive() and (state.get("tabs") or {}).get("current") == 2)
    tell("left", docks=state.get("docks"), **seen)
    await hands.until(lambda: False)


async def find_open(hands: Hands) -> None:
    """What a person sees first."""
    await hands.until(lambda: hands.window.tabs.count() >= 3)
    view = _front(hands)
    await hands.until(lambda: view.model.rowCount() == 3)
    await hands.until(lambda: hands.program.models.jobs.form.state.spec.name)
    tell("found", **await _seen(hands))


def _front(hands: Hands) -> BrowserView:
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    return view


async def _seen(hands: Hands) -> dict[str, Any]:
    view, tabs, form = _front(hands), hands.window.tabs, hands.program.models.jobs.form.state
    await hands.until(lambda: view.model.index(0, 0).data() == "a.bin")
    await hands.until(lambda: view.model.index(1, 0).data() == "c.bin")  # by size, the largest first
    runs = hands.window.findChild(QDockWidget, "dock.runs")
    assert isinstance(runs, QDockWidget)
    await hands.until(lambda: runs.width() == 320)
    return {
        "tabs": [tabs.tabText(number) for number in range(tabs.count())],
        "place": str(view.place),
        "name": form.spec.name,
        "parameters": [list(row) for row in form.rows["parameters"]],
        "unsaved": form.is_dirty,
    }
