"""PyTorch on an NPU: `torch.cuda` becomes `torch.npu`, in every place where that is known to be the same.

What torch_npu has under `torch.npu`, how devices, back ends and mixed precision are called there, and that importing
`transfer_to_npu` replaces all of it while the script runs: "手工迁移" and "自动迁移" (PyTorch 训练模型迁移调优指南,
hiascend.com), in English "Automatic Migration" (MindStudio), and the API list of torch_npu.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.config_lines import device_lines
from traindeck.services.scripts.fixes.module_lines import after_imports, with_lines
from traindeck.services.scripts.fixes.sources import (
    Rewriter,
    Source,
    first_script,
    is_used,
    proposal,
    python_files,
)
from traindeck.services.scripts.script_tree import ScriptTree

_NAMES = """
    is_available device_count current_device set_device device synchronize empty_cache init is_initialized
    manual_seed manual_seed_all seed seed_all initial_seed get_rng_state set_rng_state get_rng_state_all
    set_rng_state_all memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached
    max_memory_cached memory_stats memory_summary reset_peak_memory_stats reset_max_memory_allocated
    reset_max_memory_cached reset_accumulated_memory_stats mem_get_info set_per_process_memory_fraction
    Stream Event current_stream default_stream set_stream stream get_device_name get_device_properties
    get_device_capability can_device_access_peer is_bf16_supported amp utilization random
    FloatTensor DoubleTensor HalfTensor BFloat16Tensor IntTensor LongTensor ShortTensor CharTensor ByteTensor BoolTensor
"""
_SAME = frozenset(_NAMES.split())
_DEVICE = re.compile(r"(?P<cuda>cuda)(?::(?:\d+|\{[^}]*\}|%[ds])?)?")
_TENSOR = re.compile(r"torch\.(?P<cuda>cuda)\.\w*Tensor")
_BACKENDS = re.compile(r"(?:cpu:gloo,)?cuda:nccl")
_PACKAGES = """
    apex cupy pycuda tensorrt torch_tensorrt torch2trt flash_attn xformers bitsandbytes triton pynvml nvidia cuml cudf
    numba.cuda faiss spconv MinkowskiEngine torch_scatter torch_sparse torch_cluster pytorch3d mmcv._ext tinycudann
"""
_CUDA_ONLY = frozenset(_PACKAGES.split())
_NPU = re.compile(r"(?<![a-z])npu|ascend(?!ing)", re.IGNORECASE)
_NEEDLES = ("cuda", "CUDA", "nccl", "apex", "GradScaler", "DataParallel", "channels_last", "cupy", *sorted(_CUDA_ONLY))


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    files = list(python_files(tree))
    if not is_used(files, "torch"):
        return FixProposal(fix, FIX_WORDS[fix], ())
    if fix is ScriptFix.ASCEND_PYTORCH_TRANSFER:
        start = first_script(tree)
        starts = files if start is None else [start]
        return proposal(fix, starts, _with_transfer)
    found = proposal(fix, files, _turned, _NEEDLES)
    rest = tuple(device_lines(tree, re.compile(r"\b(?:cuda(?::\d+)?|nccl)\b")))
    return FixProposal(found.fix, found.words, found.changes, found.not_fixed + rest)


def _with_transfer(source: Source) -> str:
    """The two lines that the migration guide wants first in the file that is started."""
    if any("transfer_to_npu" in name for name in source.names) or not _uses_cuda(source):
        return source.text
    lines = ["from torch_npu.contrib import transfer_to_npu"]
    if "torch_npu" not in source.names.values():
        lines.insert(0, "import torch_npu")
    module = source.module
    return with_lines(module, _behind_torch(module, source), "\n".join(lines) + "\n").code


def _uses_cuda(source: Source) -> bool:
    """The file, or what it imports, is PyTorch."""
    return source.imports("torch") or "cuda" in source.text


def _turned(source: Source) -> str:
    if any("transfer_to_npu" in name for name in source.names) or not _is_torch(source):
        return source.text
    turning = _Turning(source)
    module = turning.rewritten()
    for node in ast.walk(source.tree):
        _look(source, node)
    if not turning.has_changed:
        return source.text
    if "torch_npu" not in source.names.values():
        module = with_lines(module, _behind_torch(module, source, turning.needs_it_first), "import torch_npu\n")
    return module.code


def _is_torch(source: Source) -> bool:
    """A file may only be handed models: then their methods tell."""
    others = ("mindspore", "tensorflow", "paddle", "jax")
    return source.imports("torch") or not any(source.imports(name) for name in others)


def _behind_torch(module: cst.Module, source: Source, first: bool = False) -> int:
    """Behind the first import of torch; `first`: before it, since it takes from what torch_npu adds."""
    for number, statement in enumerate(module.body):
        if isinstance(statement, cst.SimpleStatementLine) and any(map(_takes_torch, statement.body)):
            return number if first else number + 1
    return after_imports(module)


def _takes_torch(small: cst.CSTNode) -> bool:
    words = cst.Module([]).code_for_node(small)
    return re.match(r"(?:import|from)\s+torch\b", words) is not None


class _Turning(Rewriter):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.needs_it_first = False
        self._kept: set[cst.CSTNode] = set()
        self._inner: set[cst.CSTNode] = set()

    # what already tells the devices apart stays as it is

    def visit_If(self, node: cst.If) -> bool:
        return not any(_tells_npu(test) for test in _tests(node))

    def visit_IfExp(self, node: cst.IfExp) -> bool:
        return not any(_tells_npu(test) for test in _tests(node))

    # names

    def visit_Attribute(self, node: cst.Attribute) -> None:
        dotted = self.source.dotted(node)
        if node not in self._inner and dotted.startswith("torch.cuda."):
            name = dotted.split(".")[2]
            if name not in _SAME:
                self.leave_it(node, text("torch.cuda.{name} has no known counterpart on Ascend.", name=name))
                self._kept |= set(_chain(node))
        self._inner |= set(_chain(node))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if original_node not in self._kept and self.source.dotted(original_node) == "torch.cuda":
            return self._npu(updated_node)
        if self.source.dotted(original_node) == "torch.distributed.is_nccl_available":
            # It says no where PyTorch was built without CUDA, and the script would take gloo.
            self.has_changed = True
            return _name("torch_npu.distributed.is_available")
        if original_node.attr.value == "is_cuda" and not self.source.dotted(original_node):
            self.has_changed = True
            return updated_node.with_changes(attr=cst.Name("is_npu"))
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        called = original_node.func
        dotted = self.source.dotted(called)
        if isinstance(called, cst.Attribute) and called.attr.value == "cuda" and not dotted:
            self.has_changed = True
            return updated_node.with_changes(func=updated_node.func.with_changes(attr=cst.Name("npu")))
        is_scaler = dotted in ("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler")
        if is_scaler and not any(map(_may_be_device, original_node.args)):
            self.has_changed = True
            first = cst.Arg(cst.SimpleString('"npu"'))
            if updated_node.args:
                first = first.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
            return updated_node.with_changes(args=[first, *updated_node.args])
        return updated_node

    def _npu(self, node: cst.Attribute) -> cst.Attribute:
        self.has_changed = True
        return node.with_changes(attr=cst.Name("npu"))

    # imports

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        names = []
        for alias in updated_node.names:
            words = cst.Module([]).code_for_node(alias.name)
            if alias.asname is not None and (words == "torch.cuda" or words.startswith("torch.cuda.")):
                if not self._is_known(words):
                    self.leave_it(original_node, text("{name} has no known counterpart on Ascend.", name=words))
                else:
                    self.has_changed = self.needs_it_first = True
                    alias = alias.with_changes(name=_name(words.replace("torch.cuda", "torch_npu.npu", 1)))
            names.append(alias)
        return updated_node.with_changes(names=names)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        module = cst.Module([]).code_for_node(original_node.module) if original_node.module is not None else ""
        if original_node.relative or isinstance(updated_node.names, cst.ImportStar):
            return updated_node
        names = [alias.name.value for alias in updated_node.names if isinstance(alias.name, cst.Name)]
        if module == "torch.cuda" or module.startswith("torch.cuda."):
            unknown = [name for name in names if not self._is_known(f"{module}.{name}")]
            if unknown:
                name = f"{module}.{unknown[0]}"
                self.leave_it(original_node, text("{name} has no known counterpart on Ascend.", name=name))
                return updated_node
            self.has_changed = True
            return updated_node.with_changes(module=_name(module.replace("torch.cuda", "torch_npu.npu", 1)))
        if module == "torch" and "cuda" in names:
            self.has_changed = self.needs_it_first = True
            return updated_node.with_changes(names=[_npu_alias(alias) for alias in updated_node.names])
        return updated_node

    def _is_known(self, name: str) -> bool:
        parts = name.split(".")
        return len(parts) == 2 or parts[2] in _SAME

    # words

    def visit_Subscript(self, node: cst.Subscript) -> None:
        for element in node.slice:
            self._inner |= set(_strings(element))

    def visit_DictElement(self, node: cst.DictElement) -> None:
        self._inner |= set(_strings(node.key))

    def visit_Expr(self, node: cst.Expr) -> None:
        if isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
            self._inner |= set(_strings(node.value))

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        if original_node in self._inner or "b" in original_node.prefix.lower():
            return updated_node
        words = original_node.raw_value
        new = _words(words)
        if new == words:
            return updated_node
        self.has_changed = True
        whole = original_node.value
        at = len(original_node.prefix) + len(original_node.quote)
        return updated_node.with_changes(value=whole[:at] + new + whole[at + len(words) :])

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.FormattedString:
        parts = updated_node.parts
        if parts and isinstance(parts[0], cst.FormattedStringText) and parts[0].value == "cuda:":
            self.has_changed = True
            return updated_node.with_changes(parts=[parts[0].with_changes(value="npu:"), *parts[1:]])
        return updated_node


def _may_be_device(one: cst.Arg) -> bool:
    return bool(one.star) or one.keyword is None or one.keyword.value == "device"


def _words(words: str) -> str:
    if words == "nccl":
        return "hccl"
    if _BACKENDS.fullmatch(words):
        return words.replace("cuda", "npu").replace("nccl", "hccl")
    found = _DEVICE.fullmatch(words) or _TENSOR.fullmatch(words)
    return words if found is None else words[: found.start("cuda")] + "npu" + words[found.end("cuda") :]


def _name(dotted: str) -> cst.Attribute | cst.Name:
    found = cst.parse_expression(dotted)
    assert isinstance(found, cst.Attribute | cst.Name)
    return found


def _npu_alias(alias: cst.ImportAlias) -> cst.ImportAlias:
    if not isinstance(alias.name, cst.Name) or alias.name.value != "cuda":
        return alias
    asname = alias.asname or cst.AsName(cst.Name("cuda"))
    return alias.with_changes(name=cst.Name("npu"), asname=asname)


def _chain(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    while isinstance(node, cst.Attribute):
        yield node
        node = node.value


def _strings(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(node, cst.SimpleString):
        yield node
    for child in node.children:
        yield from _strings(child)


def _tests(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """Of a whole chain of alternatives."""
    while isinstance(node, cst.If | cst.IfExp):
        yield node.test
        node = node.orelse


def _tells_npu(test: cst.CSTNode) -> bool:
    return _NPU.search(cst.Module([]).code_for_node(test)) is not None


# what nobody can turn without knowing what it is for


def _look(source: Source, node: ast.AST) -> None:
    if isinstance(node, ast.FunctionDef) and node.name == "cuda":
        reason = text("This class has a method “cuda” of its own: give it a method “npu” too.")
        source.leave(node.lineno, reason)
    if isinstance(node, ast.Attribute) and node.attr == "channels_last":
        source.leave(node.lineno, text("torch_npu does not support channels_last: use contiguous() instead."))
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        if name == "DataParallel":
            reason = text("DataParallel does not run on Ascend: train on all cards with one process for each.")
            source.leave(node.lineno, reason)
        elif name in ("CUDAExtension", "load_inline"):
            source.leave(node.lineno, text("Kernels written in CUDA do not run on Ascend."))
    if isinstance(node, ast.Constant) and node.value == "CUDA_VISIBLE_DEVICES":
        reason = text("CUDA_VISIBLE_DEVICES has no effect on Ascend: ModelArts assigns each process its card.")
        source.leave(node.lineno, reason)
    if isinstance(node, ast.Module):
        for line, package in _cuda_only(node):
            reason = text("“{package}” needs CUDA: use a version made for Ascend, or do without it.", package=package)
            source.leave(line, reason)


def _cuda_only(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Imports outside of a `try` that fail where there is no CUDA."""
    tried = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in tried:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            found = next((p for p in (parts[0], ".".join(parts[:2])) if p in _CUDA_ONLY), "")
            if found:
                yield node.lineno, found
                break
