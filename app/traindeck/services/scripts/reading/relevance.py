"""Which functions of a folder have anything to do with what a script is told."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

SPEAKING = frozenset({
    "ArgumentParser", "ArgParser", "HfArgumentParser", "OptionParser", "add_argument", "add_option",
    "add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser", "add_arguments",
    "parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args", "set_defaults",
    "parse_args_into_dataclasses", "mark_flag_as_required", "mark_flags_as_required", "Fire", "add_args",
    "from_argparse_args", "add_argparse_args", "BooleanOptionalAction",
})  # fmt: skip
_BEGINNING = "DEFINE_"


def speaks(name: str) -> bool:
    return name in SPEAKING or name.startswith(_BEGINNING)


def may_speak(words: str) -> bool:
    """Cheap: whether there is any sense in looking closer."""
    return _BEGINNING in words or any(name in words for name in SPEAKING)


@dataclass(eq=False, slots=True)
class Relevance:
    """A function counts when it speaks to a parser, or calls one that does, by its name."""

    _spoken: set[ast.AST] = field(default_factory=set)
    _relevant: set[ast.AST] = field(default_factory=set)
    _names: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, modules: Iterable[ast.Module]) -> Relevance:
        found = cls()
        calls: dict[ast.AST, set[str]] = {}
        named: dict[str, list[ast.AST]] = {}
        for module in modules:
            for node in ast.walk(module):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    names = _names_in(node)
                    calls[node] = names
                    named.setdefault(node.name, []).append(node)
                    if any(map(speaks, names)):
                        found._spoken.add(node)
                        found._relevant.add(node)
        callers: dict[str, set[ast.AST]] = {}
        for node, names in calls.items():
            for name in names & set(named):
                callers.setdefault(name, set()).add(node)
        pending = list(found._relevant)
        while pending:
            node = pending.pop()
            for caller in callers.get(getattr(node, "name", ""), ()):
                if caller not in found._relevant:
                    found._relevant.add(caller)
                    pending.append(caller)
        found._names = {getattr(node, "name", "") for node in found._relevant}
        return found

    def is_relevant(self, node: ast.AST) -> bool:
        return node in self._relevant

    def speaks_in(self, node: ast.AST) -> bool:
        """It, or something in it, speaks to a parser itself."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return node in self._relevant
        names = _names_in(node)
        return any(map(speaks, names)) or not names.isdisjoint(self._names)


def _names_in(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute):
            found.add(one.attr)
    return found
