"""What was found in a script that would fail, or lose something, where the job runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.texts import Text


@dataclass(frozen=True, slots=True)
class ScriptFinding:
    """One fault at one place. A secret is never part of it, nor of its line."""

    rule: str
    level: CheckLevel
    """Red: the job fails or its result is lost. Amber: it may be meant so."""
    file: str
    line: int
    column: int
    """From 1; 0 where the whole line is meant."""
    source_line: str
    title: Text
    why: Text
    hint: Text
    fix: str = ""
    """What would mend it, by its name in `domain/scripts/fixes.py`; empty: nothing does it by itself."""
    is_silenced: bool = False

    @property
    def counts(self) -> bool:
        return not self.is_silenced

    @property
    def is_red(self) -> bool:
        return self.counts and self.level is CheckLevel.RED


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All that was found in some code, and what of it was not read."""

    findings: tuple[ScriptFinding, ...]
    files: int
    not_read: tuple[Text, ...] = ()

    @property
    def is_red(self) -> bool:
        return any(one.is_red for one in self.findings)

    @property
    def loud(self) -> tuple[ScriptFinding, ...]:
        return tuple(one for one in self.findings if one.counts)

    @property
    def silenced(self) -> tuple[ScriptFinding, ...]:
        return tuple(one for one in self.findings if one.is_silenced)

    def document(self) -> Mapping[str, object]:
        """For programs."""
        return {
            "findings": [_entry(one) for one in self.findings],
            "files": self.files,
            "not_read": [str(one) for one in self.not_read],
        }


def in_order(findings: Iterable[ScriptFinding]) -> list[ScriptFinding]:
    """The red before the amber, silenced last; then as they stand in the files."""
    return sorted(findings, key=lambda one: (one.is_silenced, not one.is_red, one.file, one.line, one.column))


def _entry(one: ScriptFinding) -> Mapping[str, object]:
    return {
        "rule": one.rule,
        "level": one.level.value,
        "file": one.file,
        "line": one.line,
        "source": one.source_line,
        "title": str(one.title),
        "why": str(one.why),
        "hint": str(one.hint),
        "fix": one.fix or None,
        "silenced": one.is_silenced,
    }
