"""Opening, carrying over and refusing databases; real files."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from traindeck.domain.errors import LocalTrouble
from traindeck.store import database
from traindeck.store.database import open_database, transaction

FIRST = ("CREATE TABLE runs (name TEXT)", "INSERT INTO runs VALUES ('kept')")
SECOND = ("ALTER TABLE runs ADD COLUMN note TEXT",)
FAILS = ("ALTER TABLE runs ADD COLUMN half TEXT", "INSERT INTO nowhere VALUES ('in the middle')")


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_an_old_database_is_carried_over_and_a_copy_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    open_database(path, (FIRST,)).close()
    with closing(open_database(path, (FIRST, SECOND))) as db:
        assert version(db) == 2
        assert tuple(db.execute("SELECT name, note FROM runs").fetchone()) == ("kept", None)
    with closing(sqlite3.connect(path.with_name("records.db.v1.bak"))) as copy:
        assert copy.execute("SELECT name FROM runs").fetchone() == ("kept",)
        assert version(copy) == 1


def test_a_step_that_fails_leaves_the_old_version_whole(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    open_database(path, (FIRST,)).close()
    with pytest.raises(LocalTrouble, match="nowhere"):
        open_database(path, (FIRST, FAILS))
    with closing(open_database(path, (FIRST,))) as db:
        assert version(db) == 1
        assert [row[1] for row in db.execute("PRAGMA table_info(runs)")] == ["name"]


def test_a_newer_database_is_refused_with_a_sentence_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    open_database(path, (FIRST, SECOND)).close()
    with pytest.raises(LocalTrouble) as refused:
        open_database(path, (FIRST,))
    assert "newer TrainDeck" in refused.value.sentence()
    with closing(open_database(path, (FIRST, SECOND))) as db:
        assert version(db) == 2


def test_a_file_that_is_no_database_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    path.write_bytes(b"not a database, but long enough to look at" * 40)
    with pytest.raises(LocalTrouble, match="cannot be used"):
        open_database(path)


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "records.db", (FIRST,))) as db:
        with pytest.raises(RuntimeError), transaction(db):
            db.execute("INSERT INTO runs VALUES ('half')")
            raise RuntimeError("in the middle")
        assert [row["name"] for row in db.execute("SELECT name FROM runs")] == ["kept"]


def test_a_program_that_hangs_in_the_records_is_no_endless_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_S", 0.1)
    path = tmp_path / "records.db"
    with FileLock(tmp_path / "records.db.migrate.lock"), pytest.raises(LocalTrouble, match="is using the records"):
        open_database(path)
    open_database(path).close()
