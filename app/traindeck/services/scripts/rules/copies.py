"""Data that is copied to one place and looked for in another."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from traindeck.domain.texts import text
from traindeck.services.scripts.rules.call_names import MOX_FILES, MOX_FOLDERS
from traindeck.services.scripts.rules.file_calls import FileCall, file_calls
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.known_values import INPUTS, call_argument
from traindeck.services.scripts.rules.source_view import SeenCall, SourceView

_SCRATCH = ("/cache", "/tmp", "/home/work", "/home/ma-user/work")
_UNPACKS = ("extractall", "extract", "unpack_archive", "extract_archive")


@dataclass(frozen=True, slots=True)
class _Copy:
    view: SourceView
    call: SeenCall
    source: str
    to: str
    is_folder: bool
    sent: str
    """Of an input the name of its folder in OBS, which the folder on the node does not have; one may be inside."""


def _copied(look: ScriptLook) -> Iterable[Fault]:
    copies = list(_copies(look))
    if not copies:
        return
    written = set(_written(look))
    for one in file_calls(look):
        path = look.values(one.view).beginning(one.path)
        if not one.is_write and path.startswith(_SCRATCH) and not one.call.around.is_tried:
            yield from _missed(one, _plain(path), copies, written)


def _missed(one: FileCall, path: str, copies: list[_Copy], written: set[str]) -> Iterator[Fault]:
    if any(_is_in(path, folder) for folder in written):
        return
    for copy in copies:
        for name, level in ((posixpath.basename(copy.source.rstrip("/")), RED), (copy.sent, AMBER)):
            named = posixpath.join(copy.to, name)
            is_filled = any(_is_in(path, other.to) and _is_in(other.to, named) for other in copies)
            if copy.is_folder and name and _is_in(path, named) and named != copy.to and not is_filled:
                why = text(
                    "copy_parallel puts what is in “{source}” into “{to}”, without a folder “{name}”; here it is "
                    "looked for in “{path}”.", source=copy.source, to=copy.to, name=name, path=path,
                )  # fmt: skip
                hint = text("Copy to “{named}”, or read from “{to}”.", named=named, to=copy.to)
                yield at(level, one.view, one.call.node, why, hint)
                return
    if any(not copy.to or _is_in(path, copy.to) for copy in copies):
        return
    where = ", ".join(dict.fromkeys(copy.to for copy in copies))
    why = text("“{path}” is read, but the data is copied to {where}.", path=path, where=where)
    yield at(AMBER, one.view, one.call.node, why, text("Use the same folder in both places."))


def _copies(look: ScriptLook) -> Iterator[_Copy]:
    """Those that fill the disk of the node; where one goes is empty if it cannot be told."""
    for view, call in look.all_calls():
        if call.name in MOX_FOLDERS or call.name in MOX_FILES:
            values = look.values(view)
            source = values.beginning(call_argument(call, (0,), ("src_url", "file_path")))
            to = values.whole(call_argument(call, (1,), ("dst_url", "dst_path"))) or ""
            if not to.startswith(("obs:", "s3:")):
                sent = next((one.place for one in look.job.inputs if source == INPUTS + one.name), "")
                name = posixpath.basename(sent.rstrip("/"))
                yield _Copy(view, call, source, _plain(to), call.name in MOX_FOLDERS, name)


def _written(look: ScriptLook) -> Iterator[str]:
    """Folders that something else fills: unpacked, written, or copied there by other means."""
    for one in file_calls(look):
        if one.is_write and (path := _plain(look.values(one.view).beginning(one.path))):
            yield path
    for view, call in look.all_calls():
        if call.method in _UNPACKS:
            yield _plain(look.values(view).beginning(call_argument(call, (0, 1), ("path", "extract_dir")))) or "/"
        elif call.name in ("os.system", "subprocess.run", "subprocess.call", "subprocess.check_call"):
            yield "/"  # a shell may do anything


def _plain(path: str) -> str:
    return path.rstrip("/") if len(path) > 1 else path


def _is_in(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(f"{folder.rstrip('/')}/"))


RULES = (ScriptRule("copied-elsewhere", "copies", text("Data is looked for where it is not copied to"), _copied),)
