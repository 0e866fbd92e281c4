"""What the expressions of a script are worth, with names, calls and what libraries make of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from traindeck.services.scripts.reading.calls_made import CallMade, Handled, LibraryCall
from traindeck.services.scripts.reading.relevance import Relevance
from traindeck.services.scripts.reading.values import (
    MOST_ITEMS,
    MOST_LETTERS,
    UNKNOWN,
    BuiltMethod,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    InstanceValue,
    MethodValue,
    ModuleValue,
    Scope,
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
from traindeck.services.scripts.script_tree import ScriptTree

_MOST_STEPS = 60_000
_MOST_ROUNDS = 300


@dataclass(eq=False, slots=True)
class AboveValue:
    """What `super()` is."""

    of: InstanceValue
    kind: ClassValue


@dataclass(eq=False)
class Expressions:
    tree: ScriptTree
    relevance: Relevance
    libraries: Mapping[str, LibraryCall]
    """By the last name of what is called."""
    on_unknown: Callable[[CallMade, object], object]
    """Something that nobody knows is called: it, or the name of its method."""
    roots: tuple[str, ...] = ()
    _modules: dict[str, ModuleValue] = field(default_factory=dict)
    _entered: list[tuple[object, ...]] = field(default_factory=list)
    entered: set[ast.AST] = field(default_factory=set)
    decorated: list[tuple[FunctionValue, Scope]] = field(default_factory=list)
    """Functions with decorators, for libraries that work by them."""
    _steps: int = 0
    _doubts: int = 0

    @property
    def is_over(self) -> bool:
        """It is more than anybody waits for."""
        return self._steps > _MOST_STEPS

    def found_call(self, node: ast.Call, scope: Scope) -> object:
        """What a call gives back."""
        raise NotImplementedError

    def value(self, node: ast.expr, scope: Scope) -> object:
        self._steps += 1
        if self.is_over:
            return UNKNOWN
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return scope.get(name)
            case ast.Attribute(value=of, attr=name):
                return self._attribute(self.value(of, scope), name)
            case ast.Call():
                return self.found_call(node, scope)
            case ast.List(elts=parts):
                return self._items(parts, scope)
            case ast.Tuple(elts=parts):
                return tuple(self._items(parts, scope))
            case ast.Set(elts=parts):
                items = self._items(parts, scope)
                return set(items) if all(map(is_key, items)) else UNKNOWN
            case ast.Dict(keys=keys, values=values):
                return self._dictionary(keys, values, scope)
            case ast.BinOp(left=left, op=kind, right=right):
                return binary(kind, self.value(left, scope), self.value(right, scope))
            case ast.UnaryOp(op=kind, operand=operand):
                return unary(kind, self.value(operand, scope))
            case ast.BoolOp(op=kind, values=parts):
                return self._either(isinstance(kind, ast.Or), parts, scope)
            case ast.Compare(left=left, ops=[kind], comparators=[right]):
                return compared(kind, self.value(left, scope), self.value(right, scope))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                known = is_true(self.value(test, scope))
                if known is not None:
                    return self.value(body if known else orelse, scope)
                return self._merged([self.value(body, scope), self.value(orelse, scope)])
            case ast.Subscript(value=of, slice=ast.Slice() as part):
                ends = [None if end is None else self.value(end, scope) for end in (part.lower, part.upper, part.step)]
                return slice_of(self.value(of, scope), ends)
            case ast.Subscript(value=of, slice=key):
                return item(self.value(of, scope), self.value(key, scope))
            case ast.JoinedStr(values=parts):
                return self._words(parts, scope)
            case ast.NamedExpr(target=target, value=inner):
                found = self.value(inner, scope)
                self.assign(target, found, scope)
                return found
            case ast.Lambda():
                return FunctionValue(node, scope)
            case ast.ListComp(elt=element, generators=[one]) | ast.GeneratorExp(elt=element, generators=[one]):
                return self._comprehended(element, one, scope)
            case ast.SetComp(elt=element, generators=[one]):
                return self._comprehended(element, one, scope)
            case ast.Await(value=inner) | ast.Starred(value=inner):
                return self.value(inner, scope)
        return UNKNOWN

    def _items(self, parts: list[ast.expr], scope: Scope) -> list[object]:
        found: list[object] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                many = self.value(part.value, scope)
                found += list(many) if isinstance(many, list | tuple | set | dict) else [UNKNOWN]
                if len(found) > MOST_ITEMS:
                    return [UNKNOWN]
            else:
                found.append(self.value(part, scope))
        return found

    def _dictionary(self, keys: list[ast.expr | None], values: list[ast.expr], scope: Scope) -> object:
        found: dict[object, object] = {}
        for key, value in zip(keys, values, strict=True):
            made = self.value(value, scope)
            if key is None:
                if not isinstance(made, dict):
                    return UNKNOWN
                found |= made
                continue
            name = self.value(key, scope)
            if not (is_key(name) or isinstance(name, External)):
                return UNKNOWN
            found[name] = made
        return found

    def _either(self, is_or: bool, parts: list[ast.expr], scope: Scope) -> object:
        found: object = UNKNOWN
        for part in parts:
            found = self.value(part, scope)
            known = is_true(found)
            if known is None:
                return UNKNOWN
            if known is is_or:
                return found
        return found

    def _words(self, parts: list[ast.expr], scope: Scope) -> object:
        found = ""
        for part in parts:
            if isinstance(part, ast.FormattedValue):
                one = self.value(part.value, scope)
                if part.format_spec is not None or part.conversion != -1 or not is_plain(one):
                    return UNKNOWN
                found += str(one)
                if len(found) > MOST_LETTERS:
                    return UNKNOWN
            elif isinstance(part, ast.Constant):
                found += str(part.value)
        return found

    def _comprehended(self, element: ast.expr, one: ast.comprehension, scope: Scope) -> object:
        rounds = self._rounds(self.value(one.iter, scope))
        if rounds is None:
            return UNKNOWN
        inner, found = Scope(scope.file, scope), []
        for value in rounds:
            self.assign(one.target, value, inner)
            tests = [is_true(self.value(test, inner)) for test in one.ifs]
            if None in tests:
                return UNKNOWN
            if all(tests):
                found.append(self.value(element, inner))
        return found

    def _attribute(self, of: object, name: str) -> object:
        match of:
            case ModuleValue(scope=scope):
                return scope.names.get(name, UNKNOWN)
            case External(name=whole):
                return External(f"{whole}.{name}")
            case InstanceValue(kind=kind, names=names):
                found = names[name] if name in names else kind.find(name)
                return BuiltMethod(of, name) if found is UNKNOWN else self._bound(found, of)
            case ClassValue():
                if of.is_enum and name in of.names:
                    return EnumMember(name, of.names[name])
                return of.find(name)
            case EnumMember(name=own, value=value):
                return own if name == "name" else value if name == "value" else UNKNOWN
            case AboveValue(of=instance, kind=kind):
                found = instance.kind.find(name, after=kind)
                return BuiltMethod(instance, name) if found is UNKNOWN else self._bound(found, instance)
        return BuiltMethod(of, name)

    def _bound(self, found: object, of: InstanceValue) -> object:
        if isinstance(found, FunctionValue):
            return MethodValue(found, of)
        return found

    def assign(self, target: ast.expr, value: object, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                many = list(value) if isinstance(value, list | tuple) and len(value) == len(parts) else None
                for place, part in enumerate(parts):
                    self.assign(part, UNKNOWN if many is None else many[place], scope)
            case ast.Starred(value=inner):
                self.assign(inner, UNKNOWN, scope)
            case ast.Attribute(value=of, attr=name):
                owner = self.value(of, scope)
                if isinstance(owner, InstanceValue | ClassValue):
                    owner.names[name] = value
                elif isinstance(owner, ModuleValue):
                    owner.scope.names[name] = value
                elif isinstance(owner, Handled):
                    owner.assign(name, value)
            case ast.Subscript(value=of, slice=key):
                table, name_in = self.value(of, scope), self.value(key, scope)
                if isinstance(table, dict) and is_key(name_in) and len(table) < MOST_ITEMS:
                    table[name_in] = value

    def _augment(self, target: ast.expr, kind: ast.operator, value: object, scope: Scope) -> None:
        before = self.value(target, scope)
        self.assign(target, binary(kind, before, value), scope)

    def _rounds(self, many: object) -> list[object] | None:
        if isinstance(many, ClassValue) and many.is_enum:
            return [EnumMember(name, value) for name, value in many.names.items() if is_plain(value) and name[0] != "_"]
        if isinstance(many, list | tuple | set | dict | str) and len(many) <= _MOST_ROUNDS:
            return list(many)
        return None

    def _merged(self, values: list[object]) -> object:
        first = values[0]
        if all(is_same(first, one) for one in values[1:]):
            return first
        made = [one for one in values if not is_plain(one) and one is not UNKNOWN and not isinstance(one, External)]
        return made[0] if made else UNKNOWN
