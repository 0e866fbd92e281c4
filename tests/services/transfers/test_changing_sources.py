"""Sources that become others while they are moved."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    MIB,
    copy,
    done,
    download,
    hold_gets,
    noted,
    random_bytes,
    there,
    tree,
    upload,
    working,
    written_parts,
)
from support.waiting import until
from traindeck.domain.storage.objects import PART_BYTES_NAME, ObjectPath
from traindeck.domain.transfers import object_limits as sizes
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.services.transfers import moving as copies


async def test_a_source_that_changes_is_sent_as_it_is_in_the_end(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    new, whole = random_bytes(2 * MIB + 5), shelf.put_part

    async def changing(target: ObjectPath, upload_id: str, number: int, *more: Any, **named: Any) -> object:
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

    async def changing(*given: Any, **named: Any) -> object:
        (source / "big").write_bytes(random_bytes(2 * MIB))
        return await whole(*given, **named)

    shelf.put_part = changing
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()), needs_confirmation=True)
        planned = await engine.planned(number)
        assert (planned.state, planned.files) == (TransferState.READY, 3)
        (source / "gone").unlink()
        await engine.confirm(number)
        row = await engine.ended(number)
        assert row.state is TransferState.PARTLY
        words = {item.name: item.error.sentence() for item in await noted(engine, number, [ItemState.FAILED])}
    assert "keeps changing" in words["big"]
    assert "deleted or moved" in words["gone"]
    assert shelf.content(BUCKET) == {"stays": b"y"}
    assert shelf.uploads == {}


async def test_an_object_that_changes_while_it_comes_is_never_mixed(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    old, new = random_bytes(2 * MIB), random_bytes(2 * MIB)
    shelf.keep(there("big"), old)
    whole, one_at_a_time = shelf.get, asyncio.Lock()

    async def changing(*given: Any, **named: Any) -> object:
        async with one_at_a_time:  # so that the others begin when it is another already
            found = await whole(*given, **named)
            if shelf.objects[there("big")].content == old:
                shelf.keep(there("big"), new)
            return found

    shelf.get = changing
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("big"), tmp_path / "big"))
    assert row.state is TransferState.DONE
    assert (tmp_path / "big").read_bytes() == new


@pytest.mark.parametrize("size", [10, MIB // 2])  # read before it is sent, and by who sends it
async def test_a_small_file_that_changes_while_it_is_sent_goes_up_again(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, size: int
) -> None:
    source = tree(tmp_path / "data", {"a": bytes(size), "b": b"b"})
    whole = shelf.put

    async def changing(target: ObjectPath, *more: Any, **named: Any) -> object:
        stored = await whole(target, *more, **named)
        if target.key == "a" and shelf.asked.count("put a") == 1:
            (source / "a").write_bytes(b"x" * size)
        return stored

    shelf.put = changing
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()))
        assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    assert shelf.content(BUCKET) == {"a": b"x" * size, "b": b"b"}


async def test_a_file_taken_away_after_it_was_sent_is_done(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {"a": b"a"})
    whole = shelf.put

    async def put(*given: Any, **named: Any) -> object:
        stored = await whole(*given, **named)
        (source / "a").unlink()
        return stored

    shelf.put = put
    async with working(home, shelf) as engine:
        assert (await done(engine, upload(source, there()))).state is TransferState.DONE


@pytest.fixture
def copied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_ONE_COPY_BYTES", MIB)
    monkeypatch.setattr(copies, "_LEAST_PART_BYTES", MIB)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB)


@pytest.mark.parametrize("heeds", [True, False])  # whether the service heeds the condition
async def test_a_large_object_that_changes_while_it_is_copied_is_copied_anew(
    shelf: ObjectShelf, home: Path, copied_in_parts: None, heeds: bool
) -> None:
    old, new = random_bytes(3 * MIB), random_bytes(3 * MIB)
    shelf.keep(there("in/big"), old)
    whole = shelf.copy_part

    async def changing(*given: Any) -> object:
        part = await whole(*(given if heeds else (*given[:-1], "")))
        if shelf.objects[there("in/big")].content == old:
            shelf.keep(there("in/big"), new)
        return part

    shelf.copy_part = changing
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/")))
        assert (row.state, row.done_bytes) == (TransferState.DONE, row.total_bytes)
    assert shelf.content(BUCKET, "to/") == {"big": new}
    assert shelf.uploads == {}


async def test_a_large_copy_of_what_was_sent_in_parts_has_the_same_name_and_is_verified(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_ONE_COPY_BYTES", MIB)
    source = tree(tmp_path / "data", {"big": random_bytes(3 * MIB + 1)})
    async with working(home, shelf) as engine:
        await done(engine, upload(source, there("in/")))
        row = await done(engine, copy(there("in/"), there("to/")))
        assert row.verified_files == 1
        down = await done(engine, download(there("to/"), tmp_path / "back"))
        assert down.verified_files == 1
    assert shelf.objects[there("to/big")].etag == shelf.objects[there("in/big")].etag


async def test_a_copy_in_other_parts_does_not_keep_what_was_said_of_the_parts(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, copied_in_parts: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(copies, "_MOST_SAME_PARTS", 2)
    content = random_bytes(3 * MIB + 1)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB // 4)
    async with working(home, shelf) as engine:
        await done(engine, upload(tree(tmp_path / "data", {"big": content}), there("in/")))
        await done(engine, copy(there("in/"), there("to/")))
        assert shelf.objects[there("to/big")].etag != shelf.objects[there("in/big")].etag
        assert (await done(engine, download(there("to/"), tmp_path / "back"))).verified_files == 1
    assert (tmp_path / "back" / "big").read_bytes() == content


async def test_what_another_program_says_of_its_parts_costs_no_million_requests(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = random_bytes(2 * MIB)
    shelf.keep(there("big"), content, **dict[str, Any]({PART_BYTES_NAME: "1"}))
    shelf.objects[there("big")].etag = f"{'0' * 32}-{len(content)}"
    shelf.keep(there("small"), b"small", **dict[str, Any]({PART_BYTES_NAME: "1"}))
    shelf.objects[there("small")].etag = f"{'0' * 32}-5"
    async with working(home, shelf) as engine:
        row = await done(engine, download(there(), tmp_path / "to"))
        assert (row.state, row.verified_files) == (TransferState.DONE, 0)
    assert len([line for line in shelf.asked if line.startswith("get")]) == 9
    assert (tmp_path / "to" / "big").read_bytes() == content


async def test_objects_without_a_name_for_their_content_are_not_taken_for_the_same(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    old, new = random_bytes(2 * MIB), random_bytes(2 * MIB)
    shelf.keep(there("big"), old)
    shelf.objects[there("big")].etag = ""
    stuck, whole = asyncio.Event(), shelf.get
    hold_gets(shelf, stuck, MIB)
    async with working(home, shelf) as engine:
        await engine.add(download(there("big"), tmp_path / "big"))
        await until(lambda: written_parts(home) == 7)
    shelf.get = whole
    shelf.objects[there("big")].content = new
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        assert (await engine.ended(engine.rows()[0].id)).state is TransferState.DONE
    assert (tmp_path / "big").read_bytes() == new
