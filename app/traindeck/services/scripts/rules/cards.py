"""Several cards or nodes, and a script that was written for one.

Source: “预置框架启动文件的启动流程说明”, “Starting Training Using a Preset Image's Boot File” (ModelArts): unless
MA_RUN_METHOD says otherwise, an Ascend engine starts the boot file once for each card, with a RANK_ID and a device of
its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from traindeck.domain.texts import text
from traindeck.services.scripts.rules.call_names import MINDSPORE_STARTS, OTHER_STARTS, TORCH_STARTS
from traindeck.services.scripts.rules.file_calls import FileCall, file_calls
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.known_values import KnownValues, call_argument
from traindeck.services.scripts.rules.source_view import SeenCall, SourceView, Surroundings

MINDSPORE_FIX, TORCH_FIX = "eight-cards-mindspore", "eight-cards-pytorch"
_ASKED = ("dist", "rank", "world", "ngpu", "single", "multi", "device_num", "parallel", "nproc", "run_eval")
_RANKS = (
    "rank",
    "is_main",
    "master",
    "main_process",
    "device_id",
    "is_first",
    "is_primary",
    "world_size",
    "chief",
    "is_head",
)
_VISIBLE = (
    "CUDA_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "ASCEND_DEVICE_ID",
    "DEVICE_ID",
)
_FIXED = re.compile(r"(?:cuda|npu):\d+$")
_SAVES = frozenset({
    "torch.save", "mindspore.save_checkpoint", "mindspore.train.serialization.save_checkpoint", "mindspore.export",
    "mindspore.ModelCheckpoint", "mindspore.train.callback.ModelCheckpoint", "mindspore.train.ModelCheckpoint",
    ".save_pretrained", ".save_weights", "joblib.dump", "numpy.save",
})  # fmt: skip
_ONCE = ("rank_zero", "master_only", "main_process", "on_main")


def _starts(look: ScriptLook) -> list[str]:
    wanted = TORCH_STARTS | MINDSPORE_STARTS | OTHER_STARTS
    return [call.name for view in look.views for call in view.calls if call.name in wanted]


def _frameworks(look: ScriptLook) -> set[str]:
    return {"torch", "mindspore", "tensorflow", "keras"} & look.modules


def _fix(look: ScriptLook) -> str:
    if "mindspore" in look.modules:
        return MINDSPORE_FIX
    return TORCH_FIX if "torch" in look.modules else ""


def _fixed_device(look: ScriptLook) -> Iterable[Fault]:
    if not look.job.is_many_cards:
        return
    level = RED if look.job.is_ascend else AMBER
    for view, call in look.all_calls():
        values = look.values(view)
        what = _device_of(values, call)
        if what and not values.depends_on(call.around, *_ASKED) and not call.around.is_tried:
            why = text("{what} is one card, whichever process asks: the others of {cards} are not used.",
                       what=what, cards=(look.job.cards or 1) * look.job.nodes)  # fmt: skip
            yield at(level, view, call.node, why, _DEVICE_HINT, _fix(look))
    for view in look.views:
        for name in _VISIBLE:
            for seen in view.assigned.get(f"os.environ['{name}']", ()):
                value = look.values(view).whole(seen.node)
                if value and "," not in value and value.isdigit() and not look.is_idle(view, seen.around):
                    why = text("{name} is set to one card: the others are not used.", name=name)
                    yield at(
                        level,
                        view,
                        seen.node,
                        why,
                        text("Remove the line: the platform sets what each process may use."),
                    )


_DEVICE_HINT = text("Take the number from the environment: DEVICE_ID with MindSpore, LOCAL_RANK with PyTorch.")


def _device_of(values: KnownValues, call: SeenCall) -> str:
    if call.method == "set_device" and call.name.startswith(("torch.cuda", "torch.npu", "torch_npu")):
        given = values.of(call_argument(call, (0,), ("device",)))
        is_number = isinstance(given, int) and not isinstance(given, bool)
        return f"set_device({given})" if is_number or (isinstance(given, str) and _FIXED.match(given)) else ""
    if call.method in ("cuda", "npu") and isinstance(call.node.func, ast.Attribute):
        given = values.of(call.argument(0, "device"))
        return f".{call.method}({given})" if isinstance(given, int) and not isinstance(given, bool) else ""
    if call.method in ("set_context", "set_device") and call.name.startswith("mindspore"):
        given = values.of(call_argument(call, (1,) if call.method == "set_device" else (), ("device_id",)))
        return f"device_id={given}" if isinstance(given, int) else ""
    if call.name == "torch.device" or call.method == "to":
        given = values.of(call_argument(call, (0,), ("device",)))
        is_here = isinstance(call.argument(0), ast.Constant | ast.JoinedStr | ast.IfExp)
        return f"“{given}”" if isinstance(given, str) and _FIXED.match(given) and is_here else ""
    return ""


def _undistributed(look: ScriptLook) -> Iterable[Fault]:
    if not look.job.is_many_cards or not _frameworks(look) or _starts(look):
        return
    starters = ("torchrun", "torch.distributed", "mpirun", "msrun", "horovodrun", "deepspeed", "accelerate")
    if any(word in file.text for file in look.shell_files for word in starters):
        return
    parallel = {"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.DataParallel"}
    is_parallel = any(call.name in parallel for view in look.views for call in view.calls)
    if is_parallel or any("torchrun" in words or "torch.distributed" in words for words in look.all_texts):
        return
    view = look.views[0]
    why = text("The job has {cards} cards, and nothing in the script shares the work: each trains alone or not at all.",
               cards=(look.job.cards or 1) * look.job.nodes)  # fmt: skip
    hint = text("Select a specification with one card, or let the script use all of them.")
    first = next((one.node for one in view.imports), None)
    yield at(AMBER, view, first or ast.Pass(lineno=1, col_offset=0), why, hint, _fix(look))


def _unsharded(look: ScriptLook) -> Iterable[Fault]:
    if not look.job.is_many_cards:
        return
    yield from _unsharded_torch(look)
    yield from _unsharded_mindspore(look)


def _unsharded_torch(look: ScriptLook) -> Iterator[Fault]:
    if not any(name in TORCH_STARTS - {"accelerate.Accelerator"} for name in _starts(look)):
        return
    shares = (
        "DistributedSampler",
        "shard",
        "prepare",
        "Trainer",
        "split_by_node",
        "num_shards",
        "DistributedBatchSampler",
    )
    if any(share in word for word in look.words for share in shares):
        return
    for view, call in look.calls("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"):
        sampler = call_argument(call, (3,), ("sampler", "batch_sampler"))
        if sampler is None and not _is_for_test(view, call):
            why = text("Every process reads all of the data: the cards do the same work.")
            hint = text("Give the DataLoader a DistributedSampler, and call its set_epoch each epoch.")
            yield at(AMBER, view, call.node, why, hint, TORCH_FIX)
            return


def _unsharded_mindspore(look: ScriptLook) -> Iterator[Fault]:
    """Source: “mindspore.dataset.GeneratorDataset” (mindspore.cn): num_shards and shard_id give each its part."""
    if not any(name in MINDSPORE_STARTS for name in _starts(look)):
        return
    sets = [
        (view, call)
        for view, call in look.all_calls()
        if call.name.startswith("mindspore.dataset.")
        and call.method.endswith("Dataset")
        and not _is_for_test(view, call)
    ]
    if any(one.arg in ("num_shards", "sampler", None) for _, call in sets for one in call.node.keywords):
        return
    for view, call in sets[:1]:
        why = text("Every process reads all of the data: the cards do the same work.")
        hint = text("Pass num_shards=device_num and shard_id=rank_id to the dataset.")
        yield at(AMBER, view, call.node, why, hint, MINDSPORE_FIX)


def _is_for_test(view: SourceView, call: SeenCall) -> bool:
    """A part that is only looked at may be read by all."""
    names = [function.name for function in call.around.functions]
    names += [name for name, values in view.assigned.items() for seen in values if seen.node is call.node]
    return any(part in name.lower() for name in names for part in ("test", "val", "eval"))


def _all_write(look: ScriptLook) -> Iterable[Fault]:
    is_several = bool(_starts(look)) or look.job.is_ascend
    if not look.job.is_many_cards or not is_several or any("Trainer" in name for name in _starts(look)):
        return
    for one in file_calls(look):
        if one.name not in _SAVES or _is_of_one(look, one):
            continue
        why = text("All processes write this file at once: it may be broken when they are done.")
        hint = text("Let one process write: if rank == 0; or put the rank into the name.")
        yield at(AMBER, one.view, one.call.node, why, hint, _fix(look))


def _is_of_one(look: ScriptLook, one: FileCall) -> bool:
    """Under a condition on the rank, with the rank in its name, or in a function that only one calls."""
    values = look.values(one.view)
    if _asks_rank(values, one.call.around) or any(
        part in word for word in values.words_of(one.path) for part in _RANKS
    ):
        return True
    for function in one.call.around.functions:
        if any(part in ast.unparse(mark) for mark in function.decorator_list for part in _ONCE):
            return True
        calls = [(view, call) for view in look.views for call in view.calls if call.method == function.name]
        if calls and all(_asks_rank(look.values(view), call.around) or _passes_rank(call) for view, call in calls):
            return True
    is_made = [seen for name, seen_all in one.view.assigned.items() for seen in seen_all if seen.node is one.call.node
               for _ in (name,)]  # fmt: skip
    if is_made and one.name.endswith("ModelCheckpoint"):
        return _is_added_by_one(one, values)
    return False


def _is_added_by_one(one: FileCall, values: KnownValues) -> bool:
    """A callback does nothing until somebody adds it to the list."""
    names = {name for name, seen in one.view.assigned.items() if any(value.node is one.call.node for value in seen)}
    for call in one.view.calls:
        used = {node.id for argument in call.node.args for node in ast.walk(argument) if isinstance(node, ast.Name)}
        if call.method in ("append", "extend", "insert") and used & names:
            return _asks_rank(values, call.around)
    return False


def _asks_rank(values: KnownValues, around: Surroundings) -> bool:
    return values.depends_on(around, *_RANKS)


def _passes_rank(call: SeenCall) -> bool:
    words = ast.unparse(call.node).lower()
    return any(part in words.partition("(")[2] for part in _RANKS)


RULES = (
    ScriptRule("fixed-device", "many-cards", text("One card by name"), _fixed_device),
    ScriptRule("not-distributed", "many-cards", text("Cards that are not used"), _undistributed),
    ScriptRule("data-not-sharded", "many-cards", text("Data is not shared out"), _unsharded),
    ScriptRule("all-ranks-write", "many-cards", text("All processes write one file"), _all_write),
)
