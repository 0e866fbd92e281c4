"""Shell files as Windows saves them."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.texts import Text, text
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule


def crlf_words(path: str) -> tuple[Text, Text]:
    """What is wrong, and what to do."""
    fact = text("{file}: its line endings are those of Windows (CRLF).", file=path)
    return fact, text("Save it with LF, for example: sed -i 's/\\r$//' {file}", file=path)


def _crlf(look: ScriptLook) -> Iterable[Fault]:
    """Bash takes the carriage return for a part of the last word of a line."""
    for path, file in look.tree.files.items():
        if path.endswith(".sh") and "\r\n" in file.text:
            line = file.text[: file.text.index("\r\n")].count("\n") + 1
            yield Fault(RED if look.tree.is_reached(path) else AMBER, path, line, *crlf_words(path))


RULES = (ScriptRule("crlf", "shell-scripts", text("Line endings of Windows"), _crlf),)
