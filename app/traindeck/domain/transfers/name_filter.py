"""Which names are meant, by what was said to be included and excluded.

As in aws the last rule that fits decides; as in rclone names are written with `*`, `**`, `?`, `[a-z]` and `{a,b}`, and
who includes something first means nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

FilterRules = tuple[tuple[bool, str], ...]
"""Whether what fits is meant, and the pattern; in the order in which they were said."""

_WHOLE = ("**", "*", "/**")


class NameFilter:
    """Names below the folder that was asked for; that of a folder ends with a slash."""

    def __init__(self, rules: FilterRules) -> None:
        self._takes_rest = not (rules and rules[0][0])
        last_first = list(reversed(rules))
        self._rules = [(is_included, pattern_of(words)) for is_included, words in last_first]
        self._wholes = [(is_included, _whole_folder(words)) for is_included, words in last_first]

    def takes(self, name: str) -> bool:
        shown = _composed(name)
        return next((yes for yes, pattern in self._rules if pattern.fullmatch(shown)), self._takes_rest)

    def may_hold(self, folder: str) -> bool:
        """False: nothing in this folder can be meant, so nobody need look into it."""
        shown = _composed(folder)
        for is_included, whole in self._wholes:
            if is_included:
                return True
            if whole is not None and whole.fullmatch(shown):
                return False
        return True


def pattern_of(words: str) -> re.Pattern[str]:
    """ValueError: this is no pattern."""
    pattern = _composed(words)
    if not pattern.strip("/"):
        raise ValueError("empty")
    anchored = pattern.startswith("/")
    body = pattern.removeprefix("/")
    expression = _Translation(body + "**" if body.endswith("/") else body).expression()
    return re.compile(("" if anchored else "(?:.*/)?") + expression, re.DOTALL)


def _whole_folder(words: str) -> re.Pattern[str] | None:
    """What the folders are like of which a pattern takes everything; None: it does not."""
    if words in _WHOLE:
        return re.compile(".*", re.DOTALL)
    if words.endswith(("/", "/**")):
        return pattern_of(words.removesuffix("**"))
    return None


def _composed(name: str) -> str:
    """Names that look the same are the same, whichever system wrote them."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


class _Translation:
    """One pattern on its way to a regular expression."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._open = 0

    def expression(self) -> str:
        found: list[str] = []
        while self._at < len(self._pattern):
            found.append(self._next())
        if self._open:
            raise ValueError("{")
        return "".join(found)

    def _next(self) -> str:
        rest = self._pattern[self._at :]
        if rest.startswith("/**/"):
            self._at += 4
            return "/(?:.*/)?"
        if rest.startswith("**/") and self._at == 0:
            self._at += 3
            return "(?:.*/)?"
        if rest.startswith("**"):
            self._at += len(rest) - len(rest.lstrip("*"))
            return ".*"
        self._at += 1
        match rest[0]:
            case "*":
                return "[^/]*"
            case "?":
                return "[^/]"
            case "[":
                return self._one_of(rest)
            case "\\" if len(rest) > 1:
                self._at += 1
                return re.escape(rest[1])
            case "{":
                self._open += 1
                return "(?:"
            case "}" if self._open:
                self._open -= 1
                return ")"
            case "," if self._open:
                return "|"
            case letter:
                return re.escape(letter)

    def _one_of(self, rest: str) -> str:
        end = rest.find("]", 2 if rest[1:2] not in ("!", "^") else 3)
        if end < 0:
            raise ValueError("[")
        self._at += end
        inner = rest[1:end]
        is_not = inner[0] in "!^"
        letters = inner[is_not:].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^").replace("&", "\\&")
        letters = letters.replace("~", "\\~").replace("|", "\\|")
        try:
            re.compile(f"[{letters}]")
        except re.error as error:
            raise ValueError("[") from error
        return f"(?!/)[{'^' if is_not else ''}{letters}]"


def same_filter(rules: Sequence[Sequence[object]]) -> FilterRules:
    """As JSON keeps them, made ours again."""
    return tuple((bool(is_included), str(words)) for is_included, words in rules)
