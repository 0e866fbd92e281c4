"""The job form as TOML text, and back, with nothing lost on the way."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.file_values import WrongValueError, from_toml, to_toml_value
from traindeck.domain.jobs.form.form_field import FieldKind, FormField, nearest
from traindeck.domain.jobs.form.form_fields import FIELDS, TABLES, whole_table
from traindeck.domain.jobs.form.parameter_text import scalar_of
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, text

_ALWAYS = ("name", "target", "nodes")
_AT_LINE = re.compile(r"\(at line (\d+)")


class WrongLine(InvalidInput):
    """A job file cannot be read for what stands on one of its lines."""

    def __init__(self, title: Text, hint: Text, line: int | None) -> None:
        super().__init__(title, hint)
        self.line = line


def parse(source: str) -> JobSpec:
    """The form a job file describes; every mistake is named with its line."""
    fields: dict[str, Any] = {}
    for table, content in _document(source).items():
        if table not in TABLES:
            raise _unknown(source, "", table, [*TABLES])
        fields.update(_table(source, table, content))
    return JobSpec(**fields)


def recall(source: str) -> JobSpec:
    """The form of an old run, without what a newer TrainDeck wrote into it and this one does not know."""
    fields: dict[str, Any] = {}
    for table, content in _document(source).items():
        if table not in TABLES:
            continue
        for part in _parts(content):
            try:
                read = _table(source, table, part, is_lenient=True)
            except InvalidInput:
                continue
            for name, value in read.items():
                fields[name] = (*fields.get(name, ()), *value) if whole_table(table) else value
    return JobSpec(**fields)


def _parts(content: object) -> list[Any]:
    """What can be read or not read on its own."""
    if isinstance(content, Mapping):
        return [{name: value} for name, value in content.items()]
    return [[row] for row in content] if isinstance(content, list) else []


def _document(source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        raise WrongLine(
            text("The job file is not valid TOML: {problem}.", problem=str(error).rstrip(".")),
            text("Put text in quotes, and use every key once. Compare with a file created by “traindeck job init”."),
            int(at[1]) if at else len(source.splitlines()) or None,
        ) from error


def _table(source: str, table: str, content: Any, *, is_lenient: bool = False) -> dict[str, Any]:
    field = whole_table(table)
    if field is not None and field.kind is FieldKind.VOLUMES:
        return {field.name: _read(source, field, "", content, is_lenient=is_lenient)}
    if not isinstance(content, Mapping):
        raise _wrong(source, "", table, text("a table, written [{table}]", table=table))
    if field is not None:
        return {field.name: tuple(_read(source, field, name, content[name], is_lenient=is_lenient) for name in content)}
    known = TABLES[table]
    fields: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            raise _unknown(source, table, key, [*known])
        fields[known[key].name] = _read(source, known[key], key, value, is_lenient=is_lenient)
    return fields


def _read(source: str, field: FormField, key: str, value: object, *, is_lenient: bool) -> Any:
    try:
        return from_toml(field, key, value, is_lenient=is_lenient)
    except WrongValueError as wrong:
        raise _wrong(source, field.table if key else "", key or field.table, wrong.wanted) from wrong


def to_toml(spec: JobSpec) -> str:
    """The job file that reads back as exactly this form."""
    import tomlkit  # slow to load, and most only read

    document = tomlkit.document()
    for table_name, fields in TABLES.items():
        field = whole_table(table_name)
        if field is not None and field.kind is FieldKind.VOLUMES:
            if rows := getattr(spec, field.name):
                document.add(table_name, tomlkit.item([to_toml_value(field, row) for row in rows]))
            continue
        table = tomlkit.table()
        for key, value in _written(spec, fields, field).items():
            table.add(key, value)
        if len(table) > 0:
            document.add(table_name, table)
    return tomlkit.dumps(document)


def _written(spec: JobSpec, fields: Mapping[str, FormField], whole: FormField | None) -> dict[str, Any]:
    """What stands in a table: its rows, or its keys that are not as they are without being written."""
    if whole is not None:
        return dict(to_toml_value(whole, row) for row in getattr(spec, whole.name))
    return {
        key: to_toml_value(field, getattr(spec, field.name))
        for key, field in fields.items()
        if getattr(spec, field.name) != field.default or field.name in _ALWAYS
    }


def with_setting(spec: JobSpec, setting: str) -> JobSpec:
    """Apply one `KEY=VALUE`: `lr=0.1` is a parameter, `resources.nodes=2` any other key."""
    name, separator, value = setting.partition("=")
    name = name.strip()
    if not separator or not name:
        raise InvalidInput(
            text("“{setting}” is not KEY=VALUE.", setting=setting),
            text("Enter for example lr=0.01 or resources.nodes=2."),
        )
    table, dot, key = name.partition(".")
    if not dot:
        _refuse_form_key(spec, name)
        table, key = "parameters", name
    field = TABLES.get(table, {}).get(key) or (whole_table(table) if table in TABLES else None)
    if field is None or field.kind is FieldKind.VOLUMES:
        raise _no_setting(name)
    try:
        return _with_value(spec, field, key, _typed(field, value))
    except WrongValueError as wrong:
        raise InvalidInput(
            text("“{setting}” has the wrong kind of value.", setting=setting),
            text("It must be {wanted}.", wanted=wrong.wanted),
        ) from wrong


def _typed(field: FormField, value: str) -> Any:
    """What would stand in the file for what was typed."""
    match field.kind:
        case FieldKind.LIST:
            return [part.strip() for part in value.split(",") if part.strip()]
        case FieldKind.WHOLE | FieldKind.YES_NO | FieldKind.PARAMETERS:
            return scalar_of(value)
        case _:
            return value


def _with_value(spec: JobSpec, field: FormField, key: str, value: Any) -> JobSpec:
    read = from_toml(field, key, value)
    if not field.is_table:
        return replace(spec, **{field.name: read})
    rows = getattr(spec, field.name)
    if field.kind is FieldKind.CHANNELS:
        # How the script learns of it stays; only the place is another one.
        known = {channel.name: channel for channel in rows}
        known[key] = replace(known.get(key, read), place=read.place)
        return replace(spec, **dict[str, Any]({field.name: tuple(known.values())}))
    return replace(spec, **dict[str, Any]({field.name: tuple({**dict(rows), key: read[1]}.items())}))


def _no_setting(name: str) -> InvalidInput:
    places = [field.place for field in FIELDS if field.key]
    # The table counts as much as the key: both may be mistyped.
    near = nearest(name, places, 0.6)
    tables = ", ".join(f"{table}.NAME" for table in TABLES if whole_table(table) and table != "volumes")
    return InvalidInput(
        text("“{key}” is not a key of a job file.", key=name),
        text("Did you mean “{nearest}”?", nearest=near)
        if near
        else text("Known here: {known}.", known=", ".join([*places, tables])),
    )


def _refuse_form_key(spec: JobSpec, name: str) -> None:
    """A key of the form written without its table would become a parameter, and the form stay as it is."""
    meant = [field.place for field in FIELDS if field.key and name in (field.key, field.name)]
    if meant and name not in dict(spec.parameters):
        raise InvalidInput(
            text("“{key}” is a key of the job file and needs its table.", key=name),
            text("Enter {meant}. A parameter of that name is parameters.{key}.", meant=" or ".join(meant), key=name),
        )


def line_of(source: str, table: str, key: str) -> int | None:
    """The line a key stands on, so that an error can point there."""
    inside = ""
    assignment = re.compile(rf"""\s*+(?:"{re.escape(key)}"|'{re.escape(key)}'|{re.escape(key)})\s*=""")
    for number, line in enumerate(source.splitlines(), start=1):
        header = re.match(r"\s*+\[++([^\]]++)\]", line)
        if header:
            inside = header[1].strip().strip("\"'")
            if not table and inside == key:
                return number
        elif inside == table and assignment.match(line):
            return number
    return None


def line_of_field(source: str, field: FormField, row: str = "") -> int | None:
    """Where a field stands, or a row of it, or else the table it would stand in."""
    return line_of(source, field.table, field.key or row) or line_of(source, "", field.table)


def _unknown(source: str, table: str, key: str, known: list[str]) -> WrongLine:
    near = nearest(key, known)
    place = f"[{table}] {key}" if table else f"[{key}]"
    line = line_of(source, table, key)
    return WrongLine(
        text("Line {line}: “{key}” is not a key of a job file.", line=line or "?", key=place),
        text("Did you mean “{nearest}”?", nearest=near)
        if near
        else text("Known here: {known}.", known=", ".join(known)),
        line,
    )


def _wrong(source: str, table: str, key: str, wanted: object) -> WrongLine:
    line = line_of(source, table, key)
    return WrongLine(
        text("Line {line}: “{key}” has the wrong kind of value.", line=line or "?", key=key),
        text("It must be {wanted}.", wanted=wanted),
        line,
    )
