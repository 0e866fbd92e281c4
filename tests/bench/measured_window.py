"""Inside the processes that bench_window measures: `measured_window.py WHICH BEGAN RUNS SETTLE_S`.

A module of its own, which loads nothing that only the measuring needs: that would be weighed with the window.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from argparse import Namespace

BARE, OURS = "bare", "ours"
_LOOK_MS = 2


def tell(what: str, began: float, **facts: float) -> None:
    line = {"what": what, "s": time.monotonic() - began, "cpu_s": time.process_time(), **facts}
    print(json.dumps(line), flush=True)


def show_bare(began: float) -> int:
    from PySide6.QtCore import QTimer
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QApplication, QMainWindow

    application = QApplication([])

    class Window(QMainWindow):
        is_painted = False

        def paintEvent(self, event: QPaintEvent) -> None:
            super().paintEvent(event)
            if not self.is_painted:
                self.is_painted = True
                QTimer.singleShot(0, lambda: tell("frame", began))

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    window = Window()
    window.resize(1280, 800)
    window.show()
    QTimer.singleShot(100, lambda: tell("rest", began))
    return application.exec()


def show_ours(began: float, runs: int, settle_s: float) -> int:
    import gc

    gc.disable()  # as the program does before it loads the window
    from traindeck.ui.qt.light_imports import keep_imports_light

    keep_imports_light()
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QAbstractItemView

    from traindeck.bootstrap import Program, run_program
    from traindeck.ui.qt.watchdog import Stall, StallWatchdog
    from traindeck.ui.shell.main_window import MainWindow

    stalls: list[Stall] = []
    watching: list[object] = []

    def look_on(window: MainWindow) -> None:
        def look() -> None:
            lists = window.findChildren(QAbstractItemView)
            rows = next((one for one in lists if one.accessibleName() == "Runs"), None)
            if rows is None or rows.model().rowCount() < runs:
                return
            timer.stop()
            rows.setCurrentIndex(rows.model().index(0, 0))
            rows.viewport().repaint()
            assert rows.selectionModel().selectedRows()
            tell("runs", began)

        def painted() -> None:
            tell("frame", began)
            watching.append(StallWatchdog(stalls.append, window, limit_s=0.0))
            timer.start()

        timer = QTimer(window, interval=_LOOK_MS)
        timer.timeout.connect(look)
        window.painted.connect(painted)

    async def visit(program: Program) -> int:
        tell("rooms", began)
        await asyncio.sleep(settle_s)
        for stall in sorted(stalls, key=lambda stall: -stall.seconds)[:3]:
            print(f"{stall.seconds * 1000:.0f} ms\n{stall.stack}", file=sys.stderr)
        for watchdog in watching:
            assert isinstance(watchdog, StallWatchdog)
            watchdog.close()
        tell("rest", began, stall_s=max((stall.seconds for stall in stalls), default=0.0))
        await program.stop.wait()
        return 0

    return run_program(Namespace(language="en", theme="light", opens=[]), visit, look_on)


def main(which: str, began: str, runs: str, settle_s: str) -> int:
    if which == BARE:
        return show_bare(float(began))
    return show_ours(float(began), int(runs), float(settle_s))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
