"""The database of the training service, and what users keep in it under names."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from traindeck.lab.training.api.routes import Page, RefusedError

Kept = TypeVar("Kept")
# SQL conditions, all of which must be met, each with its values.
Where = list[tuple[str, list[Any]]]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class TrainingDatabase:
    """May be used from any thread; every change is on disk when its transaction ends."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("PRAGMA foreign_keys=ON")

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def add_tables(self, schema: str) -> None:
        with self._lock:
            self._connection.executescript(schema)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def write(self, statement: str, values: Sequence[Any] = ()) -> None:
        """One statement as a transaction of its own."""
        with self.writing() as connection:
            connection.execute(statement, values)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        with self._lock:
            return [dict(row) for row in self._connection.execute(statement, values)]

    def number(self, statement: str, values: Sequence[Any] = ()) -> int:
        (found,) = self.rows(statement, values)[0].values()
        return int(found)

    def page(self, source: str, values: Sequence[Any], order: str, page: Page) -> tuple[int, list[dict[str, Any]]]:
        """How many rows `source` (FROM … WHERE …) has, and some of them in this order, from one state."""
        with self._lock:
            total = self.number(f"SELECT count(*) {source}", values)
            return total, self.rows(
                f"SELECT * {source} ORDER BY {order} LIMIT ? OFFSET ?", (*values, page.limit, page.skip)
            )


class Shelf(Generic[Kept]):
    """Things of one kind, each with a name of its own in its workspace; changes are on disk when a call returns."""

    SCHEMA = ""
    TABLE = ""
    ARTICLE, TITLE = "a", ""
    MISSING_CODE = ""
    TAKEN_CODE = ""

    def __init__(self, database: TrainingDatabase) -> None:
        self._database = database
        database.add_tables(self.SCHEMA)

    def one(self, project_id: str, wanted_id: str) -> Kept:
        found = self._found("project_id = ? AND id = ?", project_id, wanted_id)
        if found is None:
            raise RefusedError(self.MISSING_CODE, f"the {self.TITLE} {wanted_id} does not exist")
        return found

    def named(self, project_id: str, workspace_id: str, name: str) -> Kept | None:
        return self._found("project_id = ? AND workspace_id = ? AND name = ?", project_id, workspace_id, name)

    def search(self, where: Where, page: Page, order: str = "") -> tuple[int, list[Kept]]:
        """How many meet all the conditions, and one page of them."""
        source = f"FROM {self.TABLE} WHERE {' AND '.join(condition for condition, _ in where)}"
        values = [value for _, some in where for value in some]
        total, rows = self._database.page(source, values, order or page.sql_order, page)
        return total, [self._read(row) for row in rows]

    def delete(self, project_id: str, wanted_id: str) -> None:
        self.one(project_id, wanted_id)
        self._database.write(f"DELETE FROM {self.TABLE} WHERE id = ?", (wanted_id,))

    def _read(self, row: dict[str, Any]) -> Kept:
        raise NotImplementedError

    def _found(self, condition: str, *values: str) -> Kept | None:
        rows = self._database.rows(f"SELECT * FROM {self.TABLE} WHERE {condition}", values)
        return self._read(rows[0]) if rows else None

    def _add(self, **columns: Any) -> None:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        self._write(f"INSERT INTO {self.TABLE} ({names}) VALUES ({marks})", columns)

    def _change(self, changed_id: str, **columns: Any) -> None:
        changes = ", ".join(f"{name} = ?" for name in columns)
        self._write(f"UPDATE {self.TABLE} SET {changes} WHERE id = ?", {**columns, "id": changed_id})

    def _write(self, statement: str, columns: Mapping[str, Any]) -> None:
        try:
            self._database.write(statement, tuple(columns.values()))
        except sqlite3.IntegrityError as error:
            message = f"{self.ARTICLE} {self.TITLE} named {columns['name']} exists already"
            raise RefusedError(self.TAKEN_CODE, message) from error
