"""From bucket to bucket: what is equal stays, what is lost half-way begins again, and the counters follow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    MIB,
    all_items,
    check,
    copy,
    done,
    download,
    listed,
    there,
    tree,
    upload,
    working,
)
from support.waiting import until
from traindeck.domain.errors import Conflict, InvalidInput, NotFound, Unreachable
from traindeck.domain.texts import text
from traindeck.domain.transfers import object_limits as sizes
from traindeck.domain.transfers.orders import CompareBy, Order
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.services.transfers import moving

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy above 1 MiB goes in parts of 1 MiB."""
    monkeypatch.setattr(moving, "_ONE_COPY_BYTES", MIB)
    monkeypatch.setattr(moving, "_LEAST_PART_BYTES", MIB)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB)


def keep_parted(shelf: ObjectShelf, key: str, content: bytes, modified: datetime, etag: str) -> None:
    shelf.keep(there(key), content, modified)
    shelf.objects[there(key)].etag = etag


@pytest.mark.parametrize(
    ("here", "modified_here", "modified_there", "state"),
    [
        (b"same", NOON, LATER, ItemState.EQUAL),
        (b"same", NOON, NOON, ItemState.EQUAL),
        (b"same", LATER, NOON, ItemState.DONE),
        (b"longer", NOON, LATER, ItemState.DONE),
    ],
)
async def test_without_a_common_etag_size_and_time_decide(
    shelf: ObjectShelf, home: Path, here: bytes, modified_here: datetime, modified_there: datetime, state: ItemState
) -> None:
    keep_parted(shelf, "in/a", here, modified_here, "1" * 32 + "-2")
    keep_parted(shelf, "to/a", b"same", modified_there, "2" * 32 + "-3")
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/"), compare=CompareBy.SIZE_AND_TIME))
        assert await listed(engine, row.id) == {"a": state}
    assert shelf.content(BUCKET, "to/") == {"a": here}


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("error", [NotFound, Conflict, Unreachable])
async def test_a_copy_in_parts_whose_end_was_lost_is_whole_at_last(
    shelf: ObjectShelf, home: Path, in_parts: None, soon: None, error: type[Any], *, is_done: bool
) -> None:
    content = bytes(range(256)) * (MIB // 256) * 3 + b"end"
    shelf.keep(there("in/big"), content)
    finish, lost = shelf.finish_upload, list[str]()

    async def losing(target: Any, upload_id: str, parts: Any, **more: Any) -> object:
        if not lost:
            lost.append(upload_id)
            if is_done:
                await finish(target, upload_id, parts, **more)
            else:
                shelf.uploads.pop(upload_id)
            raise error(text("Lost."), text("Again."))
        return await finish(target, upload_id, parts, **more)

    shelf.finish_upload = losing
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/")))
        assert (row.state, row.done_files, row.done_bytes) == (TransferState.DONE, 1, len(content))
    assert lost and shelf.content(BUCKET, "to/") == {"big": content} and not shelf.uploads


async def test_a_source_replaced_before_the_end_is_copied_as_it_is_then(
    shelf: ObjectShelf, home: Path, in_parts: None
) -> None:
    shelf.keep(there("in/big"), b"1" * (2 * MIB + 1))
    finish = shelf.copy_part

    async def replacing(*given: Any, **named: Any) -> object:
        part = await finish(*given, **named)
        if given[3] == 3 and shelf.objects[there("in/big")].content[:1] == b"1":
            shelf.keep(there("in/big"), b"2" * (2 * MIB + 2))
        return part

    shelf.copy_part = replacing
    async with working(home, shelf) as engine:
        assert (await done(engine, copy(there("in/"), there("to/")))).state is TransferState.DONE
    assert shelf.content(BUCKET, "to/") == {"big": b"2" * (2 * MIB + 2)}


async def test_what_would_have_too_many_parts_fails_before_anything_of_it_moves(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_PARTS", 3)
    part = sizes.LEAST_PART_BYTES
    files = {"fits": b"1" * (3 * part), "large": b"1" * (3 * part + 1)}
    source = tree(tmp_path / "in", files)
    for name, content in files.items():
        shelf.keep(there("in/" + name), content)
    async with working(home, shelf) as engine:
        for order in (copy(there("in/"), there("to/"), part_bytes=part), upload(source, there("up/"), part_bytes=part)):
            row = await done(engine, order)
            items = {item.name: item for item in await all_items(engine, row.id)}
            assert row.state is TransferState.PARTLY
            assert {name: item.state for name, item in items.items()} == {
                "fits": ItemState.DONE, "large": ItemState.FAILED,
            }  # fmt: skip
            assert isinstance(items["large"].error, InvalidInput) and "4 parts" in str(items["large"].error)
    assert set(shelf.content(BUCKET, "to/")) == set(shelf.content(BUCKET, "up/")) == {"fits"}


FILES = {"a": b"a" * 1000, "b": b"b" * 500, "last": b"c" * 70}


def _upload(here: Path) -> Order:
    return upload(tree(here, FILES), there("to/"))


def _checked(here: Path) -> Order:
    return check(there("in/"), there("to/"))


@pytest.mark.parametrize(
    ("method", "order"),
    [
        ("put", _upload),
        ("get", lambda here: download(there("in/"), here)),
        ("copy", lambda here: copy(there("in/"), there("to/"))),
        ("head", _checked),
    ],
    ids=["up", "down", "copy", "check"],
)
async def test_bytes_are_counted_while_the_last_is_under_way(
    shelf: ObjectShelf, home: Path, tmp_path: Path, method: str, order: Callable[[Path], Order]
) -> None:
    for name, content in FILES.items():
        shelf.keep(there("in/" + name), content)
        if method == "head":
            keep_parted(shelf, "in/" + name, content, NOON, "1" * 32 + "-2")
            keep_parted(shelf, "to/" + name, content, NOON, "1" * 32 + "-2")
            shelf.objects[there("to/" + name)].etag = "2" * 32 + "-2"
    may_end, whole = asyncio.Event(), getattr(shelf, method)

    async def held(path: Any, *given: Any, **named: Any) -> object:
        if path.key.endswith("/last"):
            await may_end.wait()
        return await whole(path, *given, **named)

    setattr(shelf, method, held)
    async with working(home, shelf) as engine:
        number = await engine.add(order(tmp_path / "here"))
        await until(lambda: next(row for row in engine.rows() if row.id == number).done_bytes == 1500)
        may_end.set()
        row = await engine.ended(number)
        assert row.done_bytes == row.total_bytes == 1570


async def test_parts_are_counted_while_the_last_is_under_way(shelf: ObjectShelf, home: Path, in_parts: None) -> None:
    shelf.keep(there("in/big"), b"1" * (2 * MIB + 1))
    may_end, whole = asyncio.Event(), shelf.copy_part

    async def held(*given: Any, **named: Any) -> object:
        if given[3] == 3:
            await may_end.wait()
        return await whole(*given, **named)

    shelf.copy_part = held
    async with working(home, shelf) as engine:
        number = await engine.add(copy(there("in/"), there("to/")))
        await until(lambda: engine.rows()[0].done_bytes == 2 * MIB)
        may_end.set()
        assert (await engine.ended(number)).done_bytes == 2 * MIB + 1
