"""Pauses, cancellation and the next program: nothing twice, nothing half there."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    MIB,
    content_of,
    done,
    download,
    hold_gets,
    random_bytes,
    there,
    tree,
    upload,
    working,
    written_parts,
)
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.records import TransferState


async def test_a_paused_transfer_stops_and_goes_on_where_it_was(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    files = {"big": random_bytes(3 * MIB), **{f"{number:03}": b"x" for number in range(100)}}
    source = tree(tmp_path / "data", files)
    gate, whole = asyncio.Event(), shelf.put_part

    async def held(*given: Any, **named: Any) -> object:
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
        await engine.resume(number)
        row = await engine.ended(number)
    assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    assert {key: kept for key, kept in shelf.content(BUCKET).items() if "/" not in key} == files


async def test_a_cancelled_transfer_leaves_nothing_half_there(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(3 * MIB)})
    stuck = asyncio.Event()
    whole = shelf.put_part

    async def held(target: ObjectPath, upload_id: str, number: int, *more: Any, **named: Any) -> object:
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

        async def held_get(*given: Any, **named: Any) -> object:
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

    async def held(target: ObjectPath, upload_id: str, number: int, *more: Any, **named: Any) -> object:
        if number in (5, 9, 12):
            await stuck.wait()
        return await whole(target, upload_id, number, *more, **named)

    shelf.put_part = held
    async with working(home, shelf) as engine:
        await engine.add(upload(source, there()))
        await until(lambda: sum(len(upload.parts) for upload in shelf.uploads.values()) == 9)
    shelf.put_part = whole
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
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
            await engine.resume_unfinished()
            row = await engine.ended(number)
            assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
        assert {line.split()[0] for line in shelf.asked[asked:]} <= {"head", "list"}
    assert content_of(tmp_path / "back") == files


async def test_two_programs_do_not_move_the_same(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {"a": b"a"})
    gate, whole = asyncio.Event(), shelf.put

    async def held(*given: Any, **named: Any) -> object:
        await gate.wait()
        return await whole(*given, **named)

    shelf.put = held
    async with working(home, shelf) as one, working(home, shelf) as other:
        number = await one.add(upload(source, there()))
        await until(lambda: one.rows()[0].state is TransferState.RUNNING)
        await other.resume_unfinished()
        await until(lambda: other.rows() == [])
        gate.set()
        assert (await one.ended(number)).state is TransferState.DONE
        assert (await other.ended(number)).state is TransferState.DONE, "read from the journal"
    assert [line for line in shelf.asked if line.startswith("put")] == ["put a"]


async def test_a_download_goes_on_at_the_range_unless_the_object_changed(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = random_bytes(3 * MIB)
    shelf.keep(there("big"), content)
    stuck, whole = asyncio.Event(), shelf.get
    hold_gets(shelf, stuck, MIB, 2 * MIB)
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


async def test_ranges_that_did_not_reach_the_disk_are_fetched_again(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = random_bytes(3 * MIB)
    source = tree(tmp_path / "data", {"big": content})
    order = download(there("big"), tmp_path / "to")
    async with working(home, shelf) as engine:
        assert (await done(engine, upload(source, there()))).state is TransferState.DONE
    stuck, whole = asyncio.Event(), shelf.get
    hold_gets(shelf, stuck, MIB, 2 * MIB)
    async with working(home, shelf) as engine:
        await engine.add(order)
        await until(lambda: written_parts(home) == 10)
    shelf.get = whole
    # As a power cut leaves it: the length is there, and some of the content is not.
    with next(tmp_path.glob("to.*.traindeck.part")).open("r+b") as part:
        part.write(bytes(1000))
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        row = await engine.ended(engine.rows()[0].id)
        assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    assert (tmp_path / "to").read_bytes() == content


async def test_what_was_broken_off_is_taken_up_by_another_way_to_the_same(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content, stuck = random_bytes(2 * MIB), asyncio.Event()
    shelf.keep(there("big"), content)
    whole = shelf.get
    hold_gets(shelf, stuck, MIB)
    async with working(home, shelf) as engine:
        number = await engine.add(download(there(), tmp_path / "to", part_bytes=MIB))
        await until(lambda: written_parts(home) == 7)
    assert len(list((tmp_path / "to").iterdir())) == 1
    shelf.get = whole
    shelf.asked.clear()
    async with working(home, shelf) as engine:
        order = download(there(), tmp_path / "to", part_bytes=2 * MIB, parallel=2)
        assert await engine.add(order, takes_up=True) == number
        assert (await engine.ended(number)).state is TransferState.DONE
        assert (await engine.journal.get(number)).order == order
        other = download(there(), tmp_path / "to", keep_times=True)
        assert await engine.add(other, takes_up=True) != number
    assert content_of(tmp_path / "to") == {"big": content}, "nor is anything of it left"
    assert [line for line in shelf.asked if line.startswith("get")][:1] == [f"get big {MIB}"]
