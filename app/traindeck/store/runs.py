"""The runs in SQLite; every change of state leaves a line of its own."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.jobs.comparison import DataPrint
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.run_query import MeasuredRun, Metric, RunQuery
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.records import REBUILD, RecordsFile
from traindeck.store.run_queries import OVER, statement
from traindeck.store.run_rows import column, row_of, run_of

Result = TypeVar("Result")
_AT_ONCE = 500
_NUMBER = re.compile(r"[0-9]{1,9}")
_ARRIVES_WITHIN = timedelta(hours=1)
"""A request that is older is refused by its signature, which holds for 15 minutes; clocks may differ by as much."""
_LOOKED_FOR = timedelta(days=7)
_KEPT_IN_FOLDER = frozenset({"job_id", "note", "tags", "starred", "spec", "bundle"})
"""What is worth the folder's own record beside the end of a run."""


@dataclass(frozen=True, slots=True)
class RunsOutline:
    """Which runs there are, as of one moment, without reading each."""

    over_numbers: array[int]
    over_ids: Sequence[str]
    """Of those that are over, the newest first."""
    read: Sequence[Run]
    """All that are not over, and the others that were asked for."""


class RunStore:
    """Runs through one writer thread, so that no two writes of a program meet."""

    def __init__(self, records: RecordsFile, writer: BlockingCalls) -> None:
        self._records = records
        self._writer = writer

    @property
    def trouble(self) -> AppError | None:
        """Why nothing can be written now."""
        return self._records.trouble

    @property
    def recovered(self) -> Text | None:
        """That the records were damaged, and what became of them."""
        return self._records.recovered

    async def open(self) -> None:
        await self._writer.run(lambda _: self._records.open())

    def close(self) -> None:
        """After the last call has come back."""
        self._records.close()

    async def _read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await self._writer.run(lambda _: self._records.read(work))

    async def _write(
        self, run_id: str, work: Callable[[sqlite3.Connection], Result], *, on_disk: bool = False
    ) -> Result:
        return await self._writer.run(lambda _: self._records.write(work, run_id, on_disk=on_disk))

    async def write_what_was_not(self) -> bool:
        """Whether everything is on the disk now."""
        return await self._writer.run(lambda _: self._records.write_what_was_not())

    async def ensure_writable(self) -> None:
        """Raise what keeps changes from the disk; for callers that end before it could be written later."""
        await self._write(
            "", lambda db: db.execute("INSERT OR REPLACE INTO facts VALUES ('written', '')"), on_disk=True
        )

    async def make_copy(self, day: date) -> None:
        """Once a day, of which it is known that it opens."""
        await self._writer.run(lambda _: self._records.make_copy(day))

    async def add(self, run: Run) -> Run:
        """Write down what is about to be sent; where that is not possible, it must not be sent."""
        return await self._add(run, None, on_disk=True)

    async def take_in(self, run: Run, document: Mapping[str, object] | None = None) -> Run:
        """A run that exists already, with the document of its job as the service has it."""
        return await self._add(run, document, on_disk=False)

    async def _add(self, run: Run, document: Mapping[str, object] | None, *, on_disk: bool) -> Run:
        if not run.tags:
            run = replace(run, tags=tuple(f"{key}={value}" if value else key for key, value in run.spec.tags))
        row = {name: value for name, value in row_of(run).items() if name != "number"}
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)

        def work(db: sqlite3.Connection) -> int:
            number = db.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", row).lastrowid
            _note(db, run)
            if document is not None:
                _put_document(db, run.id, document)
            assert number is not None
            return number

        added = replace(run, number=await self._write(run.id, work, on_disk=on_disk))
        await self._writer.run(lambda _: self._records.folders.write(row_of(added)))
        return added

    async def change(self, run_id: str, **changes: Any) -> Run:
        return await self._change(run_id, changes, on_disk=False)

    async def change_on_disk(self, run_id: str, **changes: Any) -> Run:
        """For what is of no use in memory alone, as that a request may have left."""
        return await self._change(run_id, changes, on_disk=True)

    async def _change(self, run_id: str, changes: Mapping[str, Any], *, on_disk: bool) -> Run:
        def work(db: sqlite3.Connection) -> tuple[Run, Run]:
            before = _one(db, run_id)
            if before is None:
                raise _forgotten()
            after = replace(before, **changes)
            row = {name: column(name, getattr(after, name)) for name in changes}
            settings = ", ".join(f"{name} = :{name}" for name in row)
            db.execute(f"UPDATE runs SET {settings} WHERE id = :id", {**row, "id": run_id})
            if (before.state, before.phase) != (after.state, after.phase):
                _note(db, after)
            return before, after

        before, after = await self._write(run_id, work, on_disk=on_disk)
        if after.state.is_over or not _KEPT_IN_FOLDER.isdisjoint(changes):
            changed = replace(before, checked=None) != replace(after, checked=None)
            if changed:
                await self._writer.run(lambda _: self._records.folders.write(row_of(after)))
        return after

    async def get(self, run_id: str) -> Run | None:
        return await self._read(lambda db: _one(db, run_id))

    async def existing(self, run_id: str) -> Run:
        run = await self.get(run_id)
        if run is None:
            raise _forgotten()
        return run

    async def all(self, limit: int | None = None, before: int | None = None) -> list[Run]:
        """Newest first; `before`: only those with smaller numbers."""
        return await self._select(
            "WHERE ? IS NULL OR number < ? ORDER BY number DESC LIMIT ?",
            (before, before, -1 if limit is None else limit),
        )

    async def outline(self, newest: int, wanted: Iterable[str] = ()) -> RunsOutline:
        """With the newest so many, and with these."""
        marks, ids = ", ".join("?" for _ in OVER), tuple(wanted)

        def work(db: sqlite3.Connection) -> RunsOutline:
            found = db.execute(f"SELECT number, id FROM runs WHERE state IN ({marks}) ORDER BY number DESC", OVER)
            numbers, over = array("q"), []
            for number, run_id in found:
                numbers.append(number)
                over.append(run_id)
            live = db.execute(f"SELECT * FROM runs WHERE state NOT IN ({marks}) ORDER BY number DESC", OVER)
            read = [run_of(row) for row in live]
            return RunsOutline(numbers, over, (*read, *_those(db, dict.fromkeys((*over[:newest], *ids)))))

        return await self._read(work)

    async def those(self, run_ids: Sequence[str]) -> list[Run]:
        """In any order; one that is gone is left out."""
        return await self._read(lambda db: _those(db, run_ids))

    async def live(self) -> list[Run]:
        marks = ", ".join("?" for _ in OVER)
        return await self._select(f"WHERE state NOT IN ({marks}) ORDER BY number DESC", OVER)

    async def since(self, moment: datetime) -> list[Run]:
        """Those of which something may have been after it."""
        marks, when = ", ".join("?" for _ in OVER), moment.astimezone(UTC).isoformat()
        # Of one that is over without a time, it was so when the service last answered.
        last = "julianday(coalesce(ended, checked, created)) >= julianday(?)"
        return await self._select(f"WHERE state NOT IN ({marks}) OR {last} ORDER BY number DESC", (*OVER, when))

    async def matching(self, beginning: str) -> list[Run]:
        """By number, id or name; of the last two a beginning is enough."""
        # A range, not LIKE: it uses the index and takes every character as it is.
        end = beginning + "\U0010ffff"
        return await self._select(
            "WHERE (id >= ? AND id < ?) OR (name >= ? AND name < ?) OR number = ? ORDER BY number DESC",
            (beginning, end, beginning, end, int(beginning) if _NUMBER.fullmatch(beginning) else 0),
        )

    async def with_job(self, job_id: str) -> Run | None:
        found = await self._select("WHERE job_id = ? AND job_id != '' ORDER BY number DESC LIMIT 1", (job_id,))
        return found[0] if found else None

    async def without_job(self, profile: str) -> list[Run]:
        """Those of an account whose request may have left, and of which no job is known."""
        open_states = (RunState.SUBMITTING.value, RunState.UNCONFIRMED.value)
        return await self._select(
            "WHERE profile = ? AND job_id = '' AND (submitted IS NOT NULL OR state IN (?, ?))", (profile, *open_states)
        )

    async def late(self, now: datetime | None = None) -> list[Run]:
        """Runs that were given up and may have a job by now: no look found it when its request had surely expired.

        Of one that was refused, nothing was looked up: its `checked` is empty. With `now`, those that are too old to be
        looked for are left out: their account has not answered for days.
        """
        since = "" if now is None else (now - _LOOKED_FOR).astimezone(UTC).isoformat()
        return await self._select(
            "WHERE state = ? AND job_id = '' AND julianday(checked) < julianday(submitted) + ?"
            " AND (? = '' OR julianday(submitted) >= julianday(?))",
            (RunState.NOT_SENT.value, _ARRIVES_WITHIN / timedelta(days=1), since, since),
        )

    async def job_ids(self, profile: str) -> dict[str, str]:
        """The run of each job of an account."""

        def work(db: sqlite3.Connection) -> dict[str, str]:
            found = db.execute("SELECT job_id, id FROM runs WHERE profile = ? AND job_id != ''", (profile,))
            return {str(job): str(run) for job, run in found}

        return await self._read(work)

    async def using_bundle(self, bundle: str) -> list[str]:
        """The runs that were made of this code."""

        def work(db: sqlite3.Connection) -> list[str]:
            found = db.execute("SELECT id FROM runs WHERE bundle = ? AND bundle != ''", (bundle,))
            return [str(run_id) for (run_id,) in found]

        return await self._read(work)

    async def bundles(self) -> set[str]:
        """All code that a run refers to."""

        def work(db: sqlite3.Connection) -> set[str]:
            return {str(bundle) for (bundle,) in db.execute("SELECT DISTINCT bundle FROM runs WHERE bundle != ''")}

        return await self._read(work)

    async def found(self, query: RunQuery) -> list[Run]:
        sql, values = statement(query)
        return await self._read(lambda db: [run_of(row) for row in db.execute(sql, values)])

    async def found_ids(self, query: RunQuery) -> list[str]:
        """For those who have the runs already."""
        sql, values = statement(query, "id")
        return await self._read(lambda db: [str(run_id) for (run_id,) in db.execute(sql, values)])

    async def ours_among(self, job_ids: Iterable[str], names: Iterable[str]) -> tuple[set[str], set[str]]:
        """Those of these jobs that have a run, by their ids and by the names of the runs."""

        def among(db: sqlite3.Connection, column: str, given: Iterable[str]) -> set[str]:
            wanted, found = list(dict.fromkeys(given)), set[str]()
            for start in range(0, len(wanted), _AT_ONCE):
                part = wanted[start : start + _AT_ONCE]
                marks = ", ".join("?" for _ in part)
                found |= {
                    str(one) for (one,) in db.execute(f"SELECT {column} FROM runs WHERE {column} IN ({marks})", part)
                }
            return found

        return await self._read(lambda db: (among(db, "job_id", job_ids), among(db, "name", names)))

    async def accounts(self) -> list[str]:
        """All that have runs."""
        sql = "SELECT DISTINCT profile FROM runs ORDER BY profile"
        return await self._read(lambda db: [str(name) for (name,) in db.execute(sql)])

    async def tags(self) -> list[str]:
        """All that some run has."""
        sql = "SELECT DISTINCT value FROM runs, json_each(tags) WHERE tags != '[]' AND json_valid(tags) ORDER BY value"
        return await self._read(lambda db: [str(tag) for (tag,) in db.execute(sql)])

    async def metric_names(self) -> list[str]:
        """All numbers that were measured."""
        sql = "SELECT DISTINCT name FROM metrics ORDER BY name"
        return await self._read(lambda db: [str(name) for (name,) in db.execute(sql)])

    async def remove(self, run_id: str) -> None:
        await self._write(run_id, lambda db: db.execute("DELETE FROM runs WHERE id = ?", (run_id,)))
        await self._writer.run(lambda _: self._records.folders.forget(run_id))

    # -- beside a run --------------------------------------------------------------------

    async def document(self, run_id: str) -> dict[str, Any] | None:
        """Of its job, as the service told it when the run was taken in."""

        def work(db: sqlite3.Connection) -> dict[str, Any] | None:
            row = db.execute("SELECT document FROM documents WHERE run_id = ?", (run_id,)).fetchone()
            try:
                found = json.loads(row[0]) if row else None
            except ValueError:
                return None
            return found if isinstance(found, dict) else None

        return await self._read(work)

    async def keep_document(self, run_id: str, document: Mapping[str, object]) -> None:
        await self._write(run_id, lambda db: _put_document(db, run_id, document))

    async def measured(self, runs: Sequence[Run]) -> list[MeasuredRun]:
        def work(db: sqlite3.Connection) -> dict[str, dict[str, Metric]]:
            found: dict[str, dict[str, Metric]] = {run.id: {} for run in runs}
            for start in range(0, len(runs), _AT_ONCE):
                part = [run.id for run in runs[start : start + _AT_ONCE]]
                marks = ", ".join("?" for _ in part)
                for row in db.execute(f"SELECT * FROM metrics WHERE run_id IN ({marks}) ORDER BY name", part):
                    found[row["run_id"]][row["name"]] = Metric(
                        *map(float, (row["last"], row["lowest"], row["highest"]))
                    )
            return found

        found = await self._read(work)
        return [MeasuredRun(run, found[run.id]) for run in runs]

    async def set_metrics(self, run_id: str, metrics: Mapping[str, Metric]) -> None:
        rows = [(run_id, name, *map(_kept_number, astuple(one))) for name, one in metrics.items()]

        def work(db: sqlite3.Connection) -> None:
            db.executemany("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?)", rows)

        await self._write(run_id, work)

    async def data_prints(self, run_id: str) -> dict[str, DataPrint]:
        """What its inputs held when somebody looked, about the time it was sent."""

        def work(db: sqlite3.Connection) -> dict[str, DataPrint]:
            rows = db.execute("SELECT * FROM data_prints WHERE run_id = ?", (run_id,)).fetchall()
            return {
                row["input"]: DataPrint(
                    row["place"],
                    datetime.fromisoformat(row["taken"]),
                    row["count"],
                    row["size_bytes"],
                    datetime.fromisoformat(row["newest"]) if row["newest"] else None,
                    row["digest"],
                    bool(row["is_whole"]),
                )
                for row in rows
            }

        return await self._read(work)

    async def keep_data_print(self, run_id: str, name: str, found: DataPrint) -> None:
        newest = found.newest.isoformat() if found.newest else None
        values = (found.place, found.taken.isoformat(), found.count, found.size_bytes, newest, found.digest)
        row = (run_id, name, *values, int(found.is_whole))

        def work(db: sqlite3.Connection) -> None:
            if _one(db, run_id) is not None:
                db.execute("INSERT OR REPLACE INTO data_prints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

        await self._write(run_id, work)

    async def fact(self, name: str) -> str:
        """What is known of the records themselves; empty where it is not."""

        def work(db: sqlite3.Connection) -> str:
            row = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
            return str(row[0]) if row else ""

        return await self._read(work)

    async def set_fact(self, name: str, value: str) -> None:
        await self._write("", lambda db: db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value)))

    async def lost_at(self) -> str:
        """When the records were made anew, so that jobs of this computer may be missing; empty: never."""
        return await self.fact(REBUILD)

    async def _select(self, rest: str, values: tuple[object, ...]) -> list[Run]:
        return await self._read(lambda db: [run_of(row) for row in db.execute(f"SELECT * FROM runs {rest}", values)])


def _kept_number(value: float) -> float | str:
    """SQLite makes NULL of NaN."""
    return "NaN" if math.isnan(value) else value


def _forgotten() -> NotFound:
    return NotFound(text("This run is no longer in the records."), text("Refresh the list."))


def _one(db: sqlite3.Connection, run_id: str) -> Run | None:
    row = db.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    return run_of(row) if row else None


def _those(db: sqlite3.Connection, run_ids: Iterable[str]) -> list[Run]:
    ids, found = list(run_ids), []
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        marks = ", ".join("?" for _ in part)
        found += [run_of(row) for row in db.execute(f"SELECT * FROM runs WHERE id IN ({marks})", part)]
    return found


def _note(db: sqlite3.Connection, run: Run) -> None:
    db.execute(
        "INSERT INTO transitions (run_id, at, state, reason) VALUES (?, strftime('%Y-%m-%dT%H:%M:%fZ'), ?, ?)",
        (run.id, run.phase or run.state.value, column("reason", run.reason)),
    )


def _put_document(db: sqlite3.Connection, run_id: str, document: Mapping[str, object]) -> None:
    content = json.dumps(document, ensure_ascii=False)
    db.execute("INSERT OR REPLACE INTO documents (run_id, document) VALUES (?, ?)", (run_id, content))
