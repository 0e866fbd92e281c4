"""Files that the engine's Python cannot read."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.texts import text
from traindeck.services.scripts.fault_words import fault_words
from traindeck.services.scripts.python_source import OWN, SourceFault
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, is_test
from traindeck.services.scripts.rules.interactive import OF_NOTEBOOK

UNSURE = (SourceFault.TOO_LARGE, SourceFault.TOO_DEEP)


def _syntax(look: ScriptLook) -> Iterable[Fault]:
    version = look.tree.version
    for path, file in look.tree.files.items():
        is_newer = version is not None and version > OWN and file.fault is SourceFault.SYNTAX
        if not file.is_python or file.fault is None or file.fault in UNSURE or is_newer:
            continue
        if path not in look.paths and is_test(path):
            continue
        why, hint = fault_words(path, file.fault, file.words, file.line, version)
        line = file.line or 1
        if file.fault is SourceFault.SYNTAX and "".join(file.lines[line - 1 : line]).lstrip().startswith(("!", "%")):
            why = text("{file}, line {line}: this is a command of a notebook, not Python.", file=path, line=line)
            hint = OF_NOTEBOOK
        is_run = look.tree.is_reached(path) or not look.tree.boot
        yield Fault(RED if is_run else AMBER, path, line, why, hint)


RULES = (ScriptRule("syntax", "syntax", text("Not Python for the engine"), _syntax),)
