"""What is to be done when a line comes in a log, as the user wrote it down."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.run_tags import tag_of
from traindeck.domain.texts import Text, text

STARTER = """\
# What TrainDeck does when a line comes in the log of a run. Nothing is done without a rule of yours.
# Rules are looked at while the window is open, or a command follows or waits for the run. Each applies to lines that
# come after it was written, and once to each place. “traindeck job rules --test RUN” shows which lines it would find.
#
# name     how it is told of
# pattern  a regular expression (RE2: without look-around and back-references), upper and lower case alike
# does     notify: tell of it; label: add a tag to the run; stop: stop the job
# label    the tag, for “label”
# runs     only runs whose job is called so, e.g. "bert-*"
# enabled  false: not now

# [[rule]]
# name = "loss is not a number"
# pattern = 'loss\\W+nan'
# does = "notify"

# [[rule]]
# name = "out of memory"
# pattern = 'out of memory'
# does = "stop"
# runs = "bert-*"
"""
MOST_RULES = 100
_MOST_PATTERN = 1000


class RuleAct(StrEnum):
    """What a rule does."""

    NOTIFY = "notify"
    LABEL = "label"
    STOP = "stop"

    @property
    def words(self) -> Text:
        return _ACTS[self]


_ACTS = {
    RuleAct.NOTIFY: text("notify"),
    RuleAct.LABEL: text("add a tag"),
    RuleAct.STOP: text("stop the job"),
}


@dataclass(frozen=True, slots=True)
class LineRule:
    name: str
    pattern: str
    act: RuleAct = RuleAct.NOTIFY
    label: str = ""
    runs: str = ""
    is_enabled: bool = True

    def concerns(self, job: str) -> bool:
        return self.is_enabled and (not self.runs or fnmatchcase(job, self.runs))


def line_rules(content: str, place: str) -> tuple[LineRule, ...]:
    """Of the user's file; raises InvalidInput for the first thing in it that cannot be used."""
    try:
        table = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise _unusable(place, text("it is not valid TOML: {problem}", problem=str(error).rstrip("."))) from error
    unknown = sorted(set(table) - {"rule"})
    rows = table.get("rule", [])
    if unknown or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _unusable(place, text("it may contain [[rule]] tables only"))
    if len(rows) > MOST_RULES:
        raise _unusable(place, text("it contains more than {most} rules", most=MOST_RULES))
    rules = tuple(_rule(row, number, place) for number, row in enumerate(rows, 1))
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise _unusable(place, text("two rules are called “{name}”", name=name))
    return rules


_KINDS: Mapping[str, type] = {
    "name": str, "pattern": str, "does": str, "label": str, "runs": str, "enabled": bool,
}  # fmt: skip


def _rule(row: Mapping[str, object], number: int, place: str) -> LineRule:
    for key, value in row.items():
        if key not in _KINDS or not isinstance(value, _KINDS[key]):
            raise _unusable(place, text("rule {number}: “{key}” cannot be used", number=number, key=key))
    name, pattern = str(row.get("name", "")).strip(), str(row.get("pattern", ""))
    if not name or not pattern or len(pattern) > _MOST_PATTERN:
        raise _unusable(place, text("rule {number}: a name and a pattern are required", number=number))
    does, label = str(row.get("does", RuleAct.NOTIFY)), str(row.get("label", "")).strip()
    if "chain" in does.lower():
        raise _unusable(
            place,
            text(
                "rule “{name}”: “{does}” is not available, as runs cannot be chained yet; write “stop” to stop the job",
                name=name, does=does,
            ),
        )  # fmt: skip
    if does not in set(RuleAct):
        raise _unusable(place, text("rule “{name}”: “does” is one of {known}", name=name, known=", ".join(RuleAct)))
    if does == RuleAct.LABEL:
        try:
            tag_of(label)
        except InvalidInput as error:
            raise _unusable(place, text("rule “{name}” needs a label that can be a tag", name=name)) from error
    return LineRule(name, pattern, RuleAct(does), label, str(row.get("runs", "")), bool(row.get("enabled", True)))


def _unusable(place: str, problem: Text) -> InvalidInput:
    return InvalidInput(
        text("The rules in “{file}” cannot be used: {problem}.", file=place, problem=problem),
        text("Correct the file. Until then none of its rules is applied."),
    )
