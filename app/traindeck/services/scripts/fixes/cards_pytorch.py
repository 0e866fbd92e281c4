"""PyTorch on all cards: one process for each, gradients averaged between them, each with its share of the data.

`DistributedDataParallel`, `DistributedSampler.set_epoch` and saving from one process: "Getting Started with Distributed
Data Parallel" (PyTorch tutorials); `hccl` as the back end: "迁移单卡脚本为多卡脚本" (PyTorch 模型迁移, CANN). Engines
for Ascend start the boot file once for each card, with RANK_SIZE, RANK_ID and the number of the card: "Starting
Training Using a Preset Image's Boot File" (ModelArts); torchrun sets WORLD_SIZE, RANK and LOCAL_RANK.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, NotFixed, ScriptFix
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.module_lines import (
    after_imports,
    before_work,
    main_guard,
    with_first_line,
    with_imports,
    with_lines,
)
from traindeck.services.scripts.fixes.sources import (
    Rewriter,
    Source,
    appended,
    is_used,
    joined,
    proposal,
    python_files,
    statements,
)
from traindeck.services.scripts.script_tree import ScriptTree

_RANK, _SIZE, _LOCAL = "RANK", "WORLD_SIZE", "LOCAL_RANK"
_CONSTANTS = {
    _RANK: ("RANK_ID", "0"),
    _SIZE: ("RANK_SIZE", "1"),
    _LOCAL: ("DEVICE_ID", "0"),
}
_WRAPPER = "torch.nn.parallel.DistributedDataParallel"
_SAMPLER = "torch.utils.data.distributed.DistributedSampler"
_HARD_CODED = re.compile(r"(npu|cuda):0")
_HELPER = "init_distributed"
_LINES = '''
def init_distributed():
    """Join the processes of all cards, where there are several."""
    if WORLD_SIZE > 1:
        os.environ.setdefault("MASTER_ADDR", os.getenv("VC_WORKER_HOSTS", "127.0.0.1").split(",")[0])
        os.environ.setdefault("MASTER_PORT", "29500")
        torch.DEVICE.set_device(LOCAL_RANK)
        torch.distributed.init_process_group("BACKEND", rank=RANK, world_size=WORLD_SIZE)
'''


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    files = list(python_files(tree))
    code = "\n".join(file.text for file in files)
    is_ascend = job.is_ascend or re.search(r"torch_npu|\.npu\b", code) is not None
    begins = files[0].path if files else ""
    if not is_used(files, "torch"):
        return FixProposal(fix, FIX_WORDS[fix], ())
    elsewhere = proposal(fix, files[1:], lambda source: _turned(source, False, False, is_ascend), ("torch",))
    is_joined = "init_process_group" in code

    def turned(source: Source) -> str:
        return _turned(source, not is_joined, bool(elsewhere.changes), is_ascend)

    found = joined(proposal(fix, files[:1], turned), elsewhere)
    left = list(found.not_fixed)
    if found.changes and not is_ascend and job.flavor_kind in (AcceleratorKind.GPU, AcceleratorKind.UNKNOWN):
        reason = text(
            "On GPUs the boot file is started once for each node: start it with torchrun, as an entry script does."
        )
        left.append(NotFixed(begins, 0, reason))
    return FixProposal(found.fix, found.words, found.changes, tuple(left))


def _turned(source: Source, begins: bool, is_for_others: bool, is_ascend: bool) -> str:
    """`is_for_others`: the training itself stands in other files."""
    turning = _Turning(source, "npu" if is_ascend else "cuda")
    module = turning.rewritten()
    is_trainer = begins and (turning.trains or turning.has_changed or is_for_others)
    if is_trainer:
        module = _begun(module, source, is_ascend)
    if module.code == source.text:
        return source.text
    needed = [name for name in _CONSTANTS if _is_named(name, module.code) and not _has_constant(source, name)]
    lines = [
        f'{name} = int(os.getenv("{name}", os.getenv("{old}", "{usual}")))'
        for name in needed
        for old, usual in [_CONSTANTS[name]]
    ]
    if lines:
        module = with_lines(module, after_imports(module), "\n" + "\n".join(lines) + "\n")
    imports = ["import os"] if "os." in module.code and not source.binds("os") else []
    if not source.binds("torch") and "torch." in module.code:
        imports.append("import torch")
    for dotted, short in ((_SAMPLER, "DistributedSampler"), (_WRAPPER, "DistributedDataParallel")):
        package = dotted.rpartition(".")[0]
        if re.search(rf"(?<!\.)\b{short}\(", module.code) and not source.binds(short):
            imports.append(f"from {package} import {short}")
    if is_trainer:
        imports.append("import torch.distributed")
        imports += ["import torch_npu"] if is_ascend and not source.imports("torch_npu") else []
    return with_imports(module, imports).code


def _is_named(name: str, code: str) -> bool:
    """Also in a text with fields; but not as the name of the variable of the environment."""
    return re.search(rf"(?<![\w\"'.]){name}\b(?![\"'])", code) is not None


def _has_constant(source: Source, name: str) -> bool:
    return any(
        isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
        for node in source.tree.body
    )


def _begun(module: cst.Module, source: Source, is_ascend: bool) -> cst.Module:
    """A function that joins the processes, and its call before anything else is done."""
    words = _LINES.replace("DEVICE", "npu" if is_ascend else "cuda").replace("BACKEND", "hccl" if is_ascend else "nccl")
    words = words.replace("npu_ID", "DEVICE_ID").replace("cuda_ID", "DEVICE_ID")
    call = statements(module, f"{_HELPER}()\n")
    if main_guard(module) is not None:
        module = with_first_line(module, call)
    else:
        at = before_work(module)
        module = module.with_changes(body=[*module.body[:at], *call, *module.body[at:]])
    return with_lines(module, after_imports(module), words.strip("\n") + "\n", blank=True)


class _Turning(Rewriter):
    def __init__(self, source: Source, device: str) -> None:
        super().__init__(source)
        self._device = device
        self._has_ddp = "DistributedDataParallel" in source.text
        self._has_sampler = "DistributedSampler" in source.text
        self._loaders = frozenset(_loaders(source.tree))
        self._models = dict(_models(source.tree))
        self._saved = frozenset(self._models.values())
        self._conditions: list[str] = []
        self.trains = bool(self._models) or self._has_ddp
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("mp.spawn", "multiprocessing.spawn")):
                reason = text("This script starts processes itself: on Ascend the platform starts one for each card.")
                source.leave(node.lineno, reason)

    # conditions around

    def visit_If(self, node: cst.If) -> None:
        self._conditions.append(cst.Module([]).code_for_node(node.test).lower())

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.BaseStatement:
        self._conditions.pop()
        return updated_node

    @property
    def _is_guarded(self) -> bool:
        return any("rank" in one or "is_main" in one or "is_master" in one for one in self._conditions)

    # statements

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        if len(original_node.body) != 1:
            return updated_node
        small = original_node.body[0]
        if isinstance(small, cst.Expr) and self._is_save(small.value) and not self._is_guarded:
            self.has_changed = True
            return self._only_first(updated_node)
        if not isinstance(small, cst.Assign):
            return updated_node
        if isinstance(small.value, cst.Call) and self._is_loader(small.value) and not self._has_sampler:
            return self._with_sampler(original_node, updated_node)
        model = self._models.get(self.line(original_node), "")
        if model and not self._has_ddp and "DataParallel(" not in self.source.text:
            self.has_changed = True
            words = f"if {_SIZE} > 1:\n    {model} = DistributedDataParallel({model}, device_ids=[{_LOCAL}])\n"
            new = statements(self.source.module, words)
            new[0] = new[0].with_changes(leading_lines=updated_node.leading_lines)
            return cst.FlattenSentinel([*new, updated_node.with_changes(leading_lines=[])])
        return updated_node

    def _is_save(self, value: cst.BaseExpression) -> bool:
        if not isinstance(value, cst.Call):
            return False
        return self.source.dotted(value.func) == "torch.save"

    def _only_first(self, line: cst.SimpleStatementLine) -> cst.If:
        made = statements(self.source.module, f"if {_RANK} == 0:\n    pass\n")[0]
        assert isinstance(made, cst.If) and isinstance(made.body, cst.IndentedBlock)
        body = made.body.with_changes(body=[line.with_changes(leading_lines=[])])
        return made.with_changes(body=body, leading_lines=line.leading_lines)

    # data

    def _is_loader(self, call: cst.Call) -> bool:
        dotted = self.source.dotted(call.func)
        return dotted.startswith("torch.utils.data") and dotted.endswith(".DataLoader")

    def _with_sampler(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        small = updated_node.body[0]
        assert isinstance(small, cst.Assign) and isinstance(small.value, cst.Call)
        target = cst.Module([]).code_for_node(small.targets[0].target)
        call, args = small.value, list(small.value.args)
        by_word = {one.keyword.value: number for number, one in enumerate(args) if one.keyword is not None}
        shuffle = by_word.get("shuffle")
        is_training = shuffle is not None and cst.Module([]).code_for_node(args[shuffle].value) == "True"
        if not is_training and "train" not in target.lower():
            return updated_node
        if {"sampler", "batch_sampler"} & set(by_word) or any(one.star for one in args) or not args:
            self.leave_it(
                original_node, text("This loader has a sampler of its own: let it give each process its share.")
            )
            return updated_node
        if not target.replace(".", "").isidentifier() or self._has_hidden_shuffle(args, shuffle):
            return updated_node
        number = by_word.get("dataset", 0)
        data = cst.Module([]).code_for_node(args[number].value)
        new_lines = ""
        stem = target.replace(".", "_").lower()
        if not data.replace(".", "").isidentifier():
            new_lines = f"{stem}_data = {data}\n"
            data = f"{stem}_data"
            args[number] = args[number].with_changes(value=cst.Name(data))
        sampler = f"{stem}_sampler"
        how = "" if is_training else ", shuffle=False"
        new_lines += f"{sampler} = DistributedSampler({data}{how}) if {_SIZE} > 1 else None\n"
        if shuffle is not None and is_training:
            args[shuffle] = args[shuffle].with_changes(value=cst.parse_expression(f"{sampler} is None"))
        self.has_changed = True
        new = statements(self.source.module, new_lines)
        new[0] = new[0].with_changes(leading_lines=updated_node.leading_lines)
        changed = small.with_changes(value=appended(call.with_changes(args=args), f"sampler={sampler}"))
        return cst.FlattenSentinel([*new, updated_node.with_changes(body=[changed], leading_lines=[])])

    def _has_hidden_shuffle(self, args: list[cst.Arg], shuffle: int | None) -> bool:
        """Whether to shuffle is decided elsewhere, or stands as the third of plain arguments."""
        if shuffle is None:
            return sum(one.keyword is None for one in args) > 2
        return cst.Module([]).code_for_node(args[shuffle].value) not in ("True", "False")

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.BaseStatement:
        """Each epoch shuffles anew, in all processes alike."""
        target = original_node.target
        body = updated_node.body
        if self._has_sampler or not isinstance(target, cst.Name) or not isinstance(body, cst.IndentedBlock):
            return updated_node
        over = cst.Module([]).code_for_node(original_node.iter)
        if "range(" not in over or "epoch" not in f"{target.value} {over}".lower():
            return updated_node
        words = cst.Module([]).code_for_node(original_node.body)
        used = [name for name in sorted(self._loaders) if re.search(rf"(?<![\w.]){re.escape(name)}\b", words)]
        if "set_epoch" in words or not used:
            return updated_node
        lines = "".join(f"    {name}.sampler.set_epoch({target.value})\n" for name in used)
        new = statements(self.source.module, f"if {_SIZE} > 1:\n{lines}")
        self.has_changed = True
        return updated_node.with_changes(body=body.with_changes(body=[*new, *body.body]))

    # the model

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        dotted = self.source.dotted(original_node.func)
        if dotted in ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel") and original_node.args:
            model = cst.Module([]).code_for_node(updated_node.args[0].value)
            self.has_changed = True
            # It takes models that are on the card already; those of `DataParallel(…).to(…)` are not yet.
            moved = f'{model}.to(f"{self._device}:{{{_LOCAL}}}")'
            words = f"(DistributedDataParallel({moved}, device_ids=[{_LOCAL}]) if {_SIZE} > 1 else {model})"
            return cst.parse_expression(words)
        if self._is_save(original_node):
            args = [one.with_changes(value=_plain(one.value, self._saved)) for one in updated_node.args]
            return updated_node.with_changes(args=args)
        return updated_node

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.BaseExpression:
        found = _HARD_CODED.fullmatch(original_node.raw_value)
        if found is None or original_node.prefix:
            return updated_node
        self.has_changed = True
        return cst.parse_expression(f"f{original_node.quote}{found[1]}:{{{_LOCAL}}}{original_node.quote}")


def _plain(value: cst.BaseExpression, models: frozenset[str]) -> cst.BaseExpression:
    """The weights under the names that they have without the wrapper."""

    class Unwrap(cst.CSTTransformer):
        def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
            called = original_node.func
            if not isinstance(called, cst.Attribute) or called.attr.value != "state_dict":
                return updated_node
            words = cst.Module([]).code_for_node(called.value)
            if words not in models:
                return updated_node
            found = cst.parse_expression(f'getattr({words}, "module", {words})')
            return updated_node.with_changes(func=called.with_changes(value=found))

    found = value.visit(Unwrap())
    assert isinstance(found, cst.BaseExpression)
    return found


def _loaders(tree: ast.Module) -> Iterator[str]:
    """Variables with a loader that shuffles, or is called one for training."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            name = ast.unparse(node.targets[0])
            shuffles = any(one.arg == "shuffle" and ast.unparse(one.value) == "True" for one in node.value.keywords)
            has_own = any(one.arg in ("sampler", "batch_sampler") for one in node.value.keywords)
            is_loader = ast.unparse(node.value.func).endswith("DataLoader")
            if is_loader and not has_own and (shuffles or "train" in name.lower()):
                yield name


def _models(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line of each optimizer, and the model whose parameters it gets."""
    seen: set[str] = set()
    for node in sorted((one for one in ast.walk(tree) if isinstance(one, ast.Assign)), key=lambda one: one.lineno):
        if not isinstance(node.value, ast.Call) or "optim" not in ast.unparse(node).lower():
            continue
        for inner in ast.walk(node.value):
            if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute) or inner.args:
                continue
            model = ast.unparse(inner.func.value)
            if inner.func.attr == "parameters" and model.replace(".", "").isidentifier():
                if model not in seen:
                    seen.add(model)
                    yield node.lineno, model
                break
