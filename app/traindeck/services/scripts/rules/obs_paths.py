"""Addresses in OBS where only a path of the disk can stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from traindeck.domain.texts import Text, text
from traindeck.services.scripts.rules.file_calls import NOT_THERE, FileCall, file_calls
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at

SCHEMES = ("obs://", "s3://", "obs:/", "s3:/", "s3a://")
_ASKED = ("obs", "s3", "mox", "modelarts", "cloud", "startswith", "remote", "local")
# Source: “mox.file与本地接口的对应关系和切换” (MoXing开发指南): shift lets mox.file take the place of os and open.
_SHIFT = "moxing.file.shift"


def is_shifted(look: ScriptLook) -> bool:
    """From then on `open` and `os` take addresses in OBS too."""
    return any(True for _ in look.calls(_SHIFT, "moxing.mox.file.shift"))


def _opened(look: ScriptLook) -> Iterable[Fault]:
    if not is_shifted(look):
        yield from _all(look)


def _all(look: ScriptLook) -> Iterator[Fault]:
    for one in file_calls(look):
        values = look.values(one.view)
        address = values.beginning(one.path)
        if not address.startswith(SCHEMES) or values.depends_on(one.call.around, *_ASKED):
            continue
        why = text("“{address}” is an OBS path, which {call} cannot open.", call=one.name, address=address)
        level = AMBER if one.call.around.handles(*NOT_THERE) else RED
        yield at(level, one.view, one.call.node, why, _hint(one), "copy-lines")


def _hint(one: FileCall) -> Text:
    if one.is_write:
        return text("Write into the folder of an output, for example --train_url, or copy the file with mox.file.copy.")
    return text(
        "Add the data as an input and open the folder that the script is given, or copy it first with "
        "mox.file.copy_parallel."
    )


RULES = (ScriptRule("obs-path-opened", "obs-files", text("OBS path opened as a file"), _opened),)
