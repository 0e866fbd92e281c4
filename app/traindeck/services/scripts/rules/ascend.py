"""What is written for CUDA and meets an NPU, and the other way round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from traindeck.domain.scripts.script_job import AcceleratorKind, Framework
from traindeck.domain.texts import text
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.known_values import KnownValues, call_argument
from traindeck.services.scripts.rules.source_view import Seen, SeenCall, SourceView

TORCH_FIX, MINDSPORE_FIX, TENSORFLOW_FIX = "ascend-pytorch", "ascend-mindspore", "ascend-tensorflow"
_ASKED = ("cuda", "gpu", "npu", "device", "platform", "ascend", "backend", "accelerator", "nccl")
# They do nothing, or say no, where there is no CUDA.
_HARMLESS = frozenset({
    "is_available", "device_count", "manual_seed", "manual_seed_all", "empty_cache", "is_initialized",
    "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "reset_peak_memory_stats",
})  # fmt: skip
_AMP = "torch.cuda.amp."
# Source: “torch.amp” (PyTorch documentation): for a device that is not there, autocast and GradScaler do nothing.
_AMP_OF_DEVICE = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.GradScaler"})
_INSTALLED = ("find_spec", "available", "installed", "has_", "have_")
_CUDA_ONLY = frozenset({
    "cupy", "pycuda", "tensorrt", "torch_tensorrt", "torch2trt", "nvidia", "pynvml", "flash_attn", "xformers",
    "bitsandbytes", "triton", "MinkowskiEngine", "spconv", "cuml", "cudf", "nvidia_smi", "auto_gptq", "cuda",
})  # fmt: skip
OF_NPUS = frozenset({"torch_npu", "npu_bridge", "npu_device", "acl", "te"})
_SET_CONTEXT = frozenset({
    "mindspore.set_context", "mindspore.context.set_context", "mindspore.set_device", "mindspore.context.set_device",
})  # fmt: skip
# Neither “input” nor “ascending” speaks of NPUs.
_NPU = re.compile(r"(?<![a-z])npu|(?<=is)npu|(?<=use)npu|ascend(?!ing)", re.IGNORECASE)
# Source: “torch.distributed.init_process_group” (PyTorch documentation): “cuda:nccl,cpu:gloo” names several.
_NCCL = re.compile(r"(?:^|[:,])nccl\b", re.IGNORECASE)
_TORCH_HINT = text(
    "Use the NPU in its place (.npu(), torch.npu, “npu”), or import torch_npu.contrib.transfer_to_npu at the top."
)


# Source: MisconfigurationException of Lightning's Trainer, “… can not run on your system since the accelerator is not
# available”: “gpu” and “cuda” end with it where there is no CUDA.
_LIGHTNING = frozenset({"pytorch_lightning.Trainer", "lightning.Trainer", "lightning.pytorch.Trainer"})
_LIGHTNING_HINT = text("Import torch_npu.contrib.transfer_to_npu at the top, before Lightning.")


def _on_ascend(look: ScriptLook) -> bool:
    return look.job.is_ascend and not _is_transferred(look)


def _is_transferred(look: ScriptLook) -> bool:
    """Source: “Automatic Migration” (MindStudio): with this import, calls for CUDA go to the NPU by themselves."""
    return any(name.rpartition(".")[2] == "transfer_to_npu" for name in look.modules)


def _skipped(values: KnownValues, call_or_seen: SeenCall | Seen) -> bool:
    # Source: torch.cuda._lazy_init: AssertionError where PyTorch is built without CUDA, RuntimeError without a card.
    is_handled = call_or_seen.around.handles("AssertionError", "RuntimeError")
    return is_handled or values.depends_on(call_or_seen.around, *_ASKED)


def _cuda(look: ScriptLook) -> Iterable[Fault]:
    if not _on_ascend(look):
        return
    for view, call in look.all_calls():
        what = _cuda_of(look, view, call)
        if what and not _skipped(look.values(view), call):
            why = text("{what} needs CUDA, and this specification has NPUs.", what=what)
            is_lightning = call.name in _LIGHTNING
            hint = _LIGHTNING_HINT if is_lightning else _TORCH_HINT
            yield at(RED, view, call.node, why, hint, "" if is_lightning else TORCH_FIX)
    for view, name, seen in _of_cuda_module(look):
        rest = name.removeprefix("torch.cuda.")
        if rest.partition(".")[0] in _HARMLESS or _skipped(look.values(view), seen):
            continue
        if name.startswith(_AMP) or name in _AMP_OF_DEVICE:
            why = text("{what} does nothing without CUDA: the training runs in full precision.", what=name)
            yield at(AMBER, view, seen.node, why, text("Use torch.npu.amp in its place."), TORCH_FIX)
        elif rest.partition(".")[0] not in ("amp", "nn"):
            why = text("{what} needs CUDA, and this specification has NPUs.", what=name)
            yield at(RED, view, seen.node, why, _TORCH_HINT, TORCH_FIX)


def _of_cuda_module(look: ScriptLook) -> Iterator[tuple[SourceView, str, Seen]]:
    """What is used of torch.cuda: by its whole name, or called by the name it was imported under."""
    yield from look.attributes("torch.cuda.")
    for view, call in look.all_calls():
        is_imported = isinstance(call.node.func, ast.Name) and call.name.startswith("torch.cuda.")
        of_device = call.name in _AMP_OF_DEVICE and call_argument(call, (0,), ("device_type", "device"))
        if is_imported or (of_device and look.values(view).beginning(of_device).startswith("cuda")):
            yield view, call.name, Seen(call.node, call.around)


def _cuda_of(look: ScriptLook, view: SourceView, call: SeenCall) -> str:
    if call.name in _LIGHTNING:
        accelerator = look.values(view).whole(call.argument(None, "accelerator"))
        return f"accelerator=“{accelerator}”" if accelerator in ("gpu", "cuda") else ""
    if isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "cuda" and call.name != "torch.cuda":
        return ".cuda()"
    device = _device(look.values(view), call)
    return f"“{device}”" if device.startswith(("cuda", "torch.cuda.")) else ""


def _device(values: KnownValues, call: SeenCall) -> str:
    """What a call is told to compute on."""
    if call.name in ("torch.device", "torch.set_default_device") or call.method == "to":
        given = call_argument(call, (0,), ("device", "type"))
    elif call.method in ("load", "load_state_dict_from_url"):
        given = call.argument(None, "map_location")
        places = values.of(given)
        if isinstance(places, dict):
            return next((one for one in places.values() if isinstance(one, str) and one.startswith("cuda")), "")
    elif call.method in ("type", "set_default_tensor_type"):
        given = call.argument(0)
    else:
        given = call.argument(None, "device")
    return values.beginning(given)  # of torch.device(…), which is told at that call, nothing is known


def _nccl(look: ScriptLook) -> Iterable[Fault]:
    """Source: “Automatic Migration” (MindStudio): hccl is the backend of NPUs, and takes the place of nccl."""
    if not _on_ascend(look):
        return
    for view, call in look.calls("torch.distributed.init_process_group", "torch.distributed.new_group"):
        values = look.values(view)
        backend = values.whole(call_argument(call, (0,), ("backend",))) or ""
        if _NCCL.search(backend) and not _skipped(values, call):
            why = text("The backend nccl is of CUDA; NPUs have hccl.")
            yield at(RED, view, call.node, why, text('Use backend="hccl" and import torch_npu.'), TORCH_FIX)


def _data_parallel(look: ScriptLook) -> Iterable[Fault]:
    """Source: “将DP（DataParallel）改造为DDP（DistributedDataParallel）” (CANN 7.0 模型迁移): DP is not supported."""
    if not look.job.is_ascend:
        return
    for view, call in look.calls("torch.nn.DataParallel", "torch.nn.parallel.DataParallel"):
        if not look.values(view).depends_on(call.around, "device_count", *_ASKED):
            why = text("DataParallel does not work on NPUs.")
            hint = text("Use DistributedDataParallel, with one process for each card.")
            yield at(RED, view, call.node, why, hint, "eight-cards-pytorch")


def _packages(look: ScriptLook) -> Iterable[Fault]:
    if not look.job.is_ascend:
        return
    for view, name, seen in imported(look):
        top = name.partition(".")[0]
        if is_optional(look, view, seen) or _skipped(look.values(view), seen):
            continue
        if top == "apex":
            why = text("apex is built for CUDA; the one of NPUs is another package, which engines need not have.")
            yield at(RED, view, seen.node, why, text("Use torch.npu.amp for mixed precision."), TORCH_FIX)
        elif top in _CUDA_ONLY or name.startswith("numba.cuda"):
            why = text("{package} works with CUDA only, and this specification has NPUs.", package=top)
            yield at(
                RED, view, seen.node, why, text("Leave it out on NPUs: import it inside try … except ImportError.")
            )


def is_optional(look: ScriptLook, view: SourceView, seen: Seen) -> bool:
    """An import that the script can do without: tried, or asked for first."""
    around = seen.around
    return around.is_tried_import or around.is_fallback or look.values(view).depends_on(around, *_INSTALLED)


def imported(look: ScriptLook) -> Iterator[tuple[SourceView, str, Seen]]:
    """All that is imported, but for what lies beside."""
    for view in look.views:
        for seen in view.imports:
            if look.is_idle(view, seen.around):
                continue
            names = [one.name for one in seen.node.names] if isinstance(seen.node, ast.Import) else []
            if isinstance(seen.node, ast.ImportFrom) and not seen.node.level and seen.node.module:
                names = [seen.node.module]
            for name in names:
                if not look.is_own(name, view.path):
                    yield view, name, seen


def _device_target(look: ScriptLook) -> Iterable[Fault]:
    """Source: “mindspore.set_device”, “mindspore.set_context” (mindspore.cn): Ascend, GPU and CPU are what there is."""
    kind = AcceleratorKind.ASCEND if look.job.is_ascend else look.job.flavor_kind
    wanted = {AcceleratorKind.ASCEND: "Ascend", AcceleratorKind.GPU: "GPU", AcceleratorKind.CPU: "CPU"}.get(kind)
    if wanted is None:
        return
    for view, call in look.calls(*_SET_CONTEXT):
        values = look.values(view)
        places = (0,) if call.method == "set_device" else ()
        target = values.whole(call_argument(call, places, ("device_target",)))
        if not target or target.lower() == wanted.lower() or values.depends_on(call.around, *_ASKED, "target"):
            continue
        fix = MINDSPORE_FIX if wanted == "Ascend" else ""
        hint = text('Use device_target="{wanted}", or take it from a running parameter.', wanted=wanted)
        if target.lower() == "cpu":
            why = text("device_target is “CPU”: the accelerator that is charged does nothing.")
            yield at(AMBER, view, call.node, why, hint, fix)
        else:
            why = text(
                "device_target is “{target}”, and this specification has {wanted}.", target=target, wanted=wanted
            )
            yield at(RED, view, call.node, why, hint, fix)


def _no_torch_npu(look: ScriptLook) -> Iterable[Fault]:
    """From PyTorch 2.5 on it is loaded by itself. Source: “Autoloading Out-of-Tree Extension” (PyTorch tutorials)."""
    is_loaded = "torch_npu" in look.modules or look.job.framework_version >= (2, 5) or _is_transferred(look)
    if not look.job.is_ascend or is_loaded or "torch" not in look.modules:
        return
    why = text("The NPU is used, but torch_npu, which brings it, is imported nowhere.")
    hint = text("Write “import torch_npu” below “import torch”.")
    for view, call in look.all_calls():
        is_npu = isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "npu"
        is_npu = is_npu or call.name.startswith("torch.npu.") or _device(look.values(view), call).startswith("npu")
        if is_npu and not _skipped(look.values(view), call):
            yield at(RED, view, call.node, why, hint, TORCH_FIX)
            return


def _npu_elsewhere(look: ScriptLook) -> Iterable[Fault]:
    if look.job.flavor_kind not in (AcceleratorKind.GPU, AcceleratorKind.CPU):
        return
    for view, name, seen in imported(look):
        is_handled = is_optional(look, view, seen) or _skipped(look.values(view), seen)
        if name.partition(".")[0] in OF_NPUS and not is_handled:
            why = text("{package} is for NPUs, and this specification has none.", package=name)
            hint = text("Select a specification with Ascend, or import it inside try … except ImportError.")
            yield at(RED, view, seen.node, why, hint)


def _unused(look: ScriptLook) -> Iterable[Fault]:
    """Where it asks for CUDA and is told that there is none, a script goes on with the CPU."""
    said = (*look.words, *look.modules, *look.all_texts)
    is_aware = any(_NPU.search(one) for one in said)
    if not _on_ascend(look) or is_aware:
        return
    for view, call in look.all_calls():
        if call.name == "torch.cuda.is_available":
            why = text("Without CUDA the script goes on with the CPU: the NPU that is charged does nothing.")
            hint = text("Ask for the NPU: import torch_npu, then torch.npu.is_available().")
            yield at(AMBER, view, call.node, why, hint, TORCH_FIX)
            return


def _tensorflow(look: ScriptLook) -> Iterable[Fault]:
    """Source: “sess.run迁移” (TensorFlow 1.15 模型迁移, CANN): a script that imports npu_bridge uses the NPU."""
    if not look.job.is_ascend or "tensorflow" not in look.modules:
        return
    is_other = look.job.framework is Framework.UNKNOWN and bool(look.modules & {"torch", "mindspore"})
    if look.job.framework not in (Framework.TENSORFLOW, Framework.UNKNOWN) or is_other:
        return  # it writes what TensorBoard shows
    if look.modules & {"npu_bridge", "npu_device"}:
        return
    for view, name, seen in imported(look):
        if name.partition(".")[0] == "tensorflow":
            why = text("TensorFlow computes on the CPU here: nothing gives its sessions to the NPU.")
            hint = text("Use npu_bridge: from npu_bridge.npu_init import *, and the session configuration of NPUs.")
            yield at(AMBER, view, seen.node, why, hint, TENSORFLOW_FIX)
            return


RULES = (
    ScriptRule("cuda-on-ascend", "ascend", text("CUDA on NPUs"), _cuda),
    ScriptRule("nccl-on-ascend", "ascend", text("nccl on NPUs"), _nccl),
    ScriptRule("data-parallel-on-ascend", "ascend", text("DataParallel on NPUs"), _data_parallel),
    ScriptRule("cuda-package-on-ascend", "ascend", text("Packages for CUDA on NPUs"), _packages),
    ScriptRule("device-target", "ascend", text("Device of MindSpore"), _device_target),
    ScriptRule("no-torch-npu", "ascend", text("torch_npu is not imported"), _no_torch_npu),
    ScriptRule("npu-elsewhere", "ascend", text("Code for NPUs without NPUs"), _npu_elsewhere),
    ScriptRule("npu-unused", "ascend", text("The NPU is not used"), _unused),
    ScriptRule("tensorflow-without-npu", "ascend", text("TensorFlow without the NPU"), _tensorflow),
)
