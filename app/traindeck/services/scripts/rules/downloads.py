"""What is fetched from the internet, which nodes of the service do not reach.

Source: “URL Connection Timed Out in a Running Training Job” (ModelArts Troubleshooting): training jobs are not
allowed to download from the internet; the data is to be uploaded to OBS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from traindeck.domain.texts import text
from traindeck.services.scripts.reading.values import Begins
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.known_values import call_argument
from traindeck.services.scripts.rules.source_view import SeenCall, SourceView

_BY_ADDRESS = frozenset({
    "urllib.request.urlopen", "urllib.request.urlretrieve", "requests.get", "requests.post", "requests.request",
    "httpx.get", "wget.download", "torch.hub.load_state_dict_from_url", "torch.hub.download_url_to_file",
    "torch.utils.model_zoo.load_url", "torchvision.datasets.utils.download_url",
    "torchvision.datasets.utils.download_and_extract_archive", "tensorflow.keras.utils.get_file",
    "keras.utils.get_file", "tensorflow_hub.load",
    "tensorflow_hub.KerasLayer", "pandas.read_csv", "pandas.read_json", "six.moves.urllib.request.urlretrieve",
})  # fmt: skip
_BY_NAME = frozenset({"datasets.load_dataset", "evaluate.load", "sentence_transformers.SentenceTransformer"})
_SESSIONS = frozenset({
    "requests.Session", "requests.session", "requests.sessions.Session", "httpx.Client", "urllib3.PoolManager",
})  # fmt: skip
_SESSION_METHODS = frozenset({"get", "post", "head", "request"})
_ALWAYS = frozenset({
    "gdown.download", "nltk.download", "huggingface_hub.snapshot_download", "huggingface_hub.hf_hub_download",
    "sklearn.datasets.fetch_openml", "sklearn.datasets.fetch_20newsgroups", "sklearn.datasets.fetch_california_housing",
    "sklearn.datasets.fetch_lfw_people", "modelscope.snapshot_download",
    "modelscope.hub.snapshot_download.snapshot_download",
    "kaggle.api.dataset_download_files", "tensorflow_datasets.load", "mindspore.hub.load", "mindspore_hub.load",
    "download.download", "git.Repo.clone_from",
})  # fmt: skip
# Source: “What is the difference between wandb.init modes?” (Weights & Biases): unless offline, it sends to the server.
_RECORDS = frozenset({
    "wandb.init", "wandb.login", "pytorch_lightning.loggers.WandbLogger", "lightning.pytorch.loggers.WandbLogger",
})  # fmt: skip
_KERAS_DATA = re.compile(r"(?:tensorflow\.)?keras\.datasets\.\w+\.load_data$")
_KERAS_MODEL = re.compile(r"(?:tensorflow\.)?keras\.applications\.(?:\w+\.)?[A-Z]\w+$")
_TORCH_DATA = re.compile(r"(?:torchvision|torchaudio|torchtext)\.datasets\.\w+$")
_TORCH_MODEL = re.compile(r"torchvision\.models\.(?:\w+\.)*\w+$")
_SHELL = frozenset({"os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.check_call",
                    "subprocess.check_output", "subprocess.Popen", "subprocess.getoutput"})  # fmt: skip
_FETCHES = re.compile(
    r"(?:^|[\s;&|(])(wget|curl|git\s+(?:clone|lfs|pull)|gdown|aria2c|kaggle|huggingface-cli\s+download)\b"
)
_PIP = re.compile(r"(?:^|[\s;&|(/])(?:pip3?|python3?\s+-m\s+pip|conda|apt|apt-get|yum)\s+(?:-\S+\s+)*install\b")
_FAILS = (
    "OSError", "IOError", "URLError", "HTTPError", "RequestException", "ConnectionError", "Timeout", "TimeoutError",
    "CalledProcessError",
)  # fmt: skip
_INSIDE = re.compile(
    r"https?://(?:127\.|localhost|10\.|192\.168\.|0\.0\.0\.0|\[::1\]|169\.254\.|[^/]*\.?myhuaweicloud\.com)"
)
_ASKED = ("exists", "isfile", "isdir", "download", "cache", "internet", "offline", "online", "local", "fetch", "url")
_UPLOAD = text("Download it once, upload it to OBS as an input, and read it from the folder that the script is given.")
_OFFLINE = text("Set WANDB_MODE=offline as an environment variable, and upload the records afterwards.")
_WHY = text("Nodes of the service do not reach the internet: {what} fails there after a long wait.")


def _downloads(look: ScriptLook) -> Iterable[Fault]:
    for view, call in look.all_calls():
        what = _what(look, view, call)
        if what is None or call.around.handles(*_FAILS) or look.values(view).depends_on(call.around, *_ASKED):
            continue
        is_sure = look.job.reaches_internet is False and what[1]
        why = _WHY.with_fields(what=what[0])
        hint = _OFFLINE if call.name in _RECORDS else _UPLOAD
        yield at(RED if is_sure else AMBER, view, call.node, why, hint)
    yield from _of_shell(look)


def _what(look: ScriptLook, view: SourceView, call: SeenCall) -> tuple[str, bool] | None:
    """Its name, and whether it is sure to go out: some look on the disk first."""
    name, values = call.name, look.values(view)
    if name in _BY_ADDRESS:
        given = call_argument(call, (0,), ("url", "origin", "filepath_or_buffer"))
        address = values.beginning(_address_of(view, given))
        if address.startswith(("http://", "https://", "ftp://")) and not _INSIDE.match(address):
            return name, True
        return None
    if call.method in _SESSION_METHODS and _is_session(view, call):
        place = 1 if call.method == "request" else 0
        address = values.beginning(call_argument(call, (place,), ("url",)))
        return (call.method, True) if address.startswith("http") and not _INSIDE.match(address) else None
    if name in _ALWAYS:
        return name, True
    if name in _SHELL:
        found = _FETCHES.search(_command(look, view, call))
        return (found[1], True) if found else None
    if _TORCH_DATA.match(name):
        return (f"{name}(download=True)", False) if values.of(call.argument(None, "download")) is True else None
    if _TORCH_MODEL.match(name):
        given = values.of(call_argument(call, (), ("pretrained", "weights", "weights_backbone", "pretrained_backbone")))
        node = call_argument(call, (), ("pretrained", "weights"))
        is_first = name.rpartition(".")[2].islower() and values.of(call.argument(0)) is True
        is_asked = (
            is_first or given is True or isinstance(given, str) or (node is not None and "Weights" in ast.unparse(node))
        )
        return (name, False) if is_asked else None
    if name == "timm.create_model" and values.of(call.argument(1, "pretrained")) is True:
        return name, False
    if _is_model_by_name(view, call) and values.of(call.argument(0, "pretrained")) is True:
        return "torchvision.models", False
    if name == "torch.hub.load":
        return (name, True) if values.of(call.argument(None, "source")) != "local" else None
    if _KERAS_DATA.match(name):
        return name, False
    if _KERAS_MODEL.match(name):
        weights = (
            values.of(call.argument(None, "weights")) if call.argument(None, "weights") is not None else "imagenet"
        )
        return (name, False) if weights == "imagenet" else None
    if name in _RECORDS:
        is_off = values.of(call.argument(None, "offline")) is True
        is_off = is_off or values.of(call.argument(None, "mode")) in ("offline", "disabled")
        is_off = is_off or any("WANDB_MODE" in one for one in (*look.all_texts, *look.job.environment))
        return None if is_off else (name, False)
    return _of_hub(look, view, call)


def _is_session(view: SourceView, call: SeenCall) -> bool:
    """A method of what stands for several requests."""
    func = call.node.func
    if not isinstance(func, ast.Attribute):
        return False
    of = [func.value]
    if isinstance(func.value, ast.Name | ast.Attribute):
        of = [one.node for one in view.assigned.get(ast.unparse(func.value), ()) if isinstance(one.node, ast.expr)]
    return any(isinstance(one, ast.Call) and view.name_of(one.func) in _SESSIONS for one in of)


def _address_of(view: SourceView, given: ast.expr | None) -> ast.expr | None:
    """Of a request that was made before, what it asks for."""
    named = view.assigned.get(given.id, ()) if isinstance(given, ast.Name) else ()
    for node in (given, *(one.node for one in named)):
        if isinstance(node, ast.Call) and view.name_of(node.func) == "urllib.request.Request" and node.args:
            return node.args[0]
    return given


def _is_model_by_name(view: SourceView, call: SeenCall) -> bool:
    """`models.__dict__[arch](pretrained=True)`."""
    func = call.node.func
    return isinstance(func, ast.Subscript) and view.name_of(func.value) == "torchvision.models.__dict__"


def _of_hub(look: ScriptLook, view: SourceView, call: SeenCall) -> tuple[str, bool] | None:
    """`from_pretrained` takes a folder or a name of the hub; a name has no dot or slash at its beginning."""
    is_hub = call.method == "from_pretrained" or call.name in _BY_NAME
    if not is_hub or _is_offline(look, view, call) or _is_defined_here(look, view, call):
        return None
    values = look.values(view)
    name = values.of(call_argument(call, (0,), ("pretrained_model_name_or_path", "path")))
    if not isinstance(name, str):
        return None
    is_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or name in look.tree.names
    is_file_kind = call.name == "datasets.load_dataset" and name in ("csv", "json", "parquet", "text", "imagefolder")
    is_there = any(path.startswith(f"{name.rstrip('/')}/") for path in look.tree.names)
    called = call.method if call.method == "from_pretrained" else call.name
    return None if is_path or is_file_kind or is_there else (f"{called}(“{name}”)", True)


def _is_defined_here(look: ScriptLook, view: SourceView, call: SeenCall) -> bool:
    """A class of the code folder with a method of its own: what that one fetches is told there."""
    func = call.node.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name | ast.Attribute):
        return False
    name = ast.unparse(func.value)
    place = look.neighbours.defined(view, name)
    found = view.defined.get(name) if place is None else place.view.defined.get(place.name)
    return isinstance(found, ast.ClassDef) and any(
        isinstance(one, ast.FunctionDef) and one.name == func.attr for one in found.body
    )


def _is_offline(look: ScriptLook, view: SourceView, call: SeenCall) -> bool:
    values = look.values(view)
    return values.of(call.argument(None, "local_files_only")) is True or any(
        "_OFFLINE" in words for words, _ in view.strings
    )


def _command(look: ScriptLook, view: SourceView, call: SeenCall) -> str:
    values, first = look.values(view), call.argument(0, "args")
    if isinstance(first, ast.Call) and view.name_of(first.func) == "shlex.split" and first.args:
        first = first.args[0]
    if isinstance(first, ast.List | ast.Tuple):
        parts = [values.of(one) for one in first.elts]
        named = ["python" if _is_own_python(view, node) else part
                 for node, part in zip(first.elts, parts, strict=True)]  # fmt: skip
        return " ".join(part if isinstance(part, str) else part.text if isinstance(part, Begins) else "?"
                        for part in named)  # fmt: skip
    return values.beginning(first)


def _is_own_python(view: SourceView, node: ast.expr) -> bool:
    return view.name_of(node) == "sys.executable"


def _of_shell(look: ScriptLook) -> Iterator[Fault]:
    for path, number, line in shell_lines(look):
        found = _FETCHES.search(line)
        if found and not _INSIDE.search(line) and "||" not in line:
            level = RED if look.job.reaches_internet is False else AMBER
            yield Fault(level, path, number, _WHY.with_fields(what=found[1]), _UPLOAD)


def shell_lines(look: ScriptLook) -> Iterator[tuple[str, int, str]]:
    """Without comments."""
    for file in look.shell_files:
        for number, line in enumerate(file.lines, start=1):
            words = re.sub(r"(?:^|\s)#.*", "", line).strip()
            if words and not words.startswith("echo "):
                yield file.path, number, words


_PIP_WHY = text("Packages are installed while the training runs: every process does it, and it fails without a mirror.")
_PIP_HINT = text("Write the package into pip-requirements.txt beside the boot file: it is installed before the start.")


def _installs(look: ScriptLook) -> Iterable[Fault]:
    for view, call in look.all_calls():
        is_pip = call.name in _SHELL and _PIP.search(_command(look, view, call))
        if (is_pip or call.name in ("pip.main", "pip._internal.main")) and not call.around.is_fallback:
            yield at(AMBER, view, call.node, _PIP_WHY, _PIP_HINT)
    for path, number, line in shell_lines(look):
        if _PIP.search(line):
            yield Fault(AMBER, path, number, _PIP_WHY, _PIP_HINT)


RULES = (
    ScriptRule("download", "downloads", text("Download from the internet"), _downloads),
    ScriptRule("install-in-code", "downloads", text("Packages installed by the script"), _installs),
)
