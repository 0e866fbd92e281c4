"""What the tests of the sources ask about each module; it is parsed once."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Named(NamedTuple):
    """A call or a base class by its dotted name, such as `self._client.putObject`."""

    name: str
    line: int


class Source(NamedTuple):
    imports: tuple[tuple[str, str, int], ...]
    """Module, name (empty for `import module`) and level."""
    calls: tuple[Named, ...]
    classes: tuple[tuple[frozenset[str], int], ...]
    """The bases of each class, and its line."""
    types: tuple[str, ...]
    """The public classes and type aliases; a type variable is its own affair."""


def tree(path: Path) -> ast.Module:
    """The collector would look through all nodes again and again while they are made."""
    with _without_collector():
        return ast.parse(path.read_text(encoding="utf-8"))


@cache
def source(path: Path) -> Source:
    with _without_collector():
        module = ast.parse(path.read_text(encoding="utf-8"))
        imports: list[tuple[str, str, int]] = []
        calls: list[Named] = []
        classes: list[tuple[frozenset[str], int]] = []
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                imports += [(alias.name, "", 0) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imports += [(node.module or "", alias.name, node.level) for alias in node.names]
            elif isinstance(node, ast.Call):
                calls.append(Named(dotted(node.func), node.lineno))
            elif isinstance(node, ast.ClassDef):
                classes.append((frozenset(map(dotted, node.bases)), node.lineno))
        return Source(tuple(imports), tuple(calls), tuple(classes), tuple(_public_types(module)))


def dotted(node: ast.expr) -> str:
    """What is no name or attribute becomes `?`."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else "?"


def _public_types(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if isinstance(node.value, ast.Call) or not re.fullmatch(r"[A-Z]\w*[a-z]\w*", name):
                continue
        else:
            continue
        if not name.startswith("_"):
            yield name


@contextmanager
def _without_collector() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
