"""`traindeck job fields`: what a job file can hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.domain.jobs.form.form_field import FormField, Limits
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.texts import say


async def fields(call: Call) -> int:
    if call.output.json_wanted:
        call.output.document([_document(field) for field in FIELDS])
    else:
        rows = [(field.place, say(field.kind.words), _limits(field), _meaning(field)) for field in FIELDS]
        call.output.table([say("Key", "of a job file"), say("Value"), say("Limits"), say("Meaning")], rows)
    return DONE


def _document(field: FormField) -> dict[str, object]:
    default = field.default
    return {
        "key": field.place,
        "kind": field.kind.name.lower(),
        "section": field.section.value,
        "prominence": field.prominence.value,
        "label": say(field.label),
        "help": say(field.help),
        "default": list(default) if isinstance(default, tuple) else default,
        "example": field.example,
        "request": field.request,
        "pattern": field.limits.pattern,
        "longest": field.limits.longest,
        "lowest": field.limits.lowest,
        "highest": field.limits.highest,
        "choices": list(field.limits.choices),
    }


def _limits(field: FormField) -> str:
    limits = field.limits
    if limits.lowest is not None:
        return f"{limits.lowest}–{limits.highest}" if limits.highest is not None else f"≥ {limits.lowest}"
    if limits.longest is not None:
        return f"≤ {limits.longest}"
    return ""


def _meaning(field: FormField) -> str:
    return ": ".join(part for part in (say(field.help), ", ".join(_choices(field.limits))) if part)


def _choices(limits: Limits) -> Iterator[str]:
    for choice, words in zip_longest(limits.choices, limits.choice_words):
        yield choice if words is None else say("{choice} ({words})", choice=choice, words=words)
