"""Why a training failed, as far as a rule knows it; never a cause that nothing shows."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from traindeck.domain.readings.evidence import Evidence, NumberedLine, Traceback
from traindeck.domain.readings.failure_rules import ActionOffer, FailureRule, FailureRules, RuleText
from traindeck.domain.readings.reading import LogReading

_EXCEPTION, _LINE, _MESSAGE, _EXIT = range(4)
_MOST_SHOWN = 40
_MOST_WORDS = 600
_CONSEQUENCE = 10
"""Rules up to this rank know of a failure that comes of another one."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What is told of it; without a rule only what was printed last."""

    rule: str
    title: RuleText
    cause: RuleText
    todo: RuleText
    proof: NumberedLine | None = None
    """The line that shows it."""
    proof_words: str = ""
    """The same, or what the service said."""
    actions: tuple[ActionOffer, ...] = ()
    traceback: tuple[str, ...] = ()
    frame: tuple[str, int] | None = None
    """File and line of the script."""
    last_event: str = ""
    exit_code: int | None = None

    @property
    def is_known(self) -> bool:
        return bool(self.rule)

    @property
    def short_words(self) -> str:
        """In one line, for those who do not show its card; empty: nothing but what the service said."""
        if self.is_known:
            return str(self.title)
        return self.proof_words if self.proof is not None else ""


@dataclass(frozen=True, slots=True)
class RunReading:
    """Of one run: its log as read so far, and why it failed if it did."""

    run_id: str
    values: LogReading
    failure: Failure | None = None
    worker: str = ""
    """In whose log the failure is."""


@dataclass(frozen=True, slots=True)
class _Match:
    rule: FailureRule
    source: int
    at: int
    line: NumberedLine | None
    words: str
    groups: dict[str, str]
    traceback: Traceback | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        return -self.rule.rank, self.source, self.at


def failure_of(evidence: Evidence, rules: FailureRules) -> Failure | None:
    """None: nothing says that it failed."""
    exit_code = evidence.exit_code if evidence.exit_code is not None else _told_exit_code(evidence, rules)
    facts = {**dict(_facts(evidence, rules)), **dict(evidence.facts)}
    shown = [one for one in evidence.tracebacks if not one.is_stale]
    matches = [
        match
        for match in _matches(evidence, shown, rules, exit_code)
        if match.rule.needs <= facts.keys() and not (match.rule.unless and match.rule.unless.search(match.words))
    ]
    best = min(matches, key=lambda match: match.order, default=None)
    unexplained = [one for one in shown if not any(match.traceback is one for match in matches)]
    if best is not None and best.rule.follows:
        best = min((match for match in matches if _is_before(match, best)), key=lambda match: match.order, default=best)
    elif best is not None and best.rule.goes_on and best.source == _LINE:
        after = [match for match in matches if match.traceback and _has_cause(match) and _at(match) > _at(best)]
        best = min(after, key=lambda match: match.order, default=best)
        if not after and any(one.lines[0].offset > _at(best) for one in unexplained):
            best = None
    if exit_code == 0 and (best is None or best.source != _MESSAGE):
        return None
    if best is not None and (best.rule.rank > _CONSEQUENCE or not unexplained):
        return _told(best, facts, shown, evidence, exit_code)
    if shown or exit_code or evidence.messages:
        return _untold(unexplained or shown, evidence, exit_code, rules)
    return None


def _is_before(match: _Match, other: _Match) -> bool:
    """Whether it is why another process ended first, for which the others waited in vain."""
    return match.traceback is not None and _has_cause(match) and _at(match) < _at(other)


def _has_cause(match: _Match) -> bool:
    """Of its own: it is not what only follows from another failure."""
    return not match.rule.follows and match.rule.rank > _CONSEQUENCE


def _at(match: _Match) -> int:
    """Where in the log; what the service says comes behind all."""
    return match.line.offset if match.line is not None else sys.maxsize


def _matches(
    evidence: Evidence, shown: Sequence[Traceback], rules: FailureRules, exit_code: int | None
) -> Iterator[_Match]:
    for rule in rules.rules:
        for at, one in enumerate(shown):
            if found := _first(rule.exceptions, one.words):
                line = _line_of(one, found)
                yield _Match(rule, _EXCEPTION, line.offset + at, line, one.words, _groups(found), one)
        for line in evidence.end if rule.lines else ():
            if found := _first(rule.lines, line.words[:_MOST_WORDS]):
                yield _Match(rule, _LINE, line.offset, line, line.words, _groups(found))
                break
        for at, message in enumerate(evidence.messages if rule.messages else ()):
            if found := _first(rule.messages, message):
                yield _Match(rule, _MESSAGE, at, None, message, _groups(found))
        if exit_code is not None and exit_code in rule.exit_codes:
            yield _Match(rule, _EXIT, 0, _line_of_exit(evidence, exit_code, rules), "", {})


def _first(expressions: Sequence[re.Pattern[str]], words: str) -> re.Match[str] | None:
    return next((found for expression in expressions if (found := expression.search(words))), None)


def _groups(found: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in found.groupdict().items() if value}


def _line_of(one: Traceback, found: re.Match[str]) -> NumberedLine:
    """That of a message of several lines in which it was found."""
    return one.message[found.string.count("\n", 0, found.start())]


def _facts(evidence: Evidence, rules: FailureRules) -> Iterator[tuple[str, str]]:
    for name, value, expression in rules.facts:
        for line in (*evidence.head, *evidence.end):
            if found := expression.search(line.words):
                yield name, found.groupdict().get(name) or value
                break


def _told_exit_code(evidence: Evidence, rules: FailureRules) -> int | None:
    """That the platform wrote last, in the log or beside it."""
    for words in (*evidence.messages, *(line.words for line in reversed(evidence.end))):
        if found := _first(rules.exit_codes, words):
            return int(found["code"])
    return None


def _line_of_exit(evidence: Evidence, exit_code: int, rules: FailureRules) -> NumberedLine | None:
    for line in reversed(evidence.end):
        found = _first(rules.exit_codes, line.words)
        if found and int(found["code"]) == exit_code:
            return line
    return None


def _told(
    best: _Match, facts: dict[str, str], shown: Sequence[Traceback], evidence: Evidence, exit_code: int | None
) -> Failure:
    rule, traceback = best.rule, best.traceback or _last(shown)
    frame = traceback.own_frame if traceback else None
    known = {
        **facts,
        "file": frame[0] if frame else "",
        "line": str(frame[1]) if frame else "",
        "type": traceback.type if traceback else "",
        "code": "" if exit_code is None else str(exit_code),
        **best.groups,
    }
    proof = best.line.words.strip() if best.line else best.words
    return Failure(
        rule.id, rule.title.about(known), rule.cause.about(known), rule.todo.about(known), best.line, proof,
        rule.actions, _shown(traceback), frame, evidence.messages[0] if evidence.messages else "", exit_code,
    )  # fmt: skip


def _untold(shown: Sequence[Traceback], evidence: Evidence, exit_code: int | None, rules: FailureRules) -> Failure:
    """No rule knows it: what was printed last, and nothing that nobody said."""
    last = _last(shown)
    event = evidence.messages[0] if evidence.messages else ""
    line = last.message[0] if last and last.message else None
    words = line.words.strip() if line else event
    unknown = rules.unknown
    return Failure(
        "",
        unknown.title if words or exit_code is None else unknown.exit.about({"code": str(exit_code)}),
        RuleText("", ""),
        unknown.todo,
        proof=line,
        proof_words=words,
        traceback=_shown(last),
        frame=last.own_frame if last else None,
        last_event=event,
        exit_code=exit_code,
    )


def _last(shown: Sequence[Traceback]) -> Traceback | None:
    return shown[-1] if shown else None


def _shown(one: Traceback | None) -> tuple[str, ...]:
    if one is None:
        return ()
    words = [line.words for line in one.lines]
    half = _MOST_SHOWN // 2
    return tuple(words if len(words) <= _MOST_SHOWN else [*words[:half], "…", *words[-half:]])
