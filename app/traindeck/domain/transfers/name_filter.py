"""Which names are meant, by what was said to be included and excluded.

As in aws the last rule that fits decides, and after an include first nothing else is meant. Patterns are those of
rclone, character for character; what rclone takes and users are likely to mean otherwise is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import Text, text

FilterRules = tuple[tuple[bool, str], ...]
"""Whether what fits is meant, and the pattern; in the order in which they were said."""


class NameFilter:
    """Names below the folder that was asked for; that of a folder ends with a slash."""

    def __init__(self, rules: FilterRules) -> None:
        """Raises InvalidInput for a pattern that cannot be used."""
        self._takes_rest = not (rules and rules[0][0])
        self._rules = [(is_included, NamePattern(words, is_included=is_included)) for is_included, words in rules[::-1]]

    def takes(self, name: str) -> bool:
        shown = _composed(name)
        return next((yes for yes, pattern in self._rules if pattern.fits(shown)), self._takes_rest)

    def may_hold(self, folder: str) -> bool:
        """False: nothing in this folder can be meant, so nobody need look into it."""
        shown = _composed(folder)
        for is_included, pattern in self._rules:
            if is_included:
                return True
            if pattern.fits_all_in(shown):
                return False
        return True


class NamePattern:
    """One pattern, matched by RE2 in linear time."""

    def __init__(self, words: str, *, is_included: bool) -> None:
        """Raises InvalidInput for one that cannot be used."""
        import re2  # most transfers leave out nothing

        shown = _composed(words)
        if not shown.strip("/"):
            raise _refused(words, text("it is empty"))
        if is_included and shown.endswith("/"):
            raise _refused(words, text("to include a folder, write {pattern}", pattern=f"{words.rstrip('/')}/**"))
        options = re2.Options()
        options.never_capture = options.dot_nl = True
        options.log_errors = False
        try:
            expression = _expression(shown + "**" if shown.endswith("/") else shown)
            self._compiled: Any = re2.compile(expression, options)
        except re2.error as error:
            raise _refused(words, text("it contains an invalid expression"), str(error)) from error
        except _Unusable as error:
            raise _refused(words, error.why) from error
        # rclone looks into no folder that such a pattern excludes, whatever the names in it are.
        self._is_of_folders = not is_included and (shown.endswith("/") or "**" in shown)
        self._is_of_all = not is_included and shown == "*"

    def fits(self, name: str) -> bool:
        if self._compiled.fullmatch(name.encode()) is not None:
            return True
        return self._is_of_folders and self._is_below_fitting(name)

    def fits_all_in(self, folder: str) -> bool:
        """Whether everything in a folder is excluded."""
        return self._is_of_all or (self._is_of_folders and self.fits(folder))

    def _is_below_fitting(self, name: str) -> bool:
        above = (name[: at + 1] for at, letter in enumerate(name[:-1]) if letter == "/")
        return any(self._compiled.fullmatch(folder.encode()) is not None for folder in above)


class _Unusable(Exception):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


_UNBALANCED = text("brackets do not match; put a backslash before one to match it literally")


def _expression(pattern: str) -> str:
    """What a whole name has to match; raises _Unusable."""
    anchored = pattern.startswith("/")
    return ("" if anchored else "(?:.*/)?") + "".join(_pieces(pattern.removeprefix("/")))


def _pieces(pattern: str) -> Iterator[str]:
    at, depth = 0, 0
    while at < len(pattern):
        letter, rest = pattern[at], pattern[at:]
        taken = 1
        match letter:
            case "*":
                taken = len(rest) - len(rest.lstrip("*"))
                if taken > 2:
                    raise _Unusable(text("no more than two stars can follow each other"))
                yield ".*" if taken == 2 else "[^/]*"
            case "?":
                yield "[^/]"
            case "[":
                taken = _end_of_class(rest)
                yield rest[:taken]
            case "\\":
                # As in regular expressions: \d is any digit. C++ has \C, half a letter, which no name ends with.
                if rest[1:2] in ("", "C"):
                    raise _Unusable(text("a backslash must be followed by the character to match literally"))
                taken = 2
                yield rest[:2]
            case "{" if rest.startswith("{{"):
                end = _end_of_expression(rest)
                taken = end + 2
                yield f"(?:{_checked(rest[2:end])})"
            case "{":
                depth += 1
                yield "(?:"
            case "}" if depth:
                depth -= 1
                yield ")"
            case "," if depth:
                yield "|"
            case "]" | "}":
                raise _Unusable(_UNBALANCED)
            case _:
                yield re.escape(letter)
        at += taken
    if depth:
        raise _Unusable(_UNBALANCED)


def _end_of_class(rest: str) -> int:
    """Where [a-z] or [[:digit:]] is over."""
    if rest.startswith("[!"):
        # A shell takes it for a negation, rclone for one of these characters.
        raise _Unusable(text("[!x] differs between programs; write [^x] for any other character"))
    depth = 0
    for at, letter in enumerate(rest):
        depth += (letter == "[") - (letter == "]")
        if letter == "/":
            raise _Unusable(text("no slash can be in brackets"))
        if not depth:
            return at + 1
    raise _Unusable(_UNBALANCED)


def _end_of_expression(rest: str) -> int:
    """Where the closing braces of {{…}} begin; those before them belong to the expression."""
    end = rest.find("}}", 2)
    if end < 0:
        raise _Unusable(_UNBALANCED)
    return end + len(rest[end + 2 :]) - len(rest[end + 2 :].lstrip("}"))


def _checked(expression: str) -> str:
    """It stands for itself: no parenthesis in it closes one of ours."""
    import re2

    options = re2.Options()
    options.log_errors = False
    re2.compile(expression, options)
    return expression


def _refused(pattern: str, why: Text, detail: str = "") -> InvalidInput:
    return InvalidInput(
        text("“{pattern}” is not a pattern: {why}.", pattern=pattern, why=why),
        text("Enter patterns such as *.ckpt or logs/**."),
        detail,
    )


def _composed(name: str) -> str:
    """Names that look the same are the same, whichever system wrote them."""
    return name if name.isascii() else unicodedata.normalize("NFC", utf8_name(name))


_NOT_UTF8 = re.compile("[\ud800-\udfff]")


def utf8_name(name: str) -> str:
    """A name of any bytes as RE2 takes it, and as a file of rules is read."""
    return name if name.isascii() else _NOT_UTF8.sub("\ufffd", name)


def same_filter(rules: Sequence[Sequence[object]]) -> FilterRules:
    """As JSON keeps them, made ours again."""
    return tuple((bool(is_included), str(words)) for is_included, words in rules)
