"""MindSpore on all cards of a node: each process computes on its own card, with its own share of the data.

`init`, `set_auto_parallel_context`, `num_shards`, `shard_id`: "Distributed Parallel Training Example (Ascend)" and the
API documents (mindspore.cn). That Ascend engines start the boot file once for each card, with RANK_SIZE, RANK_ID and
the number of the card: "Starting Training Using a Preset Image's Boot File" (ModelArts). The page calls that number
ASCEND_DEVICE_ID; containers have it as DEVICE_ID, too, which is what scripts of MindSpore read.
"""

from __future__ import annotations

import ast

import libcst as cst

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.cache_folders import CacheFolders
from traindeck.services.scripts.fixes.module_lines import (
    after_imports,
    before_work,
    main_guard,
    with_first_line,
    with_imports,
    with_lines,
)
from traindeck.services.scripts.fixes.sources import (
    CodeStatement,
    Rewriter,
    Source,
    appended,
    is_used,
    proposal,
    python_files,
    statements,
)
from traindeck.services.scripts.script_tree import ScriptTree

_SIZE, _RANK, _DEVICE = "RANK_SIZE", "RANK_ID", "DEVICE_ID"
_CONSTANTS = {_SIZE: "1", _RANK: "0", _DEVICE: "0"}
_SET_CONTEXT = ("mindspore.set_context", "mindspore.context.set_context")
_SAVES = ("mindspore.save_checkpoint", "mindspore.train.serialization.save_checkpoint")
_NOT_TRAINING = ("eval", "test", "val", "infer", "predict")
_SHARDED = """
Cifar10Dataset Cifar100Dataset MnistDataset FashionMnistDataset ImageFolderDataset MindDataset TFRecordDataset
GeneratorDataset NumpySlicesDataset CSVDataset TextFileDataset VOCDataset CocoDataset CelebADataset ManifestDataset
CLUEDataset ImageFolderDatasetV2 DIV2KDataset FlickrDataset SBDataset USPSDataset CityscapesDataset
"""
_DATASETS = frozenset(_SHARDED.split())


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    files = list(python_files(tree))
    code = "\n".join(file.text for file in files)
    if not is_used(files, "mindspore"):
        return FixProposal(fix, FIX_WORDS[fix], ())
    setting = [file for file in files if "set_context(" in file.text or "set_device(" in file.text]
    starts = [] if "set_auto_parallel_context" in code else [(setting or files)[0].path]
    return proposal(fix, files, lambda source: _turned(source, source.path in starts))


def _turned(source: Source, begins: bool) -> str:
    turning = _Turning(source)
    module = turning.rewritten()
    if begins:
        module = _begun(module, turning)
    if module.code == source.text:
        return source.text
    needed = [name for name in _CONSTANTS if turning.uses(name, module) and not source.binds(name)]
    if needed:
        lines = [f'{name} = int(os.getenv("{name}", "{_CONSTANTS[name]}"))' for name in needed]
        module = with_lines(module, after_imports(module), "\n" + "\n".join(lines) + "\n")
    if "os." in module.code and not source.binds("os"):
        module = with_imports(module, ["import os"])
    return module.code


def _begun(module: cst.Module, turning: _Turning) -> cst.Module:
    """The processes find each other, behind the line that sets the device, or before anything else is done."""
    device = "" if turning.has_device else f"{turning.prefix}set_context(device_id={_DEVICE})\n"
    words = (
        f"{device}if {_SIZE} > 1:\n"
        "    init()\n"
        f"    {turning.prefix}set_auto_parallel_context(\n"
        f"        device_num={_SIZE}, parallel_mode={turning.mode}, gradients_mean=True\n"
        "    )\n"
    )
    imports = []
    if not turning.has_init:
        imports.append("from mindspore.communication import init")
    if turning.prefix == "context." and not turning.has_context:
        imports.append("from mindspore import context")
    new = statements(module, words)
    if turning.context_line is not None:
        module = _behind(module, turning, new)
    elif main_guard(module) is not None:
        module = with_first_line(module, new)
    else:
        at = before_work(module)
        module = module.with_changes(body=[*module.body[:at], *new, *module.body[at:]])
    return with_imports(module, imports)


def _behind(module: cst.Module, turning: _Turning, new: list[CodeStatement]) -> cst.Module:
    wanted = turning.context_line

    class Put(cst.CSTTransformer):
        def leave_SimpleStatementLine(
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
            if original_node is not wanted:
                return updated_node
            return cst.FlattenSentinel([updated_node, *new])

    found = module.visit(Put())
    assert isinstance(found, cst.Module)
    return found


class _Turning(Rewriter):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.context_line: cst.SimpleStatementLine | None = None
        meanings = source.names
        self.has_init = "mindspore.communication.init" in meanings.values() or (
            "mindspore.communication.management.init" in meanings.values()
        )
        context = next((name for name, one in meanings.items() if one == "mindspore.context"), "")
        whole = next((name for name, one in meanings.items() if one == "mindspore"), "")
        self.has_context = bool(context or whole)
        self.prefix = f"{context or whole or 'context'}."
        self.mode = '"data_parallel"'
        self._keepers = frozenset(_keepers(source.tree))
        self._cache = CacheFolders(source, f"str({_DEVICE})")
        self._names: list[str] = []
        self._seen_context = False
        self.has_device = False
        """The script says on which card it computes."""

    def uses(self, name: str, module: cst.Module) -> bool:
        return name in module.code

    # where the device is set

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        self._seen_context = False

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        if self._saves(original_node) and not self._guarded(original_node):
            return self._only_first(updated_node)
        if self._seen_context and self.context_line is None:
            self.context_line = updated_node
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        called = original_node.func
        dotted = self.source.dotted(called)
        name = (dotted or cst.Module([]).code_for_node(called)).rpartition(".")[2]
        if dotted in _SET_CONTEXT:
            return self._with_device(original_node, updated_node)
        if dotted == "mindspore.set_device":
            self._seen_context = self.has_device = True
            return _with_second(updated_node)
        if name in _DATASETS and (dotted.startswith("mindspore") or not dotted):
            return self._sharded(original_node, updated_node)
        return updated_node

    def _with_device(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if any(_keyword(one) in ("device_target", "device_id", "mode") for one in original_node.args):
            self._seen_context = True
        for number, one in enumerate(updated_node.args):
            if _keyword(one) == "device_id":
                self.has_device = True
                if isinstance(one.value, cst.Integer):
                    args = list(updated_node.args)
                    args[number] = one.with_changes(value=cst.Name(_DEVICE))
                    return updated_node.with_changes(args=args)
                return updated_node
        if not any(_keyword(one) == "device_target" for one in original_node.args):
            return updated_node
        self.has_device = True
        return appended(updated_node, f"device_id={_DEVICE}")

    def _sharded(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        there = {_keyword(one) for one in original_node.args}
        if there & {"num_shards", "shard_id", "sampler"} or any(one.star for one in original_node.args):
            if "sampler" in there and "num_shards" not in there:
                self.leave_it(
                    original_node, text("This data set has a sampler of its own: let it give each card its share.")
                )
            return updated_node
        around = " ".join([*self._names, cst.Module([]).code_for_node(original_node)]).lower()
        if any(word in around for word in _NOT_TRAINING) and "train" not in around:
            return updated_node
        if any(word in around for word in _NOT_TRAINING) or ("usage" not in there and "train" not in around):
            reason = text("If this data set is evaluated too, each card sees only its share: put the results together.")
            self.leave_it(original_node, reason)
        return appended(updated_node, f"num_shards={_SIZE}, shard_id={_RANK}")

    # which function and variable this is

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._names.append(node.name.value)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.BaseStatement:
        self._names.pop()
        return updated_node

    def visit_Assign(self, node: cst.Assign) -> None:
        self._names.append(cst.Module([]).code_for_node(node.targets[0].target))

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.BaseSmallStatement:
        self._names.pop()
        return updated_node

    # one process saves

    def visit_If(self, node: cst.If) -> None:
        self._names.append(f"if:{cst.Module([]).code_for_node(node.test)}")

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.BaseStatement:
        self._names.pop()
        return updated_node

    def visit_IfExp(self, node: cst.IfExp) -> None:
        self._names.append(f"if:{cst.Module([]).code_for_node(node.test)}")

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        self._names.pop()
        return updated_node

    def _guarded(self, node: cst.CSTNode) -> bool:
        return any(name.startswith("if:") and "rank" in name.lower() for name in self._names)

    def _saves(self, node: cst.SimpleStatementLine) -> bool:
        for small in node.body:
            value = small.value if isinstance(small, cst.Expr | cst.AugAssign) else None
            if isinstance(value, cst.Call):
                if self.source.dotted(value.func) in _SAVES or self._cache.copies_out(value):
                    return True
                is_append = isinstance(value.func, cst.Attribute) and value.func.attr.value == "append"
                if is_append and any(self._is_keeper(one.value) for one in value.args):
                    return True
        return False

    def _only_first(self, line: cst.SimpleStatementLine) -> cst.If:
        made = statements(self.source.module, f"if {_RANK} == 0:\n    pass\n")[0]
        assert isinstance(made, cst.If) and isinstance(made.body, cst.IndentedBlock)
        body = made.body.with_changes(body=[line.with_changes(leading_lines=[])])
        return made.with_changes(body=body, leading_lines=line.leading_lines)

    def _is_keeper(self, value: cst.BaseExpression) -> bool:
        if isinstance(value, cst.Name):
            return value.value in self._keepers
        return isinstance(value, cst.Call) and cst.Module([]).code_for_node(value.func).endswith("ModelCheckpoint")

    def leave_List(self, original_node: cst.List, updated_node: cst.List) -> cst.BaseExpression:
        """What keeps checkpoints stands in the list of the first process alone."""
        if self._guarded(original_node):
            return updated_node
        elements = list(updated_node.elements)
        for number, one in enumerate(original_node.elements):
            if isinstance(one, cst.Element) and self._is_keeper(one.value):
                words = cst.Module([]).code_for_node(updated_node.elements[number].value)
                made = cst.parse_expression(f"[*([{words}] if {_RANK} == 0 else [])]")
                assert isinstance(made, cst.List)
                elements[number] = made.elements[0].with_changes(comma=one.comma)
        return updated_node.with_changes(elements=elements) if elements != list(updated_node.elements) else updated_node

    # a folder for each device

    def visit_Call(self, node: cst.Call) -> None:
        self._cache.look(node)

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.BaseExpression:
        return self._cache.turned(original_node) or updated_node


def _keepers(tree: ast.Module) -> list[str]:
    """Variables that hold what keeps checkpoints."""
    return [
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func).endswith("ModelCheckpoint")
        for target in node.targets
        if isinstance(target, ast.Name)
    ]


def _keyword(one: cst.Arg) -> str:
    return one.keyword.value if one.keyword is not None else ""


def _with_second(call: cst.Call) -> cst.Call:
    """`set_device(target, device)` with the card of this process, where none or a number stands there."""
    args = list(call.args)
    if len(args) > 1:
        if isinstance(args[1].value, cst.Integer):
            args[1] = args[1].with_changes(value=cst.Name(_DEVICE))
        return call.with_changes(args=args)
    return appended(call, _DEVICE)
