"""MindSpore on Ascend: the device a script asks for, wherever it says so.

`set_context(device_target=…)`, its successor `set_device`, and the back ends of `init`: MindSpore API documents
"mindspore.set_context", "mindspore.set_device" and "mindspore.communication.init" (mindspore.cn).
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.config_lines import device_lines
from traindeck.services.scripts.fixes.sources import Rewriter, Source, is_used, proposal, python_files
from traindeck.services.scripts.rules.neighbours import Neighbours
from traindeck.services.scripts.rules.source_view import SourceView
from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree

_OTHER = ("GPU", "CPU")
_CONTEXTS = (
    "mindspore.set_context",
    "mindspore.context.set_context",
    "mindspore.context.context.set_context",
)
_DEVICES = ("mindspore.set_device", "mindspore.runtime.set_device")
_INITS = (
    "mindspore.communication.init",
    "mindspore.communication.management.init",
    "mindspore.mint.distributed.init_process_group",
)
_GROUP = re.compile(r"NCCL_WORLD_COMM_GROUP")
_FLAGS = re.compile(r"-{0,2}(?:device_target|device|target|platform|run_platform|device_type)")


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    files = list(python_files(tree))
    if not is_used(files, "mindspore"):
        return FixProposal(fix, FIX_WORDS[fix], ())
    targets = _targets(tree, files)

    def turned(source: Source) -> str:
        return _turned(source, frozenset(targets.get(source.path, ())))

    found = proposal(fix, files, turned, ("mindspore", "device", "GPU", "CPU"))
    rest = tuple(device_lines(tree, re.compile(r"\bGPU\b")))
    return FixProposal(found.fix, found.words, found.changes, found.not_fixed + rest)


def _turned(source: Source, targets: frozenset[str]) -> str:
    if not targets and not source.imports("mindspore") and "device_target" not in source.text:
        return source.text
    turning = _Turning(source, targets)
    module = turning.rewritten()
    _look(source)
    return module.code if turning.has_changed else source.text


def _targets(tree: ScriptTree, files: Iterable[ScriptFile]) -> Mapping[str, set[str]]:
    """By file, names that are handed over as the device: what is put into them is one, also in another file."""
    found: dict[str, set[str]] = defaultdict(set)
    neighbours = Neighbours(tree, lambda path: SourceView.of(tree.files[path]), tuple)
    for file in files:
        if file.module is None or not any(word in file.text for word in ("device_target", "set_device")):
            continue
        view = neighbours.view(file.path)
        for name in _handed_over(file.module):
            place = neighbours.defined(view, name)
            if place is not None:
                found[place.view.path].add(place.name.rpartition(".")[2])
            elif "." not in name:
                found[file.path].add(name)
    return found


def _handed_over(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.keyword) and node.arg == "device_target":
            values = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "set_device":
            values = node.args[:1]
        yield from (ast.unparse(value) for value in values if isinstance(value, ast.Name | ast.Attribute))


class _Turning(Rewriter):
    def __init__(self, source: Source, targets: frozenset[str]) -> None:
        super().__init__(source)
        self._targets = targets

    def visit_If(self, node: cst.If) -> bool:
        """A script that tells devices apart knows what it does with each."""
        return "Ascend" not in cst.Module([]).code_for_node(node.test)

    def visit_IfExp(self, node: cst.IfExp) -> bool:
        return "Ascend" not in cst.Module([]).code_for_node(node)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        dotted = self.source.dotted(original_node.func)
        if dotted in _INITS:
            return updated_node.with_changes(args=[self._arg(one, "nccl", "hccl") for one in updated_node.args])
        if dotted in _DEVICES:
            first, *rest = updated_node.args or (None,)
            return updated_node if first is None else updated_node.with_changes(args=[self._target(first), *rest])
        called = dotted or cst.Module([]).code_for_node(original_node.func)
        if dotted in _CONTEXTS or called.endswith("set_context"):
            args = [self._target(one) if _keyword(one) == "device_target" else one for one in updated_node.args]
            return updated_node.with_changes(args=args)
        if called.endswith("add_argument") and any(map(_is_flag, original_node.args)):
            return updated_node.with_changes(args=[self._of_argument(one) for one in updated_node.args])
        return updated_node

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        names = {one.target.value for one in original_node.targets if isinstance(one.target, cst.Name)}
        if names & self._targets or names == {"device_target"}:
            return updated_node.with_changes(value=self._string(updated_node.value))
        return updated_node

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        if original_node.name.value == "device_target" and updated_node.default is not None:
            return updated_node.with_changes(default=self._string(updated_node.default))
        return updated_node

    def leave_ImportAlias(self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias) -> cst.ImportAlias:
        if isinstance(updated_node.name, cst.Name) and _GROUP.fullmatch(updated_node.name.value):
            self.has_changed = True
            return updated_node.with_changes(name=cst.Name("HCCL_WORLD_COMM_GROUP"))
        return updated_node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        if _GROUP.fullmatch(updated_node.value):
            self.has_changed = True
            return updated_node.with_changes(value="HCCL_WORLD_COMM_GROUP")
        return updated_node

    def _of_argument(self, one: cst.Arg) -> cst.Arg:
        if _keyword(one) == "default":
            return self._target(one)
        if _keyword(one) == "choices" and isinstance(one.value, cst.List | cst.Tuple):
            elements = one.value.elements
            if elements and not any(_string_of(element.value) == "Ascend" for element in elements):
                self.has_changed = True
                comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
                added = cst.Element(_like(elements[0].value, "Ascend"), comma)
                return one.with_changes(value=one.value.with_changes(elements=[added, *elements]))
        return one

    def _target(self, one: cst.Arg) -> cst.Arg:
        return one.with_changes(value=self._string(one.value))

    def _arg(self, one: cst.Arg, old: str, new: str) -> cst.Arg:
        if _string_of(one.value) != old:
            return one
        self.has_changed = True
        return one.with_changes(value=_like(one.value, new))

    def _string(self, value: cst.BaseExpression) -> cst.BaseExpression:
        if _string_of(value) not in _OTHER:
            return value
        self.has_changed = True
        return _like(value, "Ascend")


def _keyword(one: cst.Arg) -> str:
    return one.keyword.value if one.keyword is not None else ""


def _is_flag(one: cst.Arg) -> bool:
    return one.keyword is None and _FLAGS.fullmatch(_string_of(one.value)) is not None


def _string_of(value: cst.BaseExpression) -> str:
    return value.raw_value if isinstance(value, cst.SimpleString) and "b" not in value.prefix.lower() else ""


def _like(value: cst.BaseExpression, words: str) -> cst.SimpleString:
    """With the quotes of what was there."""
    quote = value.quote if isinstance(value, cst.SimpleString) else '"'
    return cst.SimpleString(f"{quote}{words}{quote}")


def _look(source: Source) -> None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and node.value == "CUDA_VISIBLE_DEVICES":
            reason = text("CUDA_VISIBLE_DEVICES has no effect on Ascend: ModelArts assigns each process its card.")
            source.leave(node.lineno, reason)
        if isinstance(node, ast.keyword) and node.arg == "device_target" and not _is_plain(node.value):
            reason = text("The device is “{value}”: make sure that it is Ascend there.", value=ast.unparse(node.value))
            source.leave(node.value.lineno, reason)


def _is_plain(value: ast.expr) -> bool:
    """Words, or an argument whose default was turned."""
    return isinstance(value, ast.Constant | ast.Attribute | ast.Name)
