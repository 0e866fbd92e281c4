"""Results that nobody fetches, and checkpoints that may be lost half written."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.texts import text
from traindeck.services.scripts.reading.values import Begins
from traindeck.services.scripts.rules.call_names import COPIES
from traindeck.services.scripts.rules.file_calls import RESULTS, FileCall, file_calls
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.known_values import OUTPUTS, KnownValues
from traindeck.services.scripts.rules.obs_paths import SCHEMES, is_shifted

_ASKED = ("modelarts", "cloud", "local", "debug", "train_url", "output", "exists")
_SHELL = frozenset({"os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.Popen"})
_SAVES = frozenset({"torch.save", "mindspore.save_checkpoint", "mindspore.train.serialization.save_checkpoint",
                    "joblib.dump", ".save_weights"})  # fmt: skip
_SWAPS = frozenset({"os.replace", "os.rename", "shutil.move", "moxing.file.rename"})


def lost_results(look: ScriptLook) -> Iterable[Fault]:
    """Only what lies in an output, or is copied there, outlives the job (ModelArts: the container is destroyed)."""
    if not look.job.has_form and not look.job.outputs:
        return
    saves = [one for one in file_calls(look) if one.is_write and one.name in RESULTS]
    known = [(one, look.values(one.view)) for one in saves]
    copied = list(_copied_from(look))
    if any(part == "/" for part in copied):
        return
    lost = [(one, path) for one, values in known if (path := _lost_path(look, one, values)) is not None]
    lost = [(one, path) for one, path in lost if not any(_is_in(path, part) for part in copied)]
    is_all = len(lost) == len(saves) and not _mentions_output(look)
    for one, path in lost:
        if one.name == "open" and not is_all:
            continue  # a note or a lock, as far as anybody knows
        yield _told(look, one, path, RED if is_all and one.name != "open" and look.job.has_form else AMBER)


def _told(look: ScriptLook, one: FileCall, path: str, level: CheckLevel) -> Fault:
    why = text("“{path}” is gone when the job ends: only outputs are kept.", path=path)
    hint = text(
        "Write into the folder of an output, for example os.path.join(args.train_url, …), or copy it there at the end."
    )
    if not look.job.outputs:
        hint = text("Add an output to the job, and write into the folder that the script is given.")
    return at(level, one.view, one.call.node, why, hint, "data-and-train-url")


def _lost_path(look: ScriptLook, one: FileCall, values: KnownValues) -> str | None:
    if one.call.around.is_fallback or values.depends_on(one.call.around, *_ASKED):
        return None
    value = values.of(one.path)
    if isinstance(value, Begins):
        value = value.text
    if not isinstance(value, str) or not value or value.startswith((OUTPUTS, *SCHEMES, "/dev/", "/proc/")):
        return None
    kept = [channel.local_dir for channel in look.job.outputs if channel.local_dir]
    return None if any(_is_in(value, folder) for folder in (*kept, *look.job.mounts)) else value


def _copied_from(look: ScriptLook) -> Iterator[str]:
    """Folders that are copied on; `/`: nobody can tell which."""
    for view, call in look.all_calls():
        if call.name in COPIES or call.method in ("copy_parallel", "copy_tree"):
            values = look.values(view)
            first = call.argument(0, "src_url") or call.argument(None, "src")
            if _is_input(look, values, first):
                continue
            yield values.beginning(first).rstrip("/") or "/"
        elif call.name in _SHELL:
            words = ast.unparse(call.node)
            if any(part in words for part in ("cp ", "mv ", "rsync", "obsutil", "'cp'", '"cp"')):
                yield "/"
    for file in look.shell_files:
        if any(part in file.text for part in ("cp -", "mv ", "obsutil", "rsync")):
            yield "/"


def _is_input(look: ScriptLook, values: KnownValues, path: ast.expr | None) -> bool:
    """`args.data_url`, wherever that lies."""
    names = {channel.name for channel in look.job.inputs}
    return isinstance(path, ast.Attribute) and path.attr in names and values.is_arguments(path.value)


def _mentions_output(look: ScriptLook) -> bool:
    names = {channel.name for channel in look.job.outputs}
    return bool(names & look.words)


def _is_in(path: str, folder: str) -> bool:
    path, folder = path.removeprefix("./"), folder.removeprefix("./")
    return folder in ("", "/", ".") or path == folder or path.startswith(f"{folder.rstrip('/')}/")


# checkpoints


def _on_obs(look: ScriptLook) -> Iterable[Fault]:
    """Where addresses in OBS can be written to, each write is an upload that ends whole or not at all."""
    why = text("A checkpoint is written straight to OBS: it is slow, and an interruption leaves half of it.")
    hint = text("Save it on the disk of the node, then copy it with mox.file.copy.")
    streams = {"moxing.file.File", "moxing.framework.file.File"}
    shifted = is_shifted(look)
    for one in file_calls(look):
        if one.name not in _SAVES:
            continue
        values = look.values(one.view)
        is_stream = isinstance(one.path, ast.Call) and one.view.name_of(one.path.func) in streams
        if is_stream or _is_opened_by(one, streams) or (shifted and values.beginning(one.path).startswith(SCHEMES)):
            yield at(AMBER, one.view, one.call.node, why, hint)


def _is_opened_by(one: FileCall, streams: set[str]) -> bool:
    """`with mox.file.File(…) as f: torch.save(x, f)`."""
    if not isinstance(one.path, ast.Name) or one.view.file.module is None:
        return False
    for node in ast.walk(one.view.file.module):
        if isinstance(node, ast.With):
            for item in node.items:
                is_it = isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == one.path.id
                call = item.context_expr
                if is_it and isinstance(call, ast.Call) and one.view.name_of(call.func) in streams:
                    return node.lineno <= one.call.node.lineno <= (node.end_lineno or 0)
    return False


def _not_atomic(look: ScriptLook) -> Iterable[Fault]:
    """Outputs are uploaded every half minute, and a job may end at any time."""
    if any(True for _ in look.calls(*_SWAPS)):
        return
    for one in file_calls(look):
        values = look.values(one.view)
        path = values.of(one.path)
        if one.name not in _SAVES or not _is_repeated(one) or not _is_fixed(one):
            continue
        name = path.rpartition("/")[2] if isinstance(path, str) else _last_part(one.path)
        why = text("“{name}” is overwritten each time: if the job ends meanwhile, no whole one is left.", name=name)
        hint = text("Save as “{name}.tmp” first, then os.replace it; or put the epoch into the name.", name=name)
        yield at(AMBER, one.view, one.call.node, why, hint)


def _last_part(path: ast.expr) -> str:
    """The name in it, without the folder that nobody knows."""
    texts = [node.value for node in ast.walk(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return texts[-1].rpartition("/")[2] if texts else ast.unparse(path)


def _is_repeated(one: FileCall) -> bool:
    """In a loop, or in a function that is called in one."""
    if one.call.around.is_in_loop:
        return True
    names = {function.name for function in one.call.around.functions}
    return any(call.around.is_in_loop and call.method in names for call in one.view.calls)


def _is_fixed(one: FileCall) -> bool:
    """The same name each time: nothing in it that a loop or a caller changes."""
    changing = {arg.arg for function in one.call.around.functions for arg in _arguments(function)}
    for node in ast.walk(one.path):
        if isinstance(node, ast.Name | ast.Attribute) and not isinstance(getattr(node, "ctx", None), ast.Load):
            return False
        if isinstance(node, ast.FormattedValue):
            return False
        if isinstance(node, ast.Name) and (node.id in changing or _varies(one, node.id)):
            return False
        if isinstance(node, ast.Call) and one.view.name_of(node.func) not in ("os.path.join", "str", "pathlib.Path"):
            return False
    return any(isinstance(node, ast.Constant) for node in ast.walk(one.path)) and not isinstance(one.path, ast.Name)


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """Those that say which one it is; a folder or the arguments of the script are the same each time."""
    same = ("args", "opt", "cfg", "config", "self", "folder", "directory", "path", "root")
    given = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return [one for one in given if one.arg not in same and not one.arg.endswith(("dir", "url", "folder", "path"))]


def _varies(one: FileCall, name: str) -> bool:
    return any(found.around.is_in_loop for found in one.view.assigned.get(name, ()))


RULES = (
    ScriptRule("output-lost", "results", text("Results that are not kept"), lost_results),
    ScriptRule("checkpoint-on-obs", "checkpoint-writing", text("Checkpoint written straight to OBS"), _on_obs),
    ScriptRule("checkpoint-not-atomic", "checkpoint-writing", text("Checkpoint written over itself"), _not_atomic),
)
