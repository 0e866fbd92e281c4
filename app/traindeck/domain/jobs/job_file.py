"""The job form as TOML text, and back, with nothing lost on the way."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job import JobSpec, Scalar, Target
from traindeck.domain.texts import text

# Every key of the file and the field of the form it stands for, once and in the order of the file. The names in a
# table without keys are the user's own.
_TABLES: dict[str, dict[str, str]] = {
    "job": {"name": "name", "target": "target", "description": "description"},
    "code": {"folder": "code_folder", "boot": "boot", "command": "command", "ignore": "ignore"},
    "engine": {"name": "engine", "version": "engine_version", "image": "image"},
    "resources": {
        "flavor": "flavor", "nodes": "nodes", "pool": "pool", "stop_after": "stop_after", "priority": "priority",
    },
    "inputs": {},
    "outputs": {},
    "logs": {"to": "log_to"},
    "parameters": {},
    "environment": {},
    "checkpoint": {"folder": "checkpoint_folder", "pattern": "checkpoint_pattern"},
}  # fmt: skip
_DEFAULTS = JobSpec()


def parse(source: str) -> JobSpec:
    """The form a job file describes; every mistake is named with its line."""
    fields: dict[str, Any] = {}
    for table, content in _document(source).items():
        if table not in _TABLES:
            raise _unknown(source, "", table, [*_TABLES])
        if not isinstance(content, Mapping):
            raise _wrong(source, "", table, text("a table, written [{table}]", table=table))
        fields.update(_table(source, table, content))
    return JobSpec(**fields)


def recall(source: str) -> JobSpec:
    """The form of an old run, without what a newer TrainDeck wrote into it and this one does not know."""
    known: dict[str, dict[str, Any]] = {}
    for table, content in _document(source).items():
        if table not in _TABLES or not isinstance(content, Mapping):
            continue
        for name, value in content.items():
            try:
                _table(source, table, {name: value})
            except InvalidInput:
                continue
            known.setdefault(table, {})[name] = value
    return JobSpec(**{name: value for table in known for name, value in _table(source, table, known[table]).items()})


def _document(source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            text("The job file is not valid TOML: {problem}.", problem=str(error).rstrip(".")),
            text("Put text in quotes, and use every key once. Compare with a file created by “traindeck job init”."),
        ) from error


def _table(source: str, table: str, content: Mapping[str, Any]) -> dict[str, Any]:
    if not _TABLES[table]:
        return {table: _free_table(source, table, content)}
    return _fixed_table(source, table, content)


def to_toml(spec: JobSpec) -> str:
    """The job file that reads back as exactly this form."""
    import tomlkit  # slow to load, and most only read

    document = tomlkit.document()
    for table_name, keys in _TABLES.items():
        table = tomlkit.table()
        for name, value in () if keys else getattr(spec, table_name):
            table.add(name, value)
        for key, field in keys.items():
            value = getattr(spec, field)
            if value != getattr(_DEFAULTS, field) or field in ("name", "target", "nodes"):
                kind = _kind_of(field)
                table.add(key, list(value) if kind is tuple else kind(value))
        if len(table) > 0:
            document.add(table_name, table)
    return tomlkit.dumps(document)


def with_setting(spec: JobSpec, setting: str) -> JobSpec:
    """Apply one `KEY=VALUE`: `lr=0.1` is a parameter, `resources.nodes=2` any other key."""
    name, separator, value = setting.partition("=")
    name = name.strip()
    if not separator or not name:
        raise InvalidInput(
            text("“{setting}” is not KEY=VALUE.", setting=setting),
            text("Enter for example lr=0.01 or resources.nodes=2."),
        )
    import tomlkit

    table, dot, key = name.partition(".")
    if not dot or table not in _TABLES:
        _refuse_form_key(spec, name)
        table, key = "parameters", name
    changed = tomlkit.parse(to_toml(spec))
    if table not in changed:
        changed.add(table, tomlkit.table())
    field = _TABLES[table].get(key)
    kind = _kind_of(field) if field else str if table in ("inputs", "outputs", "environment") else None
    if kind is tuple:
        changed[table][key] = [part.strip() for part in value.split(",") if part.strip()]
    else:
        changed[table][key] = value if kind is str else scalar_of(value)
    return parse(tomlkit.dumps(changed))


def _refuse_form_key(spec: JobSpec, name: str) -> None:
    """A key of the form written without its table would become a parameter, and the form stay as it is."""
    meant = [f"{table}.{key}" for table, keys in _TABLES.items() for key, field in keys.items() if name in (key, field)]
    if meant and name not in dict(spec.parameters):
        raise InvalidInput(
            text("“{key}” is a key of the job file and needs its table.", key=name),
            text("Enter {meant}. A parameter of that name is parameters.{key}.", meant=" or ".join(meant), key=name),
        )


def scalar_of(value: str) -> Scalar:
    """`3`, `0.1` and `true` as what they look like; everything else is text."""
    value = value.strip()
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
    return parsed if isinstance(parsed, (int, float, bool)) else value


def _kind_of(field: str) -> type:
    kind = type(getattr(_DEFAULTS, field))
    return str if issubclass(kind, str) else kind


def _fixed_table(source: str, table: str, content: Mapping[str, Any]) -> dict[str, Any]:
    known = _TABLES[table]
    fields: dict[str, Any] = {}
    for name, value in content.items():
        if name not in known:
            raise _unknown(source, table, name, [*known])
        kind = _kind_of(known[name])
        if kind is tuple:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise _wrong(source, table, name, text("a list of strings"))
            value = tuple(value)
        elif not isinstance(value, kind) or isinstance(value, bool):
            raise _wrong(source, table, name, text("a whole number") if kind is int else text("a string in quotes"))
        fields[known[name]] = value
    if "target" in fields:
        try:
            fields["target"] = Target(fields["target"])
        except ValueError as error:
            choices = ", ".join(f"“{target}”" for target in Target)
            raise _wrong(source, table, "target", text("one of {choices}", choices=choices)) from error
    return fields


def _free_table(source: str, table: str, content: Mapping[str, Any]) -> tuple[tuple[str, Scalar], ...]:
    only_text = table != "parameters"
    for name, value in content.items():
        if only_text and not isinstance(value, str):
            raise _wrong(source, table, name, text("a string in quotes"))
        if not isinstance(value, (str, int, float, bool)):
            raise _wrong(source, table, name, text("a string, a number, true or false"))
    return tuple(content.items())


def line_of(source: str, table: str, key: str) -> int | None:
    """The line a key stands on, so that an error can point there."""
    inside = ""
    wanted = re.compile(rf"""\s*(?:"{re.escape(key)}"|'{re.escape(key)}'|{re.escape(key)})\s*=""")
    for number, line in enumerate(source.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([^\]]+?)\s*\]", line)
        if header:
            inside = header[1].strip("\"'")
            if not table and inside == key:
                return number
        elif inside == table and wanted.match(line):
            return number
    return None


def _unknown(source: str, table: str, key: str, known: list[str]) -> InvalidInput:
    nearest = difflib.get_close_matches(key, known, 1, 0.5)
    place = f"[{table}] {key}" if table else f"[{key}]"
    return InvalidInput(
        text("Line {line}: “{key}” is not a key of a job file.", line=line_of(source, table, key) or "?", key=place),
        text("Did you mean “{nearest}”?", nearest=nearest[0])
        if nearest
        else text("Known here: {known}.", known=", ".join(known)),
    )


def _wrong(source: str, table: str, key: str, wanted: object) -> InvalidInput:
    return InvalidInput(
        text("Line {line}: “{key}” has the wrong kind of value.", line=line_of(source, table, key) or "?", key=key),
        text("It must be {wanted}.", wanted=wanted),
    )
