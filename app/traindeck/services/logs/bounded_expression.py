"""Expressions of the user's, looked for in time that grows with the text alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import Text, text

_MOST_MEMORY = 32 << 20


class BoundedExpression:
    """Python's own engine may go back and forth for years over one line; this one never does."""

    def __init__(self, words: str, *, minds_case: bool = True, typed: str = "") -> None:
        """Raises InvalidInput for one that cannot be used; `typed`: what it was made of.

        It is held against lines: their ends are an end, and no hit goes over one.
        """
        import re2  # not for those who look for nothing

        options = re2.Options()
        options.never_nl = options.never_capture = True
        options.log_errors = False
        options.max_mem = _MOST_MEMORY
        options.case_sensitive = minds_case
        try:
            self._compiled: Any = re2.compile(f"(?m){words}", options)  # no parentheses: a backslash would take one in
        except re2.error as error:
            reason = _reason(str(error), typed or words)
            raise InvalidInput(
                text(
                    "“{expression}” is not a regular expression: {problem}.", expression=typed or words, problem=reason
                ),
                text(
                    "Put a backslash before characters to match literally, such as ( [ * + ?. Look-around and "
                    "back-references are not available."
                ),
            ) from error

    def lines_in(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Where the lines of `block` that have it begin and end, each once; looked for as far as somebody asks."""
        at = 0
        while at <= len(block) and (hit := self._compiled.search(block, at)) is not None:
            begin = block.rfind(b"\n", 0, hit.start()) + 1
            end = block.find(b"\n", hit.start())
            end = len(block) if end < 0 else end
            yield begin, end
            at = end + 1

    def is_in(self, content: bytes) -> bool:
        return self._compiled.search(content) is not None

    def spans(self, content: str | bytes) -> Iterator[tuple[int, int]]:
        """Begin and end of each hit, from left to right."""
        for found in self._compiled.finditer(content):
            yield found.span()


_REASONS = {
    "missing ]": text("missing ]"),
    "missing )": text("missing )"),
    "unexpected )": text("unexpected )"),
    "trailing \\": text("a backslash at the end"),
    "invalid escape sequence": text("unknown escape sequence"),
    "invalid character class": text("unknown character class"),
    "invalid character class range": text("impossible range of characters"),
    "no argument for repetition operator": text("nothing before the repetition"),
    "bad repetition operator": text("impossible repetition"),
    "invalid repetition size": text("too many repetitions"),
    "invalid perl operator": text("not available"),
    "invalid named capture group": text("unusable name of a group"),
    "pattern too large - compile failed": text("too large"),
}
"""What RE2 says, which it says in English."""


def _reason(said: str, words: str) -> Text:
    """What is wrong, and the part of the words it is about."""
    reason, _, part = said.removeprefix("b'").removesuffix("'").replace("\\\\", "\\").partition(": ")
    told = _REASONS.get(reason, Text("{words}", {"words": reason}))
    is_telling = part in words and part not in ("", words)
    return Text("{reason}: {part}", {"reason": told, "part": part}) if is_telling else told
