"""The tests notice faults: a seeded sample of one-line faults is put into copies of the sources, one at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from mutation.faults import Fault, faults_in, sample
from mutation.linked_tree import LinkedTree
from mutation.reached import Reached, find_reached

ROOT = Path(__file__).parents[2]
NUMBER = int(os.environ.get("MUTATION_NUMBER", "200"))
SEED = os.environ.get("MUTATION_SEED", "1")
LEAST_FOUND = 0.9
MOST_S = 240.0
FAILED, NOT_IMPORTED, TIMED_OUT = 1, 2, None
SOURCE = b"""\
def price(hours, rate, free=False):
    '''Return what it costs.'''
    if hours < 0 or not rate:
        return None
    kind = "per_hour"
    return {kind: hours * rate}
"""


def test_a_fault_changes_one_line_and_can_be_parsed() -> None:
    found = list(faults_in(Path("a.py"), SOURCE))
    assert {fault.kind for fault in found} >= {
        "comparison", "and, or", "not", "number", "name", "arithmetic", "yes, no", "nothing returned"
    }  # fmt: skip
    for fault in found:
        changed = fault.put_into(SOURCE)
        compile(changed, "a.py", "exec")
        pairs = zip(SOURCE.splitlines(), changed.splitlines(), strict=True)
        assert [number for number, (was, is_) in enumerate(pairs, 1) if was != is_] == [fault.line]


def test_the_same_seed_chooses_the_same_faults() -> None:
    found = list(faults_in(Path("a.py"), SOURCE))
    assert sample(found, 3, "7") == sample(reversed(found), 3, "7")
    assert len({fault.line for fault in sample(found, 3, "7")}) == 3


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="made of hard links to an environment as POSIX has it")
@pytest.mark.limit(6 * 3600)
def test_nine_of_ten_faults_are_found(tmp_path: Path) -> None:
    tree = LinkedTree(ROOT, tmp_path / "map")
    reached = find_reached(tree, ["-n", "4", "--dist", "worksteal", "-m", "not long"])
    sources = sorted((ROOT / "app" / "traindeck").rglob("*.py"))
    faults = [fault for path in sources for fault in faults_in(path.relative_to(ROOT), path.read_bytes())]
    chosen = sample(faults, NUMBER, SEED)
    trees = SimpleQueue[LinkedTree]()
    workers = os.cpu_count() or 1
    for number in range(workers):
        trees.put(LinkedTree(ROOT, tmp_path / f"copy{number}"))
    with ThreadPoolExecutor(workers) as pool:
        missed = [fault for fault, is_found in pool.map(lambda fault: (fault, _is_found(fault, reached, trees)), chosen)
                  if not is_found]  # fmt: skip
    print(f"{len(chosen) - len(missed)} of {len(chosen)} found, seed {SEED}; not found:", *_lines(missed), sep="\n")
    assert len(missed) <= (1 - LEAST_FOUND) * len(chosen), "\n".join(_lines(missed))


def _is_found(fault: Fault, reached: Reached, trees: SimpleQueue[LinkedTree]) -> bool:
    tests = reached.tests_for(fault.path, fault.function, MOST_S)
    if not tests:
        return False
    tree = trees.get()
    try:
        tree.write(fault.path, fault.put_into((tree.project / fault.path).read_bytes()))
        (tree.folder / "chosen.txt").write_text("\n".join(tests), encoding="utf-8")
        status = tree.run(["-x", "-n0", "-m", "not timed", "@chosen.txt"], 60 + 3 * reached.seconds_of(tests))
        # A program that hangs or cannot be imported would be noticed, too; other ends say nothing of the fault.
        return status in (FAILED, NOT_IMPORTED, TIMED_OUT)
    finally:
        tree.restore(fault.path)
        trees.put(tree)


def _lines(faults: list[Fault]) -> Iterator[str]:
    for fault in faults:
        source = (ROOT / fault.path).read_text(encoding="utf-8").splitlines()[fault.line - 1].strip()
        yield f"{fault}    in: {source}"
