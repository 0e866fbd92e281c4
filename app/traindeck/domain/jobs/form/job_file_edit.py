"""A job file changed in place: comments, order and spelling of what stays are the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.file_values import to_toml_value
from traindeck.domain.jobs.form.form_field import FieldKind, FormField
from traindeck.domain.jobs.form.form_fields import TABLES, whole_table
from traindeck.domain.jobs.job_spec import JobSpec

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def edited(source: str, spec: JobSpec) -> str:
    """The file with what is different in the form; where that cannot be done in place, the file anew."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if not source.strip():
        return job_file.to_toml(spec)
    try:
        before = job_file.parse(source)
        document = tomlkit.parse(source)
        for table, fields in TABLES.items():
            field = whole_table(table)
            if field is not None:
                _edit_rows(document, field, getattr(before, field.name), getattr(spec, field.name))
            else:
                _edit_keys(document, table, fields, before, spec)
        written = tomlkit.dumps(document)
        if _is_same(job_file.parse(written), spec):
            return written
    except (InvalidInput, TOMLKitError, ValueError, TypeError, LookupError, AttributeError):
        pass  # as a table that the user wrote in one line, or in several places
    return job_file.to_toml(spec)


def _edit_keys(
    document: TOMLDocument, table: str, fields: Mapping[str, FormField], before: JobSpec, spec: JobSpec
) -> None:
    for key, field in fields.items():
        value = getattr(spec, field.name)
        if _is_same(value, getattr(before, field.name)):
            continue
        if value == field.default and key in document.get(table, {}) and field.name not in ("name", "target", "nodes"):
            del document[table][key]
        else:
            _set(document, table, key, to_toml_value(field, value))


def _edit_rows(document: TOMLDocument, field: FormField, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
    if _is_same(before, after):
        return
    if field.kind is FieldKind.VOLUMES:
        import tomlkit

        document.pop(field.table, None)
        if after:
            document.add(field.table, tomlkit.item([to_toml_value(field, row) for row in after]))
        return
    old, new = dict(to_toml_value(field, row) for row in before), dict(to_toml_value(field, row) for row in after)
    stays = [name for name in old if name in new]
    if stays != [name for name in new if name in old] or [*new][: len(stays)] != stays:
        stays = []  # in another order: the rows are written anew
    for name in old:
        if name not in stays:
            del document[field.table][name]
    for name, value in new.items():
        if name not in stays or not _is_same(old[name], value):
            _set(document, field.table, name, value)


def _is_same(one: object, other: object) -> bool:
    """By their words: 1 and true are the same to Python."""
    return repr(one) == repr(other)


def _set(document: TOMLDocument, table: str, key: str, value: Any) -> None:
    import tomlkit

    if table not in document:
        document.add(table, tomlkit.table())
    rows: Any = document[table]
    if key not in rows:
        rows.add(key, value)
        return
    import tomlkit

    before = getattr(rows[key], "trivia", None)
    item = tomlkit.item(value)
    if before is not None:  # the comment behind it, and what stands before that
        item.trivia.comment_ws, item.trivia.comment = before.comment_ws, before.comment
    rows[key] = item
