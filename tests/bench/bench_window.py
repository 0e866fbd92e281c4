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
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from bench import results
from bench.measured_window import BARE, OURS

_ROOT = Path(__file__).parents[2]
_LIMIT_S = 120.0
_HEAD = "| what | a bare QMainWindow | TrainDeck | wanted |\n|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Sizes:
    runs: int = 1000
    settle_s: float = 6.0
    """Until the Lab beside the window is up and everything was read once."""
    rest_s: float = 10.0


Figures = dict[str, float]


# outside


def fill(home: Path, runs: int) -> None:
    """Runs that are over, in the records the window reads."""
    from support.many_runs import add_many, over
    from traindeck.domain.readings.phases import PhaseTime
    from traindeck.runtime.blocking import BlockingCalls
    from traindeck.runtime.files import our_folder
    from traindeck.store.paths import Paths
    from traindeck.store.phase_file import keep_phases
    from traindeck.store.records import RecordsFile
    from traindeck.store.runs import RunStore

    paths = Paths(home)
    paths.make()

    async def add() -> None:
        writer = BlockingCalls(1, "records")
        with closing(writer), closing(RunStore(RecordsFile(paths.database, paths.runs), writer)) as store:
            await store.open()
            await add_many(store, over(runs))

    asyncio.run(add())
    # The last one is in sight, and was looked at before.
    seen = paths.run_phases(f"run{runs:05}")
    our_folder(seen.parent)
    keep_phases(seen, [PhaseTime("queue", 4.0), PhaseTime("training", 50.0)])


@contextmanager
def started(which: str, home: Path, sizes: Sizes, cache: Path) -> Iterator[subprocess.Popen[str]]:
    # An installed program has its bytecode; so has the first round here made it for the others.
    environment = {**os.environ, "TRAINDECK_HOME": str(home), "PYTHONPYCACHEPREFIX": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    environment["PYTHONPATH"] = str(_ROOT / "tests")
    command = [
        sys.executable, "-m", "bench.measured_window", which, str(time.monotonic()), str(sizes.runs),
        str(sizes.settle_s),
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


def section(shown: str, rounds: int, runs: int, before: float) -> str:
    """One for each number of runs: that of few and that of many stand beside each other."""
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    heading, asked = "The window", ""
    if runs != Sizes().runs:
        heading, asked = f"{heading} with {runs:,} runs", f" --runs {runs}"
    return f"""## {heading}

Made by `PYTHONPATH=tests python -m bench.bench_window{asked} --write` from the root of the project, on
{machine}; the load was {before:.1f} before and {psutil.getloadavg()[0]:.1f} after.
Medians of {rounds} rounds in turn, each a process of its own drawn off the screen and counted from its start, with
bytecode that is there already. Where other work has the cores, CPU tells more than the clock. The Lab, a process of
its own, starts beside the window meanwhile.

{shown}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where the windows keep their files")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    load = psutil.getloadavg()[0]
    sizes = Sizes(options.runs)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        shown = table(measured(Path(folder), options.rounds, sizes), sizes)
    print(shown)
    if options.write:
        results.write(section(shown, options.rounds, options.runs, load))
    return 0


if __name__ == "__main__":
    sys.exit(main())
