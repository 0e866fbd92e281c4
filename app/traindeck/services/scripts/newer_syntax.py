"""Syntax that an older Python does not have, though ours reads it for that version without a word.

`ast.parse` with `feature_version` refuses most of what came later: `match`, `:=`, parameters that have only a place,
`except*`, types as parameters. What it takes all the same was found by giving one text after the other to Python 3.6 to
3.13 themselves; it is looked for here. What only fails when it runs, as `list[int]` with 3.8, is no matter of syntax.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

_OWN = sys.version_info[:2]
_MOST_ARGUMENTS = 255
_ENDS_F_STRINGS = (3, 12)
"""From here on an f-string may hold any expression."""


class NewerSyntax(NamedTuple):
    line: int
    needs: tuple[int, int]
    what: str
    """In Python's own way of saying it."""

    @property
    def words(self) -> str:
        return f"{self.what} only supported in Python {self.needs[0]}.{self.needs[1]} and greater"


def newer_syntax(module: ast.Module, text: str, version: tuple[int, int]) -> NewerSyntax | None:
    """The first place that this version does not take."""
    if version >= (3, 12):
        return None
    lines = text.encode("utf-8", "replace").splitlines()
    found = [one for one in _found(module, lines, version) if one.needs > version]
    if version < _ENDS_F_STRINGS <= _OWN:
        found += [one for one in _in_f_strings(module, text, version) if one.needs > version]
    return min(found, default=None)


def beginning_of(said: str, module: ast.Module, text: str) -> int | None:
    """The line of what our Python tells of only once it has read the whole of it."""
    lines = text.encode("utf-8", "replace").splitlines()
    for node in ast.walk(module):
        match node:
            case ast.Match() if said.startswith("Pattern matching"):
                return node.lineno
            case ast.TryStar(handlers=[first, *_]) if said.startswith("Exception groups"):
                return first.lineno
            case ast.With() | ast.AsyncWith() if said.startswith("Parenthesized") and _is_parenthesized(node, lines):
                return node.lineno
    return None


def _found(module: ast.Module, lines: list[bytes], version: tuple[int, int]) -> Iterator[NewerSyntax]:
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom(module="__future__", names=names):
                if any(name.name == "annotations" for name in names):
                    yield NewerSyntax(node.lineno, (3, 7), "The future feature “annotations” is")
            case ast.Call(args=args, keywords=keywords) if len(args) + len(keywords) > _MOST_ARGUMENTS:
                yield NewerSyntax(node.lineno, (3, 7), "More than 255 arguments are")
            case ast.Return(value=ast.Tuple() as value) | ast.Yield(value=ast.Tuple() as value):
                if _is_bare_with_star(value):
                    yield NewerSyntax(node.lineno, (3, 8), "A star without parentheses is")
            case ast.AnnAssign(value=ast.Tuple() as value) if _is_bare_with_star(value):
                yield NewerSyntax(node.lineno, (3, 8), "A star without parentheses is")
            case ast.For(iter=ast.Tuple() as value) if _is_bare_with_star(value):
                yield NewerSyntax(node.lineno, (3, 9), "A star without parentheses is")
            case ast.Try(finalbody=[_, *_] as body):
                yield from (NewerSyntax(one.lineno, (3, 8), "“continue” in “finally” is") for one in _continued(body))
            case ast.Set(elts=parts):
                for part in parts:
                    if isinstance(part, ast.NamedExpr) and not _is_in_parentheses(part, lines):
                        yield NewerSyntax(part.lineno, (3, 9), "“:=” in a set without parentheses is")
            case ast.Subscript(slice=inner):
                yield from _in_index(inner, lines)
            case ast.ListComp() | ast.SetComp() | ast.DictComp():
                if any(_is_async(part) for part in _inner_comprehensions(node)):
                    yield NewerSyntax(node.lineno, (3, 11), "“async for” in an inner comprehension is")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _in_definition(node)
        if isinstance(node, ast.With | ast.AsyncWith) and version < (3, 9) and _is_parenthesized(node, lines):
            yield NewerSyntax(node.lineno, (3, 9), "Parenthesized context managers are")


def _in_definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[NewerSyntax]:
    for one in node.decorator_list:
        if not _is_plain_name(one.func if isinstance(one, ast.Call) else one):
            yield NewerSyntax(one.lineno, (3, 9), "Any expression as a decorator is")
    if isinstance(node, ast.ClassDef):
        return
    many = node.args
    if len(many.posonlyargs) + len(many.args) + len(many.kwonlyargs) > _MOST_ARGUMENTS:
        yield NewerSyntax(node.lineno, (3, 7), "More than 255 arguments are")
    if many.vararg is not None and isinstance(many.vararg.annotation, ast.Starred):
        yield NewerSyntax(many.vararg.lineno, (3, 11), "A star in an annotation is")


def _is_plain_name(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_bare_with_star(value: ast.Tuple) -> bool:
    """Without parentheses it begins where its first part does."""
    first = value.elts[0] if value.elts else None
    if first is None or not any(isinstance(part, ast.Starred) for part in value.elts):
        return False
    return (first.lineno, first.col_offset) == (value.lineno, value.col_offset)


def _in_index(inner: ast.expr, lines: list[bytes]) -> Iterator[NewerSyntax]:
    if isinstance(inner, ast.NamedExpr) and not _is_in_parentheses(inner, lines):
        yield NewerSyntax(inner.lineno, (3, 10), "“:=” in an index without parentheses is")
    if isinstance(inner, ast.Tuple) and any(isinstance(part, ast.Starred) for part in inner.elts):
        bare = (inner.elts[0].lineno, inner.elts[0].col_offset) == (inner.lineno, inner.col_offset)
        if bare:
            yield NewerSyntax(inner.lineno, (3, 11), "A star in an index is")


def _is_in_parentheses(node: ast.expr, lines: list[bytes]) -> bool:
    before = lines[node.lineno - 1][: node.col_offset].rstrip() if node.lineno <= len(lines) else b""
    return before.endswith(b"(") or not before


def _continued(body: list[ast.stmt]) -> Iterator[ast.Continue]:
    """What is said in loops and functions of its own does not count."""
    for statement in body:
        if isinstance(statement, ast.Continue):
            yield statement
        elif not isinstance(
            statement, ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            for name in ("body", "orelse", "finalbody"):
                yield from _continued(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                yield from _continued(handler.body)


def _inner_comprehensions(node: ast.ListComp | ast.SetComp | ast.DictComp) -> Iterator[ast.AST]:
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    for part in parts:
        yield from (one for one in ast.walk(part) if isinstance(one, ast.ListComp | ast.SetComp | ast.DictComp))


def _is_async(node: ast.AST) -> bool:
    return any(one.is_async for one in getattr(node, "generators", []))


def _is_parenthesized(node: ast.With | ast.AsyncWith, lines: list[bytes]) -> bool:
    """`with (a as b, c as d):`, which the parser itself does not refuse for older versions everywhere."""
    first, last = node.items[0], node.items[-1]
    named = last.optional_vars
    if named is None or named.end_lineno is None or named.end_col_offset is None or named.end_lineno > len(lines):
        return False
    behind = lines[named.end_lineno - 1][named.end_col_offset :].lstrip(b" \t,")
    if not behind:
        behind = lines[named.end_lineno].lstrip(b" \t,") if named.end_lineno < len(lines) else b""
    start = first.context_expr
    before = lines[start.lineno - 1][: start.col_offset].rstrip()
    is_opened = before.endswith(b"(") or (not before and start.lineno > node.lineno)
    return is_opened and behind.startswith(b")")


def _in_f_strings(module: ast.Module, text: str, version: tuple[int, int]) -> Iterator[NewerSyntax]:
    lines = text.encode("utf-8", "replace").splitlines()
    is_doubtful = False
    for node in ast.walk(module):
        if not isinstance(node, ast.FormattedValue):
            continue
        value = node.value
        if value.end_lineno is None or value.end_col_offset is None or value.end_lineno > len(lines):
            continue
        behind = lines[value.end_lineno - 1][value.end_col_offset :].lstrip(b" )")
        if behind.startswith(b"=") and not behind.startswith(b"=="):
            yield NewerSyntax(value.lineno, (3, 8), "f-string: self documenting expressions are")
        if version < (3, 7) and any(isinstance(one, ast.Await) for one in ast.walk(value)):
            yield NewerSyntax(value.lineno, (3, 7), "“await” in an f-string is")
        held = lines[value.lineno - 1][value.col_offset :]
        is_doubtful = is_doubtful or node.end_lineno != node.lineno or any(one in held for one in b"'\"\\#")
    if is_doubtful:
        yield from _in_tokens(text)


def _in_tokens(text: str) -> Iterator[NewerSyntax]:
    """In an f-string of old an expression has neither its quotes nor a backslash, a comment or an end of line."""
    start, end = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)
    middle = getattr(tokenize, "FSTRING_MIDDLE", -1)
    open_quotes: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == end:
                open_quotes.pop()
                continue
            if token.type == start or token.type == tokenize.STRING:
                quote = token.string.lstrip("rRbBfFuU")
                quote = quote[:3] if quote[:3] in ('"""', "'''") else quote[:1]
                needs = _ENDS_F_STRINGS
                if any(one in token.string.lstrip("rRbBfFuU") for one in open_quotes):
                    yield NewerSyntax(token.start[0], needs, "The same quotes inside an f-string are")
                elif open_quotes and "\\" in token.string:
                    yield NewerSyntax(
                        token.start[0], _ENDS_F_STRINGS, "A backslash in the expression of an f-string is"
                    )
                if token.type == start:
                    open_quotes.append(quote)
            elif open_quotes and token.type == tokenize.COMMENT:
                yield NewerSyntax(token.start[0], _ENDS_F_STRINGS, "A comment in an f-string is")
            elif open_quotes and token.type == tokenize.NL and len(open_quotes[-1]) == 1:
                yield NewerSyntax(token.start[0], _ENDS_F_STRINGS, "A line break in the expression of an f-string is")
            elif len(open_quotes) > 1 and token.type == middle and "\\" in token.string:
                yield NewerSyntax(token.start[0], _ENDS_F_STRINGS, "A backslash in the expression of an f-string is")
    except (tokenize.TokenError, IndentationError, SyntaxError, IndexError):
        return
