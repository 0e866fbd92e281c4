"""Fixes by their names. What rewrites files is loaded when the first fix is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module

from traindeck.domain.scripts.fixes import FixProposal, NotFixed, ScriptChange, ScriptFix
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import Text
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
    found: list[FixProposal] = []
    trees: list[ScriptTree] = []  # as each fix leaves it
    for fix in fixes:
        found.append(propose(fix, tree, job))
        tree = _changed(tree, found[-1]) if found[-1].changes else tree
        trees.append(tree)
    before: dict[str, bytes | None] = {}
    after: dict[str, bytes | None] = {}
    for change in (change for one in found for change in one.changes):
        before.setdefault(change.path, change.before)
        after[change.path] = change.after
    changes = tuple(ScriptChange(path, before[path], after[path]) for path in before if before[path] != after[path])
    # Lines count from the file as an earlier fix left it.
    left = tuple(
        dict.fromkeys(
            rest
            for one, there in zip(found, trees, strict=True)
            if one.not_fixed
            for rest in _without(one.not_fixed, _done_later(one.fix, there, tree, job))
        )
    )
    boot = next((one.boot for one in reversed(found) if one.boot), "")
    return FixProposal(found[0].fix, found[0].words, changes, left, boot)


def _done_later(fix: ScriptFix, there: ScriptTree, end: ScriptTree, job: ScriptJob) -> frozenset[tuple[str, Text]]:
    """What a fix leaves to the user, and a later one has done: it is said where that fix ended, and no more then."""
    if there is end:
        return frozenset()
    then, now = ({(rest.file, rest.reason) for rest in propose(fix, each, job).not_fixed} for each in (there, end))
    return frozenset(then - now)


def _without(left: Iterable[NotFixed], done: frozenset[tuple[str, Text]]) -> Iterator[NotFixed]:
    return (rest for rest in left if (rest.file, rest.reason) not in done)


def _changed(tree: ScriptTree, proposal: FixProposal) -> ScriptTree:
    files = dict(tree.files)
    for change in proposal.changes:
        if change.after is None:
            files.pop(change.path, None)
        else:
            files[change.path] = script_file(change.path, change.after, tree.version)
    return replace(tree, files=files, names=tree.names | files.keys())
