"""The file of the runs as it can be used now: on disk, else in memory, rebuilt where it was damaged."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from traindeck.domain.errors import AppError, Damaged, DiskFull, LocalTrouble, Unwritable
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.files import alone_with, local_errors, our_file
from traindeck.store.daily_copies import DailyCopies
from traindeck.store.database import LOCK_S, STEPS, database_errors, open_database, transaction
from traindeck.store.run_folders import RunFolders
from traindeck.store.run_rows import COLUMNS, Row

log = logging.getLogger(__name__)

Result = TypeVar("Result")
RecordsWork = Callable[[sqlite3.Connection], Result]

_TRY_DISK_S = 5.0
REBUILD = "rebuild since"
"""The fact that jobs of this computer may be missing here: those the service knows are taken in."""

_READING = ("mode=ro", "mode=rw", "immutable=1")


class RecordsFile:
    """For one thread. What is done while nothing can be written is kept in memory, and written when that is possible.

    A run that was damaged away is looked for in the newest copy, in what is left of the file, and in its own folder.
    """

    def __init__(self, path: Path, run_folders: Path) -> None:
        self.path = path
        self.trouble: AppError | None = None
        """Why nothing can be written; None: it can."""
        self.recovered: Text | None = None
        """What was found damaged and what became of it."""
        self.folders = RunFolders(run_folders)
        self.copies = DailyCopies(path)
        self._disk: sqlite3.Connection | None = None
        self._memory: sqlite3.Connection | None = None
        self._unwritten: set[str] = set()
        self._next_try = 0.0
        self._identity: tuple[int, int] | None = None

    def open(self) -> None:
        """AppError: neither the file nor the memory will do, as with the file of a newer program."""
        is_new = not _has_content(self.path)
        try:
            if self._was_lost():
                self._recover(None)
            else:
                self._open_disk()
        except Damaged as damage:
            self._recover(damage)
        except (DiskFull, Unwritable) as trouble:
            if is_new and not self.folders.any():
                raise  # nothing of runs was ever written here, so there is nothing to go on with
            self._go_on_in_memory(trouble)

    def close(self) -> None:
        for db in (self._disk, self._memory):
            if db is not None:
                db.close()
        self._disk = self._memory = None

    def read(self, work: RecordsWork[Result]) -> Result:
        def call() -> Result:
            with database_errors(self.path):
                return work(self._current())

        try:
            return call()
        except Damaged as damage:
            self._recover(damage)
            return call()
        except (DiskFull, Unwritable) as trouble:
            if self._memory is not None:
                raise
            self._go_on_in_memory(trouble)
            return call()

    def write(self, work: RecordsWork[Result], run_id: str, *, on_disk: bool = False) -> Result:
        """`on_disk`: of no use in memory alone, as the intent to send a job."""
        if self._memory is not None and time.monotonic() >= self._next_try:
            self.write_what_was_not()
        if on_disk and self.trouble is not None:
            raise self.trouble
        try:
            if self._memory is None:
                return self._in_transaction(self._current(), work)
        except Damaged as damage:
            self._recover(damage)
            return self._in_transaction(self._current(), work)
        except (DiskFull, Unwritable) as trouble:
            if on_disk:
                raise
            self._go_on_in_memory(trouble)
        result = self._in_transaction(self._current(), work)
        self._unwritten.add(run_id)
        return result

    def write_what_was_not(self) -> bool:
        """Try the disk again; whether everything is on it now."""
        memory = self._memory
        if memory is None:
            return True
        self._next_try = time.monotonic() + _TRY_DISK_S
        try:
            if self._disk is None:
                self._open_again()
            assert self._disk is not None
            rows = [row for run_id in sorted(self._unwritten) if (row := _row(memory, run_id)) is not None]
            gone = [run_id for run_id in self._unwritten if _row(memory, run_id) is None]

            def write(db: sqlite3.Connection) -> None:
                for run_id in gone:
                    db.execute("DELETE FROM runs WHERE id = ?", (run_id,))
                for row in rows:
                    _put(db, row)

            self._in_transaction(self._disk, write)
        except AppError as error:
            log.info("nothing can be written yet: %s %s", error, error.detail)
            return False
        memory.close()
        self._memory, self.trouble = None, None
        self._unwritten.clear()
        for row in rows:
            self.folders.write(row)
        return True

    def make_copy(self, day: date) -> None:
        """Once a day. What is found damaged on the way is recovered at once, from the older copies."""
        if self._memory is not None or self._disk is None:
            return
        try:
            self.copies.make(day)
        except Damaged as damage:
            self._recover(damage)
        except AppError as error:
            log.warning("the copy of the day was not made: %s %s", error, error.detail)

    def _current(self) -> sqlite3.Connection:
        if self._memory is not None:
            return self._memory
        if self._disk is None or self._identity != _identity(self.path):
            # Another program put the file aside and made it anew, or somebody brought back a copy.
            if self._disk is not None:
                self._disk.close()
                self._disk = None
            self.open()
        current = self._memory if self._memory is not None else self._disk
        assert current is not None
        return current

    def _in_transaction(self, db: sqlite3.Connection, work: RecordsWork[Result]) -> Result:
        with database_errors(self.path), transaction(db):
            return work(db)

    def _open_disk(self) -> None:
        self._disk = open_database(self.path)
        self._identity = _identity(self.path)
        try:
            with database_errors(self.path):
                self._disk.execute("SELECT max(number) FROM runs").fetchone()
        except AppError:
            self._disk.close()
            self._disk = None
            raise

    def _open_again(self) -> None:
        """Open the file, which may have been damaged or lost while the records were in memory."""
        damage: AppError | None = None
        if not self._was_lost():
            try:
                self._open_disk()
            except Damaged as found:
                damage = found
            else:
                return
        self._recover_on_disk(damage)

    def _was_lost(self) -> bool:
        """An empty file reads as “no run yet”; so it is, unless something is left of runs."""
        if _has_content(self.path):
            return False
        return self.copies.newest() is not None or self.folders.any()

    # -- in memory --------------------------------------------------------------------

    def _go_on_in_memory(self, trouble: AppError) -> None:
        log.warning("the records cannot be written: %s %s", trouble, trouble.detail)
        memory = self._read_into_memory()
        if memory is None:
            memory = _new_memory()
            self._rebuild(memory, [])
            _note(memory, REBUILD, datetime.now(UTC).isoformat())
        if self._disk is not None:
            self._disk.close()
            self._disk = None
        self._memory = memory
        self.trouble = _told_of_memory(trouble)
        self._next_try = time.monotonic() + _TRY_DISK_S

    def _read_into_memory(self) -> sqlite3.Connection | None:
        """What is on the disk, whichever way it can be read without writing anything."""
        place = self.path.absolute().as_uri()
        for way in _READING:
            memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            try:
                with closing(sqlite3.connect(f"{place}?{way}", uri=True, timeout=1)) as disk:
                    if way == "mode=rw":
                        # Alone with it, SQLite needs no file beside it that would have to be written.
                        disk.execute("PRAGMA locking_mode = EXCLUSIVE")
                    disk.backup(memory)
                _arrange(memory)
                _bring_up_to_date(memory)
            except (sqlite3.Error, LocalTrouble) as error:
                memory.close()
                log.info("reading the records with %s: %s", way, error)
            else:
                return memory
        return None

    # -- recovery --------------------------------------------------------------------

    def _recover(self, damage: AppError | None) -> None:
        try:
            self._recover_on_disk(damage)
        except (DiskFull, Unwritable) as trouble:
            self._recover_in_memory(trouble)

    def _recover_on_disk(self, damage: AppError | None) -> None:
        """Put the file aside and make it again from all that is left."""
        log.error("the records are damaged: %s %s", damage, damage.detail if damage else "the file is empty or missing")
        if self._disk is not None:
            self._disk.close()
            self._disk = None
        busy = text("Another TrainDeck is using the records.")
        hint = text("Close the one not responding, then try again. Nothing was changed.")
        with alone_with(self.path, LOCK_S, busy, hint, ".migrate.lock"):
            if self._is_whole_again():
                return
            aside = self._put_aside()
            copy = self.copies.newest()
            if copy is not None:
                self._bring_back(copy)
        # Opening takes the same lock where the copy is of an older version.
        self._open_disk()
        assert self._disk is not None
        saved = _saved(aside) if aside else []

        def fill(db: sqlite3.Connection) -> int:
            _note(db, REBUILD, datetime.now(UTC).isoformat())
            return self._rebuild(db, saved)

        count = self._in_transaction(self._disk, fill)
        self.recovered = _told_of_recovery(aside, copy, count)

    def _recover_in_memory(self, trouble: AppError) -> None:
        memory = None
        if (copy := self.copies.newest()) is not None:
            memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            with database_errors(copy):
                with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?immutable=1", uri=True)) as source:
                    source.backup(memory)
                _arrange(memory)
                _bring_up_to_date(memory)
        memory = memory or _new_memory()
        self._rebuild(memory, _saved(self.path))
        _note(memory, REBUILD, datetime.now(UTC).isoformat())
        self._memory = memory
        self.trouble = _told_of_memory(trouble)
        self._next_try = time.monotonic() + _TRY_DISK_S

    def _is_whole_again(self) -> bool:
        """Another program may have been quicker."""
        if self._was_lost():
            return False
        try:
            with database_errors(self.path), closing(sqlite3.connect(self.path, timeout=1)) as db:
                (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
                db.execute("SELECT max(number) FROM runs").fetchone()
        except AppError:
            return False
        if found != "ok":
            return False
        self._disk = open_database(self.path)
        self._identity = _identity(self.path)
        return True

    def _put_aside(self) -> Path | None:
        """Where it is kept now, with what SQLite had beside it."""
        if not self.path.exists():
            return None
        stem = f"{self.path.name}.damaged-{date.today().isoformat()}"
        aside = self.path.with_name(stem)
        number = 1
        while aside.exists():
            number += 1
            aside = self.path.with_name(f"{stem}-{number}")
        with local_errors(self.path):
            for ending in ("-wal", "-shm", ""):
                part = self.path.with_name(self.path.name + ending)
                if part.exists():
                    part.replace(aside.with_name(aside.name + ending))
        return aside

    def _bring_back(self, copy: Path) -> None:
        part = self.path.with_name(self.path.name + ".part")
        with local_errors(part):
            part.unlink(missing_ok=True)
            our_file(part)
            part.write_bytes(copy.read_bytes())
            part.replace(self.path)

    def _rebuild(self, db: sqlite3.Connection, saved: Iterable[Row]) -> int:
        """Put in what the copy lacks; how many runs that were."""
        count = 0
        for row in (*saved, *self.folders.rows()):
            try:
                count += _put(db, row, only_newer=True)
            except sqlite3.IntegrityError as error:
                log.warning("the record of %s cannot be taken in: %s", row.get("id"), error)
        return count


def _has_content(path: Path) -> bool:
    for part in (path, path.with_name(path.name + "-wal")):
        try:
            if part.stat().st_size:
                return True
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _arrange(db: sqlite3.Connection) -> None:
    db.row_factory = sqlite3.Row
    db.text_factory = lambda content: content.decode("utf-8", "replace")
    db.execute("PRAGMA foreign_keys = ON")


def _new_memory() -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _arrange(memory)
    _bring_up_to_date(memory)
    return memory


def _bring_up_to_date(memory: sqlite3.Connection) -> None:
    version = int(memory.execute("PRAGMA user_version").fetchone()[0])
    for number, step in enumerate(STEPS[version:], start=version + 1):
        for statement in step:
            memory.execute(statement)
        memory.execute(f"PRAGMA user_version = {number}")
    memory.execute("SELECT max(number) FROM runs").fetchone()


def _saved(aside: Path) -> list[Mapping[str, object]]:
    """The rows of a damaged file that can still be read, from its end and from its beginning."""
    rows: dict[object, Mapping[str, object]] = {}
    for order in ("DESC", "ASC"):
        with suppress(sqlite3.Error), closing(sqlite3.connect(aside)) as db:
            _arrange(db)
            for row in db.execute(f"SELECT * FROM runs ORDER BY number {order}"):
                known = {name: row[name] for name in row.keys() if name in COLUMNS}  # noqa: SIM118 - rows of sqlite
                rows.setdefault(known.get("id"), known)
    return [row for run_id, row in rows.items() if isinstance(run_id, str) and run_id]


def _row(db: sqlite3.Connection, run_id: str) -> Row | None:
    found = db.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    return dict(found) if found else None


def _put(db: sqlite3.Connection, row: Row, *, only_newer: bool = False) -> bool:
    """Whether the run was new here; a number that is taken gives way."""
    values = {name: row[name] for name in COLUMNS if name in row and name != "number"}
    known = _row(db, str(row["id"]))
    if known is not None:
        if not only_newer or str(row["checked"] or "") > str(known["checked"] or ""):
            settings = ", ".join(f"{name} = :{name}" for name in values)
            db.execute(f"UPDATE runs SET {settings} WHERE id = :id", values)
        return False
    if row["job_id"] and db.execute("SELECT 1 FROM runs WHERE job_id = ?", (row["job_id"],)).fetchone():
        return False
    if not db.execute("SELECT 1 FROM runs WHERE number = ?", (row["number"],)).fetchone():
        values["number"] = row["number"]
    names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
    db.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", values)
    return True


def _note(db: sqlite3.Connection, name: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", (name, value))


def _told_of_memory(trouble: AppError) -> AppError:
    kind = DiskFull if isinstance(trouble, DiskFull) else Unwritable
    return kind(
        text("The records cannot be written: {problem}", problem=trouble.title),
        text(
            "Active jobs can still be listed and stopped, but no new job is submitted, and changes are kept only until "
            "TrainDeck ends. {hint}",
            hint=trouble.hint,
        ),
        trouble.detail,
    )


def _told_of_recovery(aside: Path | None, copy: Path | None, count: int) -> Text:
    what = text("The records of your runs were missing.")
    if aside is not None:
        what = text("The records of your runs were damaged. The damaged file is kept as “{file}”.", file=str(aside))
    from_copy = text("There was no copy.")
    if copy is not None:
        when = datetime.fromtimestamp(copy.stat().st_mtime).astimezone()
        from_copy = text("They were restored from the copy of {time}.", time=f"{when:%Y-%m-%d %H:%M}")
    rest = count_text(
        "{count} run was added from the folders of runs. Active jobs are looked up at the service.",
        "{count} runs were added from the folders of runs. Active jobs are looked up at the service.",
        count,
    )
    return Text("{what} {copy} {rest}", {"what": what, "copy": from_copy, "rest": rest})
