"""What was found out about a job before it is sent, and what would mend it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from traindeck.domain.errors import AppError, InvalidInput, KeysRefused
from traindeck.domain.jobs.form.file_values import to_toml_value
from traindeck.domain.jobs.form.form_field import FieldKind
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, count_text, text


class CheckLevel(StrEnum):
    RED = "red"  # nothing is sent
    AMBER = "amber"  # sent when somebody says so
    NOT_CHECKED = "not checked"  # nobody knows, so it is not good
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class CheckFix:
    """One way out, as data: what it would change in the form, and the place in OBS it would make."""

    words: Text
    """What stands on its button."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Fields of JobSpec with their new values; a channel is `outputs:train_url`, and its value a place."""
    creates: ObjectPath | None = None
    script_fix: str = ""
    """What it would change in the scripts, by its name there; its diff is shown first."""

    @property
    def is_silence(self) -> bool:
        """It mends nothing: the finding is told no more."""
        return bool(self.changes) and all(name == "silenced_rules" for name, _ in self.changes)


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What one check says about one thing."""

    check: str
    title: Text
    level: CheckLevel
    fact: Text
    hint: Text | None = None
    fixes: tuple[CheckFix, ...] = ()
    """The likeliest first."""
    field: str = ""
    """As in FieldError: the name in JobSpec, with the row's name after a colon."""
    file: str = ""
    line: int | None = None
    as_of: datetime | None = None
    """When the services were asked about it; None: it was found on this computer."""
    rule: str = ""
    """Of a script: the rule of “traindeck doctor” that it breaks."""
    source_line: str = ""
    """The line itself, without secrets."""
    did_not_run: bool = False
    """What it needed did not answer; trying again may help."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings about one form, in the order of the checks."""

    spec: JobSpec
    profile: str
    findings: tuple[CheckFinding, ...]
    refused: KeysRefused | None = None
    """The service does not take the keys: with others all may be well."""

    def of(self, *levels: CheckLevel) -> tuple[CheckFinding, ...]:
        return tuple(finding for finding in self.findings if finding.level in levels)

    @property
    def is_red(self) -> bool:
        return bool(self.of(CheckLevel.RED))

    @property
    def could_not_run(self) -> tuple[str, ...]:
        """The checks that failed to run."""
        return tuple(dict.fromkeys(finding.check for finding in self.findings if finding.did_not_run))

    @property
    def to_accept(self) -> tuple[CheckFinding, ...]:
        """What nobody sends without having read it."""
        return self.of(CheckLevel.AMBER)

    @property
    def to_record(self) -> tuple[AcceptedFinding, ...]:
        """What was not good when the job was sent all the same."""
        return tuple(
            AcceptedFinding(one.check, one.level, one.title, one.fact)
            for one in self.of(CheckLevel.AMBER, CheckLevel.NOT_CHECKED)
        )


@dataclass(frozen=True, slots=True)
class AcceptedFinding:
    """What is kept with a run that was sent in spite of it."""

    check: str
    level: CheckLevel
    title: Text | str
    fact: Text | str


class ChecksFailed(InvalidInput):
    """At least one check is red, so nothing was sent."""

    kind = "failed"

    def __init__(self, report: CheckReport) -> None:
        red = report.of(CheckLevel.RED)
        title = count_text(
            "{count} check failed, so nothing was submitted.",
            "{count} checks failed, so nothing was submitted.",
            len(red),
        )
        if len(red) == 1:
            title = text("Nothing was submitted: {fact}", fact=red[0].fact)
            super().__init__(title, red[0].hint or text("Check the job again when this is corrected."))
        else:
            super().__init__(title, listed(red))
        self.report = report


class NotAccepted(AppError):
    """Something is doubtful, and nobody said that the job is to be sent all the same."""

    def __init__(self, report: CheckReport) -> None:
        doubtful = report.to_accept
        super().__init__(
            count_text(
                "{count} warning was not confirmed, so nothing was submitted.",
                "{count} warnings were not confirmed, so nothing was submitted.",
                len(doubtful),
            ),
            listed(doubtful),
        )
        self.report = report


def told(one: CheckFinding | AcceptedFinding) -> Text:
    return text("{title}: {fact}", title=one.title, fact=one.fact)


def listed(findings: Iterable[CheckFinding]) -> Text:
    """One line for each, with what to do."""
    lines: dict[str, object] = {}
    for one in findings:
        line = told(one)
        if one.hint is not None:
            line = text("{title}: {fact} {hint}", title=one.title, fact=one.fact, hint=one.hint)
        lines[f"line{len(lines)}"] = line
    return Text("\n".join(f"{{{name}}}" for name in lines), lines)


def fixed(spec: JobSpec, fix: CheckFix) -> JobSpec:
    """The form after this fix."""
    for field, value in fix.changes:
        name, _, row = field.partition(":")
        if row:
            value = tuple(
                replace(channel, place=value) if channel.name == row else channel for channel in getattr(spec, name)
            )
        spec = replace(spec, **{name: value})
    return spec


def use_place(field: str, place: ObjectPath | str) -> CheckFix:
    return CheckFix(text("Use {place}", place=str(place)), ((field, str(place)),))


def make_bucket(bucket: str) -> CheckFix:
    return CheckFix(text("Create the bucket {bucket}", bucket=bucket), creates=ObjectPath(bucket))


def document_of(report: CheckReport) -> Mapping[str, object]:
    """The report for programs."""
    return {
        "checks": [_entry(finding) for finding in report.findings],
        "could_not_run": list(report.could_not_run),
    }


def _plain(name: str, value: Any) -> Any:
    """As it stands in a job file; of a row, its place."""
    if ":" in name:
        return value
    field = BY_NAME[name]
    if field.kind is FieldKind.VOLUMES:
        return [to_toml_value(field, row) for row in value]
    return dict(to_toml_value(field, row) for row in value) if field.is_table else to_toml_value(field, value)


def _entry(one: CheckFinding) -> Mapping[str, object]:
    return {
        "check": one.check,
        "level": one.level.value,
        "title": str(one.title),
        "fact": str(one.fact),
        "hint": str(one.hint) if one.hint is not None else "",
        "file": one.file or None,
        "line": one.line,
        "field": one.field or None,
        "rule": one.rule or None,
        "source": one.source_line or None,
        "fixes": [
            {
                "title": str(fix.words),
                "changes": {field: _plain(field, value) for field, value in fix.changes},
                "creates": str(fix.creates) if fix.creates else None,
                "script_fix": fix.script_fix or None,
            }
            for fix in one.fixes
        ],
        "as_of": one.as_of,
    }
