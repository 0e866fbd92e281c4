"""Looking again whether both sides are the same: nothing moves, and nothing unknown is called good."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.object_shelf import ObjectShelf, md5_of
from support.transfer_works import (
    BUCKET,
    FILES,
    MIB,
    all_items,
    check,
    content_of,
    copy,
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
from support.waiting import until
from traindeck.domain.storage.objects import MD5_NAME
from traindeck.domain.transfers.orders import CompareBy, Kind
from traindeck.domain.transfers.records import ItemState, TransferState, WaitsFor
from traindeck.services.transfers.digests import etag_of_parts, md5


def asks(shelf: ObjectShelf, since: int) -> set[str]:
    return {line.split()[0] for line in shelf.asked[since:]}


async def test_every_way_to_differ_is_told_both_ways(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", dict.fromkeys(("same", "other", "longer", "here", "deep/same"), b"content"))
    for name in ("same", "deep/same", "there"):
        shelf.keep(there(f"to/{name}"), b"content")
    shelf.keep(there("to/other"), b"CONTENT")
    shelf.keep(there("to/longer"), b"content and more")
    shelf.keep(there("to/folder/"), b"")
    before = content_of(local), shelf.content(BUCKET)
    async with working(home, shelf) as engine:
        for order in (check(local, there("to/")), check(there("to/"), local)):
            row = await done(engine, order)
            assert await listed(engine, row.id) == {
                "same": ItemState.DONE,
                "deep/same": ItemState.DONE,
                "other": ItemState.DIFFERENT,
                "longer": ItemState.DIFFERENT,
                "here": ItemState.MISSING_THERE,
                "there": ItemState.MISSING_HERE,
            }
            assert (row.state, row.differences, row.verified_files, row.failed_files) == (TransferState.PARTLY, 4, 2, 0)
            assert row.error is not None and not row.is_verified
        narrow = await done(engine, check(local, there("to/"), both_sides=False))
        assert "there" not in await listed(engine, narrow.id)
    assert (content_of(local), shelf.content(BUCKET)) == before
    assert asks(shelf, 0) <= {"page", "head"}


async def test_what_is_the_same_needs_no_request_a_file(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", FILES)
    async with working(home, shelf) as engine:
        await done(engine, upload(local, there("to/")))
        asked = len(shelf.asked)
        row = await done(engine, check(local, there("to/")))
        assert (row.state, row.verified_files, row.is_verified) == (TransferState.DONE, 4, True)
        assert row.done_bytes == row.total_bytes == sum(map(len, FILES.values()))
    assert asks(shelf, asked) == {"page"}


async def test_parts_are_verified_by_their_layout_or_the_kept_md5(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = random_bytes(20 * MIB)
    local = tree(tmp_path / "data", dict.fromkeys(("ours", "aws", "whole", "nobody"), content))
    async with working(home, shelf) as engine:
        await done(engine, upload(local / "ours", there("to/ours")))
        for name, size in (("aws", 8 * MIB), ("whole", 7 * MIB + 1), ("nobody", 7 * MIB + 1)):
            parts = [md5(content[at : at + size]).digest() for at in range(0, len(content), size)]
            metadata = {MD5_NAME: md5_of(content)} if name == "whole" else {}
            shelf.keep(there(f"to/{name}"), content, None, **metadata)
            shelf.objects[there(f"to/{name}")].etag = etag_of_parts(parts)
        row = await done(engine, check(local, there("to/")))
        states = await listed(engine, row.id)
        assert states.pop("nobody") is ItemState.UNKNOWN
        assert set(states.values()) == {ItemState.DONE}
        assert (row.state, row.unknown_files, row.is_verified) == (TransferState.DONE, 1, False)
        for name in states:
            (local / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        states = await listed(engine, (await done(engine, check(local, there("to/")))).id)
        # Whether those parts were of another size or of other bytes, nobody can tell.
        assert states["aws"] is ItemState.UNKNOWN
        assert {states["ours"], states["whole"]} == {ItemState.DIFFERENT}


async def test_what_is_encrypted_is_never_called_verified(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    shelf.keep(there("a"), b"a", None, **{MD5_NAME: md5_of(b"a")})
    shelf.keep(there("b"), b"b")
    for kept in shelf.objects.values():
        kept.etag, kept.is_encrypted = md5_of(b"secret"), True
    async with working(home, shelf) as engine:
        row = await done(engine, check(local, there()))
        assert (row.unknown_files, row.verified_files, row.is_verified) == (2, 0, False)
        assert all(item.error is not None for item in await all_items(engine, row.id))


async def test_two_places_in_the_service_are_compared_by_what_it_reports(shelf: ObjectShelf, home: Path) -> None:
    for name in ("same", "other", "left", "size", "unknown"):
        shelf.keep(there(f"one/{name}"), b"content")
    for name, content in (("same", b"content"), ("other", b"CONTENT"), ("right", b"x"), ("size", b"xx")):
        shelf.keep(there(f"two/{name}"), content)
    shelf.keep(there("two/unknown"), b"content")
    shelf.objects[there("two/unknown")].etag = f"{'0' * 32}-2"
    async with working(home, shelf) as engine:
        row = await done(engine, check(there("one/"), there("two/")))
        assert await listed(engine, row.id) == {
            "same": ItemState.DONE,
            "other": ItemState.DIFFERENT,
            "size": ItemState.DIFFERENT,
            "left": ItemState.MISSING_THERE,
            "right": ItemState.MISSING_HERE,
            "unknown": ItemState.UNKNOWN,
        }


async def test_what_stands_for_the_folder_itself_is_not_copied_and_not_missed(shelf: ObjectShelf, home: Path) -> None:
    for name in ("", "1.txt", "sub/"):
        shelf.keep(there(f"from/{name}"), b"x" if name == "1.txt" else b"")
    async with working(home, shelf) as engine:
        await done(engine, copy(there("from/"), there("to/")))
        assert shelf.keys(BUCKET) == ["from/", "from/1.txt", "from/sub/", "to/1.txt", "to/sub/"]
        row = await done(engine, check(there("from/"), there("to/")))
        assert (row.state, row.differences) == (TransferState.DONE, 0)


async def test_names_this_system_cannot_hold_are_found_where_they_were_put(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    for key in ("in/../x", "in//root", "in/ok"):
        shelf.keep(there(key), b"x")
    async with working(home, shelf) as engine:
        down = await done(engine, download(there("in/"), tmp_path / "to"))
        await engine.verify(down.id)
        row = await engine.ended(max(one.id for one in engine.rows()))
        assert (row.kind, row.is_verified, row.verified_files) == (Kind.CHECK, True, 3)


async def test_every_kind_of_transfer_can_be_verified_again(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    local = tree(tmp_path / "data", {"big": random_bytes(2 * MIB), "small": b"x"})
    shelf.keep(there("to/somebody else's"), b"x")
    async with working(home, shelf) as engine:
        orders = [
            upload(local, there("to/"), store_md5=True),
            upload(local / "small", there("one/")),
            download(there("to/"), tmp_path / "down"),
            download(there("to/small"), tmp_path / "down"),
            copy(there("to/"), there("copy/")),
            copy(there("to/small"), there("copy/")),
        ]
        for order in orders:
            first = await done(engine, order)
            # A copy in one request has another name than what was sent in parts.
            assert first.is_verified or order.kind is Kind.COPY
            await engine.verify(first.id)
            row = await engine.ended(max(one.id for one in engine.rows()))
            assert row.kind is Kind.CHECK and row.is_verified and row.verified_files == first.done_files
        (local / "small").write_bytes(b"y")
        numbers = [one.id for one in engine.rows() if one.source == str(local / "small")]
        check_id = max(numbers)
        for retry in (engine.verify, engine.retry):
            await retry(check_id)
            again = await engine.ended(check_id)
            assert (again.state, again.differences) == (TransferState.PARTLY, 1)


async def test_a_check_waits_for_the_network_and_is_taken_up_by_the_next_program(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    local = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(20)})
    for number in range(20):
        shelf.keep(there(f"{number:02}"), b"x")
        shelf.objects[there(f"{number:02}")].etag = f"{md5_of(md5(b'x').digest())}-1"
    is_down = True
    failing(shelf, "head", lambda _: offline() if is_down else None)
    async with working(home, shelf) as engine:
        await engine.add(check(local, there()))
        await until(lambda: engine.rows()[0].waits_for is WaitsFor.NETWORK)
    is_down = False
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        row = await engine.ended(engine.rows()[0].id)
        assert row.is_verified and row.verified_files == 20


@pytest.mark.usefixtures("permissions_hold")
async def test_what_cannot_be_read_here_has_failed(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    (local / "a").chmod(0)
    for name in "ab":
        shelf.keep(there(name), name.encode())
    async with working(home, shelf) as engine:
        row = await done(engine, check(local, there()))
        assert (row.state, row.failed_files, row.verified_files) == (TransferState.PARTLY, 1, 1)


async def test_what_is_verified_is_still_known_after_a_restart(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    async with working(home, shelf) as engine:
        number = (await done(engine, upload(local, there()))).id
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        (row,) = engine.rows()
        assert (row.id, row.state, row.is_verified, row.verified_files) == (number, TransferState.DONE, True, 2)
        assert await noted(engine, number, is_verified=False) == []
    with closing(sqlite3.connect(home / "transfers.db")) as db, db:
        db.execute("UPDATE items SET is_verified = 0 WHERE name = 'a'")
    async with working(home, shelf) as engine:
        assert [item.name for item in await noted(engine, number, is_verified=False)] == ["a"]
        assert not (await engine.ended(number)).is_verified


async def test_equal_by_size_alone_is_not_verified(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", {"a": b"a", "empty": b""})
    shelf.keep(there("a"), b"b")
    shelf.keep(there("empty"), b"")
    async with working(home, shelf) as engine:
        row = await done(engine, upload(local, there(), compare=CompareBy.SIZE))
        assert (row.equal_files, row.verified_files, row.is_verified) == (2, 1, False)
