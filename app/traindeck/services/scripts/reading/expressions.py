"""What expressions are worth as statements are followed: names, and what libraries make of calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from traindeck.services.scripts.reading.calls_made import CallMade, Handled, LibraryCall
from traindeck.services.scripts.reading.constants import Constants
from traindeck.services.scripts.reading.relevance import Relevance
from traindeck.services.scripts.reading.values import (
    MOST_ITEMS,
    UNKNOWN,
    Begins,
    BuiltMethod,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    InstanceValue,
    MethodValue,
    ModuleValue,
    NamedTable,
    Scope,
    binary,
    is_key,
    is_plain,
    is_true,
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
class Expressions(Constants[Scope]):
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

    def value(self, node: ast.expr, where: Scope) -> object:
        self._steps += 1
        if self.is_over:
            return UNKNOWN
        if isinstance(node, ast.NamedExpr):
            found = self.value(node.value, where)
            self.assign(node.target, found, where)
            return found
        found = super().value(node, where)
        # No parser can do anything with the beginning of a text.
        return UNKNOWN if isinstance(found, Begins) else found

    def asked(self, node: ast.expr, where: Scope) -> object:
        match node:
            case ast.Name(id=name):
                return where.get(name)
            case ast.Attribute(value=of, attr=name):
                return self._attribute(self.value(of, where), name)
            case ast.Call():
                return self.found_call(node, where)
            case ast.Lambda():
                return FunctionValue(node, where)
            case ast.ListComp(elt=element, generators=[one]) | ast.GeneratorExp(elt=element, generators=[one]):
                return self._comprehended(element, one, where)
            case ast.SetComp(elt=element, generators=[one]):
                return self._comprehended(element, one, where)
        return UNKNOWN

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
            case NamedTable() if name in of:
                return of[name]
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
                elif isinstance(owner, NamedTable) and len(owner) < MOST_ITEMS:
                    owner[name] = value
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

    def one_of(self, values: Sequence[object]) -> object:
        """What a library made counts, whichever way was gone."""
        found = super().one_of(values)
        if found is not UNKNOWN:
            return found
        made = [one for one in values if not is_plain(one) and one is not UNKNOWN and not isinstance(one, External)]
        return made[0] if made else UNKNOWN
