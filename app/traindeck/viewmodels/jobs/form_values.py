"""What is typed into the form, and the job it means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import Any

from traindeck.domain.jobs import form_fields
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Scalar, wire_value
from traindeck.domain.jobs.parameter_text import exact_scalar
from traindeck.viewmodels.ports import Rows

CHANNEL_FIELDS = ("inputs", "outputs")
ROW_FIELDS = (*CHANNEL_FIELDS, "parameters", "environment")

LABELS = {name: field.label for name, field in form_fields.BY_NAME.items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not as it was in the run the form was filled from."""

    field: str
    name: str
    before: str
    after: str


def rows_of(spec: JobSpec, field: str) -> Rows:
    if field in CHANNEL_FIELDS:
        return tuple((channel.name, channel.place) for channel in getattr(spec, field))
    return tuple((name, wire_value(value)) for name, value in getattr(spec, field))


def with_rows(spec: JobSpec, field: str, rows: Rows, typed: JobSpec) -> JobSpec:
    """The job with these rows; rows left empty do not count."""
    kept = [(name.strip(), value) for name, value in rows if name.strip() or value.strip()]
    if field == "parameters":
        before = dict(typed.parameters)
        return replace(spec, parameters=tuple((name, _scalar(value, before.get(name))) for name, value in kept))
    if field == "environment":
        return replace(spec, environment=tuple(kept))
    # What the rows do not show, as how the script learns of the place, stays with the name.
    known = {channel.name: channel for source in (typed, spec) for channel in getattr(source, field)}
    channels = [replace(known.get(name, Channel(name, "")), place=place.strip()) for name, place in kept]
    return replace(spec, **dict[str, Any]({field: tuple(channels)}))


def _scalar(written: str, before: Scalar | None) -> Scalar:
    """The value as it was when its text did not change; else a number only if the script then sees what was typed."""
    return before if before is not None and wire_value(before) == written else exact_scalar(written)


def merged(rows: Rows, added: Rows) -> Rows:
    """Pasted values replace those of the same name and follow the others."""
    values = {name: value for name, value in rows if name or value}
    values.update(added)
    return tuple(values.items())


def differences(before: JobSpec, after: JobSpec) -> tuple[Difference, ...]:
    found: list[Difference] = []
    for entry in fields(JobSpec):
        old, new = getattr(before, entry.name), getattr(after, entry.name)
        if old == new:
            continue
        if entry.name in ROW_FIELDS:
            found += _row_differences(entry.name, rows_of(before, entry.name), rows_of(after, entry.name))
        else:
            found.append(Difference(entry.name, str(LABELS[entry.name]), _words(old), _words(new)))
    return tuple(found)


def _row_differences(field: str, before: Rows, after: Rows) -> Iterable[Difference]:
    old, new = dict(before), dict(after)
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield Difference(field, name, old.get(name, "–"), new.get(name, "–"))


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value) or "–"
    return str(value) or "–"


def folder_words(folder: Path, base: Path | None) -> str:
    """A folder as the job file should name it: below `base` relative, elsewhere in full."""
    if base is not None and folder.is_relative_to(base):
        return PurePath(folder.relative_to(base)).as_posix()
    return str(folder)
