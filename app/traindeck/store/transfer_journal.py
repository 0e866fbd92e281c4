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
from traindeck.domain.transfers.object_limits import SMALL_BYTES
from traindeck.domain.transfers.orders import Kind, Order, Rules
from traindeck.domain.transfers.records import (
    DIFFERENCES,
    MOVING,
    PROBLEM_SCHEME,
    READ,
    Action,
    Item,
    ItemState,
    Known,
    SentPart,
    Totals,
    TransferRecord,
    TransferState,
)
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.database import OpenedLater, transaction
from traindeck.store.transfer_steps import STEPS

Result = TypeVar("Result")

_OPEN = "state < 10"
_FORGET_AT_ONCE = 20_000
_ITEM = (
    "key, name, size_bytes, modified_ns, inode, mode, etag, action, state, upload_id, part_bytes, is_verified, error, "
    "replaces"
)
_SELECT_ITEMS = f"SELECT {_ITEM} FROM items"
_TIMES = ("created", "started", "ended")
_FORGET_PARTS = "DELETE FROM parts WHERE transfer = ? AND key = ?"
_PLACE = "(SELECT id FROM known_places WHERE words = ?)"
_OF_ITEMS = ("parts", "shards", "items")


class TransferJournal(OpenedLater):
    """The journal through one writer thread; each method is one transaction, on the disk when it returns.

    The file is opened when it is first needed: most commands move nothing.
    """

    def __init__(self, path: Path, writer: BlockingCalls) -> None:
        super().__init__(path, writer, STEPS)

    async def _write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        def call(db: sqlite3.Connection) -> Result:
            with transaction(db):
                return work(db)

        return await self._with(call)

    async def _execute(self, query: str, *values: object) -> int:
        """How many rows it changed."""
        return await self._write(lambda db: db.execute(query, values).rowcount)

    async def _execute_each(self, *queries: tuple[str, Iterable[tuple[object, ...]]]) -> None:
        """Each query with every one of its rows."""

        def work(db: sqlite3.Connection) -> None:
            for query, rows in queries:
                db.executemany(query, rows)

        await self._write(work)

    async def _items(self, query: str, *values: object) -> list[Item]:
        return await self._with(lambda db: [_item(row) for row in db.execute(f"{_SELECT_ITEMS} {query}", values)])

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
        records = [record for record in await self.all() if not record.state.is_over]
        return sorted(records, key=lambda record: (record.place, record.id))

    async def change(self, transfer_id: int, **changes: Any) -> TransferRecord:
        """Set fields of TransferRecord by name."""
        settings = ", ".join(f"{name} = ?" for name in changes)
        return await self._change(transfer_id, settings, *map(_column, changes.values()))

    async def move_first(self, transfer_id: int) -> TransferRecord:
        return await self._change(transfer_id, "place = (SELECT min(place) FROM transfers) - 1")

    async def _change(self, transfer_id: int, settings: str, *values: object) -> TransferRecord:
        def work(db: sqlite3.Connection) -> TransferRecord:
            db.execute(f"UPDATE transfers SET {settings} WHERE id = ?", (*values, transfer_id))
            return _one(db, transfer_id)

        return await self._write(work)

    async def plan(self, transfer_id: int, items: Sequence[Item]) -> None:
        """Add what is to do. What an earlier planning found and has not changed keeps its state and its parts."""
        marks = ", ".join("?" for _ in range(15))
        # An earlier FAILED is tried again; a source that is another now begins anew, but its upload is not forgotten:
        # it has to be taken back.
        query = f"""
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
                error = excluded.error, replaces = excluded.replaces
            """
        await self._execute_each((query, [(transfer_id, *_row(item)) for item in items]))

    async def next_items(self, transfer_id: int, after: str, most: int, *, action: Action) -> list[Item]:
        """What comes next in the order of keys; noted as possibly under way before anybody begins with it."""

        def work(db: sqlite3.Connection) -> list[Item]:
            rows = db.execute(
                f"{_SELECT_ITEMS} INDEXED BY open_items "
                f"WHERE transfer = ? AND key > ? AND {_OPEN} AND state = ? AND action = ? "
                "ORDER BY key LIMIT ?",
                (transfer_id, after, ItemState.QUEUED.value, action.value, most),
            ).fetchall()
            if rows:
                db.execute(
                    "UPDATE transfers SET fed_to = max(fed_to, ?) WHERE id = ?", (str(rows[-1]["key"]), transfer_id)
                )
            return [_item(row) for row in rows]

        return await self._write(work)

    async def note(self, transfer_id: int, items: Sequence[Item]) -> None:
        """What became of items, the last word on each; the parts of those that are over are forgotten."""
        items = list({item.key: item for item in items}.values())
        rows = [
            (item.action._value_, item.state._value_, item.upload_id, item.part_bytes, item.is_verified, item.etag,
             item.size_bytes, item.modified_ns, item.inode, item.mode, _column(item.error), transfer_id, item.key)
            for item in items
        ]  # fmt: skip
        ended = [(transfer_id, item.key) for item in items if not item.state.is_open or item.action is Action.LEAVE]
        query = (
            "UPDATE items SET action = ?, state = ?, upload_id = ?, part_bytes = ?, is_verified = ?, etag = ?, "
            "size_bytes = ?, modified_ns = ?, inode = ?, mode = ?, error = ? WHERE transfer = ? AND key = ?"
        )
        await self._execute_each((query, rows), (_FORGET_PARTS, ended))

    async def begin_parts(self, transfer_id: int, item: Item) -> None:
        """An upload, or a download by ranges, has begun anew; parts of an earlier one are forgotten."""
        query = (
            "UPDATE items SET upload_id = ?, part_bytes = ?, etag = ?, size_bytes = ?, modified_ns = ?, inode = ? "
            "WHERE transfer = ? AND key = ?"
        )
        row = (item.upload_id, item.part_bytes, item.etag, item.size_bytes, item.modified_ns, item.inode)
        which = (transfer_id, item.key)
        await self._execute_each((_FORGET_PARTS, [which]), (query, [(*row, *which)]))

    async def note_parts(self, transfer_id: int, parts: Iterable[tuple[str, SentPart]]) -> None:
        rows = [
            (transfer_id, key, part.number, part.size_bytes, part.etag, "" if part.crc64 is None else str(part.crc64))
            for key, part in parts
        ]
        await self._execute_each(("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)", rows))

    async def parts(self, transfer_id: int, key: str) -> list[SentPart]:
        query = "SELECT number, size_bytes, etag, crc64 FROM parts WHERE transfer = ? AND key = ? ORDER BY number"
        rows = await self._with(lambda db: db.execute(query, (transfer_id, key)).fetchall())
        return [SentPart(row[0], row[1], row[2], int(row[3]) if row[3] else None) for row in rows]

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
        # Removals have nothing to verify.
        moved = f"AND action <> {Action.REMOVE.value}"
        narrowed = "" if is_verified is None else f"AND is_verified = {int(is_verified)} {moved}"
        where = f"transfer = ? AND key > ? AND state IN ({_listed(states)}) {narrowed}"
        return await self._items(f"WHERE {where} ORDER BY key LIMIT ?", transfer_id, after, most)

    async def renamed(self, transfer_id: int, *, after: str = "", most: int = 1000) -> list[Item]:
        """A page of what moved, or is to, and may have another name at the service."""
        where = (
            f"transfer = ? AND key > ? AND state IN ({_listed((ItemState.QUEUED, ItemState.DONE))}) "
            "AND (instr(name, '%') OR instr(name, '~')) AND substr(key, -length(name)) <> name"
        )
        return await self._items(f"WHERE {where} ORDER BY key LIMIT ?", transfer_id, after, most)

    async def begun(self, transfer_id: int) -> list[Item]:
        """Files of which something is half there, at the service or here."""
        where = "WHERE transfer = ? AND (upload_id <> '' OR part_bytes > 0) AND state <> ?"
        return await self._items(where, transfer_id, ItemState.DONE.value)

    async def uploads(self) -> set[str]:
        """The ids of all uploads by parts that a transfer may go on with."""
        query = "SELECT upload_id FROM items WHERE upload_id <> ''"
        return await self._with(lambda db: {row[0] for row in db.execute(query)})

    async def totals(self, transfer_id: int) -> Totals:
        def work(db: sqlite3.Connection) -> Totals:
            totals = Totals()
            rows = db.execute(
                "SELECT state, action, count(*), sum(size_bytes), sum(size_bytes < ?), sum(is_verified), "
                "sum(replaces), sum(replaces * size_bytes) FROM items "
                "WHERE transfer = ? "
                "GROUP BY state, action",
                (SMALL_BYTES, transfer_id),
            )
            for state_value, action, count, size_bytes, few, sure, replaced, replacing_bytes in rows:
                state = ItemState(state_value)
                totals.files[state] += count
                totals.verified += sure
                totals.replaced += replaced
                totals.replacing_bytes += replacing_bytes
                totals.moving_files += count if state in MOVING or state in DIFFERENCES else 0
                if action in (Action.MOVE.value, Action.LEAVE.value, Action.LINK.value):
                    totals.moving_bytes += size_bytes if state in MOVING else 0
                    totals.done_bytes += size_bytes if state in READ else 0
                    totals.small_files += few if state.is_open else 0
                if action == Action.REMOVE.value and state is not ItemState.SKIPPED:
                    totals.removals += count
                    totals.removal_bytes += size_bytes
                if action == Action.LEAVE.value and state is not ItemState.DONE:
                    totals.copied_files += count
                    totals.done_bytes += size_bytes
            # Of unfinished files.
            sent = db.execute("SELECT coalesce(sum(size_bytes), 0) FROM parts WHERE transfer = ?", (transfer_id,))
            totals.done_bytes += sent.fetchone()[0]
            return totals

        return await self._with(work)

    async def amount_below(self, transfer_id: int, prefix: str) -> tuple[int, int]:
        """How many files are still to be moved whose keys begin so, and their bytes."""
        query = (
            "SELECT count(*), coalesce(sum(size_bytes), 0) FROM items "
            "WHERE transfer = ? AND key >= ? AND key < ? AND state = ? AND action = ?"
        )
        values = (transfer_id, prefix, prefix + "\U0010ffff", ItemState.QUEUED.value, Action.MOVE.value)
        count, size_bytes = await self._with(lambda db: db.execute(query, values).fetchone())
        return count, size_bytes

    async def open_again(self, transfer_id: int, states: Sequence[ItemState]) -> int:
        """Queue once more what ended so; the answer counts them."""
        query = f"UPDATE items SET state = ?, error = NULL WHERE transfer = ? AND state IN ({_listed(states)})"
        return await self._execute(query, ItemState.QUEUED.value, transfer_id)

    async def give_up_waiting(self, transfer_id: int) -> None:
        """What waits has failed, with the reason it waited for."""
        query = "UPDATE items SET state = ? WHERE transfer = ? AND state = ?"
        await self._execute(query, ItemState.FAILED.value, transfer_id, ItemState.WAITING.value)

    async def close_removals(self, transfer_id: int, error: AppError) -> int:
        """Leave standing what was to be removed, and say why."""
        query = f"UPDATE items SET state = ?, error = ? WHERE transfer = ? AND action = ? AND {_OPEN}"
        closed = (ItemState.SKIPPED.value, _column(error))
        return await self._execute(query, *closed, transfer_id, Action.REMOVE.value)

    async def forget_unbegun(self, transfer_id: int) -> None:
        """Before another planning: what was not begun may be gone by now, and what was done may be undone."""
        query = "DELETE FROM items WHERE transfer = ? AND (state = ? OR (upload_id = '' AND part_bytes = 0))"
        await self._execute(query, transfer_id, ItemState.DONE.value)

    async def forget_removals(self, transfer_id: int) -> None:
        """Before another planning: only what that finds may be removed."""
        query = f"DELETE FROM items WHERE transfer = ? AND action = ? AND {_OPEN}"
        await self._execute(query, transfer_id, Action.REMOVE.value)

    async def forget_problems(self, transfer_id: int) -> None:
        """Before another planning of archives: files that could not be read may be readable by now."""
        query = "DELETE FROM items WHERE transfer = ? AND key >= ? AND key < ?"
        await self._execute(query, transfer_id, PROBLEM_SCHEME, PROBLEM_SCHEME + "\U0010ffff")

    async def forget_items(self, transfer_id: int, keys: Sequence[str]) -> None:
        """What another planning no longer finds."""
        rows = [(transfer_id, key) for key in keys]
        queries = [f"DELETE FROM {table} WHERE transfer = ? AND key = ?" for table in _OF_ITEMS]
        await self._execute_each(*((query, rows) for query in queries))

    async def keep_shard(self, transfer_id: int, key: str, members: bytes) -> None:
        """What an archive is made of; the digests of the same members stay."""
        query = (
            "INSERT INTO shards (transfer, key, members) VALUES (?, ?, ?) ON CONFLICT (transfer, key) DO UPDATE "
            "SET digests = CASE WHEN members = excluded.members THEN digests ELSE x'' END, "
            "members = excluded.members"
        )
        await self._execute(query, transfer_id, key, members)

    async def keep_digests(self, transfer_id: int, key: str, digests: bytes) -> None:
        query = "UPDATE shards SET digests = ? WHERE transfer = ? AND key = ?"
        await self._execute(query, digests, transfer_id, key)

    async def shard(self, transfer_id: int, key: str) -> tuple[bytes, bytes]:
        """Members and digests as they were kept; no digests while they are unknown."""
        query = "SELECT members, digests FROM shards WHERE transfer = ? AND key = ?"
        row = await self._with(lambda db: db.execute(query, (transfer_id, key)).fetchone())
        if row is None:
            raise _gone()
        return bytes(row[0]), bytes(row[1])

    async def drop(self, transfers: Sequence[int]) -> None:
        """These are out of the list; whoever comes next forgets them."""
        rows = [(number,) for number in transfers]
        await self._execute_each(("UPDATE transfers SET is_dropped = 1 WHERE id = ?", rows))

    async def forget(self, transfer_id: int) -> None:
        """Take a transfer out of the journal, a piece at a time: others want to write too."""
        for table in _OF_ITEMS:
            keys = f"SELECT key FROM {table} WHERE transfer = ? ORDER BY key LIMIT ?"
            query = f"DELETE FROM {table} WHERE transfer = ? AND key IN ({keys})"
            while await self._execute(query, transfer_id, transfer_id, _FORGET_AT_ONCE):
                pass
        await self._execute("DELETE FROM transfers WHERE id = ?", transfer_id)

    async def remember(self, place: str, items: Sequence[Item]) -> None:
        """These files of this computer have the content of these ETags."""
        rows = [(place, item.key, item.size_bytes, item.modified_ns, item.inode, item.etag) for item in items]
        await self._execute_each(
            ("INSERT OR IGNORE INTO known_places (words) VALUES (?)", [(place,)]),
            (f"INSERT OR REPLACE INTO known VALUES ({_PLACE}, ?, ?, ?, ?, ?)", rows),
        )

    async def known(self, place: str, first: str, last: str) -> dict[str, Known]:
        """What is remembered of the keys from `first` to `last`."""
        columns = "key, size_bytes, modified_ns, inode, etag"
        query = f"SELECT {columns} FROM known WHERE place = {_PLACE} AND key BETWEEN ? AND ?"

        def work(db: sqlite3.Connection) -> dict[str, Known]:
            cursor = db.cursor()
            cursor.row_factory = None
            return {row[0]: Known._make(row[1:]) for row in cursor.execute(query, (place, first, last))}

        return await self._with(work)


_SAME = (
    "items.size_bytes = excluded.size_bytes AND items.modified_ns = excluded.modified_ns "
    "AND items.inode = excluded.inode AND items.etag = excluded.etag AND items.name = excluded.name"
)


def _listed(states: Iterable[ItemState]) -> str:
    return ", ".join(str(state.value) for state in states)


def _one(db: sqlite3.Connection, transfer_id: int) -> TransferRecord:
    row = db.execute("SELECT * FROM transfers WHERE id = ?", (transfer_id,)).fetchone()
    if row is None:
        raise _gone()
    return _record(row)


def _gone() -> AppError:
    return NotFound(text("This transfer is no longer in the list."), text("Start it again."))


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
        None if item.error is None else kept_errors.to_json(item.error), item.replaces,
    )  # fmt: skip


_STATES = {state.value: state for state in ItemState}
_ACTIONS = {action.value: action for action in Action}


def _item(row: sqlite3.Row) -> Item:
    values = list(row)
    values[7], values[8], values[11] = _ACTIONS[values[7]], _STATES[values[8]], bool(values[11])
    if values[12]:
        values[12] = kept_errors.from_json(values[12])
    values[13] = bool(values[13])
    return Item(*values)
