"""What is read from a signature: functions and classes given to fire, dataclasses given to a parser."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from traindeck.domain.scripts.arguments import ArgumentKind, ArgumentSource, ScriptArgument
from traindeck.services.scripts.reading.calls_made import CallMade, Handled
from traindeck.services.scripts.reading.kinds import kind_of_value, words_of
from traindeck.services.scripts.reading.values import (
    UNKNOWN,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    InstanceValue,
    MethodValue,
    ModuleValue,
    Scope,
    is_plain,
)
from traindeck.services.scripts.reading.walk import Walker

_KINDS = {
    "int": ArgumentKind.WHOLE, "float": ArgumentKind.NUMBER, "str": ArgumentKind.TEXT, "bool": ArgumentKind.YES_NO,
    "Path": ArgumentKind.TEXT, "list": ArgumentKind.LIST, "List": ArgumentKind.LIST, "tuple": ArgumentKind.LIST,
    "Tuple": ArgumentKind.LIST, "Sequence": ArgumentKind.LIST,
}  # fmt: skip
_ARGUMENT_LINE = re.compile(r"^\s*(?::param(?:\s+\w+)?\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s*(\S.*)$")
_NONE = (ArgumentKind.UNKNOWN, ())


@dataclass(eq=False, slots=True)
class FieldValue(Handled):
    """`dataclasses.field(...)`."""

    default: object = UNKNOWN
    has_default: bool = False
    metadata: Mapping[object, object] = field(default_factory=dict)
    written: str = ""
    is_set_later: bool = False

    def call(self, name: str, made: CallMade) -> object:
        return UNKNOWN


def field_of(walker: Walker, made: CallMade) -> FieldValue:
    metadata = made.named.get("metadata")
    found = FieldValue(metadata=dict(metadata) if isinstance(metadata, dict) else {})
    if isinstance(made.named.get("help"), str):
        found.metadata = {**found.metadata, "help": made.named["help"]}
    if isinstance(made.named.get("aliases"), list | str):
        found.metadata = {**found.metadata, "aliases": made.named["aliases"]}
    if "default" in made.named:
        found.default, found.has_default = made.named["default"], True
        written = made.written(99, "default")
        found.written = "" if written is None else words_of(written)
    elif "default_factory" in made.named:
        factory, written = made.named["default_factory"], made.written(99, "default_factory")
        empty = CallMade(made.node, made.file, [], {}, True, True)
        found.default, found.has_default = walker.call(factory, empty), True
        found.written = "" if written is None else words_of(written)
    found.is_set_later = made.named.get("init") is False
    return found


# fire


@dataclass(slots=True)
class FireCommands:
    arguments: list[ScriptArgument] = field(default_factory=list)
    takes_others: bool = False
    is_whole: bool = True

    def take(self, walker: Walker, made: CallMade) -> None:
        component = made.value(0, "component")
        if component is None and not made.node.args:
            names = walker.module(made.file).scope.names
            functions = {name: one for name, one in names.items() if isinstance(one, FunctionValue)}
            self._take_all(walker, functions, only_one="")
        else:
            self._take(walker, component, "")

    def _take_all(self, walker: Walker, many: Mapping[str, object], only_one: str) -> None:
        for name, one in many.items():
            self._take(walker, one, " ".join(part for part in (only_one, name) if part))

    def _take(self, walker: Walker, component: object, command: str) -> None:
        match component:
            case FunctionValue():
                self._take_signature(walker, component, command)
            case MethodValue(function=function):
                self._take_signature(walker, function, command, is_method=True)
            case InstanceValue(kind=kind) | (ClassValue() as kind):
                start = kind.find("__init__")
                if isinstance(start, FunctionValue) and isinstance(component, ClassValue):
                    self._take_signature(walker, start, command, is_method=True)
                for name, one in kind.names.items():
                    if isinstance(one, FunctionValue) and not name.startswith("_"):
                        self._take_signature(walker, one, f"{command} {name}".strip(), is_method=True)
            case dict():
                self._take_all(walker, {str(name): one for name, one in component.items()}, command)
            case ModuleValue(scope=scope):
                self._take_all(walker, scope.names, command)
            case _:
                self.is_whole = False

    def _take_signature(
        self, walker: Walker, function: FunctionValue, command: str, *, is_method: bool = False
    ) -> None:
        node = function.node
        wanted = node.args
        if wanted.kwarg is not None or wanted.vararg is not None:
            self.takes_others, self.is_whole = True, False
        places = [*wanted.posonlyargs, *wanted.args]
        defaults: list[ast.expr | None] = [*[None] * (len(places) - len(wanted.defaults)), *wanted.defaults]
        if is_method and places and "staticmethod" not in _decorators(node):
            places, defaults = places[1:], defaults[1:]
        helps = {} if isinstance(node, ast.Lambda) else argument_helps(ast.get_docstring(node) or "")
        pairs = [*zip(places, defaults, strict=True), *zip(wanted.kwonlyargs, wanted.kw_defaults, strict=True)]
        for parameter, written in pairs:
            default = None if written is None else walker.value(written, function.scope)
            is_known = is_plain(default)
            kind, choices = kind_of_annotation(walker, parameter.annotation, function.scope)
            if kind is ArgumentKind.UNKNOWN and default is not None:
                kind = kind_of_value(default)
            name = parameter.arg
            self.arguments.append(
                ScriptArgument(
                    name=name,
                    flags=tuple(dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}"))),
                    kind=kind,
                    default=default if is_known else None,
                    choices=choices,
                    is_required=written is None,
                    help=helps.get(name, ""),
                    file=function.scope.file,
                    line=parameter.lineno,
                    is_sure=kind is not ArgumentKind.UNKNOWN,
                    dest=name,
                    default_source="" if is_known or written is None else words_of(written),
                    type_source="" if parameter.annotation is None else words_of(parameter.annotation),
                    source=ArgumentSource.FIRE,
                    command=command,
                )
            )


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    return [] if isinstance(node, ast.Lambda) else [ast.unparse(one) for one in node.decorator_list]


def argument_helps(docstring: str) -> dict[str, str]:
    """What a docstring says of each argument, in the ways of Google and Sphinx."""
    found: dict[str, str] = {}
    for line in docstring.splitlines():
        matched = _ARGUMENT_LINE.match(line)
        if matched is not None:
            found.setdefault(matched[1], matched[2].strip())
    return found


# dataclasses


def kind_of_annotation(walker: Walker, node: ast.expr | None, scope: Scope) -> tuple[ArgumentKind, tuple[object, ...]]:
    """Of `Optional[int]`, `int | None`, `Literal["a", "b"]`, an enum; with what it can be."""
    match node:
        case None:
            return _NONE
        case ast.Constant(value=str(words)):
            try:
                return kind_of_annotation(walker, ast.parse(words, mode="eval").body, scope)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return _NONE
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _first_of(walker, [left, right], scope)
        case ast.Subscript(value=of, slice=inner):
            name = _last(of)
            if name == "Literal":
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                values = tuple(part.value for part in parts if isinstance(part, ast.Constant))
                return (kind_of_value(values[0]) if values else ArgumentKind.UNKNOWN), values
            if name in ("Optional", "Annotated", "Union", "Final"):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return _first_of(walker, parts if name == "Union" else parts[:1], scope)
            return _KINDS.get(name, ArgumentKind.UNKNOWN), ()
        case ast.Name() | ast.Attribute():
            known = _KINDS.get(_last(node))
            if known is not None:
                return known, ()
            value = walker.value(node, scope)
            if isinstance(value, ClassValue) and value.is_enum:
                return ArgumentKind.TEXT, tuple(one for one in value.names.values() if is_plain(one))
    return _NONE


def _first_of(walker: Walker, parts: list[ast.expr], scope: Scope) -> tuple[ArgumentKind, tuple[object, ...]]:
    kinds = [kind_of_annotation(walker, part, scope) for part in parts if not _is_none(part)]
    return kinds[0] if len(kinds) == 1 else _NONE


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def fields_of(walker: Walker, kind: ClassValue) -> tuple[list[ScriptArgument], bool]:
    """The arguments that a parser makes of a dataclass, and whether those are all."""
    is_whole = True
    found: dict[str, ScriptArgument] = {}
    for one in reversed(kind.ancestors()):
        if not isinstance(one, ClassValue):
            is_whole = is_whole and isinstance(one, External) and one.last in ("object", "ABC", "Generic")
            continue
        for statement in one.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                made = _field(walker, one, statement, statement.target.id)
                if made is not None:
                    found[made.name] = made
    return list(found.values()), is_whole


def _field(walker: Walker, owner: ClassValue, statement: ast.AnnAssign, name: str) -> ScriptArgument | None:
    annotation = statement.annotation
    if _last(annotation.value if isinstance(annotation, ast.Subscript) else annotation) in ("ClassVar", "InitVar"):
        return None
    kind, choices = kind_of_annotation(walker, statement.annotation, owner.scope)
    value = owner.names.get(name, UNKNOWN) if statement.value is not None else UNKNOWN
    made = value if isinstance(value, FieldValue) else FieldValue(value, statement.value is not None)
    if made.is_set_later:
        return None
    if not isinstance(value, FieldValue) and statement.value is not None:
        made.written = words_of(statement.value)
    default = made.default if made.has_default else None
    if isinstance(default, EnumMember):
        default = default.value
    is_optional = "Optional" in ast.unparse(statement.annotation) or "None" in ast.unparse(statement.annotation)
    if kind is ArgumentKind.YES_NO and not made.has_default and not is_optional:
        default, made.has_default = False, True
    is_known = is_plain(default)
    more = made.metadata.get("choices")
    aliases = made.metadata.get("aliases", ())
    flags = [f"--{name}", f"--{name.replace('_', '-')}"]
    flags += [str(one) for one in (aliases if isinstance(aliases, list | tuple) else [aliases])]
    help_words = made.metadata.get("help")
    return ScriptArgument(
        name=name,
        flags=tuple(dict.fromkeys(flags)),
        kind=kind,
        default=default if is_known else None,
        choices=choices or (tuple(more) if isinstance(more, list | tuple) and is_plain(more) else ()),
        is_required=not made.has_default,
        help=" ".join(help_words.split()) if isinstance(help_words, str) else "",
        file=owner.scope.file,
        line=statement.lineno,
        is_sure=kind is not ArgumentKind.UNKNOWN,
        dest=name,
        default_source="" if is_known else made.written,
        type_source=words_of(statement.annotation),
        source=ArgumentSource.DATACLASS,
    )
