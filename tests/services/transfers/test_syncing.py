"""One side made like the other: what differs moves, and only what was shown is removed."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    FILES,
    MIB,
    content_of,
    done,
    download,
    failing,
    listed,
    noted,
    offline,
    random_bytes,
    there,
    tree,
    upload,
    working,
)
from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import CompareBy
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.services.transfers import comparing
from traindeck.services.transfers.digests import file_digests


async def test_sync_moves_what_differs_and_removes_what_was_asked(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", FILES)
    shelf.keep(there("to/old"), b"old")
    shelf.keep(there("to/a.txt"), b"a")
    rules = {"compare": CompareBy.MD5, "delete": True}
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there("to/"), **rules), needs_confirmation=True)
        planned = await engine.planned(number)
        assert (planned.removals, planned.equal_files) == (1, 1)
        assert shelf.keys(BUCKET) == ["to/a.txt", "to/old"], "a preview changes nothing"
        changes = await noted(engine, number, [ItemState.QUEUED])
        assert [item.name for item in changes] == ["deep/.hidden", "deep/er/b.bin", "old", "空/c 文件.txt"]
        await engine.confirm(number)
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
        number = await engine.add(order, needs_confirmation=True)
        await engine.planned(number)
        await engine.pause(number)
        await engine.resume(number)
        await engine.pause(number)
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        await engine.resume(number)
        assert (await engine.planned(number)).state is TransferState.READY
        await engine.cancel(number)
        await engine.ended(number)
    trouble: AppError | None = NotFound(text("No."), text("No."))
    whole = shelf.page

    async def page(*given: Any, **named: Any) -> object:
        if trouble is not None:
            raise trouble
        return await whole(*given, **named)

    shelf.page = page
    async with working(home, shelf) as engine:
        number = await engine.add(order, needs_confirmation=True)
        assert (await engine.ended(number)).state is TransferState.FAILED
        trouble = None
        await engine.retry(number)
        assert (await engine.planned(number)).state is TransferState.READY
    assert shelf.keys(BUCKET) == ["to/old"]


async def test_a_plan_begun_anew_removes_only_what_it_finds_itself(home: Path, tmp_path: Path, soon: None) -> None:
    shelf = ObjectShelf(page_size=1)
    source = tree(tmp_path / "data", {"z": b"z"})
    shelf.keep(there("a"), b"")
    shelf.keep(there("b"), b"")
    whole = shelf.page

    async def page(*given: Any, marker: str = "", **named: Any) -> object:
        if marker == "a" and there("a") in shelf.objects:
            del shelf.objects[there("a")]
            raise offline()
        return await whole(*given, marker=marker, **named)

    shelf.page = page
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there(), compare=CompareBy.SIZE, delete=True), needs_confirmation=True)
        assert (await engine.planned(number)).removals == 1


async def test_a_file_that_changed_since_the_list_was_shown_stays(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    target = tree(tmp_path / "to", {"changed": b"x", "extra": b"x"})
    shelf.keep(there("in/new"), b"new")
    async with working(home, shelf) as engine:
        order = download(there("in/"), target, compare=CompareBy.SIZE, delete=True)
        number = await engine.add(order, needs_confirmation=True)
        await engine.planned(number)
        (target / "changed").write_bytes(b"an hour of work")
        await engine.confirm(number)
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


BY_TIME = {"compare": CompareBy.SIZE_AND_TIME, "keep_times": True}
HOUR_NS = 3600 * 1_000_000_000


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files read only to compare them."""
    places: list[str] = []
    whole = file_digests

    def noting(place: Path, *more: Any) -> object:
        places.append(place.name)
        return whole(place, *more)

    monkeypatch.setattr(comparing, "file_digests", noting)
    return places


def edit(place: Path, content: bytes, shift_ns: int) -> None:
    """As `cp -p` leaves it, or a machine whose clock is wrong."""
    modified = place.stat().st_mtime_ns + shift_ns
    place.write_bytes(content)
    os.utime(place, ns=(modified, modified))


@pytest.mark.parametrize("is_up", [True, False])
async def test_what_is_remembered_is_equal_at_once_and_an_edit_is_never_missed(
    shelf: ObjectShelf, home: Path, tmp_path: Path, hashed: list[str], is_up: bool
) -> None:
    names = ["a", "b", "c", "d"]
    folder = tree(tmp_path / "data", {name: name.encode() * 9 for name in names})
    for name in names if not is_up else ():
        shelf.keep(there(f"to/{name}"), name.encode() * 9)
    order = upload(folder, there("to/"), **BY_TIME) if is_up else download(there("to/"), tmp_path / "down", **BY_TIME)
    here = folder if is_up else tmp_path / "down"
    async with working(home, shelf) as engine:
        assert (await done(engine, order)).done_files == 4
    async with working(home, shelf) as engine:
        asked = len(shelf.asked)
        row = await done(engine, order)
        assert (row.equal_files, row.verified_files, hashed) == (4, 4, [])
        assert {line.split()[0] for line in shelf.asked[asked:]} == {"page"}

        edit(here / "a", b"x" * 9, -HOUR_NS)
        edit(here / "b", b"x" * 9, 1)
        edit(here / "c", b"c" * 9, -HOUR_NS)  # only its time is another
        shelf.keep(there("to/d"), b"y" * 9, datetime.now(UTC) - timedelta(days=9))
        row = await done(engine, order)
        assert (row.done_files, row.equal_files, row.verified_files) == (3, 1, 4)
        assert sorted(hashed) == names
        hashed.clear()
        row = await done(engine, order)
        assert (row.equal_files, hashed) == (4, []), "what was looked at is remembered, too"
    remote, local = shelf.content(BUCKET, "to/"), content_of(here)
    assert remote == local
    assert local["a"] == (b"x" * 9 if is_up else b"a" * 9)


async def test_nothing_is_remembered_of_another_folder_or_account(
    shelf: ObjectShelf, home: Path, tmp_path: Path, hashed: list[str]
) -> None:
    one = tree(tmp_path / "one", {"a": b"one"})
    other = tree(tmp_path / "other", {"a": b"two"})
    os.utime(other / "a", ns=((one / "a").stat().st_mtime_ns,) * 2)
    async with working(home, shelf) as engine:
        await done(engine, upload(one, there("to/"), **BY_TIME))
        row = await done(engine, upload(other, there("to/"), **BY_TIME))
        assert (row.done_files, hashed) == (1, ["a"])
    assert shelf.content(BUCKET, "to/") == {"a": b"two"}


async def test_a_large_file_is_remembered_as_well(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, hashed: list[str]
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    up, down = upload(source, there("to/"), **BY_TIME), download(there("to/"), tmp_path / "down", **BY_TIME)
    async with working(home, shelf) as engine:
        for order in (up, down):
            assert (await done(engine, order)).done_files == 1
            asked = len(shelf.asked)
            row = await done(engine, order)
            assert (row.equal_files, row.verified_files, hashed) == (1, 1, [])
            assert {line.split()[0] for line in shelf.asked[asked:]} == {"page"}
