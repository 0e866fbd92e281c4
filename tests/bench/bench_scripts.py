"""How long the scripts of a folder take to be read, and how long nothing else runs meanwhile.

    PYTHONPATH=tests python -m bench.bench_scripts [--rounds 3] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import traindeck
from bench.results import TableBench
from traindeck.runtime.blocking import CancelToken
from traindeck.services.jobs.code.code_tree import scanned
from traindeck.services.jobs.script_reading import ScriptMemory, scripts_of
from traindeck.services.scripts.arguments import script_arguments

FILES = 2_000
_HEAD = "| what | time | wanted |\n|---|---|---|"
_BOOT = "import argparse\n{imports}\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float)\n"


def fill(folder: Path, count: int) -> int:
    """Modules as people write them, those of this program in turns; the boot file imports a tenth. The bytes of all."""
    modules = sorted(Path(str(traindeck.__file__)).parent.rglob("*.py"))
    size = 0
    for number in range(count - 1):
        content = modules[number % len(modules)].read_bytes()
        size += len(content)
        place = folder / f"part{number % 20}" / f"module{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    imports = "\n".join(f"import part{number % 20}.module{number}" for number in range(0, count - 1, 10))
    (folder / "train.py").write_text(_BOOT.format(imports=imports), encoding="utf-8")
    return size


class _Watch:
    """Wakes every millisecond; the longest time it could not is how long a window would have stood still."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._ended.wait(0.001):
            now = time.perf_counter()
            self.longest = max(self.longest, now - last)
            last = now


def measured(folder: Path, rounds: int, count: int = FILES) -> Iterator[str]:
    """Rows of the table, best of the rounds."""
    size = fill(folder, count)
    first, again, needed, longest = [], [], [], []
    for _ in range(rounds):
        memory = ScriptMemory()
        tree = scanned(folder, (), CancelToken())
        gc.disable()  # as in the window, which collects by the clock
        with _Watch() as watch:
            begin = time.perf_counter()
            found = scripts_of(tree, "train.py", (3, 9), CancelToken(), memory)
            first.append(time.perf_counter() - begin)
        gc.enable()
        assert len(found.files) == count or found.limits
        longest.append(watch.longest)
        begin = time.perf_counter()
        scripts_of(tree, "train.py", (3, 9), CancelToken(), memory)
        again.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        script_arguments(scripts_of(tree, "train.py", None, CancelToken(), ScriptMemory(), others=False))
        needed.append(time.perf_counter() - begin)
    read = f"{len(found.files):,} files, {size / 1e6:.1f} MB"
    yield f"| {read}: all read | {min(first):.2f} s | < 5 s |"
    yield f"| the same again, nothing changed | {min(again):.2f} s |  |"
    yield f"| what the boot file imports of it, and its arguments | {min(needed):.2f} s |  |"
    yield f"| the longest time another thread waited | {min(longest) * 1000:.0f} ms | ≤ 50 ms |"


BENCH = TableBench("bench_scripts", "The scripts of a folder", _HEAD, "rounds", 3, measured)


if __name__ == "__main__":
    BENCH.main(__doc__)
