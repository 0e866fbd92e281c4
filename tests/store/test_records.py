"""The records when their file is damaged, empty, gone or takes nothing more; real files."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from store.test_runs import WHEN, opened, run
from traindeck.domain.errors import Damaged, LocalTrouble
from traindeck.domain.jobs.job import RunState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store import daily_copies
from traindeck.store.database import open_database
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore

TODAY = date(2026, 11, 19)


async def three_runs(path: Path) -> None:
    """The third came after the copy of the day."""
    async with opened(path) as store:
        await store.add(run("aa11", state=RunState.COMPLETED, job_id="job-1"))
        await store.add(run("bb22", state=RunState.RUNNING, job_id="job-2"))
        await store.make_copy(TODAY)
        await store.add(run("cc33", state=RunState.RUNNING, job_id="job-3"))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def removed(path: Path) -> None:
    path.unlink()


def overwritten(path: Path) -> None:
    path.write_bytes(b"<html>not a database</html>" * 1000)


def torn(path: Path) -> None:
    """The first page is whole, what comes after is not."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + os.urandom(len(content) - 4096))


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(6000)


HARM = [emptied, removed, overwritten, torn, cut]


@pytest.mark.parametrize("harm", HARM)
async def test_damaged_records_are_put_aside_and_rebuilt_from_the_copy_and_the_folders(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "records.db"
    await three_runs(path)
    harm(path)
    harmed = path.read_bytes() if path.exists() else None
    async with opened(path) as store:
        kept = {kept.id: kept for kept in await store.all()}
        assert {run_id: kept[run_id].job_id for run_id in kept} == {"aa11": "job-1", "bb22": "job-2", "cc33": "job-3"}
        assert kept["aa11"] == replace(run("aa11", state=RunState.COMPLETED, job_id="job-1"), number=1)
        assert kept["cc33"].spec == run("cc33").spec and kept["cc33"].number == 3
        assert await store.lost_at()
        words = str(store.recovered)
        assert "copy of" in words
        aside = list(tmp_path.glob("records.db.damaged-*[0-9]"))
        if harmed is not None:
            assert [file.read_bytes() for file in aside] == [harmed] and str(aside[0]) in words
        else:
            assert "missing" in words and not aside
    async with opened(path) as store:  # once is enough
        assert store.recovered is None and len(await store.all()) == 3


async def test_damage_met_in_the_middle_of_work_is_mended_at_once(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    await three_runs(path)
    async with opened(path) as store:
        overwritten(path)
        with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.DatabaseError):
            other.execute("SELECT * FROM runs")
        path.with_name("new").write_bytes(path.read_bytes())
        path.with_name("new").replace(path)  # another file under the same name, as a restore makes it
        assert {kept.id for kept in await store.all()} == {"aa11", "bb22", "cc33"}
        assert (await store.change("aa11", note="still here")).note == "still here"
    async with opened(path) as store:
        assert (await store.existing("aa11")).note == "still here"


async def test_without_a_copy_the_folders_alone_bring_the_runs_back_and_no_copy_is_claimed(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    async with opened(path) as store:
        await store.add(run("aa11"))
        await store.change("aa11", state=RunState.RUNNING, job_id="job-1")
        await store.change("aa11", state=RunState.COMPLETED, phase="Completed", checked=WHEN)
        await store.add(run("gone"))
        await store.remove("gone")
    overwritten(path)
    async with opened(path) as store:
        (only,) = await store.all()
        assert (only.id, only.state, only.job_id) == ("aa11", RunState.COMPLETED, "job-1")
        assert "There was no copy" in str(store.recovered)


async def test_a_home_that_never_had_runs_begins_with_none_and_claims_no_damage(tmp_path: Path) -> None:
    emptied(tmp_path / "records.db")
    async with opened(tmp_path / "records.db") as store:
        assert await store.all() == [] and store.recovered is None


async def test_a_copy_is_made_once_a_day_opens_and_the_last_days_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    async with opened(path) as store:
        for number in range(daily_copies.DAYS_KEPT + 3):
            await store.add(run(f"r{number:02}"))
            day = TODAY + timedelta(days=number)
            await store.make_copy(day)
            await store.make_copy(day)
        copies = sorted((tmp_path / "copies").iterdir())
        assert len(copies) == daily_copies.DAYS_KEPT
        assert copies[-1].name == f"records-{day.isoformat()}.db"
        with closing(open_database(copies[-1])) as db:
            assert len(db.execute("SELECT * FROM runs").fetchall()) == daily_copies.DAYS_KEPT + 3
        assert all(copy.stat().st_mode & 0o077 == 0 for copy in copies)


async def test_a_copy_that_is_damaged_itself_is_passed_over_for_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    async with opened(path) as store:
        await store.add(run("aa11"))
        await store.make_copy(TODAY)
        await store.make_copy(TODAY + timedelta(days=1))
    torn(tmp_path / "copies" / f"records-{TODAY + timedelta(days=1)}.db")
    overwritten(path)
    (tmp_path / "runs" / "aa11" / "run.json").unlink()
    async with opened(path) as store:
        assert [kept.id for kept in await store.all()] == ["aa11"]


async def test_damage_that_only_the_copying_finds_replaces_no_good_copy(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    await three_runs(path)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 4096)
        file.write(os.urandom(4096))
    copies = daily_copies.DailyCopies(path)
    with pytest.raises(Damaged):
        copies.make(TODAY + timedelta(days=1))
    assert copies.newest() == copies.place(TODAY)
    assert [file.name for file in (tmp_path / "copies").iterdir()] == [copies.place(TODAY).name]


async def test_the_message_names_a_copy_only_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    overwritten(path)
    with pytest.raises(LocalTrouble) as without:
        open_database(path)
    assert "newest copy" not in without.value.sentence()
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "records-2026-11-19.db").write_bytes(b"x")
    with pytest.raises(LocalTrouble, match="cannot be used") as beside:
        open_database(path)
    assert "records-2026-11-19.db" in beside.value.sentence()


@asynccontextmanager
async def unwritable(path: Path) -> AsyncIterator[RunStore]:
    """As an ordinary user meets it whose folder was given to somebody else."""
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        async with opened(path) as store:
            yield store
    finally:
        path.parent.chmod(0o700)
        path.chmod(0o600)


@pytest.mark.usefixtures("permissions_hold")
async def test_records_that_take_no_writing_are_read_and_changes_wait_until_they_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home" / "records.db"
    path.parent.mkdir()
    await three_runs(path)
    async with unwritable(path) as store:
        assert [kept.id for kept in await store.all()] == ["cc33", "bb22", "aa11"]
        assert store.trouble is not None and "cannot be written" in store.trouble.sentence()
        stopping = await store.change("bb22", state=RunState.TERMINATING)
        assert await store.get("bb22") == stopping
        found = await store.take_in(run("dd44", state=RunState.RUNNING, job_id="job-4"))
        with pytest.raises(LocalTrouble):  # what is to be sent must be on the disk first
            await store.add(run("ee55"))
        await store.remove("aa11")
        path.parent.chmod(0o700)
        path.chmod(0o600)
        assert await store.write_what_was_not() and store.trouble is None
        assert {kept.id for kept in await store.all()} == {"bb22", "cc33", "dd44"}
    async with opened(path) as store:
        assert await store.get("bb22") == stopping
        assert await store.get("dd44") == found


@pytest.mark.usefixtures("permissions_hold")
async def test_records_nobody_may_read_are_rebuilt_in_memory_from_the_folders(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    await three_runs(path)
    path.chmod(0)
    try:
        async with opened(path) as store:
            assert {kept.job_id for kept in await store.all()} == {"job-1", "job-2", "job-3"}
            assert store.trouble is not None and await store.lost_at()
    finally:
        path.chmod(0o600)


@pytest.mark.usefixtures("permissions_hold")
@pytest.mark.parametrize("with_copy", [True, False])
@pytest.mark.parametrize("harm", [overwritten, emptied])
async def test_damaged_records_that_cannot_be_put_aside_are_recovered_in_memory(
    tmp_path: Path, with_copy: bool, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "home" / "records.db"
    path.parent.mkdir()
    await three_runs(path)
    harm(path)
    if not with_copy:
        shutil.rmtree(path.parent / "copies")
    async with unwritable(path) as store:
        assert {kept.id: kept.job_id for kept in await store.all()} == {
            "aa11": "job-1", "bb22": "job-2", "cc33": "job-3"
        }  # fmt: skip
        assert store.trouble is not None and "cannot be written" in store.trouble.sentence()
        await store.change("bb22", note="while nothing could be written")
        path.parent.chmod(0o700)
        path.chmod(0o600)
        assert await store.write_what_was_not() and store.trouble is None
    async with opened(path) as store:
        assert {kept.id for kept in await store.all()} == {"aa11", "bb22", "cc33"}
        assert (await store.existing("bb22")).note == "while nothing could be written"


async def test_a_run_without_room_in_its_folder_is_on_record_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "runs").write_bytes(b"in the way")
    async with opened(tmp_path / "records.db") as store:
        await store.add(run("aa11"))
        assert (await store.change("aa11", state=RunState.COMPLETED, ended=datetime.now(UTC))).state.is_over


async def test_two_programs_share_what_one_of_them_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    await three_runs(path)
    writer = BlockingCalls(1, "records")
    try:
        async with opened(path) as first:
            second = RunStore(RecordsFile(path, tmp_path / "runs"), writer)
            with closing(second):
                await second.open()
                overwritten_in_place(path)
                await first.all()
                await second.change("aa11", note="from the second")
                assert (await first.existing("aa11")).note == "from the second"
    finally:
        writer.close()


def overwritten_in_place(path: Path) -> None:
    new = path.with_name("harmed")
    overwritten(new)
    new.replace(path)
