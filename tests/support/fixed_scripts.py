"""What fixes make of scripts that are only in memory."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from support.script_folders import tree_of
from traindeck.domain.scripts.fixes import FixProposal
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.services.scripts.fixes.all_fixes import propose

BOOT = "train.py"


def script(words: str) -> str:
    return textwrap.dedent(words).lstrip("\n")


def fixed(fix: str, files: Mapping[str, str | bytes], job: ScriptJob | None = None) -> FixProposal:
    return propose(fix, tree_of(files, BOOT), job or ScriptJob())


def after(fix: str, words: str, job: ScriptJob | None = None) -> str:
    """The one file as it is then."""
    words = script(words)
    found = fixed(fix, {BOOT: words}, job)
    changed = {change.path: change.after for change in found.changes}
    content = changed.get(BOOT, words.encode())
    assert content is not None
    return content.decode()


def applied(files: Mapping[str, str | bytes], found: FixProposal) -> dict[str, str | bytes]:
    result = dict(files)
    for change in found.changes:
        if change.after is None:
            del result[change.path]
        else:
            result[change.path] = change.after
    return result
