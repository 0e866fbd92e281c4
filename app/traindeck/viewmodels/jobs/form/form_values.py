"""What is typed into the form, and the job it means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import Any

from traindeck.domain.jobs.form import form_fields
from traindeck.domain.jobs.form.form_field import FieldKind
from traindeck.domain.jobs.form.parameter_text import exact_scalar
from traindeck.domain.jobs.job_spec import (
    Channel,
    ChannelAccess,
    ChannelStyle,
    JobSpec,
    Scalar,
    Volume,
    VolumeKind,
    wire_value,
)
from traindeck.domain.texts import Text, say, text
from traindeck.viewmodels.ports import Rows

_TABLES = (FieldKind.CHANNELS, FieldKind.PARAMETERS, FieldKind.PAIRS, FieldKind.VOLUMES)
ROW_FIELDS = tuple(field.name for field in form_fields.FIELDS if field.kind in _TABLES)
"""Fields that are tables; what is typed into them is kept as it is typed."""

WRITABLE, READ_ONLY = "rw", "ro"


def way_of(access: ChannelAccess, style: ChannelStyle) -> str:
    """What stands in a row for how the script learns of a place."""
    return f"{access.value} {style.value}"


USUAL_WAY = way_of(ChannelAccess.PARAMETER, ChannelStyle.LOCAL)
WAYS: tuple[tuple[str, Text], ...] = (
    (USUAL_WAY, text("parameter")),
    (way_of(ChannelAccess.ENVIRONMENT, ChannelStyle.LOCAL), text("variable")),
    (way_of(ChannelAccess.PARAMETER, ChannelStyle.OBS), text("OBS path")),
)
"""As a folder that a parameter or an environment variable names, or as the path itself."""
VOLUME_KINDS: tuple[tuple[str, Text], ...] = (
    (VolumeKind.NFS.value, text("NFS")),
    (VolumeKind.PFS.value, text("Parallel file system")),
    (VolumeKind.OBS.value, text("OBS")),
)
VOLUME_ACCESS: tuple[tuple[str, Text], ...] = (
    (WRITABLE, text("read and write")),
    (READ_ONLY, text("read only")),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not as it was in the run the form was filled from."""

    field: str
    name: str
    before: str
    after: str


def rows_of(spec: JobSpec, field: str) -> Rows:
    match form_fields.BY_NAME[field].kind:
        case FieldKind.CHANNELS:
            return tuple((one.name, one.place, way_of(one.access, one.style)) for one in getattr(spec, field))
        case FieldKind.VOLUMES:
            return tuple(
                (one.mount, one.source, one.kind.value, READ_ONLY if one.read_only else WRITABLE)
                for one in getattr(spec, field)
            )
        case _:
            return tuple((name, wire_value(value)) for name, value in getattr(spec, field))


def with_rows(spec: JobSpec, field: str, rows: Rows, typed: JobSpec) -> JobSpec:
    """The job with these rows; rows left empty do not count."""
    value: Any
    match form_fields.BY_NAME[field].kind:
        case FieldKind.CHANNELS:
            value = _channels(spec, field, rows, typed)
        case FieldKind.VOLUMES:
            value = tuple(_volume(row) for row in rows if row[0].strip() or row[1].strip())
        case FieldKind.PARAMETERS:
            before = dict(typed.parameters)
            value = tuple((name, _scalar(written, before.get(name))) for name, written in _filled(rows))
        case _:
            value = _filled(rows)
    return replace(spec, **dict[str, Any]({field: value}))


def _filled(rows: Rows) -> tuple[tuple[str, str], ...]:
    return tuple((row[0].strip(), row[1]) for row in rows if row[0].strip() or row[1].strip())


def _channels(spec: JobSpec, field: str, rows: Rows, typed: JobSpec) -> tuple[Channel, ...]:
    # The folder of the container is not in the rows; it stays with the name.
    folders = {one.name: one.local_dir for source in (typed, spec) for one in getattr(source, field)}
    found = []
    for name, place, *way in rows:
        if name.strip() or place.strip():
            access, _, style = (way[0] if way else USUAL_WAY).partition(" ")
            name = name.strip()
            folder = folders.get(name, "")
            found.append(Channel(name, place.strip(), ChannelAccess(access), ChannelStyle(style), folder))
    return tuple(found)


def _volume(row: tuple[str, ...]) -> Volume:
    mount, source, kind, access = (*row, VolumeKind.NFS.value, WRITABLE)[:4]
    return Volume(VolumeKind(kind), source.strip(), mount.strip(), access == READ_ONLY)


def _scalar(written: str, before: Scalar | None) -> Scalar:
    """The value as it was when its text did not change; else a number only if the script then sees what was typed."""
    return before if before is not None and wire_value(before) == written else exact_scalar(written)


def merged(rows: Rows, added: Rows) -> Rows:
    """Pasted values replace those of the same name and follow the others."""
    known = {row[0]: row for row in rows if any(row[:2])}
    for name, value in added:
        known[name] = (name, value, *known.get(name, ("", ""))[2:])
    return tuple(known.values())


def differences(before: JobSpec, after: JobSpec) -> tuple[Difference, ...]:
    found: list[Difference] = []
    for entry in fields(JobSpec):
        old, new = getattr(before, entry.name), getattr(after, entry.name)
        if old == new:
            continue
        if entry.name in ROW_FIELDS:
            found += _row_differences(entry.name, rows_of(before, entry.name), rows_of(after, entry.name))
        else:
            label = str(form_fields.BY_NAME[entry.name].label)
            found.append(Difference(entry.name, label, value_words(old), value_words(new)))
    return tuple(found)


def _row_differences(field: str, before: Rows, after: Rows) -> Iterable[Difference]:
    old, new = ({row[0]: row for row in rows} for rows in (before, after))
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield Difference(field, name, _row_words(old.get(name)), _row_words(new.get(name)))


def _row_words(row: tuple[str, ...] | None) -> str:
    """Of a row, the value; what is chosen beside it is told where it is not the usual."""
    if row is None:
        return "–"
    chosen = {value: str(words) for value, words in (*WAYS, *VOLUME_KINDS, *VOLUME_ACCESS)}
    more = [chosen.get(part, part) for part in row[2:] if part not in (USUAL_WAY, WRITABLE)]
    return ", ".join([row[1], *more])


def value_words(value: object) -> str:
    """What is no table."""
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value) or "–"
    return str(value) or "–"


def folder_words(folder: Path, base: Path | None) -> str:
    """A folder as the job file should name it: below `base` relative, elsewhere in full."""
    if base is not None and folder.is_relative_to(base):
        return PurePath(folder.relative_to(base)).as_posix()
    return str(folder)
