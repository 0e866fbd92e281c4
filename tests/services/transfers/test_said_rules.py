"""What is said about one transfer holds for all of it: how much at a time, in which parts, also after a restart."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    MIB,
    all_items,
    content_of,
    copy,
    done,
    download,
    random_bytes,
    there,
    tree,
    upload,
    working,
)
from support.waiting import until
from traindeck.domain.errors import NotOffered
from traindeck.domain.storage.objects import PART_BYTES_NAME, ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import System, stays_inside
from traindeck.domain.transfers.orders import Links
from traindeck.domain.transfers.records import Action, ItemState, TransferState

PART = 100 * 1024


async def test_no_more_than_so_many_requests_at_a_time(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    under_way, most, whole = 0, 0, shelf.put

    async def counting(target: ObjectPath, *more: Any, **named: Any) -> object:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(5):
            await asyncio.sleep(0)
        try:
            return await whole(target, *more, **named)
        finally:
            under_way -= 1

    shelf.put = counting
    source = tree(tmp_path / "data", {f"{number:03}": b"x" for number in range(60)})
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("free/")))
        assert row.state is TransferState.DONE and most > 3
        most = 0
        row = await done(engine, upload(source, there("held/"), parallel=3))
    assert (row.state, row.done_files, most) == (TransferState.DONE, 60, 3)


async def test_parts_have_the_size_that_was_asked_for_also_after_a_restart(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    content = random_bytes(5 * PART + 7)
    source = tree(tmp_path / "data", {"big": content, "small": b"x"})
    gate, whole = asyncio.Event(), shelf.put_part

    async def held(target: ObjectPath, upload_id: str, number: int, *more: Any, **named: Any) -> object:
        if number > 2:
            await gate.wait()
        return await whole(target, upload_id, number, *more, **named)

    shelf.put_part = held
    async with working(home, shelf) as engine:
        await engine.add(upload(source, there("to/"), part_bytes=PART, parallel=3, metadata=(("run", "17"),)))
        await until(lambda: any(asked == "part to/big 2" for asked in shelf.asked))
    shelf.asked.clear()
    gate.set()
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        (row,) = engine.rows()
        assert (await engine.ended(row.id)).state is TransferState.DONE
    assert shelf.content("bucket", "to/") == {"big": content, "small": b"x"}
    assert "begin to/big" not in shelf.asked and "part to/big 6" in shelf.asked
    found = await shelf.head(there("to/big"))
    assert found is not None and found.metadata[PART_BYTES_NAME] == str(PART) and found.metadata["run"] == "17"


async def test_what_would_have_too_many_parts_is_told_and_the_rest_goes(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", {"small": b"x"})
    with (source / "sparse").open("wb") as file:
        file.truncate(10_000 * PART + 1)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("to/"), part_bytes=PART))
        assert (row.state, row.done_files, row.failed_files) == (TransferState.PARTLY, 1, 1)
        assert "10,001 parts" in str(row.error)


async def test_what_is_replaced_and_what_is_left_alone_is_counted(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", {"a": b"new", "b": b"other", "c": b"c"})
    for key in ("to/a", "to/b"):
        shelf.keep(there(key), b"old")
    async with working(home, shelf) as engine:
        kept = await done(engine, upload(source, there("to/"), keeps_existing=True))
        assert (kept.done_files, kept.kept_files, kept.replaced_files) == (1, 2, 0)
        assert shelf.content("bucket", "to/") == {"a": b"old", "b": b"old", "c": b"c"}
        told = await done(engine, upload(source, there("to/"), tells_replaced=True))
        assert (told.done_files, told.replaced_files, told.replacing_bytes) == (3, 3, 9)
        moved = await done(engine, copy(there("to/"), there("on/"), keeps_existing=True, moves=True))
        assert (moved.done_files, moved.kept_files) == (3, 0)
        for way in (copy(there("on/"), there("on2/"), moves=True, tells_replaced=True), download(
            there("on2/"), tmp_path / "down", tells_replaced=True
        )):  # fmt: skip
            assert (await done(engine, way)).replaced_files == 0


async def test_what_appears_between_the_plan_and_the_write_is_left_alone_and_said(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    new = {"small": b"new", "large": bytes(3 * MIB)}
    source, old = tree(tmp_path / "data", new), b"of somebody"

    def appears(name: str) -> None:
        calls: dict[str, Any] = {"put": shelf.put, "finish_upload": shelf.finish_upload}

        async def call(target: ObjectPath, *more: Any, name: str = name, **named: Any) -> object:
            shelf.keep(target, old)
            return await calls[name](target, *more, **named)

        setattr(shelf, name, call)

    appears("put")
    appears("finish_upload")
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("to/"), keeps_existing=True))
        assert (row.state, row.done_files, row.kept_files) == (TransferState.DONE, 0, 2)
        assert shelf.content("bucket", "to/") == dict.fromkeys(new, old) and not shelf.uploads
        assert row.done_bytes == row.total_bytes

        for name, content in new.items():
            shelf.keep(there(f"from/{name}"), content)
        get, head, down = shelf.get, shelf.head, tmp_path / "down"
        down.mkdir()

        async def get_late(path: ObjectPath, *more: Any, **named: Any) -> object:
            (down / path.name).write_bytes(old)
            return await get(path, *more, **named)

        async def head_late(path: ObjectPath) -> object:
            if path.key.startswith("on/"):
                shelf.keep(path, old)
            return await head(path)

        shelf.get, shelf.head = get_late, head_late
        row = await done(engine, download(there("from/"), down, keeps_existing=True))
        assert (row.state, row.done_files, row.kept_files) == (TransferState.DONE, 0, 2)
        assert content_of(down) == dict.fromkeys(new, old), "nor is anything half left"
        moved = await done(engine, copy(there("from/"), there("on/"), keeps_existing=True, moves=True))
        assert (moved.done_files, moved.kept_files) == (0, 2)
        assert shelf.content("bucket", "on/") == dict.fromkeys(new, old)
        assert shelf.content("bucket", "from/") == new, "what was not moved stays"


async def test_who_knows_no_such_condition_is_asked_first(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source, whole = tree(tmp_path / "data", {"a": b"new", "b": b"new"}), shelf.put

    async def put(target: ObjectPath, *more: Any, only_new: bool = False, **named: Any) -> object:
        if only_new:
            if target.name == "a":
                shelf.keep(target, b"of somebody")
            raise NotOffered(text("It does not support this."), text("Ask otherwise."))
        return await whole(target, *more, **named)

    shelf.put = put
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("to/"), keeps_existing=True))
    assert (row.done_files, row.kept_files) == (1, 1)
    assert shelf.content("bucket", "to/") == {"a": b"of somebody", "b": b"new"}


async def test_one_that_is_ours_by_a_lost_answer_is_not_left_alone(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source, whole = tree(tmp_path / "data", {"a": b"new"}), shelf.put

    async def put(*given: Any, **named: Any) -> object:
        await whole(*given, **named)
        return await whole(*given, **named)

    shelf.put = put
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("to/"), keeps_existing=True))
    assert (row.done_files, row.verified_files, row.kept_files) == (1, 1, 0)


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
async def test_links_are_made_after_all_files_and_removed_only_as_links(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", {"z/file": b"z"})
    (source / "a").symlink_to("z")
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("to/"), links=Links.KEEP, moves=True, empty_folders=True))
        assert row.state is TransferState.DONE and not source.exists()
        assert shelf.content("bucket", "to/") == {"a.rclonelink": b"z", "z/file": b"z"}
        shelf.asked.clear()
        row = await done(engine, download(there("to/"), tmp_path / "down", links=Links.KEEP))
        fetched = [asked for asked in shelf.asked if asked.startswith("get")]
        assert fetched[-1].startswith("get to/a.rclonelink") and len(fetched) == 2
        (link,) = [item for item in await all_items(engine, row.id) if item.action is Action.LINK]
        assert (link.name, link.state, link.is_verified) == ("a", ItemState.DONE, True)
        assert (tmp_path / "down/a/file").read_bytes() == b"z"
        # A folder of somebody's own is not replaced by a link.
        tree(tmp_path / "own", {"a/mine": b"mine"})
        row = await done(engine, download(there("to/"), tmp_path / "own", links=Links.KEEP))
        assert (row.state, row.failed_files) == (TransferState.PARTLY, 1)
        assert (tmp_path / "own/a/mine").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("leads_to", "depth", "stays"),
    [("a", 0, True), ("./a//b/", 0, True), ("../a", 0, False), ("../a", 1, True), ("../../a", 1, False),
     ("..", 1, True), (".", 0, True), ("a/../b", 5, False), ("a/..", 0, False), ("/a", 9, False), ("", 9, False),
     ("a\0", 9, False), ("..\\a", 0, True)],
)  # fmt: skip
def test_where_a_link_may_lead(leads_to: str, depth: int, stays: bool) -> None:
    assert stays_inside(leads_to, depth, System(is_windows=False)) is stays
    for windows in ("C:/x", "C:x", "\\\\host\\share", "..\\..\\x", "a\\..\\..\\x", "x:stream"):
        assert not stays_inside(windows, 1, System(is_windows=True))
