"""How long each panel takes over a key while there is very much in all of them."""

from __future__ import annotations

import asyncio
import time

from hands import Hands, tell
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from support.waiting import slowness
from traindeck.domain.jobs.job import LogChunk
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.viewmodels.shell.journal import NewsKind

_LONGEST_S = 0.05
_EVENTS, _TRANSFERS, _LINES = 1000, 20, 100_000
_THROUGH = (Qt.Key.Key_Down, Qt.Key.Key_PageDown, Qt.Key.Key_End, Qt.Key.Key_Up, Qt.Key.Key_PageUp, Qt.Key.Key_Home)
_CTRL = Qt.KeyboardModifier.ControlModifier


async def answer_keys(hands: Hands, view: BrowserView) -> None:
    """Tells for each panel the longest that the window was busy with one key, and which key it was."""
    await _fill(hands)
    window = hands.window
    took: dict[str, tuple[float, str]] = {}

    async def keys(panel: str, widget: QWidget, *wanted: Qt.Key, modifiers: Qt.KeyboardModifier | None = None) -> None:
        widget.setFocus()
        await hands.until(widget.hasFocus)
        for key in wanted:
            seconds = await _busy_with(hands, key, modifiers or Qt.KeyboardModifier.NoModifier)
            took[panel] = max(took.get(panel, (0.0, "")), (seconds, key.name))
            await asyncio.sleep(0)

    letters = (Qt.Key.Key_D, Qt.Key.Key_I)
    view.search.clear()
    await hands.until(lambda: view.model.rowCount() > 1000)
    await keys("objects", view.table, *_THROUGH, *letters)
    await keys("objects", view.table, Qt.Key.Key_A, modifiers=_CTRL)
    await keys("objects", view.table, Qt.Key.Key_Home)
    await keys("search", view.search, *letters, Qt.Key.Key_Backspace, Qt.Key.Key_Backspace)
    await keys("runs", hands.panel("runs").rows, *_THROUGH, *letters)
    await keys("runs", hands.panel("runs").rows, Qt.Key.Key_A, modifiers=_CTRL)
    await keys("runs", hands.panel("runs").rows, Qt.Key.Key_Home)
    await keys("buckets", hands.panel("buckets").rows, *_THROUGH, Qt.Key.Key_Right, *_THROUGH, *letters)
    for name in ("transfers", "events"):
        window.show_dock(name)
        table = hands.panel(name).table
        await hands.until(lambda table=table: table.isVisible() and table.model().rowCount() >= _TRANSFERS)
        await keys(name, table, *_THROUGH)
        await keys(name, table, Qt.Key.Key_A, modifiers=_CTRL)
    await keys("events", hands.panel("events").typed, Qt.Key.Key_4, Qt.Key.Key_2, Qt.Key.Key_Backspace)
    window.show_dock("log")
    pane = hands.panel("log").pane
    await hands.until(lambda: pane.isVisible() and f"line {_LINES - 1}" in [row.words for row in pane.rows_in_sight()])
    await keys("log", pane, *_THROUGH, Qt.Key.Key_Space)
    hands.panel("log").find_bar.open_bar()
    await keys("log", hands.panel("log").find_bar.words, Qt.Key.Key_4, Qt.Key.Key_2, Qt.Key.Key_Return)
    hands.panel("log").find_bar.close_bar()
    window.show_dock("job")
    form = hands.panel("job")
    await keys("form", form.fields["name"].editor, *letters, Qt.Key.Key_Tab, Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
    await keys("palette", form.fields["name"].editor, Qt.Key.Key_K, modifiers=_CTRL)
    for key in (*letters, Qt.Key.Key_Down, Qt.Key.Key_Backspace, Qt.Key.Key_Escape):
        seconds = await _busy_with(hands, key, Qt.KeyboardModifier.NoModifier)
        took["palette"] = max(took["palette"], (seconds, key.name))
    window.commands.run("file.settings")
    await hands.until(lambda: window.current_tab() == "settings")
    page = window.tabs.currentWidget()
    search = page.focusProxy() or page
    await keys("settings", search, *letters, Qt.Key.Key_Backspace, Qt.Key.Key_Backspace, Qt.Key.Key_Tab)
    tell("answered", ms={panel: [round(seconds * 1000, 1), key] for panel, (seconds, key) in took.items()})


async def _fill(hands: Hands) -> None:
    core, models = hands.program.core, hands.program.models
    storage = (await core.connections.open("lab")).storage
    await storage.create_bucket("sent")
    for number in range(_EVENTS):
        models.notices.journal.tell(NewsKind.NOTE, text("event {number}", number=number), is_quiet=True)
    file = core.paths.home / "sent.txt"
    file.write_bytes(b"x")
    for number in range(_TRANSFERS):
        await core.transfers.upload("lab", file, ObjectPath("sent", f"{number}.txt"))
    run = models.jobs.runs.state.runs[0]
    lines = b"".join(b"line %d\n" % number for number in range(_LINES))
    await core.logs.take(run.id, "worker-0", LogChunk(lines, len(lines)))
    models.jobs.runs.select(run.id)


async def _busy_with(hands: Hands, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> float:
    """Seconds that the window's thread computed from the key to the next moment it had nothing to do.

    Of a machine that is slow just then, as many as it would have been on one that is not.
    """
    done: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    handle = (QApplication.activePopupWidget() or QApplication.activeWindow() or hands.window).windowHandle()

    def press() -> None:
        began = time.thread_time()
        QTest.keyClick(handle, key, modifiers)
        # What the key changed is painted before a timer without an interval has its turn.
        QTimer.singleShot(0, lambda: done.done() or done.set_result(time.thread_time() - began))

    QTimer.singleShot(0, press)
    seconds = await done
    return seconds if seconds <= _LONGEST_S else seconds / slowness()
