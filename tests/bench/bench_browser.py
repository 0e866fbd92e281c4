"""How a bucket of a million objects feels in the window: first rows, listing, sorting, scrolling, memory a row.

    PYTHONPATH=tests python -m bench.bench_browser [--objects 1000000] [--folder DIR] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
The Lab runs as a process of its own; the window is drawn off the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil

from bench import results
from support.filled_lab import fill, listed_keys

BUCKET = "many"
_LOOK_S, _LIMIT_S = 0.002, 600.0
_HEAD = "| what | figure | longest stall of the window | wanted |\n|---|---|---|---|"


async def seen(condition: Callable[[], object]) -> float:
    """Seconds until it holds."""
    began = time.perf_counter()
    while not condition():
        assert time.perf_counter() - began < _LIMIT_S, "this takes too long"
        await asyncio.sleep(_LOOK_S)
    return time.perf_counter() - began


def memory_mb() -> float:
    return psutil.Process().memory_info().rss / 1e6


def measure(objects: int, table_rows: list[str]) -> int:

    from traindeck.bootstrap import Program, run_program
    from traindeck.domain.storage.objects import Column, ObjectPath
    from traindeck.ui.storage.browser_view import BrowserView

    def row(what: str, value: str, program: Program, wanted: str = "") -> None:
        longest = max((stall.seconds for stall in program.stalls), default=0.0)
        words = f"{longest * 1000:.0f} ms" if longest else "none over 50 ms"
        table_rows.append(f"| {what} | {value} | {words} | {wanted} |")
        print(table_rows[-1], flush=True)
        program.stalls.clear()

    async def visit(program: Program) -> int:
        window = program.workspace.window
        window.resize(1280, 800)
        await seen(lambda: program.models.storage.buckets.level(None).is_known)
        await asyncio.sleep(1)
        print(_HEAD, flush=True)
        program.stalls.clear()
        empty_mb = memory_mb()
        program.models.storage.buckets.opened.emit(ObjectPath(BUCKET, "images/"))
        view = window.tabs.currentWidget()
        assert isinstance(view, BrowserView)
        browser, table = program.workspace.storage.browsers.browser(BUCKET), view.table
        first_s = await seen(lambda: browser.rows.shown.count and browser.rows.row(0))
        table.viewport().repaint()
        row("first rows", f"{first_s * 1000:.0f} ms", program, "≤ 300 ms")
        listed_s = first_s + await seen(lambda: browser.rows.shown.count == objects and browser.rows.shown.below)
        row("all listed, with the window in use", f"{listed_s:.1f} s, {objects / listed_s:,.0f} a second", program)
        await asyncio.sleep(1)
        grown = memory_mb() - empty_mb
        row("memory", f"{grown:.0f} MB more, {grown * 1e6 / objects:.0f} bytes a row", program, "≤ 250 bytes")

        def is_sorted(wanted: Column) -> bool:
            return browser.rows.shown.look.column is wanted

        for column, descending in ((Column.SIZE, True), (Column.MODIFIED, False), (Column.NAME, True)):
            program.stalls.clear()
            browser.sort(column, descending)
            took = await seen(partial(is_sorted, column))
            row(f"sorted by {column.value}", f"{took:.2f} s", program)
        bar = table.verticalScrollBar()
        frames, began = 0, time.perf_counter()
        while time.perf_counter() - began < 3:
            bar.setValue((bar.value() + bar.maximum() // 97 + 13) % bar.maximum())
            table.viewport().repaint()
            frames += 1
            await asyncio.sleep(0)
        row("scrolled in leaps", f"{frames / 3:.0f} frames a second", program)
        jump = []
        for part in range(1, 8):
            bar.setValue(bar.maximum() * part // 8)
            rank = table.rowAt(1)
            jump.append(await seen(partial(browser.rows.row, rank)))
        row("rows after a leap", f"{max(jump) * 1000:.0f} ms at most", program)
        table.selectAll()
        await asyncio.sleep(0.2)
        row("all selected", f"{table.count_selected():,} rows", program)
        table.clearSelection()
        browser.search("99 jpg")
        took = await seen(lambda: browser.rows.shown.look.search)
        row("searched in names", f"{took:.2f} s, {browser.rows.shown.count:,} found", program)
        browser.search("")
        await seen(lambda: not browser.rows.shown.look.search)
        program.stalls.clear()
        began = time.perf_counter()
        browser.list_everything()
        await seen(lambda: browser.state.swept is not None)
        await seen(lambda: browser.state.swept is None)
        row("listed again, nothing changed", f"{time.perf_counter() - began:.1f} s", program)
        return 0

    return run_program(Namespace(language="en", theme="light", opens=[]), visit)


def section(rows: list[str], objects: int, load: float) -> str:
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    table = "\n".join(rows)
    return f"""## A bucket in the window

Made by `PYTHONPATH=tests python -m bench.bench_browser --write` from the root of the project, on {machine},
which the Lab shares; the load was {load:.1f} before. {objects:,} objects in one bucket, a real window drawn off the
screen. No stall is to be longer than 50 ms.

{_HEAD}
{table}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the Lab and the window keep their files")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    load = psutil.getloadavg()[0]
    rows: list[str] = []
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory(dir=options.folder) as home:
        os.environ["TRAINDECK_HOME"] = home
        fill(Path(home) / "lab", BUCKET, listed_keys(options.objects))
        status = measure(options.objects, rows)
    if options.write and not status:
        results.write(section(rows, options.objects, load))
    return status


if __name__ == "__main__":
    sys.exit(main())
