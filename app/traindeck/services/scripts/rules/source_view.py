"""One Python file as rules look at it: what is called where, under which conditions, and what names stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from traindeck.services.scripts.imports import LocalImport
from traindeck.services.scripts.script_tree import ScriptFile

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_CHANGES = frozenset({
    "append", "extend", "insert", "remove", "pop", "popitem", "clear", "update", "setdefault", "add", "discard", "sort",
    "reverse",
})  # fmt: skip
_BROAD = frozenset({"*", "Exception", "BaseException"})
_BROAD_IMPORT = _BROAD | {"ImportError", "ModuleNotFoundError"}


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that a place stands under."""

    test: ast.expr
    holds: bool
    """False: the place is reached where the condition is not met."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What has to be so for a place to be reached."""

    guards: tuple[Guard, ...] = ()
    caught: frozenset[str] = frozenset()
    """Exceptions that are handled around it; `*` is all of them."""
    functions: tuple[FunctionNode, ...] = ()
    """Those it stands in, the outermost first."""
    is_in_loop: bool = False
    is_fallback: bool = False
    """What is done only after something has failed."""

    @property
    def is_tried(self) -> bool:
        """Whatever goes wrong is handled."""
        return bool(self.caught & _BROAD)

    def handles(self, *names: str) -> bool:
        """These exceptions are, or all of them."""
        return self.is_tried or not self.caught.isdisjoint(names)

    @property
    def is_tried_import(self) -> bool:
        return bool(self.caught & _BROAD_IMPORT)


@dataclass(frozen=True, slots=True)
class Seen:
    """A piece of the syntax tree with what it stands under."""

    node: ast.AST
    around: Surroundings


@dataclass(frozen=True, slots=True)
class SeenCall:
    node: ast.Call
    name: str
    """With its modules, as far as the file says: `numpy.load`; of a method, `.cuda`."""
    around: Surroundings

    @property
    def method(self) -> str:
        return self.name.rpartition(".")[2]

    def argument(self, position: int | None, keyword: str = "") -> ast.expr | None:
        for one in self.node.keywords:
            if keyword and one.arg == keyword:
                return one.value
        if position is None or position >= len(self.node.args):
            return None
        found = self.node.args[position]
        return None if isinstance(found, ast.Starred) else found


@dataclass(eq=False)
class SourceView:
    """All that rules ask of one file; made once for all of them."""

    file: ScriptFile
    calls: list[SeenCall] = field(default_factory=list)
    imports: list[Seen] = field(default_factory=list)
    attributes: list[tuple[str, Seen]] = field(default_factory=list)
    """The longest chains: `torch.cuda.FloatTensor`; those that are called as well."""
    strings: list[tuple[str, Seen]] = field(default_factory=list)
    """Without comments and without what only documents."""
    assigned: dict[str, list[Seen]] = field(default_factory=dict)
    """By name; `node` is the value."""
    annotations: list[Seen] = field(default_factory=list)
    """Types of arguments, results and names, where Python works them out as it comes by."""
    aliases: dict[str, str] = field(default_factory=dict)
    origins: dict[str, LocalImport] = field(default_factory=dict)
    """Where an imported name is from: the module, or the one name in it."""
    stars: list[LocalImport] = field(default_factory=list)
    """Modules of which everything is imported."""
    changed: set[str] = field(default_factory=set)
    """Names of what is filled, or changed in place: `parts.append(…)`, `places["data"] = …`."""
    defined: dict[str, FunctionNode | ast.ClassDef] = field(default_factory=dict)
    parameters: dict[int, FunctionNode] = field(default_factory=dict)
    """Of names that stand for what a function was passed, by the id of the node: that function."""
    words: set[str] = field(default_factory=set)
    """Names that are read somewhere, and attributes."""

    @property
    def path(self) -> str:
        return self.file.path

    @classmethod
    def of(cls, file: ScriptFile, is_own: Callable[[str], bool] = lambda _: False) -> SourceView:
        """`is_own`: the file of a module lies in the code folder, whatever package there is of the same name."""
        view = cls(file)
        if file.module is not None:
            view._find_aliases(file.module, is_own)
            _Walk(view).body(file.module.body, Surroundings())
            view.calls = [view._as_bound(call) for call in view.calls]
        return view

    def _find_aliases(self, module: ast.Module, is_own: Callable[[str], bool]) -> None:
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                for one in node.names:
                    name = one.name if one.asname else one.name.partition(".")[0]
                    self.aliases[one.asname or name] = f".{name}" if is_own(name) else name
                    self.origins[one.asname or name] = LocalImport(name)
            elif isinstance(node, ast.ImportFrom):
                above = "." * node.level + (node.module or "")
                if not node.level and is_own(above):
                    above = f".{above}"
                for one in node.names:
                    if one.name == "*":
                        self.stars.append(LocalImport(node.module or "", (), node.level))
                    self.origins[one.asname or one.name] = LocalImport(node.module or "", (one.name,), node.level)
                    self.aliases[one.asname or one.name] = f"{above}.{one.name}" if above.strip(".") else f".{one.name}"
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.defined.setdefault(node.name, node)

    def _as_bound(self, call: SeenCall) -> SeenCall:
        """`open` and `input` are Python's own only where nothing else has that name."""
        func = call.node.func
        if not isinstance(func, ast.Name) or call.name != func.id:
            return call
        inside = call.around.functions
        given = (seen.around.functions for seen in self.assigned.get(func.id, ()))
        is_given = id(func) in self.parameters or any(one == inside[: len(one)] for one in given)
        return replace(call, name=f".{func.id}") if is_given else call

    def name_of(self, node: ast.AST | None) -> str:
        """`numpy.load`, wherever it came from; what is no chain of names begins with a dot."""
        if isinstance(node, ast.Name):
            known = self.aliases.get(node.id)
            if known is not None:
                return known
            return f".{node.id}" if node.id in self.defined else node.id
        if isinstance(node, ast.Attribute):
            return f"{self.name_of(node.value)}.{node.attr}"
        return ""

    @cached_property
    def modules(self) -> frozenset[str]:
        """Everything that is imported, with its parents."""
        found: set[str] = set()
        for name in self.aliases.values():
            parts = name.split(".")
            found |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        for seen in self.imports:
            if isinstance(seen.node, ast.Import):
                found |= {one.name for one in seen.node.names}
        return frozenset(found)

    def called(self, names: frozenset[str]) -> Iterator[SeenCall]:
        return (call for call in self.calls if call.name in names)


class _Walk:
    """Goes through the file as it would run, and notes what each place stands under."""

    def __init__(self, view: SourceView) -> None:
        self.view = view
        self._known: dict[int, frozenset[str]] = {}

    def body(self, statements: Sequence[ast.stmt], around: Surroundings) -> None:
        for statement in statements:
            is_words = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_words:
                self.visit(statement, around)
            for guard in _after(statement):
                around = replace(around, guards=(*around.guards, guard))

    def visit(self, node: ast.AST, around: Surroundings) -> None:
        handler: Callable[[ast.AST, Surroundings], None] | None = getattr(self, f"_{type(node).__name__}", None)
        if handler is not None:
            handler(node, around)
        else:
            self._children(node, around)

    def _children(self, node: ast.AST, around: Surroundings) -> None:
        for child in ast.iter_child_nodes(node):
            self.visit(child, around)

    # conditions

    def _If(self, node: ast.If, around: Surroundings) -> None:
        self.visit(node.test, around)
        self.body(node.body, _under(around, node.test, holds=True))
        self.body(node.orelse, _under(around, node.test, holds=False))

    def _IfExp(self, node: ast.IfExp, around: Surroundings) -> None:
        self.visit(node.test, around)
        self.visit(node.body, _under(around, node.test, holds=True))
        self.visit(node.orelse, _under(around, node.test, holds=False))

    def _BoolOp(self, node: ast.BoolOp, around: Surroundings) -> None:
        for value in node.values:
            self.visit(value, around)
            around = _under(around, value, holds=isinstance(node.op, ast.And))

    def _While(self, node: ast.While, around: Surroundings) -> None:
        self.visit(node.test, around)
        inside = replace(_under(around, node.test, holds=True), is_in_loop=True)
        self.body(node.body, inside)
        self.body(node.orelse, around)

    def _For(self, node: ast.For | ast.AsyncFor, around: Surroundings) -> None:
        self.visit(node.iter, around)
        inside = replace(around, is_in_loop=True)
        self._bind(node.target, None, inside)
        self.body(node.body, inside)
        self.body(node.orelse, around)

    _AsyncFor = _For

    # what is handled

    def _Try(self, node: ast.Try, around: Surroundings) -> None:
        caught: set[str] = set()
        for handler in node.handlers:
            caught |= _caught(handler, self.view.name_of)
        self.body(node.body, replace(around, caught=around.caught | caught))
        for handler in node.handlers:
            self.body(handler.body, replace(around, is_fallback=True))
        self.body(node.orelse, replace(around, caught=around.caught | (caught & _BROAD_IMPORT)))
        self.body(node.finalbody, around)

    _TryStar = _Try

    def _With(self, node: ast.With | ast.AsyncWith, around: Surroundings) -> None:
        inside = around
        for item in node.items:
            self.visit(item.context_expr, around)
            if item.optional_vars is not None:
                its = item.context_expr if isinstance(item.context_expr, ast.Call) else None
                self._bind(item.optional_vars, its, around)
            call = item.context_expr
            if isinstance(call, ast.Call) and self.view.name_of(call.func) in ("contextlib.suppress", "suppress"):
                names = {self.view.name_of(one).rpartition(".")[2] for one in call.args}
                inside = replace(inside, caught=inside.caught | names)
        self.body(node.body, inside)

    _AsyncWith = _With

    # scopes

    def _FunctionDef(self, node: FunctionNode, around: Surroundings) -> None:
        for one in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(one, around)
        given = node.args
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        types = [one.annotation for one in every if one is not None] + [node.returns]
        self.view.annotations += [Seen(one, around) for one in types if one is not None]
        inside = replace(around, functions=(*around.functions, node), is_in_loop=False)
        self.body(node.body, inside)

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef, around: Surroundings) -> None:
        for one in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(one, around)
        self.body(node.body, around)
        for statement in node.body:
            for target, value in _bound(statement):
                if isinstance(target, ast.Name):
                    self._note(f"{node.name}.{target.id}", value, around)

    # what is noted

    def _Import(self, node: ast.Import, around: Surroundings) -> None:
        self.view.imports.append(Seen(node, around))

    def _ImportFrom(self, node: ast.ImportFrom, around: Surroundings) -> None:
        self.view.imports.append(Seen(node, around))

    def _Assign(self, node: ast.Assign, around: Surroundings) -> None:
        self.visit(node.value, around)
        for target in node.targets:
            self._bind(target, node.value, around)

    def _AnnAssign(self, node: ast.AnnAssign, around: Surroundings) -> None:
        if not around.functions:
            self.view.annotations.append(Seen(node.annotation, around))
        if node.value is not None:
            self.visit(node.value, around)
            self._bind(node.target, node.value, around)

    def _AugAssign(self, node: ast.AugAssign, around: Surroundings) -> None:
        self.visit(node.value, around)
        self._bind(node.target, None, around)

    def _NamedExpr(self, node: ast.NamedExpr, around: Surroundings) -> None:
        self.visit(node.value, around)
        self._bind(node.target, node.value, around)

    def _bind(self, target: ast.expr, value: ast.expr | None, around: Surroundings) -> None:
        if isinstance(target, ast.Name):
            self._note(target.id, value, around)
        elif isinstance(target, ast.Attribute):
            self._note(ast.unparse(target), value, around)
            self.visit(target.value, around)
        elif isinstance(target, ast.Tuple | ast.List):
            values: Sequence[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                values = value.elts
            for one, its in zip(target.elts, values, strict=True):
                self._bind(one, its, around)
        else:
            self.visit(target, around)
            if isinstance(target, ast.Subscript):
                self.view.changed.add(ast.unparse(target.value))
                self._note(ast.unparse(target), value, around)

    def _note(self, name: str, value: ast.expr | None, around: Surroundings) -> None:
        unknown = ast.Name(id="?", ctx=ast.Load())
        self.view.assigned.setdefault(name, []).append(Seen(value if value is not None else unknown, around))

    def _Call(self, node: ast.Call, around: Surroundings) -> None:
        name = self.view.name_of(node.func)
        if not name and isinstance(node.func, ast.Attribute):
            name = f".{node.func.attr}"
        self.view.calls.append(SeenCall(node, name, around))
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            self.view.changed.add(ast.unparse(node.func.value))
        self._children(node, around)

    def _Attribute(self, node: ast.Attribute, around: Surroundings) -> None:
        name = self.view.name_of(node)
        if name and not name.startswith("."):
            self.view.attributes.append((name, Seen(node, around)))
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            self.view.words.add(inner.attr)
            inner = inner.value
        self.visit(inner, around)

    def _Name(self, node: ast.Name, around: Surroundings) -> None:
        self.view.words.add(node.id)
        for function in reversed(around.functions):
            if node.id in self._parameters(function):
                self.view.parameters[id(node)] = function
                break

    def _parameters(self, function: FunctionNode) -> frozenset[str]:
        found = self._known.get(id(function))
        if found is None:
            given = function.args
            every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
            found = self._known[id(function)] = frozenset(one.arg for one in every if one is not None)
        return found

    def _comprehension(self, node: ast.comprehension, around: Surroundings) -> None:
        self.visit(node.iter, around)
        self._bind(node.target, None, replace(around, is_in_loop=True))
        for test in node.ifs:
            self.visit(test, around)

    def _Constant(self, node: ast.Constant, around: Surroundings) -> None:
        if isinstance(node.value, str):
            self.view.strings.append((node.value, Seen(node, around)))


def _under(around: Surroundings, test: ast.expr, *, holds: bool) -> Surroundings:
    return replace(around, guards=(*around.guards, Guard(test, holds)))


def _caught(handler: ast.ExceptHandler, name_of: Callable[[ast.AST | None], str]) -> set[str]:
    if handler.type is None:
        return {"*"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if any(isinstance(one, ast.Raise) for one in handler.body):
        return set()  # it is told, and not got over
    return {name_of(kind).rpartition(".")[2] for kind in kinds}


def _after(statement: ast.stmt) -> Iterator[Guard]:
    """What is known once this has been passed. Who raises where there is no CUDA fails there, and guards nothing."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return
    if isinstance(statement.body[-1], ast.Return | ast.Continue | ast.Break):
        yield Guard(statement.test, holds=False)


def _bound(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(statement, ast.Assign):
        yield from ((target, statement.value) for target in statement.targets)
    elif isinstance(statement, ast.AnnAssign):
        yield statement.target, statement.value
