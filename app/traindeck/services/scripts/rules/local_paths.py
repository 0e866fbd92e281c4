"""Paths of somebody's own computer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from traindeck.domain.texts import text
from traindeck.services.scripts.rules.file_calls import NOT_THERE, FileCall, file_calls
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at

# What a node has: “Overview of a Basic Image Package” and “Managing Environment Variables of a Training Container”
# (ModelArts) name these homes.
_THERE = ("/home/ma-user", "/home/work", "/home/modelarts")
_HERE = re.compile(
    r"[A-Za-z]:[\\/](?![\\/])|\\\\[\w.-]+\\|/home/\w|/Users/\w|/mnt/[a-z]/|/root/|~[\\/](?!\.)|/media/\w|/Volumes/\w"
)
_ASKED = ("exists", "isdir", "isfile", "platform", "system", "hostname", "gethostname", "local", "node", "debug")
_HINT = text(
    "Use a path below the code directory, or pass it as an input: the folder comes as an argument such as --data_url."
)


def _paths(look: ScriptLook) -> Iterable[Fault]:
    told: set[tuple[str, int]] = set()
    for one in file_calls(look):
        fault = _opened(look, one)
        if fault is not None:
            told.add((fault.file, fault.line))
            yield fault
    for fault in (*_defaults(look), *_written_down(look), *_added(look)):
        if (fault.file, fault.line) not in told:
            told.add((fault.file, fault.line))
            yield fault


def is_of_here(look: ScriptLook, path: str) -> bool:
    """Of a user's own computer, and nothing that the form puts there."""
    if not _HERE.match(path) or path.startswith(_THERE):
        return False
    placed = [channel.local_dir for channel in look.job.channels if channel.local_dir]
    return not any(path.startswith(folder) for folder in (*placed, *look.job.mounts))


def _opened(look: ScriptLook, one: FileCall) -> Fault | None:
    values = look.values(one.view)
    path = values.beginning(one.path)
    if not is_of_here(look, path) or one.call.around.handles(*NOT_THERE) or values.depends_on(one.call.around, *_ASKED):
        return None
    is_made = one.is_write and path.startswith("/") and not path.startswith("/root")
    why = text("“{path}” is a path of your own computer, which the job does not have.", path=path)
    return at(AMBER if is_made or path.startswith("~") else RED, one.view, one.call.node, why, _HINT)


def _defaults(look: ScriptLook) -> Iterator[Fault]:
    for argument in look.arguments.arguments:
        default = argument.default
        is_passed = argument.name in look.job.passed
        if isinstance(default, str) and not is_passed and is_of_here(look, default) and argument.file in look.paths:
            why = text("--{name} is “{path}” unless it is passed: a path of your own computer.",
                       name=argument.name, path=default)  # fmt: skip
            hint = text("Pass --{name} as an input or running parameter, or change the default.", name=argument.name)
            yield Fault(AMBER, argument.file, argument.line or 1, why, hint)


def _written_down(look: ScriptLook) -> Iterator[Fault]:
    """Kept under a name, and used in ways that nobody can follow here."""
    for view in look.views:
        values = look.values(view)
        for seen in (one for several in view.assigned.values() for one in several):
            path = values.whole(seen.node)
            if path is None or not is_of_here(look, path) or look.is_idle(view, seen.around):
                continue
            if not values.depends_on(seen.around, *_ASKED) and not seen.around.is_fallback:
                why = text("“{path}” is a path of your own computer, which the job does not have.", path=path)
                yield at(AMBER, view, seen.node, why, _HINT)


def _added(look: ScriptLook) -> Iterator[Fault]:
    """Folders of modules: none of them is there, and whoever imports from one fails later."""
    for view, call in look.calls("sys.path.append", "sys.path.insert"):
        values = look.values(view)
        path = values.beginning(call.node.args[-1] if call.node.args else None)
        if is_of_here(look, path) and not call.around.is_tried and not values.depends_on(call.around, *_ASKED):
            why = text("“{path}” is a path of your own computer, which the job does not have.", path=path)
            yield at(AMBER, view, call.node, why, _HINT)


RULES = (ScriptRule("local-path", "local-paths", text("Path of your own computer"), _paths),)
