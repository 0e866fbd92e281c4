"""Rules of why trainings fail: what one looks for, and what it says in both languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from traindeck.domain.texts import CHINESE, printable, spoken

_FIELD = re.compile(r"\{(\w+)\}")
_MOST_FIELD = 200
# “A file is damaged. {path}”: without a path the sentence ends before it.
_AT_END = re.compile(r"(?<=[.。])\s?\{(\w+)\}$")
_NAME = re.compile(r"(?:\w+://)?[\w./+-]+")
_OPTION = re.compile(r"--[A-Za-z][\w-]*|-[A-Za-z](?![\w-])")
_GIVEN = "arguments"
"""What the job passed to the script: what is not the name of an option is a value."""
_LIKE_A_KEY = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{16,}")


class FailureAction(StrEnum):
    """What a button of a failure does; a view knows how."""

    EDIT = "edit"
    """Open the form of the run, at a field."""
    RUN_AGAIN = "run-again"
    SHOW_CODE = "show-code"
    SHOW_ACCOUNT = "show-account"
    SHOW_LAB = "show-lab"
    SHOW_BILLING = "show-billing"


@dataclass(frozen=True, slots=True)
class ActionOffer:
    """An action and, of the form, the field it is about."""

    action: FailureAction
    field: str = ""

    @property
    def name(self) -> str:
        return f"{self.action.value}:{self.field}" if self.field else self.action.value


@dataclass(frozen=True, slots=True)
class RuleText:
    """A sentence of a rule in both languages, with what was found in its place."""

    english: str
    chinese: str
    facts: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        facts = dict(self.facts)

        def filled(match: re.Match[str]) -> str:
            return printable(facts.get(match[1]) or "–")[:_MOST_FIELD]

        words = self.chinese if spoken() == CHINESE else self.english
        if (last := _AT_END.search(words)) and not facts.get(last[1]):
            words = words[: last.start()]
        return _FIELD.sub(filled, words)

    def __bool__(self) -> bool:
        return bool(self.english)

    def about(self, facts: Mapping[str, str]) -> RuleText:
        return RuleText(self.english, self.chinese, tuple(facts.items()))

    def with_names_only(self) -> RuleText:
        """For who may see no line of the log: names and paths stay, all else may hold a key."""
        named = tuple((fact, _options(value) if fact == _GIVEN else _name(value)) for fact, value in self.facts)
        return RuleText(self.english, self.chinese, named)


def _options(given: str) -> str:
    return " ".join(_name(option[0]) if (option := _OPTION.match(word)) else "…" for word in given.split())


def _name(value: str) -> str:
    return value if not value or (_NAME.fullmatch(value) and not _LIKE_A_KEY.search(value)) else "…"


@dataclass(frozen=True, slots=True)
class FailureRule:
    """What shows a failure: any of its expressions, or an exit code when nothing says more."""

    id: str
    rank: int
    """Of several that fit, the highest is the cause, the others its consequences."""
    title: RuleText
    cause: RuleText
    todo: RuleText
    actions: tuple[ActionOffer, ...]
    exceptions: tuple[re.Pattern[str], ...]
    lines: tuple[re.Pattern[str], ...]
    messages: tuple[re.Pattern[str], ...]
    """What the service says: reasons and events."""
    exit_codes: frozenset[int]
    needs: frozenset[str]
    """Facts without which it does not hold."""
    unless: re.Pattern[str] | None
    follows: bool
    """Of the failure of another process, where that said why before."""
    goes_on: bool
    """What runs may go on after its line."""


@dataclass(frozen=True, slots=True)
class UnknownFailure:
    """What is said where no rule fits."""

    title: RuleText
    exit: RuleText
    """Where there is an exit code and nothing else."""
    todo: RuleText


@dataclass(frozen=True, slots=True)
class FailureRules:
    """All of them, and how facts and exit codes are found beside them."""

    rules: tuple[FailureRule, ...]
    facts: tuple[tuple[str, str, re.Pattern[str]], ...]
    """Its name, its value where the expression has no group of that name, and the expression."""
    exit_codes: tuple[re.Pattern[str], ...]
    unknown: UnknownFailure


def rules_of(document: Mapping[str, Any]) -> FailureRules:
    """From the file's content; it comes with the program, so that a mistake in it is a mistake of ours."""
    return FailureRules(
        tuple(_rule(one) for one in document["rule"]),
        tuple((one["name"], one.get("value", ""), _of(one["expression"])) for one in document["fact"]),
        tuple(_of(one) for one in document["exit_code"]["expressions"]),
        UnknownFailure(*(_text(document["unknown"][name]) for name in ("title", "exit", "todo"))),
    )


def _rule(one: Mapping[str, Any]) -> FailureRule:
    return FailureRule(
        id=one["id"],
        rank=one.get("rank", 50),
        title=_text(one["title"]),
        cause=_text(one["cause"]),
        todo=_text(one["todo"]),
        actions=tuple(_offer(name) for name in one.get("actions", ())),
        exceptions=_all(one.get("exception", ())),
        lines=_all(one.get("line", ())),
        messages=_all(one.get("message", ())),
        exit_codes=frozenset(one.get("exit", ())),
        needs=frozenset(one.get("needs", ())),
        unless=_of(one["unless"]) if "unless" in one else None,
        follows=one.get("follows", False),
        goes_on=one.get("goes_on", False),
    )


def _offer(name: str) -> ActionOffer:
    action, _, field = name.partition(":")
    return ActionOffer(FailureAction(action), field)


def _text(both: Sequence[str]) -> RuleText:
    english, chinese = both
    return RuleText(english, chinese)


def _all(expressions: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(_of(one) for one in expressions)


def _of(expression: str) -> re.Pattern[str]:
    return re.compile(expression)
