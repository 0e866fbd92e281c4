"""Calls in a script: functions of its own are entered, those of libraries are asked of whoever knows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from traindeck.services.scripts.reading.calls_made import CallMade, Handled
from traindeck.services.scripts.reading.expressions import AboveValue, Expressions
from traindeck.services.scripts.reading.values import (
    UNKNOWN,
    BuiltMethod,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    InstanceValue,
    MethodValue,
    PartialValue,
    Scope,
    is_plain,
    method_call,
    named_table,
    path_call,
    pure_call,
)

_MOST_DEPTH = 24


@dataclass(slots=True)
class Returned:
    value: object


class Calls(Expressions):
    """Enters what has something to do with parsers, and nothing else."""

    def run(self, statements: list[ast.stmt], scope: Scope) -> Returned | None:
        """The statements of a function, as far as one that returns."""
        raise NotImplementedError

    def found_call(self, node: ast.Call, scope: Scope) -> object:
        function = self.value(node.func, scope)
        if isinstance(function, External) and function.name == "builtins.super":
            instance = scope.get("self")
            kind = scope.get("__class__")
            if isinstance(instance, InstanceValue) and isinstance(kind, ClassValue):
                return AboveValue(instance, kind)
            return UNKNOWN
        values: list[object] = []
        is_whole = True
        for each in node.args:
            if isinstance(each, ast.Starred):
                many = self.value(each.value, scope)
                if isinstance(many, list | tuple):
                    values += many
                else:
                    is_whole = False
            else:
                values.append(self.value(each, scope))
        named: dict[str, object] = {}
        for keyword in node.keywords:
            found = self.value(keyword.value, scope)
            if keyword.arg is not None:
                named[keyword.arg] = found
            elif isinstance(found, dict):
                named |= {str(name): one for name, one in found.items()}
            else:
                is_whole = False
        made = CallMade(node, scope.file, values, named, is_whole, not self._doubts)
        return self.call(function, made)

    def call(self, function: object, made: CallMade) -> object:
        match function:
            case FunctionValue():
                return self._enter(function, made, made.values)
            case MethodValue(function=inner, of=instance):
                is_static = "staticmethod" in _decorators(inner)
                return self._enter(inner, made, made.values if is_static else [instance, *made.values])
            case ClassValue():
                return self._instance(function, made)
            case PartialValue(function=inner, values=values, named=named):
                made.values, made.named = [*values, *made.values], {**named, **made.named}
                return self.call(inner, made)
            case External():
                return self._external(function, made)
            case BuiltMethod(of=Handled() as of, name=name):
                return of.call(name, made)
            case BuiltMethod(of=InstanceValue() as instance, name=name):
                inner = instance.names.get("")
                if isinstance(inner, Handled):
                    return inner.call(name, made)
                return self.on_unknown(made, name)
            case BuiltMethod(of=of, name=name):
                if is_plain(of) or isinstance(of, list | dict | set | tuple):
                    return method_call(of, name, made.values, made.named)
                return self.on_unknown(made, name)
        return UNKNOWN

    def _external(self, function: External, made: CallMade) -> object:
        name, last = function.name, function.last
        if name.startswith("builtins."):
            if last == "getattr" and len(made.values) > 1 and isinstance(made.values[1], str):
                return self._attribute(made.values[0], made.values[1])
            if last == "type" and len(made.values) == 1 and is_plain(made.values[0]):
                return External(f"builtins.{type(made.values[0]).__name__}")
            if last == "vars" and made.values and isinstance(made.values[0], InstanceValue):
                return dict(made.values[0].names)
            first = made.values[0] if made.values else {}
            if last == "dict" and isinstance(first, dict):
                return {**first, **made.named}
            return pure_call(last, made.values, made.named)
        if last == "partial" and made.values:
            return PartialValue(made.values[0], made.values[1:], made.named)
        if last in ("OrderedDict", "defaultdict") and len(made.values) <= 1:
            return pure_call("dict", made.values, made.named)
        if (path := path_call(name, made.values)) is not UNKNOWN:
            return path
        if made.is_whole and (table := named_table(name, made.values, made.named)) is not UNKNOWN:
            return table
        handler = self.libraries.get(last)
        if handler is not None:
            return handler(made, function)
        return self.on_unknown(made, function)

    def _instance(self, kind: ClassValue, made: CallMade) -> object:
        if kind.is_enum:
            return next((EnumMember(name, one) for name, one in kind.names.items() if made.values == [one]), UNKNOWN)
        instance = InstanceValue(kind)
        above = (one for one in kind.ancestors() if isinstance(one, External) and one.last in self.libraries)
        outside = next(above, None)
        if outside is not None:
            # Its own methods come first, all else is the library's.
            instance.names[""] = self.libraries[outside.last](made, outside)
        start = kind.find("__init__")
        if isinstance(start, FunctionValue):
            counts = any(
                isinstance(one, ClassValue) and self.relevance.is_relevant(one.node) for one in kind.ancestors()
            )
            self._enter(start, made, [instance, *made.values], is_wanted=counts)
        inner = instance.names.get("")
        if isinstance(inner, Handled) and not any(
            self.relevance.speaks_in(one.node)
            for name, one in kind.names.items()
            if isinstance(one, FunctionValue) and name != "__init__"
        ):
            return inner
        return instance

    def _enter(
        self, function: FunctionValue, made: CallMade, values: list[object], *, is_wanted: bool = False
    ) -> object:
        node = function.node
        if isinstance(node, ast.Lambda):
            inner = self._parameters(function, node.args, made, values)
            return UNKNOWN if inner is None or self._is_deep(node) else self._inside(node, node.body, inner)
        has_parser = any(isinstance(one, Handled) for one in (*values, *made.named.values()))
        if not is_wanted and not has_parser and not self.relevance.is_relevant(node):
            return UNKNOWN
        if self._is_deep(node):
            return UNKNOWN
        inner = self._parameters(function, node.args, made, values)
        if inner is None:
            return UNKNOWN
        if function.owner is not None:
            inner.names["__class__"] = function.owner
        self.entered.add(node)
        self._entered.append((node,))
        try:
            ended = self.run(node.body, inner)
        finally:
            self._entered.pop()
        return UNKNOWN if ended is None else ended.value

    def _is_deep(self, node: ast.AST) -> bool:
        return len(self._entered) >= _MOST_DEPTH or self._entered.count((node,)) > 1

    def _inside(self, node: ast.AST, body: ast.expr, scope: Scope) -> object:
        self._entered.append((node,))
        try:
            return self.value(body, scope)
        finally:
            self._entered.pop()

    def _parameters(
        self, function: FunctionValue, wanted: ast.arguments, made: CallMade, values: list[object]
    ) -> Scope | None:
        inner = Scope(function.scope.file, function.scope)
        places = [*wanted.posonlyargs, *wanted.args]
        named = dict(made.named)
        defaults = [None] * (len(places) - len(wanted.defaults)) + [*wanted.defaults]
        for place, (parameter, default) in enumerate(zip(places, defaults, strict=True)):
            if place < len(values):
                inner.names[parameter.arg] = values[place]
            elif parameter.arg in named:
                inner.names[parameter.arg] = named.pop(parameter.arg)
            else:
                inner.names[parameter.arg] = UNKNOWN if default is None else self.value(default, function.scope)
        for parameter, one in zip(wanted.kwonlyargs, wanted.kw_defaults, strict=True):
            if parameter.arg in named:
                inner.names[parameter.arg] = named.pop(parameter.arg)
            else:
                inner.names[parameter.arg] = UNKNOWN if one is None else self.value(one, function.scope)
        if wanted.vararg is not None:
            rest = tuple(values[len(places) :])
            inner.names[wanted.vararg.arg] = rest if made.is_whole else UNKNOWN
        if wanted.kwarg is not None:
            inner.names[wanted.kwarg.arg] = named if made.is_whole else UNKNOWN
        return inner


def _decorators(function: FunctionValue) -> Iterator[str]:
    node = function.node
    if not isinstance(node, ast.Lambda):
        yield from (ast.unparse(one) for one in node.decorator_list)
