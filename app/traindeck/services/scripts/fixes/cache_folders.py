"""Folders on the disk of a node that all its processes would fill at once: each process gets its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from traindeck.services.scripts.fixes.sources import Source

_COPIES = ("copy_parallel", "copy")


class CacheFolders:
    """`device` is the expression for a process's card."""

    def __init__(self, source: Source, device: str) -> None:
        self._device = device
        self._folders = tuple(dict.fromkeys(_filled(source.tree)))
        self._names = _named(source.tree, self._folders)
        self._inner: set[cst.CSTNode] = set()

    def look(self, call: cst.Call) -> None:
        """A path that is joined with the card already is right."""
        words = cst.Module([]).code_for_node(call)
        if words.startswith("os.path.join(") and any(name in words for name in ("DEVICE_ID", "device_id", "rank")):
            for one in call.args:
                if isinstance(one.value, cst.SimpleString):
                    self._inner.add(one.value)

    def copies_out(self, call: cst.Call) -> bool:
        """It copies from one of these folders to somewhere else."""
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _COPIES or not call.args:
            return False
        words = cst.Module([]).code_for_node(call.args[0].value)
        return any(folder in words for folder in self._folders) or words in self._names

    def turned(self, node: cst.SimpleString) -> cst.BaseExpression | None:
        if node in self._inner or "b" in node.prefix.lower():
            return None
        words = node.raw_value.rstrip("/")
        folder = next((one for one in self._folders if words == one or words.startswith(f"{one}/")), None)
        if folder is None:
            return None
        rest = words[len(folder) + 1 :]
        parts = [
            f"{node.quote}{folder}{node.quote}",
            self._device,
            *([f"{node.quote}{rest}{node.quote}"] if rest else []),
        ]
        return cst.parse_expression(f"os.path.join({', '.join(parts)})")


def _named(tree: ast.Module, folders: tuple[str, ...]) -> frozenset[str]:
    """Variables that hold one of these folders."""
    return frozenset(
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value in folders
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _filled(tree: ast.Module) -> Iterator[str]:
    """Folders below /cache that something is copied into, or out of."""
    values = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _COPIES:
            continue
        for value in (*node.args, *(one.value for one in node.keywords)):
            while isinstance(value, ast.Name) and value.id in values:
                value = values.pop(value.id)
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.startswith("/cache"):
                yield value.value.rstrip("/")
