"""What a file of another program gave: the form, and what of it the form does not hold."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.choices import Choices
from traindeck.domain.jobs.job_spec import JobSpec, name_stem
from traindeck.domain.texts import Text, text

_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class ReadJob:
    """A form, with what is to be said of how it was read."""

    spec: JobSpec
    remarks: tuple[Text, ...] = ()
    engine_id: str = ""
    """The engine, where the file has nothing but its ID."""


async def with_engine(read: ReadJob, offered: Callable[[], Awaitable[Choices]]) -> ReadJob:
    """The same with the engine of that ID, where the account offers it; `offered` is asked only where it is needed."""
    if not read.engine_id:
        return read
    try:
        choices = await offered()
    except AppError as error:
        remark = text(
            "The file has only the ID “{id}” of its engine, which could not be looked up: {reason} "
            "Select the engine.", id=read.engine_id, reason=error.title,
        )  # fmt: skip
        return replace(read, remarks=(*read.remarks, remark))
    engine = next((one for one in choices.engines if one.id == read.engine_id), None)
    if engine is None:
        remark = text(
            "The file has only the ID “{id}” of its engine, and the account offers no engine of this ID. "
            "Select the engine.", id=read.engine_id,
        )  # fmt: skip
        return replace(read, remarks=(*read.remarks, remark))
    remark = text("Engine “{id}” is {name}, version {version}.", id=engine.id, name=engine.name, version=engine.version)
    spec = replace(read.spec, engine=engine.name, engine_version=engine.version)
    return ReadJob(spec, (*read.remarks, remark))


def not_held(names: Iterable[str]) -> list[Text]:
    """What a file says that no job here can hold."""
    listed = ", ".join(names)
    return [text("Not imported, because a job has no place for it: {names}.", names=listed)] if listed else []


def fitting_name(name: str) -> tuple[str, list[Text]]:
    """A name that a job can have, with what is said where it is another one."""
    short = name if len(name) <= _LONGEST_NAME else name_stem(name)
    told = [text("The name “{name}” was shortened to “{short}”.", name=name, short=short)] if short != name else []
    return short, told


def told_once(rows: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """A map, none of whose keys is there twice: the earlier one would be lost."""
    found: dict[Any, Any] = {}
    for key, value in rows:
        if key in found:
            raise InvalidInput(
                text("“{name}” appears twice.", name=str(key)), text("Keep the one that is meant, then try again.")
            )
        found[key] = value
    return found


def json_of(source: str) -> Any:
    """Raises InvalidInput with the line of the mistake."""
    try:
        return json.loads(source, object_pairs_hook=told_once)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            text("The JSON cannot be read: there is a mistake in line {line}.", line=getattr(error, "lineno", "?")),
            text("Check quotation marks and commas."),
            str(error),
        ) from error
