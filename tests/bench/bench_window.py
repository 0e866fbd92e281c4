"""How soon the window is there and what it costs at rest, beside a bare QMainWindow in the same run.

    PYTHONPATH=tests python -m bench.bench_window [--rounds 5] [--runs 1000] [--folder DIR] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
Each figure is of a process of its own, drawn off the screen, counted from the moment it is started.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import psutil

from bench import results

BARE, OURS = "bare", "ours"
_ROOT = Path(__file__).parents[2]
_LIMIT_S = 120.0
_LOOK_MS = 2
_HEAD = "| what | a bare QMainWindow | TrainDeck | wanted |\n|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Sizes:
    runs: int = 1000
    settle_s: float = 6.0
    """Until the Lab beside the window is up and everything was read once."""
    rest_s: float = 10.0


Figures = dict[str, float]


# inside the processes that are measured


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


# outside


def fill(home: Path, runs: int) -> None:
    """Runs that are over, in the records the window reads."""
    from traindeck.domain.jobs.job import Run, RunState
    from traindeck.domain.jobs.job_spec import JobSpec
    from traindeck.runtime.blocking import BlockingCalls
    from traindeck.store.paths import Paths
    from traindeck.store.records import RecordsFile
    from traindeck.store.runs import RunStore

    paths = Paths(home)
    paths.make()
    first = datetime(2026, 1, 1, tzinfo=UTC)

    async def add() -> None:
        writer = BlockingCalls(1, "records")
        with closing(writer), closing(RunStore(RecordsFile(paths.database, paths.runs), writer)) as store:
            await store.open()
            for number in range(runs):
                at = first + timedelta(minutes=number)
                await store.add(
                    Run(
                        f"run{number:05}", 0, f"digits-{number}", "lab", JobSpec(name="digits"),
                        RunState.COMPLETED, at,
                    )
                )  # fmt: skip

    asyncio.run(add())


@contextmanager
def started(which: str, home: Path, sizes: Sizes, cache: Path) -> Iterator[subprocess.Popen[str]]:
    # An installed program has its bytecode; so has the first round here made it for the others.
    environment = {**os.environ, "TRAINDECK_HOME": str(home), "PYTHONPYCACHEPREFIX": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    environment["PYTHONPATH"] = str(_ROOT / "tests")
    command = [
        sys.executable, "-m", "bench.bench_window", "--inside", which, "--began", str(time.monotonic()),
        "--runs", str(sizes.runs), "--settle", str(sizes.settle_s),
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(_LIMIT_S)
        if process.stdout is not None:
            process.stdout.close()


def _seconds(told: object) -> float:
    assert isinstance(told, int | float)
    return float(told)


def one_round(which: str, home: Path, sizes: Sizes, cache: Path) -> Figures:
    with started(which, home, sizes, cache) as process:
        assert process.stdout is not None
        figures: Figures = {}
        for said in _said(process.stdout):
            name = str(said["what"])
            figures |= {name: _seconds(said["s"]), f"{name} cpu": _seconds(said["cpu_s"])}
            if "stall_s" in said:
                figures["stall"] = _seconds(said["stall_s"])
            if name == "rest":
                break
        assert "rest" in figures, f"{which} ended by itself"
        seen = psutil.Process(process.pid)
        before = seen.cpu_times()
        time.sleep(sizes.rest_s)
        after = seen.cpu_times()
        figures["idle"] = (after.user + after.system - before.user - before.system) / sizes.rest_s
        figures["rss"] = seen.memory_info().rss / 1e6
        return figures


def _said(stream: IO[str]) -> Iterator[Mapping[str, object]]:
    for line in stream:
        if line.startswith("{"):
            yield json.loads(line)


def measured(folder: Path, rounds: int, sizes: Sizes) -> dict[str, list[Figures]]:
    """In turn, after one round each that does not count."""
    home, cache = folder / "home", folder / "cache"
    fill(home, sizes.runs)
    seen: dict[str, list[Figures]] = {BARE: [], OURS: []}
    for number in range(rounds + 1):
        for which, figures in seen.items():
            found = one_round(which, home, sizes, cache)
            if number:
                figures.append(found)
    return seen


def table(seen: Mapping[str, list[Figures]], sizes: Sizes) -> str:
    def of(which: str, name: str) -> float | None:
        values = [figures[name] for figures in seen[which] if name in figures]
        return statistics.median(values) if values else None

    def cells(name: str, words: Callable[[float], str]) -> list[str]:
        return ["" if (value := of(which, name)) is None else words(value) for which in (BARE, OURS)]

    def seconds(value: float) -> str:
        return f"{value:.3f} s"

    def ratio(name: str) -> str:
        bare, ours = of(BARE, name), of(OURS, name)
        return f"≤ 2 × bare; it is {ours / bare:.2f}" if bare and ours else ""

    rows = [
        ["first frame painted", *cells("frame", seconds), ratio("frame")],
        ["CPU until then", *cells("frame cpu", seconds), ratio("frame cpu")],
        [f"list of {sizes.runs:,} runs painted and answering", *cells("runs", seconds), "≤ 0.6 s"],
        ["CPU until then", *cells("runs cpu", seconds), ""],
        ["all rooms there", *cells("rooms", seconds), ""],
        ["CPU until then", *cells("rooms cpu", seconds), ""],
        ["longest stall while it fills", *cells("stall", lambda value: f"{value * 1000:.0f} ms"), "≤ 30 ms"],
        ["memory at rest", *cells("rss", lambda value: f"{value:.0f} MB"), "≤ 150 MB"],
        ["CPU at rest", *cells("idle", lambda value: f"{value:.2%}"), "< 0.5 %"],
    ]
    return "\n".join([_HEAD, *("| " + " | ".join(row) + " |" for row in rows)])


def section(shown: str, rounds: int, before: float) -> str:
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    return f"""## The window

Made by `PYTHONPATH=tests python -m bench.bench_window --write` from the root of the project, on {machine}; the load was
{before:.1f} before and {psutil.getloadavg()[0]:.1f} after. Medians of {rounds} rounds in turn, each a process of its
own drawn off the screen and counted from its start, with bytecode that is there already. Where other work has the
cores, CPU tells more than the clock. The Lab, a process of its own, starts beside the window meanwhile.

{shown}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where the windows keep their files")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--inside", choices=(BARE, OURS), help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--settle", type=float, default=6.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside == BARE:
        return show_bare(options.began)
    if options.inside == OURS:
        return show_ours(options.began, options.runs, options.settle)
    load = psutil.getloadavg()[0]
    sizes = Sizes(options.runs)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        shown = table(measured(Path(folder), options.rounds, sizes), sizes)
    print(shown)
    if options.write:
        results.write(section(shown, options.rounds, load))
    return 0


if __name__ == "__main__":
    sys.exit(main())
