"""The engine over objects in memory: order, pauses, failures and waiting, restarts, changed sources."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from object_shelf import ObjectShelf, md5_of
from traindeck.domain import transfers as sizes
from traindeck.domain.errors import AccessRefused, AppError, DiskFull, NotFound, Unreachable
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    MD5_NAME,
    PART_BYTES_NAME,
    TIME_NAME,
    CompareBy,
    ItemState,
    TransferState,
    WaitsFor,
)
from traindeck.services.transfers import downloads, lane, uploads
from transfer_works import BUCKET, all_items, content_of, copy, done, download, listed, tree, upload, working
from waiting import until

MIB = 1024 * 1024
FILES = {"a.txt": b"a", "deep/er/b.bin": bytes(range(256)) * 300, "空/c 文件.txt": b"", "deep/.hidden": b"h"}


def there(key: str = "") -> ObjectPath:
    return ObjectPath(BUCKET, key)


def random_bytes(size: int) -> bytes:
    return os.urandom(size)


@pytest.fixture
def shelf() -> ObjectShelf:
    return ObjectShelf()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large begins at 1 MiB here, and its parts have 256 KiB."""
    monkeypatch.setattr(uploads, "SINGLE_PUT_BYTES", MIB)
    monkeypatch.setattr(uploads, "_READ_AHEAD_BYTES", MIB // 4)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB // 4)
    monkeypatch.setattr(sizes, "_MEBIBYTE", MIB // 4)
    monkeypatch.setattr(downloads, "IN_MEMORY_BYTES", MIB)
    monkeypatch.setattr(downloads, "RANGE_BYTES", MIB // 4)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(lane, "LONGEST_WAIT_S", 0.1)


def failing(shelf: ObjectShelf, name: str, fails: Callable[[str], AppError | None]) -> None:
    """`fails` is asked before each such request what is wrong with it."""
    whole = getattr(shelf, name)

    async def asked(target: ObjectPath, *more: object, **named: object) -> object:
        if error := fails(target.key):
            raise error
        work: Awaitable[object] = whole(target, *more, **named)
        return await work

    setattr(shelf, name, asked)


def written_parts(home: Path) -> int:
    """How many parts the journal on the disk knows."""
    with closing(sqlite3.connect(home / "transfers.db")) as db:
        found: int = db.execute("SELECT count(*) FROM parts").fetchone()[0]
    return found


def offline() -> AppError:
    return Unreachable(text("The service cannot be reached."), text("Look at the network."))


def refused() -> AppError:
    return AccessRefused(text("No."), text("Ask."))


async def test_a_folder_goes_up_and_comes_back_the_same(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", FILES)
    async with working(home, shelf) as engine:
        up = await done(engine, upload(source, there("in/")))
        assert (up.state, up.done_files, up.failed_files) == (TransferState.DONE, 4, 0)
        assert up.total_bytes == up.done_bytes == sum(map(len, FILES.values()))
        assert shelf.content(BUCKET, "in/") == FILES
        down = await done(engine, download(there("in/"), tmp_path / "back"))
        assert (down.state, down.done_files) == (TransferState.DONE, 4)
        assert content_of(tmp_path / "back") == FILES
        assert all(item.is_verified for item in await all_items(engine, down.id))
        assert [row.id for row in engine.rows()] == [down.id, up.id]


async def test_large_files_go_in_parts_both_ways(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    files = {"big": random_bytes(3 * MIB + 17), "middle": random_bytes(MIB - 1), "small": b"x"}
    source = tree(tmp_path / "data", files)
    async with working(home, shelf) as engine:
        up = await done(engine, upload(source, there("in/")))
        assert up.state is TransferState.DONE
        assert up.done_bytes == up.total_bytes
        assert shelf.content(BUCKET, "in/") == files
        assert shelf.uploads == {}
        kept = shelf.objects[there("in/big")]
        assert kept.metadata == {MD5_NAME: md5_of(files["big"]), PART_BYTES_NAME: str(MIB // 4)}
        assert len([line for line in shelf.asked if line.startswith("part in/big")]) == 13
        down = await done(engine, download(there("in/"), tmp_path / "back"))
        assert down.state is TransferState.DONE
        assert content_of(tmp_path / "back") == files
        assert all(item.is_verified for item in await all_items(engine, down.id))


async def test_a_whole_that_is_plain_md5_is_hashed_while_it_comes(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = random_bytes(2 * MIB + 5)
    shelf.keep(there("big"), content)
    async with working(home, shelf) as engine:
        down = await done(engine, download(there("big"), tmp_path / "big"))
        assert [item.is_verified for item in await all_items(engine, down.id)] == [True]
        shelf.objects[there("big")].content = content[:-1] + b"?"  # the service says one thing and sends another
        failed = await done(engine, download(there("big"), tmp_path / "other"))
    assert failed.state is TransferState.FAILED
    assert failed.error is not None and "damaged" in failed.error.sentence()
    assert (tmp_path / "big").read_bytes() == content
    assert not (tmp_path / "other").exists()


async def test_one_file_failing_does_not_stop_the_rest(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(50)})
    wrong = NotFound(text("The bucket is gone."), text("Make it."))
    failing(shelf, "put", lambda key: wrong if key == "07" else None)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()))
        assert (row.state, row.done_files, row.failed_files) == (TransferState.PARTLY, 49, 1)
        states = await listed(engine, row.id)
        assert [name for name, state in states.items() if state is not ItemState.DONE] == ["07"]
        (failed,) = await engine.items(row.id, [ItemState.FAILED])
        assert failed.error is not None and "gone" in failed.error.sentence()
        failing(shelf, "put", lambda _: None)
        shelf.put = type(shelf).put.__get__(shelf)
        await engine.retry(row.id)
        again = await engine.ended(row.id)
        assert (again.state, again.done_files, again.failed_files) == (TransferState.DONE, 50, 0)
    assert len(shelf.keys(BUCKET)) == 50


async def test_a_key_that_is_refused_waits_and_the_rest_goes_on(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(20)})
    is_shut = True
    failing(shelf, "put", lambda key: refused() if is_shut and key == "03" else None)
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()))
        await until(lambda: len(shelf.keys(BUCKET)) == 19)
        await until(lambda: engine.rows()[0].state is TransferState.WAITING)
        row = engine.rows()[0]
        assert (row.waits_for, row.done_files) == (WaitsFor.KEYS, 19)
        assert row.next_try is not None and row.error is not None
        is_shut = False
        assert (await engine.ended(number)).state is TransferState.DONE


async def test_without_a_network_everything_waits_and_then_goes_on(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    source = tree(tmp_path / "data", {f"{number:03}": b"x" for number in range(200)})
    tries = 0
    is_down = True

    def line(_: str) -> AppError | None:
        nonlocal tries
        tries += is_down
        return offline() if is_down else None

    failing(shelf, "put", line)
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()))
        await until(lambda: engine.rows()[0].state is TransferState.WAITING)
        assert engine.rows()[0].waits_for is WaitsFor.NETWORK
        assert tries < 100, "not every file is tried where none can go"
        is_down = False
        row = await engine.ended(number)
        assert (row.state, row.done_files, row.failed_files) == (TransferState.DONE, 200, 0)


async def test_a_script_does_not_wait_for_ever(shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None) -> None:
    source = tree(tmp_path / "data", {f"{number:03}": b"x" for number in range(50)})
    failing(shelf, "put", lambda _: offline())
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()), patience_s=0.1)
        assert row.state is TransferState.FAILED
        assert isinstance(row.error, Unreachable)
    shelf.put = type(shelf).put.__get__(shelf)
    failing(shelf, "put", lambda key: refused() if key == "007" else None)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("x/")), patience_s=60)
        assert row.state is TransferState.DONE
        row = await done(engine, upload(source, there()), patience_s=60)
        assert (row.state, row.failed_files) == (TransferState.PARTLY, 1)


async def test_a_full_disk_waits_for_the_user_and_not_for_a_script(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    shelf.keep(there("big"), b"x")
    is_full = True
    failing(shelf, "get", lambda _: DiskFull(text("Full."), text("Make room.")) if is_full else None)
    order = download(there("big"), tmp_path / "big")
    async with working(home, shelf) as engine:
        failed = await done(engine, order, patience_s=60)
        assert failed.state is TransferState.FAILED and isinstance(failed.error, DiskFull)
        number = await engine.add(order)
        await until(lambda: engine.rows()[0].waits_for is WaitsFor.DISK)
        is_full = False
        assert (await engine.ended(number)).state is TransferState.DONE


async def test_a_paused_transfer_stops_and_goes_on_where_it_was(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    files = {"big": random_bytes(3 * MIB), **{f"{number:03}": b"x" for number in range(100)}}
    source = tree(tmp_path / "data", files)
    gate, whole = asyncio.Event(), shelf.put_part

    async def held(*given: object, **named: object) -> object:
        if sum(line.startswith("part") for line in shelf.asked) >= 4:
            await gate.wait()
        return await whole(*given, **named)

    shelf.put_part = held
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()))
        await until(lambda: sum(line.startswith("part") for line in shelf.asked) == 4)
        await until(lambda: len(shelf.keys(BUCKET)) == 100)
        await engine.pause(number)
        asked = len(shelf.asked)
        assert engine.rows()[0].state is TransferState.PAUSED
        gate.set()
        other = await done(engine, upload(tree(tmp_path / "other", {"y": b"y"}), there("other/")))
        assert other.state is TransferState.DONE, "others are not held up"
        assert shelf.asked[asked:] == ["page ", "put other/y"]
        await engine.go_on(number)
        row = await engine.ended(number)
    assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    assert {key: kept for key, kept in shelf.content(BUCKET).items() if "/" not in key} == files


async def test_a_cancelled_transfer_leaves_nothing_half_there(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(3 * MIB)})
    stuck = asyncio.Event()
    whole = shelf.put_part

    async def held(target: ObjectPath, upload_id: str, number: int, *more: object, **named: object) -> object:
        if number > 3:
            await stuck.wait()
        return await whole(target, upload_id, number, *more, **named)

    shelf.put_part = held
    shelf.keep(there("old"), random_bytes(3 * MIB))
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there("in/")))
        await until(lambda: "part in/big 3" in shelf.asked)
        await engine.cancel(number)
        row = await engine.ended(number)
        assert row.state is TransferState.CANCELLED
        assert shelf.uploads == {}

        slow = shelf.get

        async def held_get(*given: object, **named: object) -> object:
            if named.get("offset"):
                await stuck.wait()
            return await slow(*given, **named)

        shelf.get = held_get
        number = await engine.add(download(there("old"), tmp_path / "here" / "old"))
        await until(lambda: (tmp_path / "here").is_dir() and any((tmp_path / "here").iterdir()))
        await engine.cancel(number)
        assert (await engine.ended(number)).state is TransferState.CANCELLED
        assert list((tmp_path / "here").iterdir()) == []


async def test_the_next_program_goes_on_at_the_part(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    files = {"big": random_bytes(3 * MIB), "small": b"x"}
    source = tree(tmp_path / "data", files)
    stuck, whole = asyncio.Event(), shelf.put_part

    async def held(target: ObjectPath, upload_id: str, number: int, *more: object, **named: object) -> object:
        if number in (5, 9, 12):
            await stuck.wait()
        return await whole(target, upload_id, number, *more, **named)

    shelf.put_part = held
    async with working(home, shelf) as engine:
        await engine.add(upload(source, there()))
        await until(lambda: len([line for line in shelf.asked if line.startswith("part")]) == 9)
    shelf.put_part = whole
    async with working(home, shelf) as engine:
        await engine.resume()
        (row,) = engine.rows()
        row = await engine.ended(row.id)
        assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    parts = [line for line in shelf.asked if line.startswith("part")]
    assert sorted(parts) == sorted(f"part big {number}" for number in range(1, 13)), "nothing twice"
    assert shelf.content(BUCKET) == files
    assert [line for line in shelf.asked if line == "put small"] == ["put small"]


async def test_what_was_done_and_not_written_down_is_not_done_again(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    files = {"big": random_bytes(3 * MIB), "small": b"x"}
    source = tree(tmp_path / "data", files)
    up, down = upload(source, there("in/")), download(there("in/"), tmp_path / "back")
    for order in (up, down):
        async with working(home, shelf) as engine:
            number = await engine.add(order)
            assert (await engine.ended(number)).state is TransferState.DONE
        asked = len(shelf.asked)
        # As a kill leaves it between the last answer and the next writing.
        with closing(sqlite3.connect(home / "transfers.db")) as db, db:
            db.execute("UPDATE transfers SET state = 'running' WHERE id = ?", (number,))
            db.execute("UPDATE items SET state = 0, upload_id = 'gone', part_bytes = ? WHERE name = 'big'", (MIB // 4,))
            db.execute("UPDATE items SET state = 0 WHERE name = 'small'")
        async with working(home, shelf) as engine:
            await engine.resume()
            row = await engine.ended(number)
            assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
        assert {line.split()[0] for line in shelf.asked[asked:]} <= {"head", "list"}
    assert content_of(tmp_path / "back") == files


async def test_two_programs_do_not_move_the_same(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {"a": b"a"})
    gate, whole = asyncio.Event(), shelf.put

    async def held(*given: object, **named: object) -> object:
        await gate.wait()
        return await whole(*given, **named)

    shelf.put = held
    async with working(home, shelf) as one, working(home, shelf) as other:
        number = await one.add(upload(source, there()))
        await until(lambda: one.rows()[0].state is TransferState.RUNNING)
        await other.resume()
        await until(lambda: other.rows() == [])
        gate.set()
        assert (await one.ended(number)).state is TransferState.DONE
        assert (await other.ended(number)).state is TransferState.DONE, "read from the journal"
    assert [line for line in shelf.asked if line.startswith("put")] == ["put a"]


async def test_a_source_that_changes_is_sent_as_it_is_in_the_end(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    new, whole = random_bytes(2 * MIB + 5), shelf.put_part

    async def changing(target: ObjectPath, upload_id: str, number: int, *more: object, **named: object) -> object:
        if number == 4 and (source / "big").stat().st_size == 2 * MIB:
            (source / "big").write_bytes(new)
        return await whole(target, upload_id, number, *more, **named)

    shelf.put_part = changing
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()))
    assert row.state is TransferState.DONE
    assert shelf.content(BUCKET) == {"big": new}
    assert shelf.uploads == {}


async def test_a_source_that_always_changes_or_is_gone_fails_with_a_clear_word(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB), "gone": b"x", "stays": b"y"})
    whole = shelf.put_part

    async def changing(*given: object, **named: object) -> object:
        (source / "big").write_bytes(random_bytes(2 * MIB))
        return await whole(*given, **named)

    shelf.put_part = changing
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()), needs_yes=True)
        planned = await engine.planned(number)
        assert (planned.state, planned.files) == (TransferState.READY, 3)
        (source / "gone").unlink()
        await engine.say_yes(number)
        row = await engine.ended(number)
        assert row.state is TransferState.PARTLY
        words = {item.name: item.error.sentence() for item in await engine.items(number, [ItemState.FAILED])}
    assert "changes all the time" in words["big"]
    assert "deleted or moved" in words["gone"]
    assert shelf.content(BUCKET) == {"stays": b"y"}
    assert shelf.uploads == {}


async def test_an_object_that_changes_while_it_comes_is_never_mixed(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    old, new = random_bytes(2 * MIB), random_bytes(2 * MIB)
    shelf.keep(there("big"), old)
    whole = shelf.get

    async def changing(*given: object, **named: object) -> object:
        found = await whole(*given, **named)
        if shelf.objects[there("big")].content == old:
            shelf.keep(there("big"), new)
        return found

    shelf.get = changing
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("big"), tmp_path / "big"))
    assert row.state is TransferState.DONE
    assert (tmp_path / "big").read_bytes() == new


async def test_a_download_goes_on_at_the_range_unless_the_object_changed(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = random_bytes(3 * MIB)
    shelf.keep(there("big"), content)
    stuck, whole = asyncio.Event(), shelf.get

    async def held(*given: object, **named: object) -> object:
        if named["offset"] in (MIB, 2 * MIB):
            await stuck.wait()
        return await whole(*given, **named)

    shelf.get = held
    order = download(there("big"), tmp_path / "big")
    async with working(home, shelf) as engine:
        await engine.add(order)
        await until(lambda: written_parts(home) == 10)
    shelf.get = whole
    async with working(home, shelf) as engine:
        number = await engine.add(order, takes_up=True)
        assert (await engine.ended(number)).state is TransferState.DONE
    assert len([line for line in shelf.asked if line.startswith("get")]) == 12
    assert (tmp_path / "big").read_bytes() == content


@pytest.mark.skipif(os.name == "nt", reason="links are POSIX here")
async def test_nothing_is_written_outside_the_target(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside", {"kept": b"kept"})
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "link").symlink_to(outside)
    for key in ("in/link/x", "in/../../y", "in/ok"):
        shelf.keep(there(key), b"evil")
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("in/"), tmp_path / "to"))
        assert (row.state, row.done_files, row.failed_files) == (TransferState.PARTLY, 2, 1)
    assert content_of(outside) == {"kept": b"kept"}
    assert not (tmp_path / "y").exists() and not (tmp_path.parent / "y").exists()
    assert (tmp_path / "to" / "ok").read_bytes() == b"evil"


async def test_sync_moves_what_differs_and_removes_what_was_asked(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", FILES)
    shelf.keep(there("to/old"), b"old")
    shelf.keep(there("to/a.txt"), b"a")
    rules = {"compare": CompareBy.MD5, "delete": True}
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there("to/"), **rules), needs_yes=True)
        planned = await engine.planned(number)
        assert (planned.removals, planned.equal_files) == (1, 1)
        assert shelf.keys(BUCKET) == ["to/a.txt", "to/old"], "a preview changes nothing"
        changes = await engine.items(number, [ItemState.QUEUED])
        assert [item.name for item in changes] == ["deep/.hidden", "deep/er/b.bin", "old", "空/c 文件.txt"]
        await engine.say_yes(number)
        assert (await engine.ended(number)).state is TransferState.DONE
        assert shelf.content(BUCKET, "to/") == FILES
        again = await done(engine, upload(source, there("to/"), **rules))
        assert (again.done_files, again.equal_files) == (0, 4)
        extra = tree(tmp_path / "back", {"extra": b"x", "a.txt": b"old"})
        down = await done(engine, download(there("to/"), extra, **rules))
        assert down.state is TransferState.DONE
        assert content_of(extra) == FILES


async def test_nothing_is_removed_without_a_yes_after_a_pause_or_a_failed_plan(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", {"a": b"a"})
    shelf.keep(there("to/old"), b"old")
    order = upload(source, there("to/"), compare=CompareBy.SIZE, delete=True)
    async with working(home, shelf) as engine:
        number = await engine.add(order, needs_yes=True)
        await engine.planned(number)
        await engine.pause(number)
        await engine.go_on(number)
        await engine.pause(number)
    async with working(home, shelf) as engine:
        await engine.resume()
        await engine.go_on(number)
        assert (await engine.planned(number)).state is TransferState.READY
        await engine.cancel(number)
        await engine.ended(number)
    trouble: AppError | None = NotFound(text("No."), text("No."))
    whole = shelf.page

    async def page(*given: object, **named: object) -> object:
        if trouble is not None:
            raise trouble
        return await whole(*given, **named)

    shelf.page = page
    async with working(home, shelf) as engine:
        number = await engine.add(order, needs_yes=True)
        assert (await engine.ended(number)).state is TransferState.FAILED
        trouble = None
        await engine.retry(number)
        assert (await engine.planned(number)).state is TransferState.READY
    assert shelf.keys(BUCKET) == ["to/old"]


async def test_what_arrives_faster_than_the_disk_takes_it_does_not_fill_the_memory(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_ARRIVED_BYTES", 50_000)
    files = {f"{number:03}": bytes(10_000) for number in range(200)}
    for name, content in files.items():
        shelf.keep(there(name), content)
    first, may_write, whole = asyncio.Event(), threading.Event(), downloads.Downloads._keep
    loop = asyncio.get_running_loop()

    def slow(self: downloads.Downloads, *given: object) -> object:
        loop.call_soon_threadsafe(first.set)
        may_write.wait(20)
        return whole(self, *given)

    monkeypatch.setattr(downloads.Downloads, "_keep", slow)
    async with working(home, shelf) as engine:
        number = await engine.add(download(there(), tmp_path / "to"))
        await first.wait()
        for _ in range(1000):  # as many turns of the loop as all of them would need
            await asyncio.sleep(0)
        fetched = len([line for line in shelf.asked if line.startswith("get")])
        may_write.set()
        row = await engine.ended(number)
    assert row.state is TransferState.DONE and content_of(tmp_path / "to") == files
    assert fetched < 100


async def test_a_time_no_disk_can_hold_spoils_nothing(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    shelf.keep(there("in/a"), b"a", **{TIME_NAME: "9" * 30})
    shelf.keep(there("in/b"), b"b", **{TIME_NAME: "-" + "9" * 30})
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("in/"), tmp_path / "to", keep_times=True))
    assert row.state is TransferState.DONE
    assert content_of(tmp_path / "to") == {"a": b"a", "b": b"b"}


async def test_an_object_named_like_the_part_of_another_keeps_its_own_file(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    shelf.keep(there("in/a"), b"a")
    shelf.keep(there("in/a.traindeck.part"), b"left behind")
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("in/"), tmp_path / "to"))
    assert row.state is TransferState.DONE
    files = content_of(tmp_path / "to")
    assert sorted(files.values()) == [b"a", b"left behind"] and files["a"] == b"a"
    assert "a.traindeck.part" not in files


async def test_ranges_that_did_not_reach_the_disk_are_fetched_again(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = random_bytes(3 * MIB)
    source = tree(tmp_path / "data", {"big": content})
    order = download(there("big"), tmp_path / "to")
    async with working(home, shelf) as engine:
        assert (await done(engine, upload(source, there()))).state is TransferState.DONE
    stuck, whole = asyncio.Event(), shelf.get

    async def held(*given: object, **named: object) -> object:
        if named["offset"] in (MIB, 2 * MIB):
            await stuck.wait()
        return await whole(*given, **named)

    shelf.get = held
    async with working(home, shelf) as engine:
        await engine.add(order)
        await until(lambda: written_parts(home) == 10)
    shelf.get = whole
    # As a power cut leaves it: the length is there, and some of the content is not.
    with (tmp_path / "to.traindeck.part").open("r+b") as part:
        part.write(bytes(1000))
    async with working(home, shelf) as engine:
        await engine.resume()
        (row,) = engine.rows()
        row = await engine.ended(row.id)
        assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    assert (tmp_path / "to").read_bytes() == content


async def test_a_plan_begun_anew_removes_only_what_it_finds_itself(home: Path, tmp_path: Path, soon: None) -> None:
    shelf = ObjectShelf(page_size=1)
    source = tree(tmp_path / "data", {"z": b"z"})
    shelf.keep(there("a"), b"")
    shelf.keep(there("b"), b"")
    whole = shelf.page

    async def page(*given: object, marker: str = "", **named: object) -> object:
        if marker == "a" and there("a") in shelf.objects:
            del shelf.objects[there("a")]
            raise offline()
        return await whole(*given, marker=marker, **named)

    shelf.page = page
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there(), compare=CompareBy.SIZE, delete=True), needs_yes=True)
        assert (await engine.planned(number)).removals == 1


async def test_a_file_that_changed_since_the_list_was_shown_stays(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    target = tree(tmp_path / "to", {"changed": b"x", "extra": b"x"})
    shelf.keep(there("in/new"), b"new")
    async with working(home, shelf) as engine:
        order = download(there("in/"), target, compare=CompareBy.SIZE, delete=True)
        number = await engine.add(order, needs_yes=True)
        await engine.planned(number)
        (target / "changed").write_bytes(b"an hour of work")
        await engine.say_yes(number)
        assert (await engine.ended(number)).state is TransferState.PARTLY
        assert (await listed(engine, number))["changed"] is ItemState.FAILED
    assert content_of(target) == {"changed": b"an hour of work", "new": b"new"}


async def test_nothing_is_removed_where_something_failed(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    shelf.keep(there("old"), b"old")
    failing(shelf, "put", lambda key: NotFound(text("No."), text("No.")) if key == "a" else None)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there(), compare=CompareBy.SIZE, delete=True))
        states = await listed(engine, row.id)
    assert states == {"a": ItemState.FAILED, "b": ItemState.DONE, "old": ItemState.SKIPPED}
    assert shelf.keys(BUCKET) == ["b", "old"]


async def test_a_copy_stays_within_the_service(
    shelf: ObjectShelf, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from traindeck.services.transfers import copies

    monkeypatch.setattr(copies, "_ONE_COPY_BYTES", MIB)
    monkeypatch.setattr(copies, "_LEAST_PART_BYTES", MIB)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB)
    files = {"a": b"a", "b/c": b"", "big": random_bytes(3 * MIB + 1)}
    for name, content in files.items():
        shelf.keep(there(f"in/{name}"), content)
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/")))
    assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    assert shelf.content(BUCKET, "to/") == files
    assert len([line for line in shelf.asked if line.startswith("copy part")]) == 4
    assert not any(line.startswith(("get", "put")) for line in shelf.asked)


async def test_empty_folders_times_and_rights_where_asked(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {"run.sh": b"#!"})
    (source / "empty" / "er").mkdir(parents=True)
    (source / "run.sh").chmod(0o750)
    os.utime(source / "run.sh", ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    rules = {"empty_folders": True, "keep_times": True, "keep_modes": True}
    async with working(home, shelf) as engine:
        assert (await done(engine, upload(source, there("in/"), **rules))).state is TransferState.DONE
        assert shelf.keys(BUCKET) == ["in/empty/er/", "in/run.sh"]
        assert (await done(engine, download(there("in/"), tmp_path / "back", **rules))).state is TransferState.DONE
    assert (tmp_path / "back" / "empty" / "er").is_dir()
    found = (tmp_path / "back" / "run.sh").stat()
    assert found.st_mtime_ns == 1_600_000_000_123_456_789
    assert os.name == "nt" or found.st_mode & 0o777 == 0o750


async def test_transfers_share_the_line_and_the_first_goes_first(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    order: list[str] = []
    gate, whole = asyncio.Event(), shelf.put

    async def noting(target: ObjectPath, *more: object, **named: object) -> object:
        await gate.wait()
        await asyncio.sleep(0.005)
        order.append(target.key.split("/")[0])
        return await whole(target, *more, **named)

    shelf.put = noting
    sources = {name: tree(tmp_path / name, {f"{number:03}": b"x" for number in range(200)}) for name in "abcdef"}
    async with working(home, shelf) as engine:
        numbers = {name: await engine.add(upload(source, there(f"{name}/"))) for name, source in sources.items()}
        rows = {row.id: row.state for row in engine.rows()}
        assert [rows[numbers[name]] for name in "ef"] == [TransferState.QUEUED] * 2
        await engine.move_first(numbers["f"])
        await until(lambda: sum(row.total_bytes is not None for row in engine.rows()) >= 4)
        gate.set()
        for number in numbers.values():
            assert (await engine.ended(number)).state is TransferState.DONE
    assert set(order[: order.index("e")]) == {"a", "b", "c", "d", "f"}
    begun = {name: order.index(name) for name in "abc"}
    ended = {name: len(order) - order[::-1].index(name) for name in "abc"}
    assert max(begun.values()) < min(ended.values()), "they go side by side"


async def test_the_rate_is_limited_for_all_together(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number}": random_bytes(20_000) for number in range(10)})
    async with working(home, shelf) as engine:
        engine.limit.set(500_000)
        began = asyncio.get_running_loop().time()
        row = await done(engine, upload(source, there()))
        assert asyncio.get_running_loop().time() - began > 0.35
        assert row.state is TransferState.DONE


async def test_news_come_at_most_ten_times_a_second(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number}": b"x" for number in range(500)})
    told: list[TransferState] = []
    async with working(home, shelf) as engine:
        engine.changed.add(lambda rows: told.append(rows[0].state))
        began = asyncio.get_running_loop().time()
        await done(engine, upload(source, there()))
        await until(lambda: TransferState.DONE in told)
        took = asyncio.get_running_loop().time() - began
    assert len(told) <= took / 0.1 + 2
