"""What argparse lines of a script say, as far as a fix has to know: which flags, and under what names they are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

DATA, TRAIN = "data_url", "train_url"
_PARSES = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"})
_ASKS = frozenset({"parse_args", "get_args", "parse_arguments", "parse_opt", "parse_options", "get_arguments", "parse"})


@dataclass(frozen=True, slots=True)
class Flag:
    """One `add_argument`."""

    words: tuple[str, ...]
    dest: str
    call: ast.Call

    @property
    def is_positional(self) -> bool:
        return not self.words[0].startswith("-")

    @property
    def takes_text(self) -> bool:
        """It may hold a path."""
        for keyword in self.call.keywords:
            if keyword.arg == "action":
                return False
            if keyword.arg == "type" and ast.unparse(keyword.value) not in (
                "str",
                "Path",
                "pathlib.Path",
                "os.path.abspath",
            ):
                return False
            if keyword.arg == "nargs" and not self.is_positional:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Parsed:
    """Where the arguments of a script come to be: `args = parser.parse_args()`."""

    name: str
    """Of the variable."""
    parser: str
    """The expression of the parser; empty: a function of the script parses."""
    statement: ast.stmt
    function: ast.FunctionDef | ast.AsyncFunctionDef | None
    """In which this is; None: in the module itself."""


def flags(tree: ast.Module) -> Iterator[Flag]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        words = tuple(one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))
        if node.func.attr != "add_argument" or not words:
            continue
        dest = next(
            (ast.literal_eval(one.value) for one in node.keywords if one.arg == "dest" and _is_word(one.value)), ""
        )
        yield Flag(words, str(dest) or _dest(words), node)


def _is_word(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _dest(words: tuple[str, ...]) -> str:
    if not words[0].startswith("-"):
        return words[0]
    long = next((word for word in words if word.startswith("--")), words[0])
    return long.lstrip("-").replace("-", "_")


def parsed_arguments(tree: ast.Module) -> Iterator[Parsed]:
    """Each place where the arguments are put into a variable, in their order."""
    for statement, function in _statements(tree.body, None):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if isinstance(value, ast.Subscript):
            value = value.value
        if isinstance(target, ast.Tuple) and target.elts:
            target = target.elts[0]
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
            continue
        called = value.func
        if isinstance(called, ast.Attribute) and called.attr in _PARSES:
            yield Parsed(target.id, ast.unparse(called.value), statement, function)
        elif (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _ASKS:
            yield Parsed(target.id, "", statement, function)


Functions = ast.FunctionDef | ast.AsyncFunctionDef


def _statements(body: list[ast.stmt], function: Functions | None) -> Iterator[tuple[ast.stmt, Functions | None]]:
    for one in body:
        yield one, function
        inside = one if isinstance(one, Functions) else function
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(one, name, []), inside)
        for handler in getattr(one, "handlers", []):
            yield from _statements(handler.body, inside)


def returned_parse(tree: ast.Module) -> ast.Return | None:
    """`return parser.parse_args()`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _PARSES:
                return node
    return None
