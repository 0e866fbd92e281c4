"""A file that the platform starts in the place of the user's script, which stays as it is.

What the platform passes, where `pip-requirements.txt` is looked for and how processes are started on each kind of
machine: "Developing Code for Training Using a Preset Image" and "Starting Training Using a Preset Image's Boot File"
(ModelArts User Guide).
"""

from __future__ import annotations

import ast

from traindeck.domain.scripts.fixes import FIX_WORDS, FixProposal, NotFixed, ScriptChange, ScriptFix
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.channel_names import channel_names, flag_for
from traindeck.services.scripts.fixes.entry_text import MARK, entry_text
from traindeck.services.scripts.fixes.parsers import flags
from traindeck.services.scripts.script_tree import ScriptFile, ScriptTree

ENTRY = "modelarts_entry.py"
_STRICT = (".parse_args(", "parse_args_into_dataclasses(", "app.run(", "click.command", "fire.Fire(")
_LENIENT = ("parse_known_args(", "ignore_unknown_options", "known_only", "return_remaining_strings")


def proposed(fix: ScriptFix, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    boot = tree.files.get(tree.boot)
    if boot is None or not (boot.is_python or boot.path.endswith(".sh")):
        reason = text("An entry script starts the boot file: specify a boot file first.")
        return FixProposal(fix, FIX_WORDS[fix], (), (NotFixed(tree.boot, 0, reason),))
    if boot.text.startswith(MARK):
        return FixProposal(fix, FIX_WORDS[fix], ())
    reached = [tree.files[path] for path in tree.reached if tree.files[path].module is not None]
    content = _content(tree.boot, reached, job).encode()
    name = _name(tree)
    before = tree.files.get(name)
    old = None if before is None else before.text.encode(before.encoding or "utf-8")
    changes = () if old == content else (ScriptChange(name, old, content),)
    return FixProposal(fix, FIX_WORDS[fix], changes, tuple(_unread(tree, reached, job)), name)


def _content(boot: str, reached: list[ScriptFile], job: ScriptJob) -> str:
    inputs, outputs = channel_names(job)
    known = [
        flag for file in reached if file.module is not None for flag in flags(file.module) if not flag.is_positional
    ]
    words = [word for flag in known for word in flag.words]
    code = "\n".join(file.text for file in reached)
    is_strict = any(one in code for one in _STRICT) and not any(one in code for one in _LENIENT) and bool(words)
    takes_any = bool(words) and not is_strict
    is_started_here = job.flavor_kind is AcceleratorKind.GPU and (job.cards or 1) > 1 and "init_process_group" in code
    return entry_text(
        boot,
        {name: flag_for(name, words, is_input=True) or (f"--{name}" if takes_any else None) for name in inputs},
        {name: flag_for(name, words, is_input=False) or (f"--{name}" if takes_any else None) for name in outputs},
        (job.cards or 1) if is_started_here else 1,
        sorted({word.lstrip("-") for word in words}) if is_strict else None,
    )


def _unread(tree: ScriptTree, reached: list[ScriptFile], job: ScriptJob) -> list[NotFixed]:
    """Folders that the script takes no argument for: it cannot be told where they are."""
    inputs, outputs = channel_names(job)
    modules = [file.module for file in reached if file.module is not None]
    words = [word for module in modules for flag in flags(module) for word in flag.words]
    found = []
    for names, is_input in ((inputs, True), (outputs, False)):
        for name in names:
            if flag_for(name, words, is_input=is_input) is None and not _reads_environment(modules, name):
                reason = text(
                    "The script has no argument for the folder of {name}: read it where the path is written.", name=name
                )
                found.append(NotFixed(tree.boot, 0, reason))
    return found


def _reads_environment(modules: list[ast.Module], name: str) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == name for one in modules for node in ast.walk(one))


def _name(tree: ScriptTree) -> str:
    """A file of this name that somebody else wrote is not replaced."""
    name, number = ENTRY, 2
    while (name in tree.names or name in tree.files) and not _is_ours(tree, name):
        name = f"modelarts_entry_{number}.py"
        number += 1
    return name


def _is_ours(tree: ScriptTree, name: str) -> bool:
    found = tree.files.get(name)
    return found is not None and found.text.startswith(MARK)
