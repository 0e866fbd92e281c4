"""Which tests run which function: every function of a copy of the sources notes the test that reached it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from mutation.linked_tree import LinkedTree

WHOLE_RUN_S = 3600.0
_NOTER = """
import os
_noted = set()
_file = None

def note(function):
    global _file
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (test, function) not in _noted:
        _noted.add((test, function))
        if _file is None or _file[0] != os.getpid():
            _file = os.getpid(), os.open(f"{FOLDER}/{os.getpid()}.reached", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(_file[1], f"{function}\\t{test}\\n".encode())

def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed:
        with open(f"{FOLDER}/passed.txt", "a", encoding="utf-8") as file:
            file.write(f"{report.duration:.3f}\\t{report.nodeid}\\n")
"""


class Reached:
    """The tests that pass, how long each takes, and which functions it reaches."""

    def __init__(self, seconds: dict[str, float], tests: dict[tuple[Path, int], set[str]]) -> None:
        self._seconds, self._tests = seconds, tests

    def tests_for(self, path: Path, function: int, most_s: float) -> list[str]:
        """Return the quickest tests that reach it, as many as fit into the time; of a module, those of its folder."""
        if function:
            found = self._tests.get((path, function), set())
        else:
            found = set[str]().union(*(tests for (at, _), tests in self._tests.items() if at.parent == path.parent))
        chosen, total_s = [], 0.0
        for test in sorted(found & self._seconds.keys(), key=lambda test: (self._seconds[test], test)):
            total_s += self._seconds[test] + 0.05
            if total_s > most_s:
                break
            chosen.append(test)
        return chosen

    def seconds_of(self, tests: Iterable[str]) -> float:
        return sum(self._seconds[test] for test in tests)


def find_reached(tree: LinkedTree, arguments: list[str]) -> Reached:
    notes = tree.folder / "notes"
    notes.mkdir()
    tree.write(Path("app/reached_functions.py"), f"FOLDER = {str(notes)!r}\n{_NOTER}".encode())
    sources = sorted(path.relative_to(tree.folder) for path in (tree.folder / "app" / "traindeck").rglob("*.py"))
    for path in sources:
        tree.write(path, _noting(path, (tree.folder / path).read_bytes()))
    try:
        tree.run(["-p", "reached_functions", *arguments], WHOLE_RUN_S)
    finally:
        for path in sources:
            tree.restore(path)
    seconds = {}
    for line in (notes / "passed.txt").read_text(encoding="utf-8").splitlines():
        took, _, test = line.partition("\t")
        seconds[test] = float(took)
    tests = defaultdict[tuple[Path, int], set[str]](set)
    for file in notes.glob("*.reached"):
        for line in file.read_text(encoding="utf-8").splitlines():
            function, _, test = line.partition("\t")
            name, _, number = function.rpartition(":")
            tests[Path(name), int(number)].add(test)
    return Reached(seconds, tests)


def _noting(path: Path, source: bytes) -> bytes:
    lines = source.splitlines(keepends=True)
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for node in sorted(functions, key=lambda node: node.body[0].lineno, reverse=True):
        first = node.body[0]
        is_documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if is_documented and len(node.body) == 1:
            continue
        first = node.body[1] if is_documented else first
        number = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
        call = f"__import__('reached_functions').note('{path.as_posix()}:{node.lineno}')".encode()
        line = lines[number - 1]
        before = line[: first.col_offset]
        if before.strip():
            lines[number - 1] = before + call + b"; " + line[first.col_offset :]
        else:
            lines[number - 1] = before + call + b"\n" + line
    return b"".join(lines)
