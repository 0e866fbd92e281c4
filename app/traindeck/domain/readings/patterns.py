"""How trainings print what they do: the words and expressions of a file, made ready to be tried on lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COUNTERS = ("epoch", "step")
NUMBER = (
    r"(?:[-+]?\d{1,3}(?:,\d{3})+(?!\d|,\d)(?:\.\d+)?"  # 12,345.6
    r"|[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
)
_MOST_DIGITS = 15
_NOT_A_NUMBER = r"[-+]?(?:nan|inf(?:inity)?)(?![\w.])"
_SPLIT = re.compile(r"[_./-]+")


@dataclass(frozen=True, slots=True)
class PlacePattern:
    """A way of one framework to say where it is."""

    needs: str
    expression: re.Pattern[str]
    is_bar: bool


@dataclass(frozen=True, slots=True)
class HintedPattern:
    """An expression that is tried on a line only where one of a few words is in it: most lines have none."""

    hints: tuple[str, ...]
    expression: re.Pattern[str]

    def search(self, words: str, low: str) -> re.Match[str] | None:
        """`low`: the same in small letters."""
        return self.expression.search(words) if any(hint in low for hint in self.hints) else None


@dataclass(frozen=True, slots=True)
class Patterns:
    """All of them, compiled once."""

    lines: tuple[PlacePattern, ...]
    stamps: tuple[re.Pattern[str], ...]
    ranks: tuple[HintedPattern, ...]
    pair: re.Pattern[str]
    counters: Mapping[str, re.Pattern[str]]
    counter_order: Mapping[str, Mapping[str, int]]
    not_after: frozenset[str]
    totals: Mapping[str, HintedPattern]
    units: tuple[HintedPattern, ...]
    roles: Mapping[str, str]
    """The role of a name."""
    names: Mapping[str, tuple[str, ...]]
    """The names of a role, the best first."""
    last_words: frozenset[str]
    """That end a name of several words."""
    measures: frozenset[str]
    settings: frozenset[str]
    qualifiers: frozenset[str]
    beside: HintedPattern
    kinds: Mapping[str, str]
    """Which kind of work beside training a word means."""
    summary: re.Pattern[str]
    ignored: re.Pattern[str]
    tables: Mapping[str, re.Pattern[str]]
    """By the first word of their heads, how their rows begin."""
    left: tuple[tuple[str, re.Pattern[str]], ...]

    def role(self, name: str) -> str:
        return self.roles.get(name.lower(), "")

    def is_measure(self, name: str) -> bool:
        parts = {
            part.rstrip("0123456789") if part not in self.measures else part for part in _SPLIT.split(name.lower())
        }
        return not self.measures.isdisjoint(parts) and self.settings.isdisjoint(parts)


def number_of(words: str) -> float:
    """Of what NUMBER finds."""
    return float(words.replace(",", ""))


def count_of(words: str) -> int | None:
    """Return the count that these digits are, or None for one that no training reaches."""
    digits = words.replace(",", "")
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def patterns_of(document: Mapping[str, Any]) -> Patterns:
    """From the file's content; it comes with the program, so that a mistake in it is a mistake of ours."""
    kinds = {word: kind for kind, words in document["beside"].items() for word in words}
    counters = {name: document["counters"][name] for name in COUNTERS}
    return Patterns(
        lines=tuple(
            PlacePattern(one["needs"], _of(one["expression"]), one.get("is_bar", False)) for one in document["line"]
        ),
        stamps=tuple(_of(one["expression"]) for one in document["stamp"]),
        ranks=tuple(HintedPattern(tuple(one["needs"]), _of(one["expression"])) for one in document["rank"]),
        pair=_pair(),
        counters={name: _counter([word for words in lists for word in words]) for name, lists in counters.items()},
        counter_order={
            name: {word: place for place, words in enumerate(lists) for word in words}
            for name, lists in counters.items()
        },
        not_after=frozenset(document["counters"]["not_after"]),
        totals={name: HintedPattern(_hints(words), _total(words)) for name, words in document["totals"].items()},
        units=tuple(HintedPattern(("/s", "s/"), _unit(one["units"])) for one in document["unit"]),
        roles={
            **{unit: one["role"] for one in document["unit"] for unit in one["units"]},
            **{name: role for role, names in document["roles"].items() for name in names},
        },
        names={
            role: (*names, *(unit for one in document["unit"] if one["role"] == role for unit in one["units"]))
            for role, names in document["roles"].items()
        },
        last_words=frozenset(name.split()[-1] for names in document["roles"].values() for name in names if " " in name),
        measures=frozenset(document["measures"]["parts"]),
        settings=frozenset(document["measures"]["but_not"]),
        qualifiers=frozenset(document["qualifiers"]["words"]),
        beside=HintedPattern(_hints([*kinds]), _of(rf"(?<![\w/.-])({_any(kinds)})(?![\w/.-]*/)(?![a-z])")),
        kinds=kinds,
        summary=_of(document["summary"]["expression"]),
        ignored=_of(rf"(?<![\w/.-])(?:{_any(document['ignored']['words'])})(?![\w])"),
        tables={one["first"]: _of(one["expression"]) for one in document["table"]},
        left=tuple((one["needs"], _of(one["expression"])) for one in document["left"]),
    )


def _of(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


def _any(words: Sequence[str] | Mapping[str, str]) -> str:
    """The longest first, and blanks as any."""
    return "|".join(re.escape(word).replace(r"\ ", r"[\s_]") for word in sorted(words, key=len, reverse=True))


def _hints(words: Sequence[str]) -> tuple[str, ...]:
    """The shortest that are in all of them, up to a blank: that may be written otherwise."""
    begins = {word.split(" ")[0].split("_")[0] for word in words}
    return tuple(sorted(word for word in begins if not any(other in word for other in begins - {word})))


def _pair() -> re.Pattern[str]:
    """A word, what stands between, and its number; the word may be the last of several that are a name."""
    word = r"[A-Za-z\u4e00-\u9fff][\w./@+%-]{0,59}"
    between = r"(?:\s*\([^()\d]{1,24}\))?(?:[\"']?\s*[:=：|]\s*|\s+is:?\s+|\s+of\s+|\s+|[\[(]\s*)"
    opening = r"(?:[\[({\"']\s*|tensor\(\s*|(?:Tensor|Parameter)\([^()]{0,60}value=\s*){0,6}+"
    return re.compile(
        rf"(?<![\w./@-])({word})({between})({opening})({NUMBER}|{_NOT_A_NUMBER})"
        rf"(?:(?=(?:ms|us|s|m|sec)(?![\w/]))|(?![\w.]|:\d))(?:\s*/\s*({NUMBER})(?![\w/]))?",
        re.IGNORECASE,
    )


def _counter(words: Sequence[str]) -> re.Pattern[str]:
    """For lines in small letters; what stands before the name is looked at once one is found, which is much quicker."""
    return re.compile(
        rf"({_any(words)})[\"']?(?:\s*[:=#：]\s*|\s+|(?=[\[(#\d]))[\[(#\"']{{0,2}}\s*"
        rf"(\d{{1,9}}(?:,\d{{3}})*(?:\.\d{{1,12}})?)(?:e\+?\d\d?)?\s*(?:(?:/|\bof\b|／)\s*(\d{{1,9}}(?:,\d{{3}})*))?"
    )


def _total(words: Sequence[str]) -> re.Pattern[str]:
    return _of(
        rf"(?<![\w.])(?:{_any(words)})[\"']?(?:\s*[:=：]\s*|\s+\.{{2,}}\s+|\s+)[\"']?(\d{{1,9}}(?:,\d{{3}})*)(?![\w./]|\s*%)"
    )


def _unit(units: Sequence[str]) -> re.Pattern[str]:
    return _of(rf"(?<![\w.])(?<!\d,)(\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?({_any(units)})(?![\w/])")
