"""The runs in SQLite; every change of state leaves a line of its own."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from traindeck.domain import errors as kept_errors
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.checks import AcceptedFinding, CheckLevel
from traindeck.domain.jobs.job import Isolation, Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.database import database_errors, transaction

log = logging.getLogger(__name__)

Result = TypeVar("Result")
_COLUMNS = tuple(field.name for field in fields(Run))
_TIMES = ("created", "submitted", "started", "ended", "checked")
_OVER = tuple(state.value for state in RunState if state.is_over)


class RunStore:
    """Runs through one writer thread, so that no two writes of a program meet."""

    def __init__(self, db: sqlite3.Connection, path: Path, writer: BlockingCalls) -> None:
        self._db = db
        self._path = path
        self._writer = writer

    async def _with(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        def call(_: object) -> Result:
            with database_errors(self._path):
                return work(self._db)

        return await self._writer.run(call)

    async def add(self, run: Run) -> Run:
        row = {name: _column(name, getattr(run, name)) for name in _COLUMNS if name != "number"}
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)

        def work(db: sqlite3.Connection) -> int:
            with transaction(db):
                number = db.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", row).lastrowid
                _note(db, run)
            assert number is not None
            return number

        return replace(run, number=await self._with(work))

    async def change(self, run_id: str, **changes: Any) -> Run:
        def work(db: sqlite3.Connection) -> Run:
            with transaction(db):
                before = _one(db, run_id)
                if before is None:
                    raise _forgotten()
                after = replace(before, **changes)
                row = {name: _column(name, getattr(after, name)) for name in changes}
                settings = ", ".join(f"{name} = :{name}" for name in row)
                db.execute(f"UPDATE runs SET {settings} WHERE id = :id", {**row, "id": run_id})
                if (before.state, before.phase) != (after.state, after.phase):
                    _note(db, after)
            return after

        return await self._with(work)

    async def get(self, run_id: str) -> Run | None:
        return await self._with(lambda db: _one(db, run_id))

    async def existing(self, run_id: str) -> Run:
        run = await self.get(run_id)
        if run is None:
            raise _forgotten()
        return run

    async def all(self, limit: int | None = None) -> list[Run]:
        return await self._select("ORDER BY number DESC LIMIT ?", (-1 if limit is None else limit,))

    async def live(self) -> list[Run]:
        marks = ", ".join("?" for _ in _OVER)
        return await self._select(f"WHERE state NOT IN ({marks}) ORDER BY number DESC", _OVER)

    async def matching(self, beginning: str) -> list[Run]:
        # A range, not LIKE: it uses the index and takes every character as it is.
        end = beginning + "\U0010ffff"
        return await self._select(
            "WHERE (id >= ? AND id < ?) OR (name >= ? AND name < ?) ORDER BY number DESC",
            (beginning, end, beginning, end),
        )

    async def remove(self, run_id: str) -> None:
        await self._with(lambda db: db.execute("DELETE FROM runs WHERE id = ?", (run_id,)))

    async def _select(self, rest: str, values: tuple[object, ...]) -> list[Run]:
        return await self._with(lambda db: [_run(row) for row in db.execute(f"SELECT * FROM runs {rest}", values)])


def _forgotten() -> NotFound:
    return NotFound(text("This run is no longer in the records."), text("Refresh the list."))


def _one(db: sqlite3.Connection, run_id: str) -> Run | None:
    row = db.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    return _run(row) if row else None


def _note(db: sqlite3.Connection, run: Run) -> None:
    db.execute(
        "INSERT INTO transitions (run_id, at, state, reason) VALUES (?, strftime('%Y-%m-%dT%H:%M:%fZ'), ?, ?)",
        (run.id, run.phase or run.state.value, _column("reason", run.reason)),
    )


def _column(name: str, value: Any) -> object:
    if name == "spec":
        return job_file.to_toml(value)
    if name == "accepted":
        return json.dumps([_written_finding(one) for one in value], ensure_ascii=False)
    if name == "tasks":
        return json.dumps(value)
    if name == "reason":
        return kept_errors.words_to_json(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _run(row: sqlite3.Row) -> Run:
    """What can be read of it: one damaged row, or one of a newer TrainDeck, must not hide the others."""
    values: dict[str, Any] = {name: row[name] for name in _COLUMNS}
    damaged: list[str] = []

    def read(name: str, reading: Callable[[Any], Any], otherwise: object) -> None:
        try:
            values[name] = reading(row[name])
        except (InvalidInput, ValueError, TypeError, KeyError) as error:
            log.warning("run %s: %s cannot be read: %s", row["id"], name, error)
            damaged.append(name)
            values[name] = otherwise

    read("spec", job_file.recall, JobSpec(name=str(row["name"])))
    read("state", RunState, RunState.UNKNOWN)
    read("tasks", _tasks, ("worker-0",))
    read("reason", kept_errors.words_from_json, "")
    read("accepted", _findings, ())
    read("isolation", Isolation, Isolation.UNKNOWN)
    read("duration_ms", lambda value: None if value is None else int(value), None)
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


def _tasks(value: str) -> tuple[str, ...]:
    tasks = json.loads(value)
    if not isinstance(tasks, list):
        raise ValueError(value)
    return tuple(str(task) for task in tasks)
