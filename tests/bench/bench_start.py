"""What a command costs before it does anything: the CPU of whole processes, beside a Python that does nothing.

    PYTHONPATH=tests python -m bench.bench_start [--rounds 15] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
The commands ask a Lab that runs beside them; all modules are compiled before the first one counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import results
from support.servers.lab_process import LabProcess

_HEAD = "| what | CPU | × `python -c pass` | modules of TrainDeck | wanted |\n|---|---|---|---|---|"
_COUNTED = """
import sys
from traindeck.__main__ import main
main(sys.argv[1:])
print(sum(name.startswith("traindeck") for name in sys.modules), file=sys.stderr)
"""
BARE = "`python -c pass`"


@dataclass(frozen=True, slots=True)
class Line:
    """One command; without words it is Python itself."""

    what: str
    words: tuple[str, ...] = ()
    wanted: str = ""


LINES = (
    Line("`traindeck --version`", ("--version",), "≤ 0.06 s"),
    Line("`traindeck --help`", ("--help",)),
    Line("`traindeck obs cp --help`", ("obs", "cp", "--help")),
    Line("`obs ls` of an empty folder", ("obs", "ls", "obs://bench-start/"), "≤ 0.12 s"),
    Line("`obs ls`, the buckets", ("obs", "ls")),
    Line("`obs stat` of a bucket, by the SDK", ("obs", "stat", "obs://bench-start/")),
    Line("`obs cp` of one file", ("obs", "cp", "{file}", "obs://bench-start-2/file")),
    Line("`obs sync`, nothing changed", ("obs", "sync", "{folder}", "obs://bench-start-2/folder/")),
    Line("`profile list`", ("profile", "list")),
    Line("`job ls`, no runs", ("job", "ls")),
    Line("`lab status`", ("lab", "status")),
)


def cpu_s(command: list[str], environment: dict[str, str]) -> float:
    """Of the whole process, its loading and its end included."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def measured(place: Path, rounds: int) -> Iterator[str]:
    """Rows of the table, best of the rounds, in turn."""
    home = place / "home"
    home.mkdir()
    environment = {
        **os.environ, "TRAINDECK_HOME": str(home), "PYTHONPYCACHEPREFIX": str(place / "compiled"), "LANG": "C.UTF-8",
    }  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    (place / "folder").mkdir()
    (place / "folder" / "file").write_bytes(b"content")
    fields = {"file": str(place / "folder" / "file"), "folder": str(place / "folder")}
    ours = [sys.executable, "-m", "traindeck", "--profile", "lab"]
    with LabProcess(home / "lab"):
        for bucket in ("bench-start", "bench-start-2"):
            cpu_s([*ours, "obs", "mb", f"obs://{bucket}"], environment)
        commands = {
            "`python -S -c pass`": [sys.executable, "-S", "-c", "pass"],
            BARE: [sys.executable, "-c", "pass"],
            "`python -c 'import asyncio'`": [sys.executable, "-c", "import asyncio"],
        }
        for line in LINES:
            words = [word.format(**fields) for word in line.words]
            is_ours = line.words[0] in ("obs", "job")
            commands[line.what] = [*(ours if is_ours else ours[:3]), *words]
        best = {what: cpu_s(command, environment) for what, command in commands.items()}  # and now all is compiled
        for _ in range(rounds):
            for what, command in commands.items():
                best[what] = min(best[what], cpu_s(command, environment))
        wanted = {line.what: line.wanted for line in LINES}
        for what, command in commands.items():
            count = _count(command, environment) if what in wanted else ""
            ratio = best[what] / best[BARE]
            yield f"| {what} | {best[what]:.3f} s | {ratio:.1f} | {count} | {wanted.get(what, '')} |"


def _count(command: list[str], environment: dict[str, str]) -> str:
    asked = [sys.executable, "-c", _COUNTED, *command[3:]]
    done = subprocess.run(asked, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return done.stderr.split()[-1]


def section(rows: list[str], rounds: int, load: tuple[float, float]) -> str:
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    table = "\n".join(rows)
    return f"""## The start of a command

Made by `PYTHONPATH=tests python -m bench.bench_start --write` from the root of the project, on {machine}.
CPU of whole processes, user and system, the best of {rounds} rounds in turn; the Lab's own is not in it.
The load was {load[0]:.1f} before and {load[1]:.1f} after: above 1 all figures, those of Python itself too, are larger
than on an idle machine, so compare the ratios.

{_HEAD}
{table}

A third of the smallest question to a service is `asyncio` with the `ssl` it brings along. What a command may load is
kept by `tests/cli/test_start.py`, which looks at modules, not at clocks.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    load = psutil.getloadavg()[0]
    rows = []
    print(_HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for row in measured(Path(folder), given.rounds):
            rows.append(row)
            print(row, flush=True)
    if given.write:
        results.write(section(rows, given.rounds, (load, psutil.getloadavg()[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
