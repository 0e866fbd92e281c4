"""Fixes by their names. What rewrites files is loaded when the first fix is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module

from traindeck.domain.scripts.fixes import FixProposal, ScriptChange, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.services.scripts.script_tree import ScriptTree, script_file

_MODULES = {
    ScriptFix.PARSE_KNOWN_ARGS: "known_args",
    ScriptFix.DATA_AND_TRAIN_URL: "channel_arguments",
    ScriptFix.COPY_LINES: "copy_lines",
    ScriptFix.ENTRY_SCRIPT: "entry_script",
    ScriptFix.ASCEND_PYTORCH: "ascend_pytorch",
    ScriptFix.ASCEND_PYTORCH_TRANSFER: "ascend_pytorch",
    ScriptFix.ASCEND_MINDSPORE: "ascend_mindspore",
    ScriptFix.ASCEND_TENSORFLOW: "ascend_tensorflow",
    ScriptFix.EIGHT_CARDS_MINDSPORE: "cards_mindspore",
    ScriptFix.EIGHT_CARDS_PYTORCH: "cards_pytorch",
}


def propose(fix: str, tree: ScriptTree, job: ScriptJob) -> FixProposal:
    """What this fix would make of these files; writes nothing. Blocks: for workers."""
    wanted = ScriptFix(fix)
    # libcst takes longer to load than the rest of a command, and most commands fix nothing.
    module = import_module(f"traindeck.services.scripts.fixes.{_MODULES[wanted]}")
    proposed: Callable[[ScriptFix, ScriptTree, ScriptJob], FixProposal] = module.proposed
    return proposed(wanted, tree, job)


def propose_together(fixes: Sequence[str], tree: ScriptTree, job: ScriptJob) -> FixProposal:
    """One fix after the other, as one proposal under the name of the first."""
    found = [propose(fixes[0], tree, job)]
    for fix in fixes[1:]:
        tree = _changed(tree, found[-1])
        found.append(propose(fix, tree, job))
    before: dict[str, bytes | None] = {}
    after: dict[str, bytes | None] = {}
    for change in (change for one in found for change in one.changes):
        before.setdefault(change.path, change.before)
        after[change.path] = change.after
    changes = tuple(ScriptChange(path, before[path], after[path]) for path in before if before[path] != after[path])
    # What a later fix did is left no more; its lines count from the file as an earlier one left it.
    left = tuple(dict.fromkeys(rest for one in found for rest in one.not_fixed))
    boot = next((one.boot for one in reversed(found) if one.boot), "")
    return FixProposal(found[0].fix, found[0].words, changes, left, boot)


def _changed(tree: ScriptTree, proposal: FixProposal) -> ScriptTree:
    files = dict(tree.files)
    for change in proposal.changes:
        if change.after is None:
            files.pop(change.path, None)
        else:
            files[change.path] = script_file(change.path, change.after, tree.version)
    return replace(tree, files=files, names=tree.names | files.keys())
