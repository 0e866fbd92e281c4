"""A bucket of very many objects."""

from __future__ import annotations

import asyncio

from answering import answer_keys
from hands import Hands, tell
from PySide6.QtCore import QPoint, Qt

from traindeck.ui.storage.browser_view import BrowserView


async def browse(hands: Hands, bucket: str, count: str) -> None:
    """Look into a bucket of many objects while it is listed: sort it, scroll, choose all, search."""
    workspace = hands.program.workspace
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: hands.panel("buckets").model.rowCount())
    tree = hands.panel("buckets").rows
    row = tree.visualRect(tree.model().index(0, 0)).center()
    await hands.click(tree.viewport(), row)
    await hands.click(tree.viewport(), row, double=True)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    browser, table = workspace.storage.browsers.browser(bucket), view.table
    await hands.until(lambda: browser.rows.shown.count)
    folder = table.visualRect(view.model.index(1, 0)).center()
    await hands.click(table.viewport(), folder)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: browser.state.place.key == "images/" and browser.rows.shown.look.folder == "images/")
    tell("first rows", rows=browser.rows.shown.count, name=view.model.index(0, 0).data())
    header = table.horizontalHeader()
    heads = [QPoint(header.sectionViewportPosition(column) + 12, header.height() // 2) for column in range(4)]
    await hands.click(header.viewport(), heads[1])  # sorted anew with every page that comes
    bar = table.verticalScrollBar()
    while not (browser.rows.shown.count == int(count) and browser.rows.shown.below):
        bar.setValue((bar.value() + bar.maximum() // 7 + 5) % max(1, bar.maximum()))
        await asyncio.sleep(0.01)
    tell("listed", words=view.footing.text())
    sizes = []
    for descending in (False, True):
        await hands.until(lambda descending=descending: browser.rows.shown.look.descending is descending)
        bar.setValue(0)
        await hands.until(lambda: browser.rows.row(0))
        sizes.append(view.model.index(0, 1).data())
        await hands.click(header.viewport(), heads[1])
    await hands.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    tell("chosen", rows=table.count_selected(), smallest=sizes[0], largest=sizes[1])
    await hands.click(view.search)
    await hands.until(lambda: view.search.hasFocus())
    await hands.type("0199 JPG")
    await hands.until(lambda: browser.rows.shown.look.search == "0199 JPG")
    await hands.until(lambda: view.footing.text().count("found"))
    tell("found", rows=browser.rows.shown.count, name=view.model.index(0, 0).data(), words=view.footing.text())
    await answer_keys(hands, view)
