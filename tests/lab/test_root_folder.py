"""The folder of a Lab from outside: what is in it, how large it is, and how it is emptied."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from support.places import inside_mount
from support.waiting import PATIENT_S
from traindeck.lab import disk_usage
from traindeck.lab.disk_usage import Contents, contents, disk_use
from traindeck.lab.obs.store import ObjectStore

OWNER = "owner"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "lab").mkdir()
    return tmp_path / "lab"


@contextmanager
def store_of(root: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(root)
    try:
        yield store
    finally:
        store.close()


def test_what_never_was_is_nothing_and_what_cannot_be_read_is_unknown(root: Path) -> None:
    assert contents(root / "none") == Contents(0, 0, 0, 0, ())
    assert disk_use(root / "none").size_bytes == 0
    (root / "file").touch()
    assert contents(root / "file") == Contents(None, None, None, None, ())
    for place in ("obs/index.sqlite3", "jobs/jobs.sqlite3"):
        (root / place).parent.mkdir()
        (root / place).write_bytes(b"no database at all, but long enough to be looked at" * 10)
    assert contents(root) == Contents(None, None, None, None, ())


def test_old_versions_count_and_delete_markers_do_not(root: Path) -> None:
    with store_of(root) as store:
        store.create_bucket("one", OWNER)
        store.create_bucket("two", OWNER)
        store.set_versioning("two", "Enabled")
        store.put("one", "a", b"12345")
        store.put("two", "b", b"123")
        store.put("two", "b", b"1234")
        store.delete("two", "b")
        while_open = contents(root)
    assert while_open == contents(root)
    assert (while_open.buckets, while_open.objects, while_open.object_bytes) == (2, 3, 12)


def test_the_size_is_told_while_it_is_counted(root: Path) -> None:
    for number in range(2500):
        (root / str(number)).write_bytes(b"12")
    heard: list[int] = []
    assert disk_use(root, heard.append).size_bytes == 5000
    assert heard == [2000, 4000]


def test_a_question_is_broken_off(root: Path) -> None:
    with store_of(root):
        pass
    with closing(sqlite3.connect(root / "obs" / "index.sqlite3")) as database, database:
        database.execute("INSERT INTO buckets (id, name, owner, created_ms) VALUES (1, 'b', 'o', 0)")
        database.execute(
            "WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 50000) "
            "INSERT INTO objects SELECT 1, value, value, 1, '', 0, '', '', '', '', 0, '', '' FROM n"
        )
    assert contents(root).objects == 50_000
    taken_back: list[int] = []

    def break_off(interrupt: Callable[[], None]) -> Callable[[], None]:
        interrupt()
        return lambda: taken_back.append(1)

    contents(root, break_off)
    assert taken_back == [1]


def test_an_emptying_that_was_broken_off_is_whole_for_the_lab_and_ends_with_the_next(root: Path) -> None:
    with store_of(root) as store:
        store.create_bucket("one", OWNER)
        for number in range(9):
            store.put("one", str(number), b"1")
    (root / "accounts.json").write_text("{}", "utf-8")

    def enough(files: int) -> None:
        if files == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disk_usage.empty(root, enough)
    assert contents(root) == Contents(0, 0, 0, 0, ())
    assert len([path for path in root.rglob("*") if path.is_file()]) > 3
    disk_usage.empty(root)
    assert {path.name for path in root.iterdir()} <= {"accounts.json", "lab.lock"}


def test_a_lab_at_work_is_not_emptied(root: Path) -> None:
    with store_of(root) as store:
        store.create_bucket("one", OWNER)
    with FileLock(root / "lab.lock"), pytest.raises(disk_usage.LabRunningError):
        disk_usage.empty(root)
    assert contents(root).buckets == 1


@pytest.mark.skipif(os.name == "nt", reason="rights are kept in another way")
def test_what_a_job_closed_to_itself_goes_as_well(root: Path) -> None:
    inner = root / "jobs" / "work" / "closed"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x", "utf-8")
    (root / "jobs" / "link").symlink_to(root.parent)
    inner.chmod(0)
    disk_usage.empty(root)
    assert {path.name for path in root.iterdir()} <= {"lab.lock"}
    assert root.parent.exists()


FILL_AND_EMPTY = """
import sys
from pathlib import Path
from traindeck.lab.disk_usage import contents, empty
from traindeck.lab.obs.store import ObjectStore
root = Path(sys.argv[1])
store = ObjectStore(root)
store.create_bucket("one", "owner")
store.put("one", "a", b"x" * 1000)
store.close()
(root / "lab.lock").touch()
with (root / "filler").open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(65536))
    except OSError as error:
        print(error.strerror)
before = contents(root).objects
empty(root)
print(before, contents(root).objects, sorted(path.name for path in root.iterdir()))
"""


def test_a_full_disk_does_not_keep_it_from_being_emptied(root: Path) -> None:
    before = inside_mount(root, "size=16m")
    done = subprocess.run(
        [*before, sys.executable, "-c", FILL_AND_EMPTY, str(root)],
        capture_output=True,
        timeout=PATIENT_S,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["No space left on device", "1 0 ['filler', 'lab.lock']"]
