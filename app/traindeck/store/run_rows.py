"""A run as a row of the records, and back, as far as it can be read."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from traindeck.domain import errors as kept_errors
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.checks import AcceptedFinding, CheckLevel
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.job import Isolation, Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, text

log = logging.getLogger(__name__)

COLUMNS = tuple(field.name for field in fields(Run))
_TIMES = ("created", "submitted", "started", "ended", "checked", "gone")
_LISTS = ("tasks", "tags")

Row = Mapping[str, Any]

# Reading TOML takes most of the time of a long list, and many runs are of one form.
_form = lru_cache(maxsize=4096)(job_file.recall)


def row_of(run: Run) -> dict[str, object]:
    return {name: column(name, getattr(run, name)) for name in COLUMNS}


def column(name: str, value: Any) -> object:
    if name == "spec":
        return job_file.to_toml(value)
    if name in _LISTS:
        return json.dumps(value, ensure_ascii=False)
    if name == "accepted":
        return json.dumps([_written_finding(one) for one in value], ensure_ascii=False)
    if name == "reason":
        return kept_errors.words_to_json(value)
    if isinstance(value, bool):
        return int(value)
    return value.isoformat() if isinstance(value, datetime) else value


def run_of(row: Row) -> Run:
    """What can be read of it: one damaged row, or one of a newer TrainDeck, must not hide the others."""
    values: dict[str, Any] = {name: row[name] for name in COLUMNS}
    damaged: list[str] = []

    def read(name: str, reading: Callable[[Any], Any], otherwise: object) -> None:
        try:
            values[name] = reading(row[name])
        except (InvalidInput, ValueError, TypeError, KeyError) as error:
            log.warning("run %s: %s cannot be read: %s", row["id"], name, error)
            damaged.append(name)
            values[name] = otherwise

    read("spec", _form, JobSpec(name=str(row["name"])))
    read("state", RunState, RunState.UNKNOWN)
    read("tasks", _words, ("worker-0",))
    read("tags", _words, ())
    read("reason", kept_errors.words_from_json, "")
    read("accepted", _findings, ())
    read("isolation", Isolation, Isolation.UNKNOWN)
    read("duration_ms", lambda value: None if value is None else int(value), None)
    values["starred"] = bool(values["starred"])
    for name in _TIMES:
        read(name, lambda value: datetime.fromisoformat(value) if value else None, None)
    if values["created"] is None:
        values["created"] = datetime.fromtimestamp(0, UTC)
    if damaged:
        reason = text(
            "The record of this run is damaged or was written by a newer TrainDeck: {names}.", names=", ".join(damaged)
        )
        before = values["reason"]
        values["reason"] = Text("{damage} {before}", {"damage": reason, "before": before}) if before else reason
    return Run(**values)


def _written_finding(one: AcceptedFinding) -> dict[str, str]:
    title, fact = kept_errors.words_to_json(one.title), kept_errors.words_to_json(one.fact)
    return {"check": one.check, "level": one.level.value, "title": title, "fact": fact}


def _findings(value: str) -> tuple[AcceptedFinding, ...]:
    return tuple(
        AcceptedFinding(
            str(one["check"]),
            CheckLevel(one["level"]),
            kept_errors.words_from_json(str(one["title"])),
            kept_errors.words_from_json(str(one["fact"])),
        )
        for one in json.loads(value)
    )


def _words(value: str) -> tuple[str, ...]:
    words = json.loads(value)
    if not isinstance(words, list):
        raise ValueError(value)
    return tuple(str(word) for word in words)
