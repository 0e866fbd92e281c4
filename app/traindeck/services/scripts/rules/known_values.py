"""What an expression is where the job runs, as far as it can be told without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from traindeck.domain.jobs.job_spec import ChannelAccess, ChannelStyle
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.services.scripts.reading.constants import Constants
from traindeck.services.scripts.reading.values import (
    UNKNOWN,
    Begins,
    NamedTable,
    UnknownValue,
    entry_of,
    method_call,
    named_table,
    path_call,
    pure_call,
)
from traindeck.services.scripts.rules.neighbours import Defined, Neighbours
from traindeck.services.scripts.rules.source_view import FunctionNode, Guard, SeenCall, SourceView, Surroundings

_DEEPEST = 12
_MOST_VALUES = 100
"""Of one name in one file; each of them may ask for all the others."""
INPUTS = "/home/ma-user/modelarts/inputs/"
OUTPUTS = "/home/ma-user/modelarts/outputs/"
_BUILTINS = frozenset({"str", "bool", "int", "float", "len", "min", "max"})
_SET_BY_PLATFORM: Mapping[str, str] = {
    "MA_JOB_DIR": "/home/ma-user/modelarts/user-job-dir",
    "MA_HOME": "/home/ma-user",
    "MA_MOUNT_PATH": "/home/ma-user/modelarts",
}
_PLATFORM: Mapping[str, Any] = {"sys.platform": "linux", "os.name": "posix", "typing.TYPE_CHECKING": False}
# What a call comes to on a node of ModelArts: Linux, without a screen and without anybody who types.
_FIXED_CALLS: Mapping[str, Any] = {
    "platform.system": "Linux", "sys.stdin.isatty": False, "sys.stdout.isatty": False,
}  # fmt: skip


# “npu” stands in the one, “local” in the other, and neither asks for it.
_NAMES_LIKE = re.compile(r"inputs?|local_?rank")


@dataclass(frozen=True, slots=True)
class ArgumentDefault:
    """What `args.name` is where nobody passes it; UNKNOWN: that is not told."""

    name: str
    value: Any = UNKNOWN


@dataclass(eq=False)
class KnownValues(Constants[int]):
    """Answers for one file; `defaults` are the arguments that the whole script defines, by the name in `args`."""

    view: SourceView
    job: ScriptJob
    boot: str
    neighbours: Neighbours
    in_file: Callable[[SourceView], KnownValues]
    """The same for another file."""
    defaults: Mapping[str, ArgumentDefault] = field(default_factory=dict)
    has_cuda: bool | None = None
    """None: not known; what `torch.cuda.is_available()` says there."""
    has_npu: bool | None = None
    _under_way: set[int] = field(default_factory=set)
    _known: dict[int, Any] = field(default_factory=dict)
    _said: dict[int, frozenset[str]] = field(default_factory=dict)
    _roots: dict[str, bool] = field(default_factory=dict)

    # whether a place is reached

    def is_dead(self, around: Surroundings) -> bool:
        """A condition that it stands under is never met."""
        return any(self.fails(guard) for guard in around.guards)

    def fails(self, guard: Guard) -> bool:
        known = self.truth(guard.test, 0)
        return known is not None and known != guard.holds

    def words_of(self, test: ast.expr) -> frozenset[str]:
        """Names, attributes and texts in a condition, in lower case, with those of what its names were given."""
        found = self._said.get(id(test))
        if found is None:
            words: set[str] = set()
            self._add_words(test, words, set(), 3)
            found = self._said[id(test)] = frozenset(words)
        return found

    def _add_words(self, test: ast.AST, words: set[str], names: set[str], depth: int) -> None:
        for node in ast.walk(test):
            if isinstance(node, ast.Attribute):
                words.add(node.attr.lower())
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value.lower())
            elif isinstance(node, ast.Name):
                words.add(node.id.lower())
                if depth and node.id not in names:
                    names.add(node.id)
                    for seen in self.view.assigned.get(node.id, ())[:_MOST_VALUES]:
                        self._add_words(seen.node, words, names, depth - 1)

    def depends_on(self, around: Surroundings, *parts: str) -> bool:
        """One of its conditions asks for something of the kind, and nobody knows the answer here."""
        words = (_NAMES_LIKE.sub("", word) for guard in around.guards for word in self.words_of(guard.test))
        return any(part in word for word in words for part in parts)

    # what a text is

    def beginning(self, node: ast.AST | None) -> str:
        """Of a text or path, as much as is known; empty: nothing."""
        value = self.of(node)
        if isinstance(value, Begins):
            return value.text
        return value if isinstance(value, str) else ""

    def whole(self, node: ast.AST | None) -> str | None:
        value = self.of(node)
        return value if isinstance(value, str) else None

    # what anything is

    def of(self, node: ast.AST | None, depth: int = 0) -> Any:
        return self.value(node, depth) if isinstance(node, ast.expr) else UNKNOWN

    def value(self, node: ast.expr, where: int) -> Any:
        """Worked out once for each place: names lead to names, and each of them to several. `where` is how far in."""
        if id(node) in self._known:
            return self._known[id(node)]
        if where > _DEEPEST or id(node) in self._under_way:
            return UNKNOWN
        self._under_way.add(id(node))
        try:
            if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
                found = self._item(node, where + 1)
            else:
                found = super().value(node, where + 1)
            self._known[id(node)] = found
        finally:
            self._under_way.discard(id(node))
        return found

    def asked(self, node: ast.expr, where: int) -> Any:
        match node:
            case ast.Name():
                return self._name(node, where)
            case ast.Attribute():
                return self._attribute(node, where)
            case ast.Call():
                return self._call(node, where)
        return UNKNOWN

    def _name(self, node: ast.Name, depth: int) -> Any:
        if node.id == "__name__":
            return "__main__" if not self.boot or self.view.path == self.boot else self.view.path
        known = _PLATFORM.get(self.view.aliases.get(node.id, ""), UNKNOWN)
        if not isinstance(known, UnknownValue):
            return known
        function = self.view.parameters.get(id(node))
        return self._assigned(node.id, depth) if function is None else self._passed(node.id, function, depth)

    def _passed(self, name: str, function: FunctionNode, depth: int) -> Any:
        """What a parameter is, where all calls pass it the same."""
        given = function.args.posonlyargs + function.args.args
        places = [one.arg for one in given]
        if name not in places:
            return UNKNOWN
        place = places.index(name) - (1 if places[0] in ("self", "cls") else 0)
        default = dict(zip(reversed(places), reversed(function.args.defaults), strict=False)).get(name)
        calls = self.neighbours.calls_of(function.name)
        if not calls or place < 0 or any(isinstance(one, ast.Starred) for _, call in calls for one in call.node.args):
            return UNKNOWN
        values: list[Any] = []
        for view, call in calls:
            there = self.in_file(view)
            passed = call.argument(place, name)
            if not there.is_dead(call.around):
                values.append(self.of(default, depth) if passed is None else there.of(passed, depth))
        return self.one_of(values) if values else UNKNOWN

    def _assigned(self, name: str, depth: int) -> Any:
        """Of several assignments, those on ways that are never gone do not count."""
        several = self.view.assigned.get(name, ())
        if len(several) > _MOST_VALUES:
            return UNKNOWN
        seen = [one for one in several if not self.is_dead(one.around)]
        values = [self.of(one.node, depth) for one in seen]
        place = self.neighbours.defined(self.view, name)
        if place is not None:
            values.append(self._imported(place, depth))
        found = self.one_of(values) if values else UNKNOWN
        # What is filled later, and what nobody writes to ask for it: an empty one is handed on to be filled.
        is_open = isinstance(found, list | dict | set) and (not found or name in self.neighbours.changed)
        return UNKNOWN if is_open else found

    def _imported(self, place: Defined, depth: int) -> Any:
        if self.neighbours.is_set_from_outside(place) or depth > _DEEPEST:
            return UNKNOWN
        there = self.in_file(place.view)
        if place.name in place.view.assigned:
            return there._assigned(place.name, depth + 1)
        first, *rest = place.name.split(".")
        found = there._assigned(first, depth + 1)
        for name in rest:
            found = self._entry(found, name)
        return found

    def _entry(self, table: object, name: str) -> Any:
        return UNKNOWN if name in self.neighbours.set_attributes else entry_of(table, name)

    def _attribute(self, node: ast.Attribute, depth: int) -> Any:
        name = self.view.name_of(node)
        if name in _PLATFORM:
            return _PLATFORM[name]
        written = ast.unparse(node)
        if written in self.view.assigned:
            return self._assigned(written, depth)
        place = self.neighbours.defined(self.view, written) if written.partition(".")[0] in self.view.origins else None
        if place is not None:
            return self._imported(place, depth)
        if isinstance(table := self.of(node.value, depth), NamedTable):
            return self._entry(table, node.attr)
        return self._argument(node.attr) if self.is_arguments(node.value) else UNKNOWN

    def is_arguments(self, node: ast.expr) -> bool:
        """What argparse gives, whatever it is called."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return False
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name not in self._roots:
            given = (ast.unparse(one.node).lower() for one in self.view.assigned.get(name, ()))
            is_usual = name.lower() in _USUAL_ARGUMENTS or name.lower().endswith("_args")
            self._roots[name] = is_usual or any("parse" in words for words in given)
        return self._roots[name]

    def _argument(self, name: str) -> Any:
        channel = next((one for one in self.job.channels if one.name == name), None)
        if channel is not None and channel.access is ChannelAccess.PARAMETER and self.job.has_form:
            if channel.style is ChannelStyle.OBS:
                return Begins(channel.place if "://" in channel.place else "obs://")
            if channel.local_dir:
                return Begins(channel.local_dir)
            return Begins((INPUTS if channel in self.job.inputs else OUTPUTS) + name)
        if name in self.job.passed or name not in self.defaults:
            return UNKNOWN
        return self.defaults[name].value

    def _item(self, node: ast.Subscript, depth: int) -> Any:
        if self.view.name_of(node.value) == "os.environ" and isinstance(node.slice, ast.Constant):
            return self._variable(str(node.slice.value))
        if (written := ast.unparse(node)) in self.view.assigned:
            return self._assigned(written, depth)
        return Constants.value(self, node, depth)

    def _call(self, node: ast.Call, depth: int) -> Any:
        name = self.view.name_of(node.func)
        if name in _FIXED_CALLS:
            return _FIXED_CALLS[name]
        if name.endswith(("cuda.is_available", "is_nccl_available")):
            return UNKNOWN if self.has_cuda is None else self.has_cuda
        if name.endswith("cuda.device_count"):
            return 0 if self.has_cuda is False else UNKNOWN
        if name.endswith("npu.is_available"):
            return UNKNOWN if self.has_npu is None else self.has_npu
        if name.endswith("mps.is_available"):
            return False
        values = [UNKNOWN if isinstance(one, ast.Starred) else self.of(one, depth) for one in node.args]
        if name == "pathlib.Path.home":
            return "~"
        if name == "os.path.expanduser" and values:
            return values[0]
        if name in ("os.getenv", "os.environ.get") and values:
            known = self._variable(values[0]) if isinstance(values[0], str) else UNKNOWN
            return None if values[0] == "DISPLAY" else known
        if isinstance(node.func, ast.Name) and not node.keywords and name in _BUILTINS:
            found = path_call(f"builtins.{name}", values)
            return pure_call(name, values, {}) if found is UNKNOWN else found
        named = {one.arg: self.of(one.value, depth) for one in node.keywords if one.arg is not None}
        if len(named) == len(node.keywords) and (table := named_table(name, values, named)) is not UNKNOWN:
            return table
        found = path_call(name, values)
        if found is not UNKNOWN or not isinstance(node.func, ast.Attribute):
            return found
        of = self.of(node.func.value, depth)
        if not isinstance(of, str | Begins):
            return UNKNOWN  # a list or a table would be changed by it
        return method_call(of, node.func.attr, values, named)

    def _variable(self, name: str) -> Any:
        channel = next((one for one in self.job.channels if one.name == name), None)
        if channel is not None and channel.access is ChannelAccess.ENVIRONMENT:
            return Begins("obs://" if channel.style is ChannelStyle.OBS else INPUTS)
        known = _SET_BY_PLATFORM.get(name)
        return UNKNOWN if known is None else Begins(known)


_USUAL_ARGUMENTS = frozenset(
    {"args", "opt", "opts", "cfg", "config", "flags", "hparams", "params", "arguments", "conf"}
)


def availability(job: ScriptJob, modules: frozenset[str]) -> tuple[bool | None, bool | None]:
    """What a script is told where it asks for CUDA, and for an NPU.

    Source: “Automatic Migration” (MindStudio): with transfer_to_npu, calls of torch.cuda become torch.npu.
    """
    if job.is_ascend:
        return "transfer_to_npu" in {name.rpartition(".")[2] for name in modules}, True
    if job.flavor_kind is AcceleratorKind.GPU:
        return True, False
    if job.flavor_kind is AcceleratorKind.CPU:
        return False, False
    return None, None


def call_argument(call: SeenCall, places: tuple[int, ...], keywords: tuple[str, ...]) -> ast.expr | None:
    """The first of these that is given."""
    for place in places:
        if (found := call.argument(place)) is not None:
            return found
    for keyword in keywords:
        if (found := call.argument(None, keyword)) is not None:
            return found
    return None
