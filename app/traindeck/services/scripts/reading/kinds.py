"""What the type of an argument makes of the text it is given."""

from __future__ import annotations

import ast

from traindeck.domain.scripts.arguments import ArgumentKind
from traindeck.services.scripts.reading.values import (
    ClassValue,
    External,
    FunctionValue,
    PartialValue,
    is_plain,
)

_LONGEST = 200

_BY_NAME = {
    "int": ArgumentKind.WHOLE, "float": ArgumentKind.NUMBER, "str": ArgumentKind.TEXT, "bool": ArgumentKind.YES_NO,
    "Path": ArgumentKind.TEXT, "PurePath": ArgumentKind.TEXT, "PosixPath": ArgumentKind.TEXT,
    "FileType": ArgumentKind.TEXT, "strtobool": ArgumentKind.YES_NO, "str2bool": ArgumentKind.YES_NO,
    "ast.literal_eval": ArgumentKind.TEXT, "abspath": ArgumentKind.TEXT, "expanduser": ArgumentKind.TEXT,
    "realpath": ArgumentKind.TEXT, "normpath": ArgumentKind.TEXT, "device": ArgumentKind.TEXT,
    "Decimal": ArgumentKind.NUMBER, "float32": ArgumentKind.NUMBER, "float64": ArgumentKind.NUMBER,
    "int32": ArgumentKind.WHOLE, "int64": ArgumentKind.WHOLE, "bytes": ArgumentKind.TEXT,
    "fromisoformat": ArgumentKind.TEXT, "Optional": ArgumentKind.UNKNOWN,
}  # fmt: skip


def words_of(node: ast.expr) -> str:
    """As it is written, in one line."""
    words = " ".join(ast.unparse(node).split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def kind_of_type(value: object) -> tuple[ArgumentKind, bool, tuple[object, ...]]:
    """What it is, whether that is sure, and what it can be where it is one of several."""
    if isinstance(value, External):
        found = _BY_NAME.get(value.last)
        is_builtin = value.name.startswith("builtins.")
        if value.name.startswith("builtins.str."):
            return ArgumentKind.TEXT, True, ()
        return (found, is_builtin or value.last not in ("int", "float", "bool"), ()) if found else _NOT_KNOWN
    if isinstance(value, ClassValue) and value.is_enum:
        values = tuple(one for name, one in value.names.items() if is_plain(one) and not name.startswith("_"))
        return ArgumentKind.TEXT, True, values
    if isinstance(value, FunctionValue):
        kind = kind_of_function(value)
        return (kind, True, ()) if kind is not ArgumentKind.UNKNOWN else _NOT_KNOWN
    if isinstance(value, PartialValue):
        return kind_of_type(value.function)
    return _NOT_KNOWN


_NOT_KNOWN = (ArgumentKind.UNKNOWN, False, ())


def kind_of_value(value: object) -> ArgumentKind:
    """Of a default, where nothing else says what is wanted."""
    if isinstance(value, bool):
        return ArgumentKind.YES_NO
    if isinstance(value, int):
        return ArgumentKind.WHOLE
    if isinstance(value, float):
        return ArgumentKind.NUMBER
    if isinstance(value, str):
        return ArgumentKind.TEXT
    return ArgumentKind.LIST if isinstance(value, list | tuple) else ArgumentKind.UNKNOWN


def kind_of_function(function: FunctionValue) -> ArgumentKind:
    """By what it gives back: `str2bool` and its many sisters."""
    node = function.node
    returned = (
        [node.body]
        if isinstance(node, ast.Lambda)
        else [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
    )
    parameters = {one.arg for one in (*node.args.posonlyargs, *node.args.args)}
    kinds = {_of_result(one, function, parameters) for one in returned} - {None}
    if len(kinds) > 1:
        # What is handed on untouched says nothing: `if isinstance(v, bool): return v`.
        kinds -= {ArgumentKind.UNKNOWN}
    if kinds == {ArgumentKind.WHOLE, ArgumentKind.NUMBER}:
        return ArgumentKind.NUMBER
    return kinds.pop() or ArgumentKind.UNKNOWN if len(kinds) == 1 else ArgumentKind.UNKNOWN


def _of_result(node: ast.expr, function: FunctionValue, parameters: set[str]) -> ArgumentKind | None:
    match node:
        case ast.Constant(value=bool()):
            return ArgumentKind.YES_NO
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=str()):
            return ArgumentKind.TEXT
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return ArgumentKind.YES_NO
        case ast.BoolOp(values=parts):
            kinds = {_of_result(part, function, parameters) for part in parts}
            return kinds.pop() if len(kinds) == 1 else ArgumentKind.UNKNOWN
        case ast.IfExp(body=body, orelse=orelse):
            kinds = {_of_result(part, function, parameters) for part in (body, orelse)} - {None}
            return kinds.pop() if len(kinds) == 1 else ArgumentKind.UNKNOWN
        case ast.Call(func=ast.Name(id="int" | "float" | "bool" | "str" as name)):
            return _BY_NAME[name]
        case ast.Call(func=ast.Attribute(attr="strtobool")) | ast.Call(func=ast.Name(id="strtobool")):
            return ArgumentKind.YES_NO
        case ast.Call(func=ast.Attribute(attr="lower" | "upper" | "strip" | "replace" | "split" | "join" | "rstrip")):
            return ArgumentKind.TEXT
        case ast.List() | ast.ListComp() | ast.Tuple() | ast.Dict() | ast.DictComp():
            return ArgumentKind.TEXT
        case ast.Call(func=ast.Name(id="list" | "tuple" | "dict" | "set")):
            return ArgumentKind.TEXT
        case ast.Name(id=name):
            return _of_variable(name, function, parameters)
    return ArgumentKind.UNKNOWN


def _of_variable(name: str, function: FunctionValue, parameters: set[str]) -> ArgumentKind:
    """What was put into it before: `value = int(text)`."""
    if isinstance(function.node, ast.Lambda):
        return ArgumentKind.UNKNOWN
    put = {
        _of_result(one.value, function, parameters)
        for one in ast.walk(function.node)
        if isinstance(one, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
        and not (isinstance(one.value, ast.Name) and one.value.id == name)
    } - {None}
    return put.pop() or ArgumentKind.UNKNOWN if len(put) == 1 else ArgumentKind.UNKNOWN
