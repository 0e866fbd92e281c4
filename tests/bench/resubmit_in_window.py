"""The key R in a whole window, drawn off the screen: from the key press to the accepted job.

    PYTHONPATH=tests python -m bench.resubmit_in_window HOME ROUNDS

prints the seconds of each round as JSON, a line each, with the longest time the window did not answer meanwhile. The
home has a run whose code was sent; `bench_resubmit` makes one and asks for this.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

_LOOK_S, _LIMIT_S = 0.002, 300.0
_REST_S = 3.0
"""Until everything was read once, as when somebody looks at the window before pressing a key."""
_ROOT = Path(__file__).parents[2]


async def seen(condition: Callable[[], object]) -> None:
    began = time.perf_counter()
    while not condition():
        assert time.perf_counter() - began < _LIMIT_S, "this takes too long"
        await asyncio.sleep(_LOOK_S)


def press(rounds: int, rest_s: float) -> int:
    """Inside the process that is measured."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    from traindeck.bootstrap import Program, run_program
    from traindeck.domain.jobs.job import Run
    from traindeck.ui.jobs.runs.run_list_view import RunListView

    async def visit(program: Program) -> int:
        runs, window = program.models.jobs.runs, program.workspace.window

        def accepted(before: set[str]) -> list[Run]:
            return [run for run in runs.state.runs if run.job_id and run.id not in before]

        await seen(lambda: runs.state.is_known and runs.state.selected_run is not None)
        view = window.panel("runs")
        assert isinstance(view, RunListView)
        for _ in range(rounds):
            view.rows.setFocus()
            await asyncio.sleep(rest_s)
            program.stalls.clear()
            before = {run.id for run in runs.state.runs}
            began = time.perf_counter()
            QTest.keyClick(view.rows, Qt.Key.Key_R)
            await seen(partial(accepted, before))
            took = time.perf_counter() - began
            # As long as a second press would be taken for the second half of a double one.
            await seen(lambda: not runs.state.busy)
            stall = max((one.seconds for one in program.stalls), default=0.0)
            print(json.dumps({"s": took, "stall_s": stall}), flush=True)
        return 0

    return run_program(Namespace(language="en", theme="light", opens=[]), visit)


def pressed(home: Path, rounds: int, rest_s: float = _REST_S) -> Iterator[tuple[float, float]]:
    """Seconds until each was accepted, and of the longest time without an answer meanwhile."""
    environment = {**os.environ, "TRAINDECK_HOME": str(home), "PYTHONPATH": str(_ROOT / "tests")}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    command = [sys.executable, "-m", "bench.resubmit_in_window", str(home), str(rounds), str(rest_s)]
    done = subprocess.run(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            yield told["s"], told["stall_s"]


if __name__ == "__main__":
    sys.exit(press(int(sys.argv[2]), float(sys.argv[3])))
