"""What an expression is where the job runs, as far as it can be told without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from traindeck.domain.jobs.job_spec import ChannelAccess, ChannelStyle
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.services.scripts.reading.values import UNKNOWN, UnknownValue, compared, method_call, unary
from traindeck.services.scripts.rules.source_view import FunctionNode, Guard, SeenCall, SourceView, Surroundings

_DEEPEST = 12
INPUTS = "/home/ma-user/modelarts/inputs/"
OUTPUTS = "/home/ma-user/modelarts/outputs/"
_JOIN = frozenset({"os.path.join", "posixpath.join"})
_SAME = frozenset(
    {"str", "pathlib.Path", "pathlib.PurePosixPath", "os.fspath", "os.path.expandvars", "os.path.normpath"}
)
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
class Begins:
    """A text of which only the beginning is known."""

    text: str


@dataclass(frozen=True, slots=True)
class ArgumentDefault:
    """What `args.name` is where nobody passes it; UNKNOWN: that is not told."""

    name: str
    value: Any = UNKNOWN


@dataclass(eq=False)
class KnownValues:
    """Answers for one file; `defaults` are the arguments that the whole script defines, by the name in `args`."""

    view: SourceView
    job: ScriptJob
    boot: str
    defaults: Mapping[str, ArgumentDefault] = field(default_factory=dict)
    has_cuda: bool | None = None
    """None: not known; what `torch.cuda.is_available()` says there."""
    has_npu: bool | None = None
    _under_way: set[int] = field(default_factory=set)
    _known: dict[int, Any] = field(default_factory=dict)
    _words: dict[int, frozenset[str]] = field(default_factory=dict)
    _roots: dict[str, bool] = field(default_factory=dict)

    # whether a place is reached

    def is_dead(self, around: Surroundings) -> bool:
        """A condition that it stands under is never met."""
        return any(self.fails(guard) for guard in around.guards)

    def fails(self, guard: Guard) -> bool:
        known = self.truth(guard.test)
        return known is not None and known != guard.holds

    def truth(self, test: ast.expr) -> bool | None:
        value = self.of(test)
        return None if isinstance(value, UnknownValue | Begins) else bool(value)

    def words_of(self, test: ast.expr) -> frozenset[str]:
        """Names, attributes and texts in a condition, in lower case, with those of what its names were given."""
        found = self._words.get(id(test))
        if found is None:
            words: set[str] = set()
            self._add_words(test, words, set(), 3)
            found = self._words[id(test)] = frozenset(words)
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
                    for seen in self.view.assigned.get(node.id, ()):
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
        """Worked out once for each place: names lead to names, and each of them to several."""
        if node is None:
            return UNKNOWN
        if id(node) in self._known:
            return self._known[id(node)]
        handler: Callable[[Any, int], Any] | None = getattr(self, f"_{type(node).__name__}", None)
        if handler is None or depth > _DEEPEST or id(node) in self._under_way:
            return UNKNOWN
        self._under_way.add(id(node))
        try:
            found = self._known[id(node)] = handler(node, depth + 1)
        finally:
            self._under_way.discard(id(node))
        return found

    def _Constant(self, node: ast.Constant, _: int) -> Any:
        return node.value

    def _Name(self, node: ast.Name, depth: int) -> Any:
        if node.id == "__name__":
            return "__main__" if not self.boot or self.view.path == self.boot else self.view.path
        known = _PLATFORM.get(self.view.aliases.get(node.id, ""), UNKNOWN)
        if not isinstance(known, UnknownValue):
            return known
        function = self.view.parameters.get(id(node))
        return self._assigned(node.id, depth) if function is None else self._passed(node.id, function, depth)

    def _passed(self, name: str, function: FunctionNode, depth: int) -> Any:
        """What a parameter is, where all calls of this file pass it the same."""
        given = function.args.posonlyargs + function.args.args
        places = [one.arg for one in given]
        if name not in places:
            return UNKNOWN
        place = places.index(name) - (1 if places[0] in ("self", "cls") else 0)
        default = dict(zip(reversed(places), reversed(function.args.defaults), strict=False)).get(name)
        calls = [call for call in self.view.calls if call.method == function.name]
        if not calls or place < 0 or any(isinstance(one, ast.Starred) for call in calls for one in call.node.args):
            return UNKNOWN
        values = [self.of(call.argument(place, name) or default, depth) for call in calls]
        is_same = all(type(one) is type(values[0]) and one == values[0] for one in values)
        return values[0] if is_same and not isinstance(values[0], UnknownValue) else UNKNOWN

    def _assigned(self, name: str, depth: int) -> Any:
        """Of several assignments, those on ways that are never gone do not count."""
        seen = [one for one in self.view.assigned.get(name, ()) if not self.is_dead(one.around)]
        values = [self.of(one.node, depth) for one in seen]
        if not values or any(isinstance(one, UnknownValue) for one in values):
            return UNKNOWN
        return values[0] if all(type(one) is type(values[0]) and one == values[0] for one in values) else UNKNOWN

    def _Attribute(self, node: ast.Attribute, depth: int) -> Any:
        name = self.view.name_of(node)
        if name in _PLATFORM:
            return _PLATFORM[name]
        written = ast.unparse(node)
        if written not in self.view.assigned and self.is_arguments(node.value):
            return self._argument(node.attr)
        return self._assigned(written, depth)

    def is_arguments(self, node: ast.expr) -> bool:
        """What argparse gives, whatever it is called."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return False
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name not in self._roots:
            given = (ast.unparse(one.node).lower() for one in self.view.assigned.get(name, ()))
            self._roots[name] = name.lower() in _USUAL_ARGUMENTS or any("parse" in words for words in given)
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

    def _JoinedStr(self, node: ast.JoinedStr, depth: int) -> Any:
        return self._put_together((one.value if isinstance(one, ast.FormattedValue) else one for one in node.values),
                                  depth)  # fmt: skip

    def _put_together(self, parts: Iterator[ast.expr], depth: int) -> Any:
        words = ""
        for part in parts:
            value = self.of(part, depth)
            if isinstance(value, UnknownValue):
                return Begins(words) if words else UNKNOWN
            if isinstance(value, Begins):
                return Begins(words + value.text)
            words += str(value)
        return words

    def _BinOp(self, node: ast.BinOp, depth: int) -> Any:
        if isinstance(node.op, ast.Div):
            return self._joined([node.left, node.right], depth)
        left = self.of(node.left, depth)
        if isinstance(node.op, ast.Mod) and isinstance(left, str):
            return Begins(left.partition("%")[0]) if "%" in left else left
        if not isinstance(node.op, ast.Add):
            return UNKNOWN
        if isinstance(left, Begins):
            return left
        if not isinstance(left, str):
            return UNKNOWN
        return self._put_together(iter((node.left, node.right)), depth)

    def _joined(self, parts: list[ast.expr], depth: int) -> Any:
        """As os.path.join does."""
        words = ""
        for place, part in enumerate(parts):
            value = UNKNOWN if isinstance(part, ast.Starred) else self.of(part, depth)
            if isinstance(value, Begins):
                return Begins(value.text if value.text.startswith("/") or not place else _glued(words, value.text))
            if not isinstance(value, str):
                return Begins(words.rstrip("/") + "/") if words else UNKNOWN
            words = value if value.startswith("/") or not place else _glued(words, value)
        return words

    def _IfExp(self, node: ast.IfExp, depth: int) -> Any:
        known = self.truth(node.test)
        return UNKNOWN if known is None else self.of(node.body if known else node.orelse, depth)

    def _BoolOp(self, node: ast.BoolOp, depth: int) -> Any:
        is_and = isinstance(node.op, ast.And)
        value: Any = UNKNOWN
        is_open = False
        for part in node.values:
            value = self.of(part, depth)
            if isinstance(value, UnknownValue | Begins):
                is_open = True
            elif bool(value) != is_and:
                return value if not is_open else bool(value)
        return UNKNOWN if is_open else value

    def _UnaryOp(self, node: ast.UnaryOp, depth: int) -> Any:
        value = self.of(node.operand, depth)
        return UNKNOWN if isinstance(value, UnknownValue | Begins) else unary(node.op, value)

    def _Compare(self, node: ast.Compare, depth: int) -> Any:
        if len(node.ops) != 1:
            return UNKNOWN
        left, right = self.of(node.left, depth), self.of(node.comparators[0], depth)
        if any(isinstance(one, UnknownValue | Begins) for one in (left, right)):
            return UNKNOWN
        return compared(node.ops[0], left, right)

    def _Tuple(self, node: ast.Tuple | ast.List | ast.Set, depth: int) -> Any:
        values = tuple(self.of(one, depth) for one in node.elts)
        return UNKNOWN if any(isinstance(one, UnknownValue | Begins) for one in values) else values

    _List = _Tuple
    _Set = _Tuple

    def _Subscript(self, node: ast.Subscript, depth: int) -> Any:
        if self.view.name_of(node.value) == "os.environ" and isinstance(node.slice, ast.Constant):
            return self._variable(str(node.slice.value))
        key = self.of(node.slice, depth)
        if isinstance(node.value, ast.Name) and isinstance(key, str):
            for seen in self.view.assigned.get(node.value.id, ()):
                if isinstance(seen.node, ast.Dict):
                    for name, value in zip(seen.node.keys, seen.node.values, strict=True):
                        if isinstance(name, ast.Constant) and name.value == key:
                            return self.of(value, depth)
        return UNKNOWN

    def _Call(self, node: ast.Call, depth: int) -> Any:
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
        if name in _JOIN and node.args:
            return self._joined(node.args, depth)
        if name in _SAME and node.args:
            return self._joined(node.args, depth) if len(node.args) > 1 else self.of(node.args[0], depth)
        if name in ("os.getenv", "os.environ.get") and node.args:
            key = self.of(node.args[0], depth)
            known = self._variable(key) if isinstance(key, str) else UNKNOWN
            return None if key == "DISPLAY" else known
        if name in ("bool", "int") and node.args:
            value = self.of(node.args[0], depth)
            return bool(value) if name == "bool" and not isinstance(value, UnknownValue | Begins) else UNKNOWN
        return self._of_method(node, depth)

    def _of_method(self, node: ast.Call, depth: int) -> Any:
        if not isinstance(node.func, ast.Attribute):
            return UNKNOWN
        value = self.of(node.func.value, depth)
        if not isinstance(value, str):
            return value if isinstance(value, Begins) and node.func.attr in ("joinpath", "as_posix") else UNKNOWN
        match node.func.attr:
            case "format":
                return Begins(value.partition("{")[0]) if "{" in value else value
            case "joinpath":
                return self._joined([node.func.value, *node.args], depth)
            case "as_posix" | "resolve" | "absolute" | "expanduser":
                return value
            case "lower" | "upper" | "startswith" | "endswith" as asked:
                return method_call(value, asked, [self.of(one, depth) for one in node.args], {})
        return UNKNOWN

    def _variable(self, name: str) -> Any:
        channel = next((one for one in self.job.channels if one.name == name), None)
        if channel is not None and channel.access is ChannelAccess.ENVIRONMENT:
            return Begins("obs://" if channel.style is ChannelStyle.OBS else INPUTS)
        known = _SET_BY_PLATFORM.get(name)
        return UNKNOWN if known is None else Begins(known)


_USUAL_ARGUMENTS = frozenset(
    {"args", "opt", "opts", "cfg", "config", "flags", "hparams", "params", "arguments", "conf"}
)


def _glued(words: str, more: str) -> str:
    return f"{words.rstrip('/')}/{more}" if words else more


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
