"""What happened, kept over restarts in a SQLite file of its own; the oldest goes when there is too much."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from traindeck.domain.errors import words_from_json, words_to_json
from traindeck.domain.events import KeptEvent
from traindeck.domain.texts import Text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.database import OpenedLater, transaction

_STEPS = (
    (
        """CREATE TABLE events (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            at TEXT NOT NULL,
            kind TEXT NOT NULL,
            title TEXT NOT NULL,
            hint TEXT NOT NULL DEFAULT '',
            detail TEXT NOT NULL DEFAULT '',
            name TEXT NOT NULL DEFAULT '',
            subject TEXT NOT NULL DEFAULT '',
            topic TEXT NOT NULL DEFAULT '',
            profile TEXT NOT NULL DEFAULT '',
            notice TEXT NOT NULL DEFAULT '',
            mark TEXT)""",
        "CREATE UNIQUE INDEX events_by_mark ON events (mark)",
        "CREATE INDEX events_by_name ON events (name, number)",
    ),
)
_MOST_DETAIL = 4000
# How many more than wanted there may be before the oldest are taken away.
_SLACK = 100


class EventStore(OpenedLater):
    """Through one writer thread; the file is opened when it is first needed."""

    def __init__(self, path: Path, writer: BlockingCalls) -> None:
        super().__init__(path, writer, _STEPS)

    async def add(self, events: Sequence[KeptEvent], most: int) -> list[KeptEvent]:
        """Those that are news, with their numbers; of all there are, the newest `most` are kept."""

        def work(db: sqlite3.Connection) -> list[KeptEvent]:
            with transaction(db):
                added = [replace(event, number=_add(db, event)) for event in events if not _is_told(db, event)]
                _forget(db, most)
            return added

        return await self._with(work)

    async def newest(self, most: int) -> list[KeptEvent]:
        """The oldest of them first."""

        def work(db: sqlite3.Connection) -> list[KeptEvent]:
            rows = db.execute("SELECT * FROM events ORDER BY number DESC LIMIT ?", (most,)).fetchall()
            return [_event(row) for row in reversed(rows)]

        return await self._with(work)

    async def marks(self, names: Sequence[str]) -> set[str]:
        """Of all that is kept under these names."""

        def work(db: sqlite3.Connection) -> set[str]:
            asked = ", ".join("?" for _ in names)
            found = db.execute(f"SELECT mark FROM events WHERE name IN ({asked}) AND mark IS NOT NULL", list(names))
            return {row["mark"] for row in found}

        return await self._with(work)


def _is_told(db: sqlite3.Connection, event: KeptEvent) -> bool:
    if event.mark and db.execute("SELECT 1 FROM events WHERE mark = ?", (event.mark,)).fetchone():
        return True
    if not event.is_state:
        return False
    last = db.execute(
        "SELECT kind, title FROM events WHERE name = ? ORDER BY number DESC LIMIT 1", (event.name,)
    ).fetchone()
    return last is not None and tuple(last) == (event.kind, words_to_json(event.title))


def _add(db: sqlite3.Connection, event: KeptEvent) -> int:
    row = {
        "at": event.at.isoformat(),
        "kind": event.kind,
        "title": words_to_json(event.title),
        "hint": words_to_json(event.hint) if event.hint.english else "",
        "detail": event.detail[:_MOST_DETAIL],
        "name": event.name,
        "subject": event.subject,
        "topic": event.topic,
        "profile": event.profile,
        "notice": event.notice,
        "mark": event.mark or None,
    }
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    # A name of the user's may hold half a character, which SQLite does not take.
    values = {
        name: value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }
    number = db.execute(f"INSERT INTO events ({names}) VALUES ({marks})", values).lastrowid
    assert number is not None
    return number


def _forget(db: sqlite3.Connection, most: int) -> None:
    first, last = db.execute("SELECT min(number), max(number) FROM events").fetchone()
    if last is not None and last - first >= most + _SLACK:
        db.execute("DELETE FROM events WHERE number <= ?", (last - most,))


def _event(row: sqlite3.Row) -> KeptEvent:
    values = {name: row[name] for name in ("kind", "detail", "name", "subject", "topic", "profile", "notice", "number")}
    title, hint = _words(row["title"]), _words(row["hint"])
    return KeptEvent(at=datetime.fromisoformat(row["at"]), title=title, hint=hint, mark=row["mark"] or "", **values)


def _words(content: str) -> Text:
    words = words_from_json(content)
    return words if isinstance(words, Text) else Text("{words}" if words else "", {"words": words})
