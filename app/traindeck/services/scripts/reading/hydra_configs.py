"""Scripts of Hydra: a configuration file names their arguments, which are told as `name=value`, not as options."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Iterator

from traindeck.services.scripts.imports import folder_of

OWN = frozenset({"defaults", "hydra"})
"""What Hydra itself reads of a config."""
_PLACES = ("config_path", "config_name")


def hydra_configs(module: ast.Module, path: str) -> Iterator[str]:
    """The files that are read first, below the code folder, whether they are there or not; further ones are not."""
    names = set(_names_of_main(ast.walk(module)))
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef):
            continue
        for one in node.decorator_list:
            if isinstance(one, ast.Call) and ast.unparse(one.func) in names:
                folder, name = (_given(one, place, word) for place, word in enumerate(_PLACES))
                end = "" if name.endswith((".yaml", ".yml")) else ".yaml"
                yield posixpath.normpath(f"{folder_of(path)}{folder or '.'}/{name}{end}") if name else ""


def _names_of_main(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (f"{one.asname or one.name}.main" for one in node.names if one.name == "hydra")
        elif isinstance(node, ast.ImportFrom) and node.module == "hydra":
            yield from (one.asname or one.name for one in node.names if one.name == "main")


def _given(call: ast.Call, place: int, word: str) -> str:
    passed = [one.value for one in call.keywords if one.arg == word] + call.args[place : place + 1]
    return one.value if passed and isinstance(one := passed[0], ast.Constant) and isinstance(one.value, str) else ""
