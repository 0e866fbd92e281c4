"""Follows a script from statement to statement as Python would, as far as its arguments are concerned.

Both ways are taken where it cannot be known which one is; functions are entered that have something to do with parsers.
"""

from __future__ import annotations

import ast

from traindeck.services.scripts.imports import LocalImport
from traindeck.services.scripts.reading.calls import Calls, Returned
from traindeck.services.scripts.reading.values import (
    UNKNOWN,
    ClassValue,
    External,
    FunctionValue,
    ModuleValue,
    Scope,
    is_plain,
)


class Walker(Calls):
    """Goes through whole files."""

    def module(self, path: str, name: str = "") -> ModuleValue:
        if path not in self._modules:
            scope = Scope(path)
            self._modules[path] = ModuleValue(scope)
            scope.names["__name__"] = name or path.removesuffix(".py").replace("/", ".")
            scope.names["__file__"] = UNKNOWN
            read = self.tree.files.get(path)
            if read is not None and read.module is not None:
                doubts, self._doubts = self._doubts, 0
                self.run(read.module.body, scope)
                self._doubts = doubts
        return self._modules[path]

    # statements

    def run(self, statements: list[ast.stmt], scope: Scope) -> Returned | None:
        seen: Returned | None = None
        for statement in statements:
            self._steps += 1
            if self.is_over:
                break
            ended = self._run_one(statement, scope)
            if ended is not None:
                if not self._doubts:
                    return ended
                # Under a condition that nobody knows it may go on all the same.
                if seen is None or is_plain(seen.value) or seen.value is UNKNOWN:
                    seen = ended
        return seen

    def _run_one(self, statement: ast.stmt, scope: Scope) -> Returned | None:
        match statement:
            case ast.Expr(value=value):
                self.value(value, scope)
            case ast.Assign(targets=targets, value=value):
                found = self.value(value, scope)
                for target in targets:
                    self.assign(target, found, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value, scope), scope)
            case ast.AugAssign(target=target, op=kind, value=value):
                self._augment(target, kind, self.value(value, scope), scope)
            case ast.If():
                return self._run_if(statement, scope)
            case ast.For() | ast.AsyncFor():
                return self._run_for(statement, scope)
            case ast.While(body=body, orelse=orelse):
                return self._doubtful([body, orelse], scope)
            case ast.With() | ast.AsyncWith():
                for one in statement.items:
                    found = self.value(one.context_expr, scope)
                    if one.optional_vars is not None:
                        self.assign(one.optional_vars, found, scope)
                return self.run(statement.body, scope)
            case ast.Try() | ast.TryStar():
                ended = self.run(statement.body, scope)
                others = self._doubtful([handler.body for handler in statement.handlers], scope, keeps=True)
                ended = ended or self.run(statement.orelse, scope)
                return self.run(statement.finalbody, scope) or ended or others
            case ast.Match(cases=cases):
                return self._doubtful([case.body for case in cases], scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(statement, scope)
            case ast.ClassDef():
                scope.names[statement.name] = self._class(statement, scope)
            case ast.Import(names=names):
                self._import(names, scope)
            case ast.ImportFrom():
                self._import_from(statement, scope)
            case ast.Return(value=value):
                return Returned(None if value is None else self.value(value, scope))
        return None

    def _run_if(self, statement: ast.If, scope: Scope) -> Returned | None:
        known = self.truth(statement.test, scope)
        if known is not None:
            return self.run(statement.body if known else statement.orelse, scope)
        return self._doubtful([statement.body, statement.orelse], scope)

    def _doubtful(self, bodies: list[list[ast.stmt]], scope: Scope, *, keeps: bool = False) -> Returned | None:
        """Each of them may run or not; a name that is not the same after all of them is not known."""
        before = dict(scope.names)
        ended: Returned | None = None
        after: list[dict[str, object]] = [before] if keeps else []
        self._doubts += 1
        for body in bodies:
            scope.names = dict(before)
            found = self.run(body, scope)
            ended = ended or found
            after.append(scope.names)
        self._doubts -= 1
        merged = dict(before)
        for name in dict.fromkeys(name for names in after for name in names):
            values = [names[name] for names in after if name in names]
            merged[name] = self.one_of(values)
        scope.names = merged
        return ended

    def _run_for(self, statement: ast.For | ast.AsyncFor, scope: Scope) -> Returned | None:
        rounds = self._rounds(self.value(statement.iter, scope))
        if rounds is None:
            if not self.relevance.speaks_in(statement):
                return None
            self.assign(statement.target, UNKNOWN, scope)
            return self._doubtful([statement.body, statement.orelse], scope)
        for one in rounds:
            if self.is_over:
                return None
            self.assign(statement.target, one, scope)
            ended = self.run(statement.body, scope)
            if ended is not None and not self._doubts:
                return ended
        return self.run(statement.orelse, scope)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        function = FunctionValue(node, scope)
        scope.names[node.name] = function
        if node.decorator_list:
            self.decorated.append((function, scope))

    def _class(self, node: ast.ClassDef, scope: Scope) -> ClassValue:
        inner = Scope(scope.file, scope)
        found = ClassValue(node, scope, [self.value(base, scope) for base in node.bases], inner.names)
        self.run(node.body, inner)
        found.names = inner.names
        for one in found.names.values():
            if isinstance(one, FunctionValue):
                one.owner = one.owner or found
                one.scope = scope if one.scope is inner else one.scope
        return found

    def _import(self, names: list[ast.alias], scope: Scope) -> None:
        for alias in names:
            path = self._path_of(LocalImport(alias.name), scope.file)
            if path is None:
                scope.names[alias.asname or alias.name.partition(".")[0]] = External(
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
            elif alias.asname or "." not in alias.name:
                scope.names[alias.asname or alias.name] = self.module(path)
            else:
                self._bind_package(alias.name, path, scope)

    def _bind_package(self, dotted: str, path: str, scope: Scope) -> None:
        """`import a.b.c` binds `a`, through which the others are reached."""
        module: object = self.module(path)
        *above, last = dotted.split(".")
        for count in range(len(above), 0, -1):
            package_path = self._path_of(LocalImport(".".join(above[:count])), scope.file)
            package = self.module(package_path) if package_path is not None else ModuleValue(Scope(scope.file))
            package.scope.names[last] = module
            module, last = package, above[count - 1]
        scope.names[above[0]] = module

    def _import_from(self, statement: ast.ImportFrom, scope: Scope) -> None:
        for alias in statement.names:
            whole = LocalImport(statement.module or "", (), statement.level)
            path = self._path_of(whole, scope.file) if statement.module or not statement.level else None
            if alias.name == "*":
                if path is not None:
                    names = self.module(path).scope.names
                    scope.names.update({name: one for name, one in names.items() if not name.startswith("_")})
                continue
            name = alias.asname or alias.name
            inside = f"{statement.module}.{alias.name}" if statement.module else alias.name
            below = self._path_of(LocalImport(inside, (), statement.level), scope.file)
            if path is not None:
                module = self.module(path)
                if alias.name in module.scope.names or below is None:
                    scope.names[name] = module.scope.names.get(alias.name, UNKNOWN)
                    continue
            if below is not None:
                scope.names[name] = self.module(below)
            else:
                scope.names[name] = UNKNOWN if statement.level else External(f"{statement.module}.{alias.name}")

    def _path_of(self, wanted: LocalImport, importer: str) -> str | None:
        return self.tree.module_of(wanted, importer, self.roots)
