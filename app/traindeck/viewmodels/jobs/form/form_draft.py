"""What stands in the form, as plain values that can be kept in a file; no keys are in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from traindeck.domain.jobs.job_spec import Channel, ChannelAccess, ChannelStyle, JobSpec, Target, Volume, VolumeKind
from traindeck.viewmodels.jobs.form.form_values import ROW_FIELDS, rows_of
from traindeck.viewmodels.ports import Rows

_DEFAULTS = JobSpec()
_MOST_SOURCE = 100_000


@dataclass(frozen=True, slots=True)
class Origin:
    """The run the form was filled from."""

    number: int
    spec: JobSpec
    run_id: str = ""
    bundle: str = ""
    """Its frozen code; empty: it has none."""


@dataclass(frozen=True, slots=True)
class FormDraft:
    """All that makes two forms the same to the person who fills them in."""

    spec: JobSpec
    rows: Mapping[str, Rows]
    base: Path
    file: Path | None
    origin: Origin | None
    profile: str
    is_dirty: bool
    source: str = ""
    """The text the form was edited as, with its comments."""

    def plain(self) -> dict[str, Any]:
        return {
            "job": _plain_spec(self.spec),
            "rows": {name: [list(row) for row in rows] for name, rows in self.rows.items()},
            "base": str(self.base),
            "file": str(self.file) if self.file is not None else "",
            "origin": _plain_origin(self.origin) if self.origin is not None else [],
            "profile": self.profile,
            "is_dirty": self.is_dirty,
            "source": self.source[:_MOST_SOURCE],
        }


@dataclass(frozen=True, slots=True)
class ReplacedForm:
    """A form that another job took the place of, with all that brings it back as it was."""

    draft: FormDraft
    clean: JobSpec
    aside: Mapping[str, Any]
    touched: frozenset[str]


def draft_of(plain: object) -> FormDraft | None:
    """None for what is no draft: the file is on the user's disk, and may be of another version."""
    try:
        return _read(plain)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _read(plain: Any) -> FormDraft:
    origin, spec = plain["origin"], _spec(plain["job"])
    # Older drafts hold fewer tables, and fewer columns.
    rows = {name: _rows(plain["rows"][name]) if name in plain["rows"] else rows_of(spec, name) for name in ROW_FIELDS}
    return FormDraft(
        spec=spec,
        rows=rows,
        base=Path(_word(plain["base"])),
        file=Path(_word(plain["file"])) if plain["file"] else None,
        origin=Origin(int(origin[0]), _spec(origin[1]), *map(_word, origin[2:4])) if origin else None,
        profile=_word(plain["profile"]),
        is_dirty=bool(plain["is_dirty"]),
        source=_word(plain.get("source", "")),
    )


def _plain_origin(origin: Origin) -> list[Any]:
    return [origin.number, _plain_spec(origin.spec), origin.run_id, origin.bundle]


def _rows(plain: Any) -> Rows:
    rows = tuple(tuple(map(_word, row)) for row in plain)
    if any(len(row) < 2 for row in rows):
        raise ValueError(plain)
    return rows


def _plain_spec(spec: JobSpec) -> dict[str, Any]:
    values = {entry.name: getattr(spec, entry.name) for entry in fields(JobSpec)}
    return {name: _plain(value) for name, value in values.items() if value != getattr(_DEFAULTS, name)}


def _plain(value: Any) -> Any:
    if isinstance(value, Channel | Volume):
        return list(astuple(value))
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _spec(plain: Any) -> JobSpec:
    values: dict[str, Any] = {}
    for entry in fields(JobSpec):
        value, default = plain.get(entry.name), getattr(_DEFAULTS, entry.name)
        if value is None:
            continue
        if entry.name == "target":
            values[entry.name] = Target(value)
        elif entry.name in ("inputs", "outputs"):
            values[entry.name] = tuple(_channel(*row) for row in value)
        elif entry.name == "volumes":
            values[entry.name] = tuple(_volume(*row) for row in value)
        elif entry.name == "parameters":
            values[entry.name] = tuple((_word(key), _scalar(part)) for key, part in value)
        elif entry.name in ("environment", "tags", "extra"):
            values[entry.name] = tuple((_word(key), _word(part)) for key, part in value)
        elif isinstance(default, bool):
            values[entry.name] = bool(value)
        elif isinstance(default, tuple):
            values[entry.name] = tuple(map(_word, value))
        elif isinstance(default, int):
            values[entry.name] = int(value)
        else:
            values[entry.name] = _word(value)
    return JobSpec(**values)


def _channel(name: Any, place: Any, access: str = "parameter", style: str = "local", local_dir: Any = "") -> Channel:
    """Older drafts hold names and places alone."""
    return Channel(_word(name), _word(place), ChannelAccess(access), ChannelStyle(style), _word(local_dir))


def _volume(kind: str, source: Any, mount: Any, read_only: Any) -> Volume:
    return Volume(VolumeKind(kind), _word(source), _word(mount), bool(read_only))


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _scalar(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise TypeError(value)
    return value
