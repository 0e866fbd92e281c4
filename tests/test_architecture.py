"""The rules that hold for every module, as tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sources import source, tree

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "app" / "traindeck"
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported_names(path: Path) -> Iterator[str]:
    for module, name, level in source(path).imports:
        if level == 0:
            yield f"{module}.{name}" if name else module


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_layers_point_downwards() -> None:
    """As a process of its own: it sets up logging anew, and the other tests would hear nothing any more."""
    lint = "from importlinter import cli; raise SystemExit(cli.lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", sorted((PACKAGE / "viewmodels").rglob("*.py")), ids=relative)
def test_view_models_know_only_qtcore(path: Path) -> None:
    used = {name for name in imported_names(path) if name.startswith("PySide6")}
    assert {name for name in used if not name.startswith("PySide6.QtCore")} == set()


def test_one_module_knows_qasync() -> None:
    assert [relative(path) for path in MODULES if any(n.startswith("qasync") for n in imported_names(path))] == [
        "ui/qt/loop.py"
    ]


BY_THE_SDK = {
    "createBucket", "deleteBucket", "headBucket", "getBucketMetadata",
    "getBucketPolicy", "setBucketPolicy", "deleteBucketPolicy", "getBucketPublicAccessBlock",
    "getBucketAcl", "setBucketAcl", "getObjectAcl", "setObjectAcl",
    "setObjectTagging", "deleteObjectTagging", "restoreObject", "createSignedUrl",
    # Ours: documents that its own models would lose a part of, and its connections.
    "setting", "put_setting", "delete_setting", "beside", "call", "close_idle",
}  # fmt: skip


def test_the_sdk_is_asked_only_for_what_a_person_does_once() -> None:
    """Whatever comes by the thousand has one way, and it is not this one."""
    calls = (call for path in (PACKAGE / "services" / "storage").rglob("*.py") for call in source(path).calls)
    asked = (call.name.rpartition(".") for call in calls)
    found = {name for place, _, name in asked if place in ("client", "self._client")}
    assert found == BY_THE_SDK


def test_one_name_has_one_meaning() -> None:
    """A reader who has met a name knows what it is; the Lab is a program of its own."""
    found = defaultdict(list)
    for path in MODULES:
        if PACKAGE / "lab" not in path.parents:
            for name in source(path).types:
                found[name].append(relative(path))
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_no_nested_event_loop() -> None:
    """`exec` on a dialog or menu runs a loop inside the loop, and the tasks that wake in it are lost."""
    found = [
        f"{relative(path)}:{call.line}"
        for path in MODULES
        # A drag can be done in no other way; that one begins outside of every task.
        if relative(path) != "ui/storage/object_drag.py"
        for call in source(path).calls
        if call.name.endswith((".exec", ".exec_", ".processEvents"))
    ]
    assert found == []


LETS_EVENTS_PASS = {"processEvents", "mouseMove", "qWait", "waitExposed", "waitActive", "waitSignal", "waitUntil"}


def test_no_task_of_a_test_lets_events_pass() -> None:
    """Other tasks that wake meanwhile are lost; `outside_of_tasks` is the way."""

    def found(node: ast.AST, *, in_task: bool) -> Iterator[int]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.AsyncFunctionDef, ast.FunctionDef, ast.Lambda)):
                yield from found(child, in_task=isinstance(child, ast.AsyncFunctionDef))
                continue
            call = child.func if isinstance(child, ast.Call) else None
            if in_task and isinstance(call, ast.Attribute) and call.attr in LETS_EVENTS_PASS:
                yield call.lineno
            yield from found(child, in_task=in_task)

    words = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    asked = re.compile(r"\.(" + "|".join(LETS_EVENTS_PASS) + r")\b")
    trees = {path: tree(path) for path, text in words.items() if "async def" in text and asked.search(text)}
    assert [f"{path.name}:{line}" for path, node in trees.items() for line in found(node, in_task=False)] == []


def test_no_layout_is_asked_for_its_items() -> None:
    """Qt deletes them without a word to Python, whose object for one stays as long as the layout.

    What comes to that address next is taken for the item, and a call on it crashes.
    """
    asks = re.compile(r"\.(itemAt|takeAt|itemAtPosition)\(")
    paths = (*MODULES, *(ROOT / "tests").rglob("*.py"))
    assert [str(path.relative_to(ROOT)) for path in paths if asks.search(path.read_text(encoding="utf-8"))] == []


VIEWS = {"QListView", "QListWidget", "QTableView", "QTableWidget", "QTreeView", "QTreeWidget"}
WITHOUT_FOCUS = {"ui/kit/completions.py", "ui/shell/command_palette.py"}
"""Below a field that has the keyboard while they are in sight."""


def test_every_list_shows_whether_it_has_the_focus() -> None:
    """By the colour of its selection: made from FocusedView."""
    found = []
    for path in sorted((PACKAGE / "ui").rglob("*.py")):
        here = source(path)
        plain = [line for bases, line in here.classes if bases & VIEWS and not bases & {"FocusedView", "KeyedView"}]
        plain += [call.line for call in here.calls if call.name in VIEWS]
        if relative(path) not in WITHOUT_FOCUS:
            found += [f"{relative(path)}:{line}" for line in plain]
    assert found == []


def test_no_module_shadows_the_standard_library() -> None:
    """Python puts the folder of a script first on its path."""
    outside = [path for path in MODULES if path.parent == PACKAGE] + sorted((ROOT / "packaging").glob("*.py"))
    assert [path.name for path in outside if path.stem in sys.stdlib_module_names and path.stem != "__main__"] == []
    assert not (ROOT / "packaging" / "__init__.py").exists()


@pytest.mark.parametrize("module", ["traindeck.cli.main", "traindeck.assembly.core", "traindeck.lab.server"])
def test_no_qt_below_the_window(module: str) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", f"import {module}, sys; print([m for m in sys.modules if m.startswith('PySide6')])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "[]"
