"""One-line faults that can be put into a source file, found by its syntax tree."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
}  # fmt: skip
# Names in files and options of users; other words are read by people, and no test should repeat them.
_NAME = re.compile(r"[a-z][a-z0-9_.-]*")
_WORDING = {"say", "text", "say_count", "count_text", "warning", "info", "debug", "exception", "error"}
_LOGS = {"debug", "info", "warning", "exception"}


@dataclass(frozen=True, order=True)
class Fault:
    path: Path
    line: int
    start: int
    end: int
    kind: str
    instead: str
    function: int  # the line of the function around it, 0 in the module itself

    def put_into(self, source: bytes) -> bytes:
        lines = source.splitlines(keepends=True)
        line = lines[self.line - 1]
        lines[self.line - 1] = line[: self.start] + self.instead.encode() + line[self.end :]
        return b"".join(lines)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.instead}"


def faults_in(path: Path, source: bytes) -> Iterator[Fault]:
    tree = ast.parse(source)
    for node, function in _nodes(tree, 0):
        if node.lineno == node.end_lineno and node.end_col_offset is not None:
            for kind, instead in _changes(node):
                yield Fault(path, node.lineno, node.col_offset, node.end_col_offset, kind, instead, function)


def sample(faults: Iterable[Fault], number: int, seed: str) -> list[Fault]:
    """Choose lines at random, and one fault of each: long lines count no more than short ones."""
    by_line: dict[tuple[Path, int], list[Fault]] = {}
    for fault in sorted(faults):
        by_line.setdefault((fault.path, fault.line), []).append(fault)
    chosen = random.Random(seed)
    lines = chosen.sample(sorted(by_line), min(number, len(by_line)))
    return [chosen.choice(by_line[line]) for line in lines]


def _nodes(node: ast.AST, function: int) -> Iterator[tuple[ast.expr | ast.stmt, int]]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_outside(child):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child, function
            inner = child.lineno if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            yield from _nodes(child, inner)


def _is_outside(node: ast.AST) -> bool:
    """Return whether a fault in it could not be noticed by a user."""
    match node:
        case (
            ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr()
        ):
            return True
        case ast.FunctionDef(name="__repr__") | ast.Expr(value=ast.Constant()):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _WORDING
        case _:
            return False


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _SWAPPED:
            other = ast.Compare(left, [_SWAPPED[type(operator)]()], [right])  # type: ignore[list-item]
            yield "comparison", f"({ast.unparse(other)})"
        case ast.BoolOp(op=operator, values=values):
            yield "and, or", f"({ast.unparse(ast.BoolOp(_SWAPPED[type(operator)](), values))})"  # type: ignore[arg-type]
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _SWAPPED:
            other_sum = ast.BinOp(left, _SWAPPED[type(operator)](), right)  # type: ignore[arg-type]
            yield "arithmetic", f"({ast.unparse(other_sum)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield "yes, no", repr(not value)
        case ast.Constant(value=int(number)):
            yield "number", repr(number + 1)
        case ast.Constant(value=str(name)) if _NAME.fullmatch(name):
            yield "name", repr(f"{name}x")
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "choice", f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "nothing returned", "return None"
        case ast.Expr(value=ast.Await(value=ast.Call() as call)) | ast.Expr(value=ast.Call() as call):
            if not (isinstance(call.func, ast.Attribute) and call.func.attr in {*_LOGS, "__init__"}):
                yield "not called", "pass"
        case ast.Call(args=[first, second, *rest]) if not isinstance(first, ast.Starred | ast.Constant):
            if not isinstance(second, ast.Starred):
                yield "arguments", ast.unparse(ast.Call(node.func, [second, first, *rest], node.keywords))
