"""What expressions are worth by themselves: the one piece for all who ask. Nothing of the script runs.

What names, attributes and calls are is for who asks; a value may hold others that nobody knows.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Generic, TypeVar

from traindeck.services.scripts.reading.values import (
    MOST_ITEMS,
    UNKNOWN,
    External,
    binary,
    compared,
    is_key,
    is_plain,
    is_same,
    is_true,
    item,
    slice_of,
    unary,
)

Where = TypeVar("Where")


class Constants(Generic[Where]):
    """`where` is whatever who asks has to know of the place."""

    def asked(self, node: ast.expr, where: Where) -> object:
        """What is no matter of syntax: names, attributes, calls."""
        raise NotImplementedError

    def one_of(self, values: Sequence[object]) -> object:
        """One of these it is, and nobody knows which."""
        return values[0] if all(is_same(values[0], one) for one in values[1:]) else UNKNOWN

    def truth(self, node: ast.expr, where: Where) -> bool | None:
        """None: nobody knows. What nobody knows does not count beside what settles it."""
        match node:
            case ast.BoolOp(op=kind, values=parts):
                settles = isinstance(kind, ast.Or)
                is_open = False
                for part in parts:
                    known = self.truth(part, where)
                    if known is settles:
                        return settles
                    is_open = is_open or known is None
                return None if is_open else not settles
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                known = self.truth(operand, where)
                return None if known is None else not known
        return is_true(self.value(node, where))

    def value(self, node: ast.expr, where: Where) -> object:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.List(elts=parts):
                return self._items(parts, where)
            case ast.Tuple(elts=parts):
                return tuple(self._items(parts, where))
            case ast.Set(elts=parts):
                items = self._items(parts, where)
                return set(items) if all(map(is_key, items)) else UNKNOWN
            case ast.Dict(keys=keys, values=values):
                return self._dictionary(keys, values, where)
            case ast.BinOp(left=left, op=kind, right=right):
                return binary(kind, self.value(left, where), self.value(right, where))
            case ast.UnaryOp(op=kind, operand=operand):
                return unary(kind, self.value(operand, where))
            case ast.BoolOp(op=kind, values=parts):
                return self._either(isinstance(kind, ast.Or), parts, where)
            case ast.Compare(left=left, ops=[kind], comparators=[right]):
                return compared(kind, self.value(left, where), self.value(right, where))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                known = self.truth(test, where)
                if known is not None:
                    return self.value(body if known else orelse, where)
                return self.one_of([self.value(body, where), self.value(orelse, where)])
            case ast.Subscript(value=of, slice=ast.Slice() as part):
                ends = [None if end is None else self.value(end, where) for end in (part.lower, part.upper, part.step)]
                return slice_of(self.value(of, where), ends)
            case ast.Subscript(value=of, slice=key):
                return item(self.value(of, where), self.value(key, where))
            case ast.JoinedStr(values=parts):
                return self._words(parts, where)
            case ast.NamedExpr(value=inner) | ast.Await(value=inner) | ast.Starred(value=inner):
                return self.value(inner, where)
        return self.asked(node, where)

    def _items(self, parts: list[ast.expr], where: Where) -> list[object]:
        found: list[object] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                many = self.value(part.value, where)
                found += list(many) if isinstance(many, list | tuple | set | dict) else [UNKNOWN]
                if len(found) > MOST_ITEMS:
                    return [UNKNOWN]
            else:
                found.append(self.value(part, where))
        return found

    def _dictionary(self, keys: list[ast.expr | None], values: list[ast.expr], where: Where) -> object:
        found: dict[object, object] = {}
        for key, value in zip(keys, values, strict=True):
            made = self.value(value, where)
            if key is None:
                if not isinstance(made, dict):
                    return UNKNOWN
                found |= made
                continue
            name = self.value(key, where)
            if not (is_key(name) or isinstance(name, External)):
                return UNKNOWN
            found[name] = made
        return found

    def _either(self, is_or: bool, parts: list[ast.expr], where: Where) -> object:
        """The value, and not only whether it holds: `given or "cuda"` is not known where `given` is not."""
        found: object = UNKNOWN
        for part in parts:
            found = self.value(part, where)
            known = is_true(found)
            if known is None:
                return UNKNOWN
            if known is is_or:
                return found
        return found

    def _words(self, parts: list[ast.expr], where: Where) -> object:
        found: object = ""
        for part in parts:
            one: object = UNKNOWN
            if not isinstance(part, ast.FormattedValue):
                one = self.value(part, where)
            elif part.format_spec is None and part.conversion == -1:
                one = self.value(part.value, where)
                one = str(one) if is_plain(one) else one
            found = binary(ast.Add(), found, one)
            if not isinstance(found, str):
                return found
        return found
