"""What transfers have to do and have done, in a SQLite file of its own; a kill leaves it whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from traindeck.domain import errors as kept_errors
from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import (
    PROBLEM_SCHEME,
    SMALL_BYTES,
    Action,
    Item,
    ItemState,
    Kind,
    Known,
    Order,
    Rules,
    SentPart,
    Totals,
    TransferRecord,
    TransferState,
)
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.database import database_errors, open_database, transaction
from traindeck.store.transfer_steps import STEPS

Result = TypeVar("Result")

_OPEN = "state < 10"
_FORGET_AT_ONCE = 20_000
_ITEM = (
    "key, name, size_bytes, modified_ns, inode, mode, etag, action, state, upload_id, part_bytes, is_verified, error"
)
_TIMES = ("created", "started", "ended")


class TransferJournal:
    """The journal through one writer thread; each method is one transaction, on the disk when it returns.

    The file is opened when it is first needed: most commands move nothing.
    """

    def __init__(self, path: Path, writer: BlockingCalls) -> None:
        self._path = path
        self._writer = writer
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        """After the last call has come back."""
        if self._db is not None:
            self._db.close()

    async def _with(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        def call(_: object) -> Result:
            if self._db is None:
                self._db = open_database(self._path, STEPS)
            with database_errors(self._path):
                return work(self._db)

        return await self._writer.run(call)

    async def _write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        def call(db: sqlite3.Connection) -> Result:
            with transaction(db):
                return work(db)

        return await self._with(call)

    async def add(self, order: Order, now: datetime) -> TransferRecord:
        def work(db: sqlite3.Connection) -> TransferRecord:
            row = (order.kind.value, order.profile, order.source, order.target, order.rules.to_json())
            number = db.execute(
                "INSERT INTO transfers (kind, profile, source, target, rules, state, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, TransferState.PLANNING.value, now.isoformat()),
            ).lastrowid
            assert number is not None
            db.execute("UPDATE transfers SET place = id WHERE id = ?", (number,))
            return _one(db, number)

        return await self._write(work)

    async def get(self, transfer_id: int) -> TransferRecord:
        return await self._with(lambda db: _one(db, transfer_id))

    async def all(self) -> list[TransferRecord]:
        """Newest first."""
        newest = "SELECT * FROM transfers ORDER BY id DESC"
        return await self._with(lambda db: [_record(row) for row in db.execute(newest)])

    async def unfinished(self) -> list[TransferRecord]:
        """In the order in which they are to go on."""

        def work(db: sqlite3.Connection) -> list[TransferRecord]:
            records = [_record(row) for row in db.execute("SELECT * FROM transfers ORDER BY place, id")]
            return [record for record in records if not record.state.is_over]

        return await self._with(work)

    async def change(self, transfer_id: int, **changes: Any) -> TransferRecord:
        """Set fields of TransferRecord by name."""
        values = {name: _column(value) for name, value in changes.items()}
        settings = ", ".join(f"{name} = :{name}" for name in values)

        def work(db: sqlite3.Connection) -> TransferRecord:
            db.execute(f"UPDATE transfers SET {settings} WHERE id = :id", {**values, "id": transfer_id})
            return _one(db, transfer_id)

        return await self._write(work)

    async def move_first(self, transfer_id: int) -> TransferRecord:
        def work(db: sqlite3.Connection) -> TransferRecord:
            db.execute(
                "UPDATE transfers SET place = (SELECT min(place) FROM transfers) - 1 WHERE id = ?", (transfer_id,)
            )
            return _one(db, transfer_id)

        return await self._write(work)

    async def plan(self, transfer_id: int, items: Sequence[Item]) -> None:
        """Add what is to do. What an earlier planning found and has not changed keeps its state and its parts."""
        rows = [(transfer_id, *_row(item)) for item in items]
        marks = ", ".join("?" for _ in range(14))

        def work(db: sqlite3.Connection) -> None:
            # An earlier FAILED is tried again; a source that is another now begins anew, but its upload is not
            # forgotten: it has to be taken back.
            db.executemany(
                f"""
                INSERT INTO items (transfer, {_ITEM}) VALUES ({marks})
                ON CONFLICT (transfer, key) DO UPDATE SET
                    name = excluded.name, size_bytes = excluded.size_bytes, modified_ns = excluded.modified_ns,
                    inode = excluded.inode, mode = excluded.mode, etag = excluded.etag, action = excluded.action,
                    state = CASE WHEN items.state = {ItemState.DONE.value} AND {_SAME}
                                 AND excluded.state = {ItemState.QUEUED.value}
                                 THEN items.state ELSE excluded.state END,
                    is_verified = CASE WHEN items.state = {ItemState.DONE.value} AND {_SAME}
                                 THEN items.is_verified ELSE excluded.is_verified END,
                    part_bytes = CASE WHEN {_SAME} THEN items.part_bytes ELSE 0 END,
                    error = excluded.error
                """,
                rows,
            )

        await self._write(work)

    async def planned(self, transfer_id: int, **changes: Any) -> TransferRecord:
        """All of the plan is there."""
        return await self.change(transfer_id, is_planned=True, **changes)

    async def next_items(
        self, transfer_id: int, after: str, most: int, *, action: Action, state: ItemState = ItemState.QUEUED
    ) -> list[Item]:
        """What comes next in the order of keys; noted as possibly under way before anybody begins with it."""

        def work(db: sqlite3.Connection) -> list[Item]:
            rows = db.execute(
                f"SELECT {_ITEM} FROM items INDEXED BY open_items "
                f"WHERE transfer = ? AND key > ? AND {_OPEN} AND state = ? AND action = ? "
                "ORDER BY key LIMIT ?",
                (transfer_id, after, state.value, action.value, most),
            ).fetchall()
            if rows:
                db.execute(
                    "UPDATE transfers SET fed_to = max(fed_to, ?) WHERE id = ?", (str(rows[-1]["key"]), transfer_id)
                )
            return [_item(row) for row in rows]

        return await self._write(work)

    async def note(self, transfer_id: int, items: Sequence[Item]) -> None:
        """What became of items; the parts of those that are over are forgotten."""
        rows = [
            (item.action._value_, item.state._value_, item.upload_id, item.part_bytes, item.is_verified, item.etag,
             item.size_bytes, item.modified_ns, item.inode, item.mode, _column(item.error), transfer_id, item.key)
            for item in items
        ]  # fmt: skip
        ended = [(transfer_id, item.key) for item in items if not item.state.is_open or item.action is Action.LEAVE]

        def work(db: sqlite3.Connection) -> None:
            db.executemany(
                "UPDATE items SET action = ?, state = ?, upload_id = ?, part_bytes = ?, is_verified = ?, etag = ?, "
                "size_bytes = ?, modified_ns = ?, inode = ?, mode = ?, error = ? WHERE transfer = ? AND key = ?",
                rows,
            )
            db.executemany("DELETE FROM parts WHERE transfer = ? AND key = ?", ended)

        await self._write(work)

    async def begin_parts(self, transfer_id: int, item: Item) -> None:
        """An upload, or a download by ranges, has begun anew; parts of an earlier one are forgotten."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM parts WHERE transfer = ? AND key = ?", (transfer_id, item.key))
            db.execute(
                "UPDATE items SET upload_id = ?, part_bytes = ?, etag = ?, size_bytes = ?, modified_ns = ?, inode = ? "
                "WHERE transfer = ? AND key = ?",
                (item.upload_id, item.part_bytes, item.etag, item.size_bytes, item.modified_ns, item.inode, transfer_id,
                 item.key),
            )  # fmt: skip

        await self._write(work)

    async def note_parts(self, transfer_id: int, parts: Iterable[tuple[str, SentPart]]) -> None:
        rows = [(transfer_id, key, part.number, part.size_bytes, part.etag) for key, part in parts]

        def work(db: sqlite3.Connection) -> None:
            db.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)", rows)

        await self._write(work)

    async def parts(self, transfer_id: int, key: str) -> list[SentPart]:
        def work(db: sqlite3.Connection) -> list[SentPart]:
            rows = db.execute(
                "SELECT number, size_bytes, etag FROM parts WHERE transfer = ? AND key = ? ORDER BY number",
                (transfer_id, key),
            )
            return [SentPart(*row) for row in rows]

        return await self._with(work)

    async def items(
        self,
        transfer_id: int,
        states: Iterable[ItemState] = ItemState,
        *,
        is_verified: bool | None = None,
        after: str = "",
        most: int = 1000,
    ) -> list[Item]:
        """A page of the list, in the order of keys; `after` is the last key of the page before."""
        wanted = ", ".join(str(state.value) for state in states)
        # Removals have nothing to verify.
        moved = f"AND action <> {Action.REMOVE.value}"
        narrowed = "" if is_verified is None else f"AND is_verified = {int(is_verified)} {moved}"

        def work(db: sqlite3.Connection) -> list[Item]:
            rows = db.execute(
                f"SELECT {_ITEM} FROM items WHERE transfer = ? AND key > ? AND state IN ({wanted}) "
                f"{narrowed} ORDER BY key LIMIT ?",
                (transfer_id, after, most),
            )
            return [_item(row) for row in rows]

        return await self._with(work)

    async def begun(self, transfer_id: int) -> list[Item]:
        """Files of which something is half there, at the service or here."""

        def work(db: sqlite3.Connection) -> list[Item]:
            rows = db.execute(
                f"SELECT {_ITEM} FROM items WHERE transfer = ? AND (upload_id <> '' OR part_bytes > 0) AND state <> ?",
                (transfer_id, ItemState.DONE.value),
            )
            return [_item(row) for row in rows]

        return await self._with(work)

    async def uploads(self) -> set[str]:
        """The ids of all uploads by parts that a transfer may go on with."""

        def work(db: sqlite3.Connection) -> set[str]:
            return {row[0] for row in db.execute("SELECT upload_id FROM items WHERE upload_id <> ''")}

        return await self._with(work)

    async def totals(self, transfer_id: int) -> Totals:
        def work(db: sqlite3.Connection) -> Totals:
            files: dict[ItemState, int] = {}
            sizes: dict[ItemState, int] = {}
            removals = removal_bytes = copied_files = copied_bytes = small = verified = 0
            rows = db.execute(
                "SELECT state, action, count(*), sum(size_bytes), sum(size_bytes < ?), sum(is_verified) FROM items "
                "WHERE transfer = ? "
                "GROUP BY state, action",
                (SMALL_BYTES, transfer_id),
            )
            for state_value, action, count, size_bytes, few, sure in rows:
                state = ItemState(state_value)
                files[state] = files.get(state, 0) + count
                verified += sure
                if action in (Action.MOVE.value, Action.LEAVE.value):
                    sizes[state] = sizes.get(state, 0) + size_bytes
                    small += few if state.is_open else 0
                if action == Action.REMOVE.value:
                    removals += count
                    removal_bytes += size_bytes
                if action == Action.LEAVE.value and state is not ItemState.DONE:
                    copied_files += count
                    copied_bytes += size_bytes
            sent = db.execute("SELECT coalesce(sum(size_bytes), 0) FROM parts WHERE transfer = ?", (transfer_id,))
            parts = sent.fetchone()[0]
            return Totals(files, sizes, removals, removal_bytes, copied_files, copied_bytes, small, parts, verified)

        return await self._with(work)

    async def amount_below(self, transfer_id: int, prefix: str) -> tuple[int, int]:
        """How many files are still to be moved whose keys begin so, and their bytes."""

        def work(db: sqlite3.Connection) -> tuple[int, int]:
            row = db.execute(
                "SELECT count(*), coalesce(sum(size_bytes), 0) FROM items "
                "WHERE transfer = ? AND key >= ? AND key < ? AND state = ? AND action = ?",
                (transfer_id, prefix, prefix + "\U0010ffff", ItemState.QUEUED.value, Action.MOVE.value),
            ).fetchone()
            return int(row[0]), int(row[1])

        return await self._with(work)

    async def open_again(self, transfer_id: int, states: Sequence[ItemState]) -> int:
        """Queue once more what ended so; the answer counts them."""
        wanted = ", ".join(str(state.value) for state in states)

        def work(db: sqlite3.Connection) -> int:
            return db.execute(
                f"UPDATE items SET state = ?, error = NULL WHERE transfer = ? AND state IN ({wanted})",
                (ItemState.QUEUED.value, transfer_id),
            ).rowcount

        return await self._write(work)

    async def give_up_waiting(self, transfer_id: int) -> None:
        """What waits has failed, with the reason it waited for."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE items SET state = ? WHERE transfer = ? AND state = ?",
                (ItemState.FAILED.value, transfer_id, ItemState.WAITING.value),
            )

        await self._write(work)

    async def close_removals(self, transfer_id: int, error: AppError) -> int:
        """Leave standing what was to be removed, and say why."""

        def work(db: sqlite3.Connection) -> int:
            return db.execute(
                f"UPDATE items SET state = ?, error = ? WHERE transfer = ? AND action = ? AND {_OPEN}",
                (ItemState.SKIPPED.value, _column(error), transfer_id, Action.REMOVE.value),
            ).rowcount

        return await self._write(work)

    async def forget_unbegun(self, transfer_id: int) -> None:
        """Before another planning: what was not begun may be gone by now, and what was done may be undone."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "DELETE FROM items WHERE transfer = ? AND (state = ? OR (upload_id = '' AND part_bytes = 0))",
                (transfer_id, ItemState.DONE.value),
            )

        await self._write(work)

    async def forget_removals(self, transfer_id: int) -> None:
        """Before another planning: only what that finds may be removed."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                f"DELETE FROM items WHERE transfer = ? AND action = ? AND {_OPEN}", (transfer_id, Action.REMOVE.value)
            )

        await self._write(work)

    async def forget_problems(self, transfer_id: int) -> None:
        """Before another planning of archives: files that could not be read may be readable by now."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "DELETE FROM items WHERE transfer = ? AND key >= ? AND key < ?",
                (transfer_id, PROBLEM_SCHEME, PROBLEM_SCHEME + "\U0010ffff"),
            )

        await self._write(work)

    async def forget_items(self, transfer_id: int, keys: Sequence[str]) -> None:
        """What another planning no longer finds."""
        rows = [(transfer_id, key) for key in keys]

        def work(db: sqlite3.Connection) -> None:
            for table in ("parts", "shards", "items"):
                db.executemany(f"DELETE FROM {table} WHERE transfer = ? AND key = ?", rows)

        await self._write(work)

    async def keep_shard(self, transfer_id: int, key: str, members: bytes) -> None:
        """What an archive is made of; the digests of the same members stay."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO shards (transfer, key, members) VALUES (?, ?, ?) ON CONFLICT (transfer, key) DO UPDATE "
                "SET digests = CASE WHEN members = excluded.members THEN digests ELSE x'' END, "
                "members = excluded.members",
                (transfer_id, key, members),
            )

        await self._write(work)

    async def keep_digests(self, transfer_id: int, key: str, digests: bytes) -> None:
        def work(db: sqlite3.Connection) -> None:
            db.execute("UPDATE shards SET digests = ? WHERE transfer = ? AND key = ?", (digests, transfer_id, key))

        await self._write(work)

    async def shard(self, transfer_id: int, key: str) -> tuple[bytes, bytes]:
        """Members and digests as they were kept; no digests while they are unknown."""

        def work(db: sqlite3.Connection) -> tuple[bytes, bytes]:
            row = db.execute(
                "SELECT members, digests FROM shards WHERE transfer = ? AND key = ?", (transfer_id, key)
            ).fetchone()
            if row is None:
                raise NotFound(text("This transfer is no longer in the list."), text("Begin it again."))
            return bytes(row[0]), bytes(row[1])

        return await self._with(work)

    async def drop(self, transfers: Sequence[int]) -> None:
        """These are out of the list; whoever comes next forgets them."""

        def work(db: sqlite3.Connection) -> None:
            db.executemany("UPDATE transfers SET is_dropped = 1 WHERE id = ?", [(number,) for number in transfers])

        await self._write(work)

    async def forget(self, transfer_id: int) -> None:
        """Take a transfer out of the journal, a piece at a time: others want to write too."""
        for table in ("parts", "shards", "items"):
            while await self._forget_some(table, transfer_id):
                pass

        await self._write(lambda db: db.execute("DELETE FROM transfers WHERE id = ?", (transfer_id,)))

    async def remember(self, place: str, items: Sequence[Item]) -> None:
        """These files of this computer have the content of these ETags."""

        def work(db: sqlite3.Connection) -> None:
            number = _place(db, place)
            if number is None:
                number = db.execute("INSERT INTO known_places (words) VALUES (?)", (place,)).lastrowid
            rows = [
                (number, item.key, item.size_bytes, item.modified_ns, item.inode, item.etag)
                for item in items
            ]  # fmt: skip
            db.executemany("INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?, ?, ?)", rows)

        await self._write(work)

    async def known(self, place: str, first: str, last: str) -> dict[str, Known]:
        """What is remembered of the keys from `first` to `last`."""

        def work(db: sqlite3.Connection) -> dict[str, Known]:
            rows = db.execute(
                "SELECT key, size_bytes, modified_ns, inode, etag FROM known WHERE place = ? AND key BETWEEN ? AND ?",
                (_place(db, place), first, last),
            )
            return {key: Known(*values) for key, *values in rows}

        return await self._with(work)

    async def _forget_some(self, table: str, transfer_id: int) -> int:
        def work(db: sqlite3.Connection) -> int:
            keys = f"SELECT key FROM {table} WHERE transfer = ? ORDER BY key LIMIT ?"
            return db.execute(
                f"DELETE FROM {table} WHERE transfer = ? AND key IN ({keys})",
                (transfer_id, transfer_id, _FORGET_AT_ONCE),
            ).rowcount

        return await self._write(work)


_SAME = (
    "items.size_bytes = excluded.size_bytes AND items.modified_ns = excluded.modified_ns "
    "AND items.inode = excluded.inode AND items.etag = excluded.etag AND items.name = excluded.name"
)


def _place(db: sqlite3.Connection, words: str) -> int | None:
    row = db.execute("SELECT id FROM known_places WHERE words = ?", (words,)).fetchone()
    return None if row is None else int(row[0])


def _one(db: sqlite3.Connection, transfer_id: int) -> TransferRecord:
    row = db.execute("SELECT * FROM transfers WHERE id = ?", (transfer_id,)).fetchone()
    if row is None:
        raise NotFound(text("This transfer is no longer in the list."), text("Begin it again."))
    return _record(row)


def _record(row: sqlite3.Row) -> TransferRecord:
    values: dict[str, Any] = dict(row)
    order = Order(
        Kind(values.pop("kind")),
        values.pop("profile"),
        values.pop("source"),
        values.pop("target"),
        Rules.from_json(values.pop("rules")),
    )
    for name in _TIMES:
        values[name] = datetime.fromisoformat(values[name]) if values[name] else None
    values["state"] = TransferState(values["state"])
    for name in ("is_planned", "has_gaps", "is_dropped"):
        values[name] = bool(values[name])
    values["error"] = kept_errors.from_json(values["error"]) if values["error"] else None
    return TransferRecord(order=order, **values)


def _column(value: object) -> object:
    if isinstance(value, AppError):
        return kept_errors.to_json(value)
    if isinstance(value, TransferState):
        return value.value
    return value.isoformat() if isinstance(value, datetime) else value


def _row(item: Item) -> tuple[object, ...]:
    return (
        item.key, item.name, item.size_bytes, item.modified_ns, item.inode, item.mode, item.etag, item.action._value_,
        item.state._value_, item.upload_id, item.part_bytes, item.is_verified,
        None if item.error is None else kept_errors.to_json(item.error),
    )  # fmt: skip


_STATES = {state.value: state for state in ItemState}
_ACTIONS = {action.value: action for action in Action}


def _item(row: sqlite3.Row) -> Item:
    values = list(row)
    values[7], values[8], values[11] = _ACTIONS[values[7]], _STATES[values[8]], bool(values[11])
    if values[12]:
        values[12] = kept_errors.from_json(values[12])
    return Item(*values)
