"""What a rule is, and what all rules look at together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.scripts.arguments import ScriptArgument, ScriptArguments
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import Text
from traindeck.services.scripts.imports import LocalImport
from traindeck.services.scripts.reading.values import UNKNOWN
from traindeck.services.scripts.rules.known_values import ArgumentDefault, KnownValues, availability
from traindeck.services.scripts.rules.neighbours import Neighbours
from traindeck.services.scripts.rules.source_view import FunctionNode, Seen, SeenCall, SourceView, Surroundings
from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree

RED, AMBER = CheckLevel.RED, CheckLevel.AMBER
_TESTS = ("test_", "conftest.py", "setup.py", "noxfile.py")


@dataclass(frozen=True, slots=True)
class Fault:
    """One place where a rule is broken."""

    level: CheckLevel
    file: str
    line: int
    why: Text
    hint: Text
    fix: str = ""
    column: int = 0


@dataclass(eq=False)
class ScriptLook:
    """A script with the job it is for, and what was worked out about both; each thing once for all rules."""

    tree: ScriptTree
    job: ScriptJob
    arguments: ScriptArguments = field(default_factory=ScriptArguments)
    goes_on: Callable[[], bool] = lambda: True
    """False: there is no time for further files."""
    unseen: int = 0
    """Files that there was no time for."""
    _views: dict[str, SourceView] = field(default_factory=dict)
    _values: dict[str, KnownValues] = field(default_factory=dict)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files that run: those the boot file reaches; where there is none, all but tests."""
        if self.tree.boot:
            return self.tree.reached
        return tuple(path for path in self.tree.files if not is_test(path))

    @cached_property
    def defaults(self) -> Mapping[str, ArgumentDefault]:
        """By what the script calls them."""
        return {
            one.dest or one.name.replace("-", "_"): ArgumentDefault(one.name, _default_of(one))
            for one in self.arguments.arguments
        }

    @cached_property
    def all_texts(self) -> frozenset[str]:
        """What stands in quotes anywhere, and the lines of shell files and configs."""
        found = {words for view in self.views for words, _ in view.strings}
        for path, file in self.tree.files.items():
            if not file.is_python and (path in self.paths or not path.endswith(".sh")):
                found.update(file.lines)
        return frozenset(found)

    @cached_property
    def local_modules(self) -> frozenset[str]:
        """Every name that an import may find in the code folder itself."""
        found: set[str] = set()
        for path in self.tree.names or self.tree.files:
            *folders, name = path.split("/")
            if name.endswith((".py", ".pyw", ".so", ".pyd")):
                found.add(name.partition(".")[0])
                found.update(folders)
        return frozenset(found)

    @cached_property
    def reads_everything(self) -> bool:
        """It takes whatever it is given, so that nobody can say what it leaves unread."""
        if any(name in self.all_texts for name in ("MA_INPUTS", "MA_OUTPUTS")):
            return True
        for view in self.views:
            if any(name == "sys.argv" for name, _ in view.attributes) or "sys.argv" in view.aliases.values():
                return True
        return bool(self.arguments.arguments) and not self.arguments.is_whole

    @cached_property
    def views(self) -> tuple[SourceView, ...]:
        wanted = [path for path in self.paths if self.tree.files[path].module is not None]
        found = []
        for path in wanted:
            if not self.goes_on():
                break
            found.append(self.view(path))
        self.unseen = len(wanted) - len(found)
        return tuple(found)

    @cached_property
    def shell_files(self) -> tuple[ScriptFile, ...]:
        return tuple(self.tree.files[path] for path in self.paths if path.endswith(".sh"))

    def view(self, path: str) -> SourceView:
        if path not in self._views:
            self._views[path] = SourceView.of(self.tree.files[path], lambda name: self.is_own(name, path))
        return self._views[path]

    def is_own(self, module: str, importer: str) -> bool:
        """Its file lies in the code folder and is what Python finds, whatever is installed under that name."""
        return self.tree.module_of(LocalImport(module), importer) not in (None, importer)

    @cached_property
    def modules(self) -> frozenset[str]:
        return frozenset().union(*(view.modules for view in self.views)) if self.views else frozenset()

    @cached_property
    def neighbours(self) -> Neighbours:
        return Neighbours(self.tree, self.view, lambda: self.views)

    def values(self, view: SourceView) -> KnownValues:
        if view.path not in self._values:
            cuda, npu = availability(self.job, self.modules)
            self._values[view.path] = KnownValues(
                view, self.job, self.tree.boot, self.neighbours, self.values, self.defaults, cuda, npu
            )
        return self._values[view.path]

    @cached_property
    def words(self) -> frozenset[str]:
        """All names that something is done with, in any file that runs."""
        return frozenset().union(*(view.words for view in self.views)) if self.views else frozenset()

    def is_idle(self, view: SourceView, around: Surroundings) -> bool:
        """Never done: under a condition that is never met, or in a function that nobody calls."""
        return self.values(view).is_dead(around) or any(not self._is_used(one) for one in around.functions)

    def _is_used(self, function: FunctionNode) -> bool:
        if function.decorator_list or function.name in self.words:
            return True
        is_special = function.name.startswith("__") or function.name.startswith("on_") or function.name in _CALLED_FOR
        return is_special or _is_method(function)

    def calls(self, *names: str) -> Iterator[tuple[SourceView, SeenCall]]:
        """Those that are done, in all files."""
        wanted = frozenset(names)
        for view in self.views:
            for call in view.called(wanted):
                if not self.is_idle(view, call.around):
                    yield view, call

    def all_calls(self) -> Iterator[tuple[SourceView, SeenCall]]:
        for view in self.views:
            for call in view.calls:
                if not self.is_idle(view, call.around):
                    yield view, call

    def methods(self, *names: str) -> Iterator[tuple[SourceView, SeenCall]]:
        """Calls of `anything.name()`."""
        wanted = frozenset(names)
        for view in self.views:
            for call in view.calls:
                is_method = isinstance(call.node.func, ast.Attribute) and call.node.func.attr in wanted
                if is_method and not self.is_idle(view, call.around):
                    yield view, call

    def attributes(self, *beginnings: str) -> Iterator[tuple[SourceView, str, Seen]]:
        for view in self.views:
            for name, seen in view.attributes:
                if name.startswith(beginnings) and not self.is_idle(view, seen.around):
                    yield view, name, seen

    def strings(self) -> Iterator[tuple[SourceView, str, Seen]]:
        for view in self.views:
            for words, seen in view.strings:
                if not self.is_idle(view, seen.around):
                    yield view, words, seen


_CALLED_FOR = frozenset({"main", "forward", "construct", "setup", "training_step", "train_dataloader"})


def _is_method(function: FunctionNode) -> bool:
    """Frameworks call those by names of their own."""
    first = function.args.posonlyargs + function.args.args
    return bool(first) and first[0].arg in ("self", "cls")


def _default_of(one: ScriptArgument) -> object:
    is_known = one.is_sure and not one.default_source and not one.is_required
    return one.default if one.default is not None or is_known else UNKNOWN


def is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_named = name.startswith(_TESTS) or name.endswith("_test.py")
    return is_named or any(part in ("tests", "test", "testing") for part in path.split("/")[:-1])


def at(level: CheckLevel, view: SourceView, node: ast.AST, why: Text, hint: Text, fix: str = "") -> Fault:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", -1) + 1
    return Fault(level, view.path, line, why, hint, fix, column)


LookAtScript = Callable[[ScriptLook], Iterable[Fault]]


@dataclass(frozen=True, slots=True)
class ScriptRule:
    """One thing that goes wrong; its name is what silences it."""

    name: str
    subject: str
    """The check of a job that tells of it."""
    title: Text
    look: LookAtScript
