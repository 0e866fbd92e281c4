"""What an expression of a script is worth, as far as it stands written there; nothing of the script runs."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

MOST_LETTERS = 10_000
MOST_ITEMS = 2_000
_MOST_PARTS = 5_000
_WIDTH = re.compile(r"%[^a-zA-Z%]*\d{3}")
_MOST_BITS = 512


class UnknownValue:
    """Nobody can know it without running the script."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = UnknownValue()


@dataclass(frozen=True, slots=True)
class Begins:
    """A text or a path of which only the beginning is known."""

    text: str


class NamedTable(dict[object, object]):
    """A table whose entries are read as attributes: `cfg.lr`."""


@dataclass(frozen=True, slots=True)
class External:
    """Something that is not in the code folder, by its whole name."""

    name: str

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(eq=False, slots=True)
class Scope:
    """Names and what they are."""

    file: str
    parent: Scope | None = None
    names: dict[str, object] = field(default_factory=dict)

    def get(self, name: str) -> object:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return External(f"builtins.{name}") if name in _BUILTINS else External(name)


@dataclass(eq=False, slots=True)
class ModuleValue:
    scope: Scope


@dataclass(eq=False, slots=True)
class FunctionValue:
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    owner: ClassValue | None = None

    @property
    def name(self) -> str:
        return "" if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(eq=False, slots=True)
class ClassValue:
    node: ast.ClassDef
    scope: Scope
    bases: list[object]
    names: dict[str, object]

    def ancestors(self) -> list[object]:
        """Itself first."""
        found: list[object] = []
        pending: list[object] = [self]
        while pending and len(found) < MOST_ITEMS:
            one = pending.pop(0)
            if one in found:
                continue
            found.append(one)
            if isinstance(one, ClassValue):
                pending += one.bases
        return found

    def find(self, name: str, after: ClassValue | None = None) -> object:
        """What an instance has by this name; `after`: as `super()` of that class sees it."""
        line = self.ancestors()
        if after in line:
            line = line[line.index(after) + 1 :]
        for one in line:
            if isinstance(one, ClassValue) and name in one.names:
                return one.names[name]
        return UNKNOWN

    @property
    def is_enum(self) -> bool:
        return any(isinstance(one, External) and one.last.endswith("Enum") for one in self.ancestors())


@dataclass(eq=False, slots=True)
class InstanceValue:
    kind: ClassValue
    names: dict[str, object] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class MethodValue:
    function: FunctionValue
    of: object


@dataclass(eq=False, slots=True)
class BuiltMethod:
    """A method of a plain value, or of something that a library made."""

    of: object
    name: str


@dataclass(eq=False, slots=True)
class PartialValue:
    function: object
    values: list[object]
    named: dict[str, object]


@dataclass(frozen=True, slots=True)
class EnumMember:
    name: str
    value: object


_BUILTINS = frozenset({
    "int", "float", "str", "bool", "len", "list", "tuple", "dict", "set", "frozenset", "sorted", "range", "min", "max",
    "sum", "enumerate", "zip", "reversed", "abs", "round", "type", "getattr", "super", "open", "print", "eval",
    "complex", "map", "filter", "bytes", "object", "isinstance", "hasattr", "vars", "property", "any", "all",
    "__import__", "exec", "input", "iter", "next", "setattr",
})  # fmt: skip

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
}  # fmt: skip
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda one, many: one in many, ast.NotIn: lambda one, many: one not in many,
}  # fmt: skip

_PURE: Mapping[str, Callable[..., Any]] = {
    "int": int, "float": float, "str": str, "bool": bool, "len": len, "list": list, "tuple": tuple, "dict": dict,
    "set": set, "frozenset": frozenset, "sorted": sorted, "min": min, "max": max, "sum": sum, "abs": abs,
    "round": round, "any": any, "all": all,
    "enumerate": lambda *values: list(enumerate(*values)), "zip": lambda *values: list(zip(*values, strict=False)),
    "reversed": lambda value: list(reversed(value)),
    "range": lambda *values: list(range(*values)) if len(range(*values)) <= MOST_ITEMS else UNKNOWN,
}  # fmt: skip
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset({
        "lower", "upper", "strip", "lstrip", "rstrip", "replace", "split", "join", "title", "capitalize",
        "startswith", "endswith", "splitlines",
    }),
    list: frozenset({"append", "extend", "copy", "index", "insert", "remove", "sort", "reverse"}),
    dict: frozenset({"keys", "values", "items", "get", "copy", "update", "setdefault", "pop"}),
    tuple: frozenset({"index"}),
    set: frozenset({"add", "copy", "union"}),
}  # fmt: skip
_OF_PATHS = frozenset({"joinpath", "as_posix", "resolve", "absolute", "expanduser"})
_JOIN = frozenset({"os.path.join", "posixpath.join"})
_SAME = frozenset({"builtins.str", "os.fspath", "os.path.expandvars", "os.path.normpath"})
_TABLES = frozenset({
    "easydict.EasyDict", "addict.Dict", "munch.Munch", "munch.DefaultMunch", "ml_collections.ConfigDict",
    "types.SimpleNamespace", "argparse.Namespace",
})  # fmt: skip
_PATHS = frozenset({"Path", "PurePath", "PurePosixPath"})
_FAULTS = (
    TypeError, ValueError, ArithmeticError, AttributeError, LookupError, RecursionError, MemoryError,
)  # fmt: skip


def is_plain(value: object) -> bool:
    """Data, all the way down, and no more of it than anybody writes: a list may hold another a hundred times."""
    pending, seen = [value], 0
    while pending:
        one = pending.pop()
        seen += 1
        if seen > _MOST_PARTS:
            return False
        if isinstance(one, list | tuple | set | frozenset):
            pending += one
        elif isinstance(one, dict):
            pending += one.keys()
            pending += one.values()
        elif not (one is None or isinstance(one, str | bool | int | float | complex | bytes)):
            return False
    return True


def bounded(value: object) -> object:
    """The same, or unknown where it is larger than anybody writes."""
    if isinstance(value, str | bytes) and len(value) > MOST_LETTERS:
        return UNKNOWN
    if isinstance(value, list | tuple | dict | set | frozenset) and len(value) > MOST_ITEMS:
        return UNKNOWN
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return UNKNOWN
    return value


def beginning(words: str) -> object:
    return Begins(words[:MOST_LETTERS]) if words else UNKNOWN


def joined(parts: Sequence[object]) -> object:
    """As os.path.join does, as far as the parts are known."""
    words = ""
    for part in parts:
        if isinstance(part, Begins):
            return beginning(_glued(words, part.text))
        if not isinstance(part, str):
            return beginning(words and words.rstrip("/") + "/")
        words = _glued(words, part)
        if len(words) > MOST_LETTERS:
            return UNKNOWN
    return words


def _glued(words: str, more: str) -> str:
    return more if more.startswith("/") or not words else f"{words.rstrip('/')}/{more}"


def _known_in_part(kind: ast.operator, left: object, right: object) -> object:
    """Of texts, where one side of them is not known."""
    if isinstance(kind, ast.Div) and isinstance(left, str | Begins):
        return joined([left, right])
    if isinstance(kind, ast.Add) and isinstance(left, Begins):
        return left
    if isinstance(kind, ast.Add) and isinstance(left, str):
        return beginning(left + right.text if isinstance(right, Begins) else left)
    if isinstance(kind, ast.Mod) and isinstance(left, str):
        return _filled(left, "%s", right if isinstance(right, tuple) else (right,))
    return UNKNOWN


def _filled(words: str, mark: str, values: Sequence[object]) -> object:
    """As far as the values are known that stand where the mark does."""
    found = ""
    for value in values:
        before, has_mark, after = words.partition(mark)
        if not has_mark or mark[0] in before or not isinstance(value, str | Begins):
            break
        if isinstance(value, Begins):
            return beginning(found + before + value.text)
        found, words = found + before + value, after
        if len(found) > MOST_LETTERS:
            break
    return beginning(found + words.partition(mark[0])[0])


def binary(kind: ast.operator, left: object, right: object) -> object:
    is_path = isinstance(kind, ast.Div) and isinstance(left, str)
    if is_path or (isinstance(left, str | Begins) and not (is_plain(left) and is_plain(right))):
        return _known_in_part(kind, left, right)
    if not (is_plain(left) and is_plain(right)) or not _is_small(kind, left, right):
        return UNKNOWN
    try:
        return bounded(_BINARY[type(kind)](left, right))
    except (KeyError, *_FAULTS):
        return UNKNOWN


def _is_small(kind: ast.operator, left: Any, right: Any) -> bool:
    """Before it is computed: a power can take hours, a repeated list all memory."""
    if isinstance(kind, ast.Pow):
        return isinstance(left, int | float) and isinstance(right, int | float) and abs(right) <= 64 and abs(left) < 1e6
    if isinstance(kind, ast.LShift):
        return isinstance(right, int) and right <= _MOST_BITS
    if isinstance(kind, ast.Mod) and isinstance(left, str | bytes):
        return "*" not in str(left) and not _WIDTH.search(str(left))
    if isinstance(kind, ast.Mult):
        for many, times in ((left, right), (right, left)):
            if isinstance(many, str | bytes | list | tuple):
                return isinstance(times, int) and len(many) * max(times, 0) <= MOST_ITEMS
    return True


def unary(kind: ast.unaryop, value: object) -> object:
    if not is_plain(value):
        return UNKNOWN
    try:
        return _UNARY[type(kind)](value)
    except _FAULTS:
        return UNKNOWN


def compared(kind: ast.cmpop, left: object, right: object) -> object:
    if not (is_plain(left) and is_plain(right)):
        return UNKNOWN
    try:
        return bool(_COMPARED[type(kind)](left, right))
    except _FAULTS:
        return UNKNOWN


def item(many: object, key: object) -> object:
    if isinstance(many, ClassValue) and isinstance(key, str) and key in many.names:
        return EnumMember(key, many.names[key])
    if not isinstance(many, list | tuple | dict | str) or not is_plain(key):
        return UNKNOWN
    try:
        return many[key]  # type: ignore[index,call-overload]
    except _FAULTS:
        return UNKNOWN


def slice_of(many: object, parts: Sequence[object]) -> object:
    ends = [one for one in parts if one is None or isinstance(one, int)]
    if not isinstance(many, list | tuple | str) or len(ends) < len(parts):
        return UNKNOWN
    try:
        return many[slice(*ends)]
    except _FAULTS:
        return UNKNOWN


def pure_call(name: str, values: list[object], named: dict[str, object]) -> object:
    """One of the built-in functions, of plain data."""
    function = _PURE.get(name)
    if function is None or not all(is_plain(one) for one in (*values, *named.values())):
        return UNKNOWN
    if name == "str" and values and isinstance(values[0], int) and values[0].bit_length() > _MOST_BITS:
        return UNKNOWN
    try:
        return bounded(function(*values, **named))
    except _FAULTS:
        return UNKNOWN


def path_call(name: str, values: list[object]) -> object:
    """What puts paths together, or leaves them what they are, by its whole name."""
    if not values or not isinstance(values[0], str | Begins):
        return UNKNOWN
    if name in _JOIN or name.rpartition(".")[2] in _PATHS:
        return joined(values)
    return values[0] if name in _SAME else UNKNOWN


def named_table(name: str, values: list[object], named: dict[str, object]) -> object:
    """What makes one, by its whole name: of a table, of names, or of nothing yet."""
    first = values[0] if values else {}
    if name not in _TABLES or len(values) > 1 or not isinstance(first, dict):
        return UNKNOWN
    made = {**first, **named}
    return NamedTable({
        key: named_table(name, [one], {}) if isinstance(one, dict) and not isinstance(one, NamedTable) else one
        for key, one in made.items()
    })  # fmt: skip


def entry_of(table: object, name: str) -> object:
    return table.get(name, UNKNOWN) if isinstance(table, NamedTable) else UNKNOWN


def method_call(of: object, name: str, values: list[object], named: dict[str, object]) -> object:
    """A method of plain data; lists and dictionaries change as they do in the script."""
    if name == "format" and isinstance(of, str):
        found = _formatted(of, values, named)
        return _filled(of, "{}", values) if found is UNKNOWN else found
    if name in _OF_PATHS and isinstance(of, str | Begins):
        return joined([of, *values]) if name == "joinpath" else of
    known = next((names for kind, names in _METHODS.items() if isinstance(of, kind)), frozenset())
    if name not in known or (isinstance(of, str) and not all(is_plain(one) for one in (*values, *named.values()))):
        return UNKNOWN
    try:
        if name == "join" or name == "replace":
            size = sum(len(str(one)) for one in values for one in (one if isinstance(one, list | tuple) else [one]))
            if size * max(len(str(of)), 1) > MOST_LETTERS * 10:
                return UNKNOWN
        found = getattr(of, name)(*values, **named)
        if isinstance(of, list | dict | set) and len(of) > MOST_ITEMS:
            of.clear()
            return UNKNOWN
    except _FAULTS:
        return UNKNOWN
    if name in ("keys", "values", "items"):
        found = list(found)
    return bounded(found)


def _formatted(words: str, values: list[object], named: dict[str, object]) -> object:
    """Only plain fields: a format of its own may ask for a width of a million."""
    if not all(is_plain(one) for one in (*values, *named.values())) or ":" in words or "!" in words:
        return UNKNOWN
    if "." in words.replace("..", "") and "{" in words and _reaches_inside(words):
        return UNKNOWN
    try:
        return bounded(words.format(*values, **named))
    except _FAULTS:
        return UNKNOWN


def _reaches_inside(words: str) -> bool:
    return any("." in part.partition("}")[0] or "[" in part.partition("}")[0] for part in words.split("{")[1:])


def is_true(value: object) -> bool | None:
    """None: nobody knows."""
    if is_plain(value):
        return bool(value)
    return None


def is_same(one: object, other: object) -> bool:
    if one is other or (isinstance(one, Begins) and one == other):
        return True
    return is_plain(one) and is_plain(other) and type(one) is type(other) and one == other


def is_key(value: object) -> TypeGuard[str | int | float | None]:
    """It can name something in a dictionary."""
    return value is None or isinstance(value, str | int | float)
