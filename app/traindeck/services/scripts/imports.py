"""What a Python file needs of the folder it lies in, and what is reached from the file that is started."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LocalImport:
    """`level` is the number of dots before it."""

    module: str
    names: tuple[str, ...] = ()
    level: int = 0
    is_sure: bool = True
    """It runs as soon as the file does; one that is tried, or stands in a function, may never do."""


def local_imports(module: ast.Module) -> Iterator[LocalImport]:
    """All of the file, those that nothing keeps from running told from the others."""
    at_once = set(map(id, module.body))
    for node in ast.walk(module):
        is_sure = id(node) in at_once
        if isinstance(node, ast.Import):
            for name in node.names:
                yield LocalImport(name.name, is_sure=is_sure)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(name.name for name in node.names)
            yield LocalImport(node.module or "", names, node.level, is_sure)


def files_of(wanted: LocalImport, importer: str, roots: Iterable[str]) -> Iterator[str]:
    """Where it may be found, below the code folder; a root is looked in for modules, and ends with a slash."""
    folders = list(roots)
    if wanted.level:
        above = importer.split("/")[: -wanted.level]
        if len(importer.split("/")) < wanted.level:
            return
        folders = ["".join(f"{part}/" for part in above)]
    steps = [step for step in wanted.module.split(".") if step]
    for folder in folders:
        for count in range(1, len(steps) + 1):
            place = folder + "/".join(steps[:count])
            yield f"{place}.py"
            yield f"{place}/__init__.py"
        inside = folder + "".join(f"{step}/" for step in steps)
        for name in wanted.names:
            yield f"{inside}{name}.py"
            yield f"{inside}{name}/__init__.py"


def added_roots(module: ast.Module, path: str) -> Iterator[str]:
    """What `sys.path.append` and `insert` add, where a folder is written there: below that of the file."""
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr not in ("append", "insert") or ast.unparse(node.func.value) != "sys.path":
            continue
        for each in (one for value in node.args for one in ast.walk(value)):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and not each.value.startswith("/"):
                place = posixpath.normpath(folder_of(path) + each.value.replace("\\", "/"))
                if place != "." and not place.startswith(".."):
                    yield f"{place}/"


def folder_of(path: str) -> str:
    """With its slash; the code folder itself is empty."""
    head = path.rpartition("/")[0]
    return f"{head}/" if head else ""


def reached_from(
    starts: Iterable[str], there: Container[str], needed_by: Callable[[str], Iterable[str]]
) -> tuple[str, ...]:
    """All that is needed of what is there, by whatever needs it, each once and the nearest first."""
    found = dict.fromkeys(path for path in starts if path in there)
    wanted = list(found)
    while wanted:
        new = [file for path in wanted for file in needed_by(path) if file in there and file not in found]
        wanted = list(dict.fromkeys(new))
        found.update(dict.fromkeys(wanted))
    return tuple(found)
