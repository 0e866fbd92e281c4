"""Files become archives on their way: read back by the standard library, through changes, troubles and restarts."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import BUCKET, all_items, content_of, done, noted, tree, working
from support.waiting import until
from traindeck.domain.errors import (
    Conflict,
    InvalidInput,
    NoRight,
    NotFound,
    Occupied,
    Unreachable,
)
from traindeck.domain.storage.objects import MD5_NAME, MEMBERS_NAME, ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers import object_limits as sizes
from traindeck.domain.transfers.orders import Kind, Links, Order, Rules
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.services.transfers import uploads
from traindeck.services.transfers.packing import packing, shard_source

MIB = 1024 * 1024
ODD_NAMES = {
    "数据/图 1.jpg": b"\xff\xd8" * 700,
    "数据/图 1.json": b"{}",
    "a b/ .hidden": b"",
    "n" * 255: b"long",
    "长" * 85: bytes(range(256)) * 8,
    "deep/" * 30 + "x.bin": b"x" * 511,
    "back\\slash": b"b",
    "new\nline.txt": b"two\nlines",
}


@pytest.fixture
def shelf() -> ObjectShelf:
    return ObjectShelf(page_size=3)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 1 MiB archives go in parts of 256 KiB here."""
    monkeypatch.setattr(uploads, "SINGLE_PUT_BYTES", MIB)
    monkeypatch.setattr(packing, "SINGLE_PUT_BYTES", MIB)
    monkeypatch.setattr(shard_source, "IN_MEMORY_BYTES", MIB // 2)
    monkeypatch.setattr(shard_source, "_STEP_BYTES", MIB // 4)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB // 4)
    monkeypatch.setattr(sizes, "_MEBIBYTE", MIB // 4)


def pack(source: Path | ObjectPath, target: Path | ObjectPath, **rules: Any) -> Order:
    return Order(Kind.PACK, "lab", str(source), str(target), Rules(**rules))


def there(key: str = "") -> ObjectPath:
    return ObjectPath(BUCKET, key)


def many(root: Path, files: int, size: int) -> dict[str, bytes]:
    content = {f"c{number % 3}/{number:05}.bin": os.urandom(size) for number in range(files)}
    tree(root, content)
    return content


def unpacked(objects: dict[str, bytes]) -> dict[str, bytes]:
    """Every file of every shard, and a look whether index and summary tell the truth about them."""
    shards = {name: content for name, content in objects.items() if name.endswith(".tar")}
    found: dict[str, bytes] = {}
    for _, content in sorted(shards.items()):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for info in archive:
                assert (info.uid, info.gid, info.uname, info.mode) == (0, 0, "", 0o755 if info.isdir() else 0o644)
                file = archive.extractfile(info)
                if file is not None:
                    assert info.name not in found
                    found[info.name] = file.read()
    lines = [json.loads(line) for line in objects["index.jsonl"].decode().splitlines()]
    assert [line["path"] for line in lines] == list(found)
    for line in lines:
        data = shards[line["shard"]][line["offset"] :][: line["size"]]
        assert data == found[line["path"]]
        assert hashlib.md5(data).hexdigest() == line["md5"]
    summary = json.loads(objects["shards.json"])
    assert (summary["version"], summary["files"], summary["bytes"]) == (1, len(found), sum(map(len, found.values())))
    assert [one["name"] for one in summary["shards"]] == sorted(shards)
    for one in summary["shards"]:
        assert one["size"] == len(shards[one["name"]])
        assert (
            one.get("md5", hashlib.md5(shards[one["name"]]).hexdigest()) == hashlib.md5(shards[one["name"]]).hexdigest()
        )
    assert summary["index"]["md5"] == hashlib.md5(objects["index.jsonl"]).hexdigest()
    return found


def puts(shelf: ObjectShelf) -> list[str]:
    return [words for words in shelf.asked if words.startswith(("put ", "part "))]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
async def test_odd_names_go_in_and_come_out_of_archives(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", ODD_NAMES)
    async with working(home, shelf) as engine:
        row = await done(engine, pack(source, there("packed")))
        assert (row.state, row.error) == (TransferState.DONE, None)
        assert unpacked(shelf.content(BUCKET, "packed/")) == ODD_NAMES
        assert row.total_bytes == row.done_bytes == len(shelf.content(BUCKET)["packed/shard-000000.tar"])
        assert all(item.is_verified for item in await all_items(engine, row.id))


async def test_many_files_become_shards_that_are_the_same_each_time(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = many(tmp_path / "data", 400, 20_000)
    async with working(home, shelf) as engine:
        row = await done(engine, pack(tmp_path / "data", there("p/"), shard_bytes=3 * MIB))
        assert row.state is TransferState.DONE
        shards = shelf.content(BUCKET, "p/")
        assert unpacked(shards) == content
        assert len(shards) == 5
        assert shelf.uploads == {}
        kept = shelf.objects[there("p/shard-000000.tar")]
        assert kept.metadata[MD5_NAME] == hashlib.md5(kept.content).hexdigest()
        assert len(kept.metadata[MEMBERS_NAME]) == 32

        shelf.asked.clear()
        again = await done(engine, pack(tmp_path / "data", there("p/"), shard_bytes=3 * MIB))
        assert again.state is TransferState.DONE
        assert puts(shelf) == ["put p/index.jsonl", "put p/shards.json"], "what is there is not sent again"
        assert shelf.content(BUCKET, "p/") == shards

        local = await done(engine, pack(tmp_path / "data", tmp_path / "out", shard_bytes=3 * MIB))
        assert local.state is TransferState.DONE
        assert content_of(tmp_path / "out") == shards


async def test_objects_are_packed_without_a_byte_twice(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = {f"in/{number:03}.bin": os.urandom(9_000) for number in range(200)} | {"in/空.txt": b""}
    for key, data in content.items():
        shelf.keep(there(key), data)
    shelf.keep(there("in/marker/"), b"")
    async with working(home, shelf) as engine:
        row = await done(engine, pack(there("in/"), there("out/"), shard_bytes=4 * MIB))
        assert (row.state, row.error) == (TransferState.DONE, None)
        expected = {key.removeprefix("in/"): data for key, data in content.items()}
        assert unpacked(shelf.content(BUCKET, "out/")) == expected
        fetched = [words for words in shelf.asked if words.startswith("get ")]
        # A file that lies across the border of two parts is fetched in two stretches.
        assert len(fetched) <= 200 + 10
        local = await done(engine, pack(there("in/"), tmp_path / "here"))
        assert local.state is TransferState.DONE
        assert unpacked(content_of(tmp_path / "here")) == expected


@pytest.mark.parametrize("times", [1, 1000])
async def test_a_large_object_that_comes_otherwise_than_it_is_stored_is_not_packed(
    shelf: ObjectShelf, home: Path, small_parts: None, soon: None, times: int
) -> None:
    """Its pieces go into parts of the archive, and none of them alone can be compared with its ETag."""
    content = {"big.bin": os.urandom(2 * MIB), "small.bin": os.urandom(1000)}
    for name, data in content.items():
        shelf.keep(there(f"in/{name}"), data)
    whole: Any = shelf.get
    left = iter(range(times))

    async def spoiled(source: ObjectPath, sink: Any, **named: Any) -> object:
        def flipped(piece: bytes) -> Any:
            return sink(bytes([piece[0] ^ 1]) + piece[1:])

        is_spoiled = source.name == "big.bin" and named.get("offset", 0) > MIB and next(left, None) is not None
        return await whole(source, flipped if is_spoiled else sink, **named)

    shelf.get = spoiled
    async with working(home, shelf) as engine:
        row = await done(engine, pack(there("in/"), there("packed/")))
    if times == 1:
        assert row.state is TransferState.DONE and unpacked(shelf.content(BUCKET, "packed/")) == content
    else:
        assert row.state is TransferState.FAILED and not shelf.content(BUCKET, "packed/")
        assert row.error is not None


async def test_an_object_that_changes_under_way_is_packed_as_it_is_now(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    for number in range(20):
        shelf.keep(there(f"in/{number:02}"), b"old" * 100)
    whole = shelf.get

    async def get(source: ObjectPath, *more: Any, **named: Any) -> object:
        if source.key == "in/05" and "in/19" not in [path.key for path in changed]:
            changed.append(there("in/19"))
            shelf.keep(there("in/19"), b"new and longer" * 100)
        return await whole(source, *more, **named)

    changed: list[ObjectPath] = []
    shelf.get = get
    async with working(home, shelf) as engine:
        row = await done(engine, pack(there("in/"), there("out/")))
        assert (row.state, row.error) == (TransferState.DONE, None)
    assert unpacked(shelf.content(BUCKET, "out/"))["19"] == b"new and longer" * 100


async def test_a_file_that_changes_under_way_is_packed_as_it_is_now(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    content = many(tmp_path / "data", 300, 10_000)
    whole = shelf.put_part
    seen: list[int] = []

    async def put_part(target: ObjectPath, upload_id: str, number: int, *more: Any, **named: Any) -> object:
        part = await whole(target, upload_id, number, *more, **named)
        if not seen:
            content["c1/00100.bin"] = os.urandom(30_000)
            (tmp_path / "data/c1/00100.bin").write_bytes(content["c1/00100.bin"])
        seen.append(number)
        return part

    shelf.put_part = put_part
    async with working(home, shelf) as engine:
        row = await done(engine, pack(tmp_path / "data", there("p/")))
        assert (row.state, row.error) == (TransferState.DONE, None)
        assert unpacked(shelf.content(BUCKET, "p/")) == content
        assert shelf.uploads == {}, "what was begun with the old file is taken back"


async def test_one_file_and_no_file(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    tree(tmp_path / "one", {"only.txt": b"1"})
    (tmp_path / "none" / "empty").mkdir(parents=True)
    async with working(home, shelf) as engine:
        assert (await done(engine, pack(tmp_path / "one", there("one")))).state is TransferState.DONE
        assert unpacked(shelf.content(BUCKET, "one/")) == {"only.txt": b"1"}
        row = await done(engine, pack(tmp_path / "none", there("none")))
        assert isinstance(row.error, NotFound)
        assert not shelf.content(BUCKET, "none/")
        kept = await done(engine, pack(tmp_path / "none", there("none"), empty_folders=True))
        assert kept.state is TransferState.DONE
        with tarfile.open(fileobj=io.BytesIO(shelf.content(BUCKET)["none/shard-000000.tar"])) as archive:
            assert [(info.name, info.isdir()) for info in archive] == [("empty", True)]
        assert isinstance((await done(engine, pack(tmp_path / "missing", there("x")))).error, NotFound)
        assert (await done(engine, pack(tmp_path / "one/only.txt", there("x")))).state is TransferState.FAILED


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text are Linux's")
async def test_names_that_are_no_text_stop_the_packing_unless_they_may_be_left_out(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    content = many(tmp_path / "data", 30, 100)
    tree(tmp_path / "data", {os.fsdecode(b"bad\xff"): b"1", os.fsdecode(b"worse\xfe/x"): b"2"})
    async with working(home, shelf) as engine:
        row = await done(engine, pack(tmp_path / "data", there("p/")))
        assert row.state is TransferState.FAILED
        assert "2 files" in str(row.error)
        assert not shelf.objects
        assert [item.name for item in await noted(engine, row.id, [ItemState.FAILED])] == [
            "bad\\udcff",
            "worse\\udcfe/x",
        ]
        skipped = await done(engine, pack(tmp_path / "data", there("q/"), skip_unreadable=True))
        assert (skipped.state, skipped.skipped_files) == (TransferState.DONE, 2)
        assert unpacked(shelf.content(BUCKET, "q/")) == content
        shutil.rmtree(tmp_path / "data" / os.fsdecode(b"worse\xfe"))
        (tmp_path / "data" / os.fsdecode(b"bad\xff")).unlink()
        await engine.retry(row.id)
        assert (await engine.ended(row.id)).state is TransferState.DONE
        assert unpacked(shelf.content(BUCKET, "p/")) == content


@pytest.mark.skipif(os.name == "nt" or (hasattr(os, "geteuid") and os.geteuid() == 0), reason="root reads everything")
async def test_what_cannot_be_read_stops_the_packing_unless_it_may_be_left_out(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    content = many(tmp_path / "data", 30, 100)
    for name in ("c0/00003.bin", "c1/00001.bin"):
        (tmp_path / "data" / name).chmod(0)
    async with working(home, shelf) as engine:
        row = await done(engine, pack(tmp_path / "data", there("p/")))
        assert row.state is TransferState.FAILED
        assert "2 files" in str(row.error)
        assert "c0/00003.bin" in str(row.error)
        assert not shelf.objects
        failed = await noted(engine, row.id, [ItemState.FAILED])
        assert [item.name for item in failed] == ["c0/00003.bin", "c1/00001.bin"]

        skipped = await done(engine, pack(tmp_path / "data", there("q/"), skip_unreadable=True))
        assert (skipped.state, skipped.skipped_files) == (TransferState.DONE, 2)
        found = unpacked(shelf.content(BUCKET, "q/"))
        assert found == {name: data for name, data in content.items() if name not in ("c0/00003.bin", "c1/00001.bin")}

        for name in ("c0/00003.bin", "c1/00001.bin"):
            (tmp_path / "data" / name).chmod(0o600)
        await engine.retry(row.id)
        assert (await engine.ended(row.id)).state is TransferState.DONE
        assert unpacked(shelf.content(BUCKET, "p/")) == content


async def test_a_file_deleted_under_way_fails_its_shard_or_is_left_out(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    content = many(tmp_path / "data", 30, 100)
    gone = "c2/00002.bin"
    async with working(home, shelf) as engine:
        for skip in (False, True):
            tree(tmp_path / "data", content)
            number = await engine.add(
                pack(tmp_path / "data", there(f"{skip}/"), skip_unreadable=skip), needs_confirmation=True
            )
            await engine.planned(number)
            (tmp_path / "data" / gone).unlink()
            await engine.confirm(number)
            row = await engine.ended(number)
            if not skip:
                assert row.state is TransferState.FAILED
                assert "00002.bin" in str(row.error)
                assert not shelf.content(BUCKET, "False/")
            else:
                assert (row.state, row.skipped_files) == (TransferState.DONE, 1)
                assert unpacked(shelf.content(BUCKET, "True/")) == {k: v for k, v in content.items() if k != gone}


async def test_rules_links_and_what_is_no_file(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {"a.txt": b"a", "b.tmp": b"b", "cache/c": b"c", ".traindeckignore": b"cache/\n"})
    (source / "link").symlink_to(source / "a.txt")
    (source / "nowhere").symlink_to(source / "none")
    rules = {"ignore": ("*.tmp",), "has_ignore_files": True}
    async with working(home, shelf) as engine:
        row = await done(engine, pack(source, there("p/"), links=Links.FOLLOW, **rules))
        assert (row.state, row.skipped_files) == (TransferState.DONE, 1)
        assert unpacked(shelf.content(BUCKET, "p/")) == {".traindeckignore": b"cache/\n", "a.txt": b"a", "link": b"a"}
        await done(engine, pack(source, there("q/"), **rules))
        assert set(unpacked(shelf.content(BUCKET, "q/"))) == {".traindeckignore", "a.txt"}


async def test_places_that_cannot_be(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number}": b"1" for number in range(5)})
    shelf.keep(there("in/../up"), b"1")
    shelf.keep(there("in/a"), b"1")
    async with working(home, shelf) as engine:
        assert isinstance((await done(engine, pack(source, source / "out"))).error, InvalidInput)
        assert isinstance((await done(engine, pack(there("in/"), there("in/out/")))).error, InvalidInput)
        assert "../up" in str((await done(engine, pack(there("in/"), there("out/")))).error)
        assert (await done(engine, pack(source, there("p/"), shard_files=1))).state is TransferState.DONE
        assert isinstance((await done(engine, pack(source, there("p/")))).error, Conflict), "more shards are there"
        assert (await done(engine, pack(source, tmp_path / "out", shard_files=1))).state is TransferState.DONE
        assert isinstance((await done(engine, pack(source, tmp_path / "out"))).error, Conflict)


async def test_a_packing_of_other_files_is_not_replaced_unasked(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    one = tree(tmp_path / "one", {f"{number}": b"a" * 40 for number in range(9)})
    other = tree(tmp_path / "other", {f"x{number}": b"b" * 40 for number in range(9)})
    async with working(home, shelf) as engine:
        for target in (there("p/"), tmp_path / "out"):
            assert (await done(engine, pack(one, target))).state is TransferState.DONE
        (one / "3").write_bytes(b"c" * 40)
        for target in (there("p/"), tmp_path / "out"):
            assert (await done(engine, pack(one, target))).state is TransferState.DONE, "the same files, edited"
        before = shelf.content(BUCKET, "p/")
        assert unpacked(before)["3"] == b"c" * 40
        shelf.asked.clear()
        for target in (there("p/"), tmp_path / "out"):
            refused = await done(engine, pack(other, target))
            assert isinstance(refused.error, Occupied), "archives of the same size, with other files"
            assert isinstance((await done(engine, pack(one, target, shard_files=2))).error, Occupied)
        assert (shelf.content(BUCKET, "p/"), puts(shelf)) == (before, [])
        for target in (there("p/"), tmp_path / "out"):
            replaced = await done(engine, pack(other, target, may_replace=True))
            assert replaced.state is TransferState.DONE
        assert unpacked(shelf.content(BUCKET, "p/")) == unpacked(content_of(tmp_path / "out"))
        assert set(unpacked(shelf.content(BUCKET, "p/"))) == {f"x{number}" for number in range(9)}
        shelf.keep(there("q/index.jsonl"), b"somebody's own")
        assert isinstance((await done(engine, pack(one, there("q/")))).error, Occupied)
        assert shelf.content(BUCKET, "q/") == {"index.jsonl": b"somebody's own"}


async def test_a_file_that_changes_while_its_small_archive_is_sent_is_packed_again(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", {"a": b"old", "gone": b"1"})
    whole = shelf.put
    sent: list[str] = []

    async def put(target: ObjectPath, *more: Any, **named: Any) -> object:
        stored = await whole(target, *more, **named)
        if not sent:
            (source / "a").write_bytes(b"new and longer")
        elif len(sent) == 1:
            (source / "gone").unlink()
        sent.append(target.key)
        return stored

    shelf.put = put
    async with working(home, shelf) as engine:
        row = await done(engine, pack(source, there("p/")))
        assert (row.state, row.error) == (TransferState.DONE, None)
        assert row.done_bytes == row.total_bytes
        assert sent[:2] == ["p/shard-000000.tar"] * 2
        assert unpacked(shelf.content(BUCKET, "p/")) == {"a": b"new and longer", "gone": b"1"}
        (shard,) = [item for item in await all_items(engine, row.id) if item.name.endswith(".tar")]
        assert shard.etag == hashlib.md5(shelf.content(BUCKET, "p/")["shard-000000.tar"]).hexdigest()


@pytest.mark.parametrize("asks_again", [False, True])
async def test_the_next_program_goes_on_where_the_last_one_ended(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, asks_again: bool
) -> None:
    content = many(tmp_path / "data", 300, 20_000)
    order = pack(tmp_path / "data", there("p/"), shard_bytes=2 * MIB)
    async with working(home, shelf) as engine:
        engine.limit.set(6 * MIB)
        number = await engine.add(order)
        await until(lambda: there("p/shard-000001.tar") in shelf.objects)
    kept = {f"part {one.path.key} {number}" for one in shelf.uploads.values() for number in one.parts}
    kept |= {f"put {path.key}" for path in shelf.objects}
    ended = [path.key for path in shelf.objects]
    shelf.asked.clear()
    async with working(home, shelf) as engine:
        if asks_again:  # as a command does that is given once more
            assert await engine.add(order, takes_up=True) == number
        else:
            await engine.resume_unfinished()
        row = await engine.ended(number)
        assert row.state is TransferState.DONE
        assert row.done_bytes == row.total_bytes
    again = puts(shelf)
    assert not kept & set(again), "only what had not arrived goes again"
    assert not any(key in words for words in again for key in ended)
    assert unpacked(shelf.content(BUCKET, "p/")) == content
    assert shelf.uploads == {}


async def test_pause_cancel_and_a_dead_line(shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None) -> None:
    content = many(tmp_path / "data", 200, 20_000)
    async with working(home, shelf) as engine:
        engine.limit.set(2 * MIB)
        number = await engine.add(pack(tmp_path / "data", there("p/")))
        await until(lambda: engine.rows()[0].done_bytes > 0)
        await engine.pause(number)
        assert engine.rows()[0].state is TransferState.PAUSED
        await engine.resume(number)
        engine.limit.set(0)
        assert (await engine.ended(number)).state is TransferState.DONE
        assert unpacked(shelf.content(BUCKET, "p/")) == content

        engine.limit.set(2 * MIB)
        for target in (there("c/"), tmp_path / "c"):
            number = await engine.add(pack(tmp_path / "data", target))
            await until(lambda: engine.rows()[0].done_bytes > 0)
            await engine.cancel(number)
            assert (await engine.ended(number)).state is TransferState.CANCELLED
        assert shelf.uploads == {}
        assert content_of(tmp_path / "c") == {}

        engine.limit.set(0)
        whole, failures = shelf.put_part, [Unreachable(text("The service cannot be reached."), text("Look."))]

        async def put_part(*more: Any, **named: Any) -> object:
            if failures:
                raise failures.pop()
            return await whole(*more, **named)

        shelf.put_part = put_part
        row = await done(engine, pack(tmp_path / "data", there("n/")))
        assert row.state is TransferState.DONE
        assert unpacked(shelf.content(BUCKET, "n/")) == content


async def test_keys_that_may_only_write_can_pack(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    content = many(tmp_path / "data", 30, 100)
    page, head = shelf.page, shelf.head

    async def refused(*_: object, **__: object) -> None:
        raise NoRight(text("No."), text("Ask."))

    shelf.page, shelf.head = refused, refused
    async with working(home, shelf) as engine:
        row = await done(engine, pack(tmp_path / "data", there("p/")))
        assert (row.state, row.error) == (TransferState.DONE, None)
        long = await done(engine, pack(tmp_path / "data", there("k" * 1020)))
        assert isinstance(long.error, InvalidInput), "no such key could be kept"
    shelf.page, shelf.head = page, head
    assert unpacked(shelf.content(BUCKET, "p/")) == content
