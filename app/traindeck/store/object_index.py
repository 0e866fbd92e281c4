"""What is in one bucket, as far as it was listed: a million rows that can be sorted, searched and counted.

Every call may take a moment and belongs into a worker; any number of them may run at once. What is here is a copy of
what the service said, so a damaged file is thrown away and filled again.
"""

from __future__ import annotations

import hashlib
import queue
import sqlite3
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.storage.objects import Look, ObjectEntry, ObjectPath, ObjectRow, Shown, Size
from traindeck.runtime.blocking import Cancelled, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.store.database import database_errors, open_database, transaction
from traindeck.store.object_queries import BEYOND, order_queries

_AT_A_TIME = 4096
_MOST_COUNTED = 2000
_UNSEEN, _LEVEL, _DEEP = -1, 0, 1
"""Of a listing: the folder was only seen from above, one level of it was listed, or everything below."""
_BEHIND_ALL = BEYOND + BEYOND
"""Sorts behind all that is asked for."""
_UNUSABLE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)

_STEPS = (
    (
        # `cut` is where the name begins: the length of the folder's path. A marker of a folder has no place in a
        # level (-1), for the folder itself stands there.
        """CREATE TABLE objects (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            cut INTEGER NOT NULL,
            size INTEGER NOT NULL,
            modified_ms INTEGER,
            etag TEXT NOT NULL,
            class TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX objects_by_key ON objects (key)",
        "CREATE INDEX objects_by_level ON objects (cut, key)",
        """CREATE TABLE folders (
            id INTEGER PRIMARY KEY,
            path TEXT NOT NULL UNIQUE,
            cut INTEGER NOT NULL,
            count INTEGER,
            bytes INTEGER,
            counted_ms INTEGER)""",
        "CREATE INDEX folders_by_level ON folders (cut, path)",
        """CREATE TABLE listings (
            folder TEXT NOT NULL,
            deep INTEGER NOT NULL,
            as_of_ms INTEGER NOT NULL,
            PRIMARY KEY (folder, deep)) WITHOUT ROWID""",
    ),
)


@dataclass(frozen=True, slots=True)
class RankedRows:
    """The rows of one look by their rank; folders come first and have numbers below zero."""

    ids: array[int]
    folders: int
    size_bytes: int
    places: Mapping[int, int]
    """The ranks of the rows that were asked for."""


class ObjectIndex:
    """One writing connection behind a lock, reading connections from a pool; safe for threads."""

    def __init__(self, path: Path, bucket: str) -> None:
        self.bucket = bucket
        self._path = path
        self._write_lock = threading.Lock()
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._writer = _opened(path)

    def close(self) -> None:
        while not self._readers.empty():
            self._readers.get_nowait().close()
        with self._write_lock:
            self._writer.close()

    # filling

    def replace(self, folder: str, after: str, upto: str | None, rows: Sequence[ObjectRow]) -> int:
        """Below `folder`, behind `after` and up to `upto` there is this and nothing else; says how many rows changed.

        Rows that are as they were are not written again.
        """
        values = _span(folder, after, upto)
        with self._writing() as db:
            changed = _write(db, _WITHIN, values, _facts(rows))
            above = _folders_of((row.key for row in rows), folder)
            _add_folders(db, above)
            there = {path for (path,) in db.execute(f"SELECT path FROM folders WHERE {_PATH_WITHIN}", values)}
            # What was behind `after` may have been the last of a folder it is in.
            _drop_empty(db, (there - above) | _folders_of([after], folder))
        return changed

    def replace_level(
        self,
        folder: str,
        after: str,
        upto: str | None,
        rows: Sequence[ObjectRow],
        folders: Sequence[str],
        as_of: datetime,
    ) -> int:
        """The same for one level, whose folders were not looked into: of a new one nobody knows how much is in it."""
        values = {**_span(folder, after, upto), "cut": len(folder)}
        with self._writing() as db:
            changed = _write(db, f"cut = :cut AND {_WITHIN}", values, _facts(row for row in rows if row.key != folder))
            query = f"SELECT path FROM folders WHERE cut = :cut AND {_PATH_WITHIN}"
            there = {path for (path,) in db.execute(query, values)}
            new, gone = set(folders) - there, there - set(folders)
            _add_folders(db, new)
            if new and _listed(db, folder, deep=False) is not None:
                _note_unseen(db, new, as_of)
            for path in gone:
                _remove_folder(db, path)
        return changed + len(new) + len(gone)

    def remove(self, keys: Iterable[str]) -> None:
        """These objects are no more."""
        with self._writing() as db:
            gone = list(keys)
            db.executemany("DELETE FROM objects WHERE key = ?", ((key,) for key in gone))
            _drop_empty(db, _folders_of(gone, ""))

    def note_listed(self, folder: str, *, deep: bool, as_of: datetime) -> None:
        """All of it was listed: one level, or everything below."""
        with self._writing() as db:
            now = _ms(as_of)
            db.execute("REPLACE INTO listings VALUES (?, ?, ?)", (folder, deep, now))
            if deep:
                # What was noted below is older than this.
                db.execute(
                    "DELETE FROM listings WHERE folder > ? AND folder < ? AND as_of_ms < ?",
                    (folder, folder + BEYOND, now),
                )
                query = "DELETE FROM listings WHERE deep = ? AND folder >= ? AND folder < ? AND as_of_ms <= ?"
                db.execute(query, (_UNSEEN, folder, folder + BEYOND, now))

    def keep_size(self, folder: str, token: CancelToken) -> Size | None:
        """Count what is below a folder and remember it with the folder; None: it was never listed as a whole."""
        return self._keep_sizes([folder], token).get(folder)

    def keep_sizes(self, folder: str, token: CancelToken) -> None:
        """The same for the folders in a folder, as far as they can be looked over at all."""
        query = "SELECT path FROM folders WHERE cut = ? AND path >= ? AND path < ? LIMIT ?"
        with self._reading(token) as db:
            values = (len(folder), folder, folder + BEYOND, _MOST_COUNTED)
            paths = [path for (path,) in db.execute(query, values)]
        self._keep_sizes(paths, token)

    def _keep_sizes(self, folders: Iterable[str], token: CancelToken) -> dict[str, Size]:
        sizes = {folder: size for folder in folders if (size := self.size(folder, token)) is not None}
        values = [(size.count, size.size_bytes, _ms(size.as_of), folder) for folder, size in sizes.items()]
        if values:
            with self._writing() as db:
                db.executemany("UPDATE folders SET count = ?, bytes = ?, counted_ms = ? WHERE path = ?", values)
        return sizes

    # asking

    def listed(self, folder: str, *, deep: bool) -> datetime | None:
        """When this was last listed as a whole, by itself or with a folder above it."""
        with self._reading() as db:
            return _listed(db, folder, deep=deep)

    def unseen(self, folder: str, most: int) -> list[str]:
        """Folders below this one that came since all of it was listed, and that nobody looked into."""
        query = "SELECT folder FROM listings WHERE deep = ? AND folder >= ? AND folder < ? ORDER BY folder LIMIT ?"
        with self._reading() as db:
            return [path for (path,) in db.execute(query, (_UNSEEN, folder, folder + BEYOND, most))]

    def size(self, folder: str, token: CancelToken) -> Size | None:
        """How much is below a folder; None: it was never listed as a whole."""
        listed = self.listed(folder, deep=True)
        if listed is None:
            return None
        query = "SELECT count(*), coalesce(sum(size), 0) FROM objects WHERE key >= ? AND key < ?"
        with self._reading(token) as db:
            count, size_bytes = db.execute(query, (folder, folder + BEYOND)).fetchone()
        return Size(count, size_bytes, listed)

    def number_of(self, key: str) -> int | None:
        """That of its row in an order: folders are numbered below zero."""
        of_object, of_folder = "SELECT id FROM objects WHERE key = ?", "SELECT -id FROM folders WHERE path = ?"
        with self._reading() as db:
            row = db.execute(of_folder if key.endswith("/") else of_object, (key,)).fetchone()
        return row[0] if row else None

    def order(self, look: Look, asked: Iterable[int], token: CancelToken) -> RankedRows:
        """The rows of `look` by rank, and where those that were asked for are."""
        queries = order_queries(look)
        with self._reading(token) as db:
            ids: array[int] = array("i")
            if queries.folders is not None:
                _collect(db, ids, queries.folders, queries.values, token)
            folders = len(ids)
            _collect(db, ids, queries.objects, queries.values, token)
            (size_bytes,) = db.execute(queries.total, queries.values).fetchone()
        wanted = set(asked)
        places: dict[int, int] = {}
        for start in range(0, len(ids) if wanted else 0, _AT_A_TIME):
            token.check()
            for place, row_id in enumerate(ids[start : start + _AT_A_TIME], start):
                if row_id in wanted:
                    places[row_id] = place
        return RankedRows(ids, folders, size_bytes, places)

    def first_named(self, look: Look, begin: str, token: CancelToken) -> int | None:
        """The number of the first row of `look` whose name begins so."""
        queries = order_queries(look, begin)
        with self._reading(token) as db:
            for query in filter(None, (queries.folders, queries.objects)):
                if row := db.execute(f"{query} LIMIT 1", queries.values).fetchone():
                    return int(row[0])
        return None

    def rows(self, ids: Sequence[int]) -> dict[int, Shown]:
        """The rows of these numbers, as far as they are still there."""
        found: dict[int, Shown] = {}
        with self._reading() as db:
            for part in _parts([row_id for row_id in ids if row_id > 0]):
                marks = ", ".join("?" * len(part))
                query = f"SELECT id, key, size, modified_ms, etag, class FROM objects WHERE id IN ({marks})"
                for row_id, key, size, modified_ms, etag, storage_class in db.execute(query, part):
                    modified = None if modified_ms is None else _moment(modified_ms)
                    path = ObjectPath(self.bucket, key)
                    found[row_id] = Shown(ObjectEntry(path, size, modified, etag, storage_class))
            for part in _parts([-row_id for row_id in ids if row_id < 0]):
                marks = ", ".join("?" * len(part))
                query = f"SELECT id, path, count, bytes, counted_ms FROM folders WHERE id IN ({marks})"
                for row_id, path, count, size_bytes, counted_ms in db.execute(query, part):
                    size = None if counted_ms is None else Size(count, size_bytes, _moment(counted_ms))
                    found[-row_id] = Shown(ObjectEntry(ObjectPath(self.bucket, path)), size)
        return found

    def beginning_with(self, start: str, most: int) -> list[str]:
        with self._reading() as db:
            return level_beginning_with(db, start, most)

    # inside

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._write_lock, database_errors(self._path), transaction(self._writer):
            before = _last_numbers(self._writer)
            yield self._writer
            _use_no_number_twice(self._writer, before)

    @contextmanager
    def _reading(self, token: CancelToken | None = None) -> Iterator[sqlite3.Connection]:
        token = token or CancelToken()
        with database_errors(self._path):
            try:
                db = self._readers.get_nowait()
            except queue.Empty:
                db = _connected(self._path)
            # A long query ends when nobody waits for it any more.
            forget = token.on_cancel(db.interrupt)
            try:
                yield db
            except sqlite3.OperationalError as error:
                if token.is_cancelled:
                    raise Cancelled from error
                raise
            finally:
                forget()
                self._readers.put(db)


_WITHIN = "key > :after AND key >= :folder AND key <= :end"
_PATH_WITHIN = _WITHIN.replace("key", "path")
_COLUMNS = "key, cut, size, modified_ms, etag, class"


def _span(folder: str, after: str, upto: str | None) -> dict[str, object]:
    """For _WITHIN: names in the folder, behind the one and up to the other."""
    end = folder + BEYOND
    return {"folder": folder, "after": after, "end": end if upto is None else min(upto, end)}


def _facts(rows: Iterable[ObjectRow]) -> list[tuple[object, ...]]:
    return [(row.key, _cut(row.key), row.size_bytes, _ms(row.modified), row.etag, row.storage_class) for row in rows]


def _write(db: sqlite3.Connection, where: str, values: Mapping[str, object], facts: list[tuple[object, ...]]) -> int:
    """Bring what is known to what was listed; how many rows changed by that."""
    if db.execute(f"SELECT 1 FROM objects WHERE {where} LIMIT 1", values).fetchone() is None:
        db.executemany(f"REPLACE INTO objects ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", facts)
        return len(facts)
    db.execute("DELETE FROM temp.listed")
    db.executemany(f"REPLACE INTO temp.listed ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", facts)
    before = db.total_changes
    db.execute(f"DELETE FROM objects WHERE {where} AND key NOT IN (SELECT key FROM temp.listed)", values)
    db.execute(
        f"""INSERT INTO objects ({_COLUMNS}) SELECT {_COLUMNS} FROM temp.listed WHERE true
        ON CONFLICT (key) DO UPDATE SET
            size = excluded.size, modified_ms = excluded.modified_ms, etag = excluded.etag, class = excluded.class
        WHERE size != excluded.size OR modified_ms IS NOT excluded.modified_ms
            OR etag != excluded.etag OR class != excluded.class"""
    )
    return db.total_changes - before


def _cut(key: str) -> int:
    return -1 if key.endswith("/") else key.rfind("/") + 1


def _folders_of(keys: Iterable[str], below: str) -> set[str]:
    """Every folder these keys lie in, as far as it is below `below`."""
    folders: set[str] = set()
    last = ""
    for key in keys:
        path = key[: key.rfind("/") + 1]
        if path == last:
            continue
        last = path
        while len(path) > len(below) and path not in folders:
            folders.add(path)
            path = _above(path)
    return folders


def _above(folder: str) -> str:
    return folder[: folder.rfind("/", 0, len(folder) - 1) + 1]


def _with_above(folder: str) -> list[str]:
    """The top first, the folder last."""
    return [folder[:cut] for cut in range(len(folder) + 1) if cut == 0 or folder[cut - 1] == "/"]


def _listed(db: sqlite3.Connection, folder: str, *, deep: bool) -> datetime | None:
    """A listing from above tells nothing of a folder that came after it, nor how much is below what holds such one."""
    places = _with_above(folder)
    marks = ", ".join("?" * len(places))
    rows = db.execute(f"SELECT folder, deep, as_of_ms FROM listings WHERE folder IN ({marks})", places).fetchall()
    top, since_ms = max(((path, as_of_ms) for path, kind, as_of_ms in rows if kind == _UNSEEN), default=("", 0))
    if deep:
        query = "SELECT 1 FROM listings WHERE deep = ? AND folder > ? AND folder < ? LIMIT 1"
        if db.execute(query, (_UNSEEN, folder, folder + BEYOND)).fetchone() is not None:
            return None
    telling = [
        as_of_ms
        for path, kind, as_of_ms in rows
        if (kind == _DEEP or (kind == _LEVEL and path == folder and not deep))
        and (not top or (len(path) >= len(top) and as_of_ms >= since_ms))
    ]
    return _moment(max(telling)) if telling else None


def _note_unseen(db: sqlite3.Connection, paths: Iterable[str], as_of: datetime) -> None:
    """What was known of an earlier folder of this name went with it."""
    rows = [(path, path + BEYOND) for path in paths]
    db.executemany("DELETE FROM listings WHERE folder >= ? AND folder < ?", rows)
    db.executemany("INSERT INTO listings VALUES (?, ?, ?)", ((path, _UNSEEN, _ms(as_of)) for path, _ in rows))


def _add_folders(db: sqlite3.Connection, paths: Iterable[str]) -> None:
    rows = [(path, len(_above(path))) for path in sorted(paths)]
    if rows:
        db.executemany("INSERT OR IGNORE INTO folders (path, cut) VALUES (?, ?)", rows)


def _drop_empty(db: sqlite3.Connection, paths: Iterable[str]) -> None:
    query = """DELETE FROM folders WHERE path = :path
        AND NOT EXISTS (SELECT 1 FROM objects WHERE key >= :path AND key < :end)"""
    rows = [{"path": path, "end": path + BEYOND} for path in paths]
    db.executemany(query, rows)
    query = f"""DELETE FROM listings WHERE folder = :path AND deep = {_UNSEEN}
        AND NOT EXISTS (SELECT 1 FROM folders WHERE path = :path)"""
    db.executemany(query, rows)


def _remove_folder(db: sqlite3.Connection, path: str) -> None:
    span = (path, path + BEYOND)
    db.execute("DELETE FROM objects WHERE key >= ? AND key < ?", span)
    db.execute("DELETE FROM folders WHERE path >= ? AND path < ?", span)
    db.execute("DELETE FROM listings WHERE folder >= ? AND folder < ?", span)


def _last_numbers(db: sqlite3.Connection) -> tuple[int, int]:
    query = "SELECT (SELECT coalesce(max(id), 0) FROM objects), (SELECT coalesce(max(id), 0) FROM folders)"
    objects, folders = db.execute(query).fetchone()
    return objects, folders


def _use_no_number_twice(db: sqlite3.Connection, before: tuple[int, int]) -> None:
    """Who still holds the number of a row that is gone must not find another object under it.

    The next number is one more than the largest, so one that nobody was told stays with a row that nobody asks for.
    """
    objects, folders = _last_numbers(db)
    if objects < before[0]:
        values = (before[0] + 1, _BEHIND_ALL)
        db.execute("REPLACE INTO objects (id, key, cut, size, etag, class) VALUES (?, ?, -2, 0, '', '')", values)
    if folders < before[1]:
        db.execute("REPLACE INTO folders (id, path, cut) VALUES (?, ?, -2)", (before[1] + 1, _BEHIND_ALL))


def _collect(
    db: sqlite3.Connection, ids: array[int], query: str, values: Mapping[str, object], token: CancelToken
) -> None:
    cursor = db.execute(query, values)
    while part := cursor.fetchmany(_AT_A_TIME):
        token.check()
        ids.extend([row_id for (row_id,) in part])


def _parts(ids: list[int]) -> Iterator[list[int]]:
    """SQLite takes 999 values at once, in its older versions."""
    for start in range(0, len(ids), 900):
        yield ids[start : start + 900]


def _opened(path: Path) -> sqlite3.Connection:
    try:
        db = open_database(path, _STEPS)
    except LocalTrouble as error:
        if getattr(error.__cause__, "sqlite_errorcode", None) not in _UNUSABLE:
            raise
        for ending in ("", "-wal", "-shm"):
            with local_errors(path):
                path.with_name(path.name + ending).unlink(missing_ok=True)
        db = open_database(path, _STEPS)
    db.row_factory = None
    # All of it can be listed again: no need to wait for the disk.
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE TEMP TABLE listed (key TEXT PRIMARY KEY, cut, size, modified_ms, etag, class) WITHOUT ROWID")
    return db


def _connected(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    db.execute("PRAGMA query_only = ON")
    db.create_function("folded", 1, str.casefold, deterministic=True)
    return db


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def index_file(folder: Path, account: str, bucket: str) -> Path:
    # The words in front keep the name from being one that Windows has taken, such as "con".
    return folder / hashlib.sha256(account.encode()).hexdigest()[:16] / f"bucket-{bucket}.sqlite3"


def level_beginning_with(db: sqlite3.Connection, start: str, most: int) -> list[str]:
    """Folders, then objects, of one level whose path begins so."""
    span = (start.rfind("/") + 1, start, start + BEYOND, most)
    query = "SELECT path FROM folders WHERE cut = ? AND path >= ? AND path < ? ORDER BY path LIMIT ?"
    found = [path for (path,) in db.execute(query, span)]
    query = "SELECT key FROM objects WHERE cut = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
    found += [key for (key,) in db.execute(query, span)]
    return found[:most]


class ObjectIndexes:
    """Opens and keeps the indexes below one folder; opening belongs into a worker."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._open: dict[Path, ObjectIndex] = {}

    def open(self, account: str, bucket: str) -> ObjectIndex:
        """`account` is any text that is the same for the same account; two of them never share a bucket's rows."""
        place = index_file(self._folder, account, bucket)
        with self._lock:
            if place not in self._open:
                self._open[place] = ObjectIndex(place, bucket)
            return self._open[place]

    def close(self) -> None:
        with self._lock:
            for index in self._open.values():
                index.close()
            self._open.clear()
