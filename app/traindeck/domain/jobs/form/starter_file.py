"""A job file to begin with: what most jobs need is filled in, what some need stands beside it as a comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from traindeck.domain.jobs.form.form_field import FieldKind, FormField, Prominence
from traindeck.domain.jobs.form.form_fields import TABLES, whole_table
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.texts import say


def starter_file(name: str, target: Target, boot: str) -> str:
    """The file for a project; every line says what it is for."""
    known = {"name": f'"{name}"', "target": f'"{target.value}"', "boot": f'"{boot}"'}
    lines = [f"# {say('A TrainDeck training job. Edit it, then run: traindeck job submit job.toml')}"]
    lines.append(f"# {say('“traindeck job fields” explains all keys.')}")
    for table, fields in TABLES.items():
        field = whole_table(table)
        lines += _whole(table, field) if field is not None else _table(table, fields, known)
    return "\n".join(lines) + "\n"


def _table(table: str, fields: Mapping[str, FormField], known: Mapping[str, str]) -> Iterator[str]:
    shown = [field for field in fields.values() if field.prominence is not Prominence.RARE]
    if not shown:
        return
    has_values = any(field.prominence is Prominence.FIRST for field in shown)
    yield ""
    yield f"[{table}]" if has_values else f"# [{table}]"
    for field in shown:
        begin = "" if field.prominence is Prominence.FIRST else "# "
        yield f"{begin}{field.key} = {known.get(field.name, field.example)}  # {say(field.help)}"


def _whole(table: str, field: FormField) -> Iterator[str]:
    if field.prominence is Prominence.RARE:
        return
    is_filled = field.prominence is Prominence.FIRST
    head = f"[[{table}]]" if field.kind is FieldKind.VOLUMES else f"[{table}]"
    yield ""
    yield f"{'' if is_filled else '# '}{head}  # {say(field.help)}"
    begin = "" if is_filled and field.kind is FieldKind.CHANNELS else "# "
    yield from (f"{begin}{line}" for line in field.example.splitlines())
