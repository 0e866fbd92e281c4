"""A large object is proved by the service's ETag of its parts: the MD5 of the whole is neither made nor needed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf, md5_of
from support.transfer_works import (
    BUCKET,
    MIB,
    all_items,
    check,
    content_of,
    copy,
    done,
    download,
    listed,
    random_bytes,
    there,
    tree,
    upload,
    working,
)
from support.waiting import until
from traindeck.domain.storage.objects import MD5_NAME, PART_BYTES_NAME, ObjectPath
from traindeck.domain.transfers import object_limits as sizes
from traindeck.domain.transfers.orders import CompareBy
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.services.transfers import moving
from traindeck.services.transfers.digests import etag_of_parts, md5

pytestmark = pytest.mark.usefixtures("small_parts")


def keep_in_parts(shelf: ObjectShelf, key: str, content: bytes, size: int, **metadata: str) -> None:
    """As a program that cuts at `size` sent it."""
    shelf.keep(there(key), content, None, **metadata)
    shelf.objects[there(key)].etag = etag_of_parts(
        [md5(content[at : at + size]).digest() for at in range(0, len(content), size)]
    )


def with_flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


async def test_one_flipped_byte_is_found_by_a_check_and_by_a_download(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    content = random_bytes(2 * MIB + 5)
    local = tree(tmp_path / "data", {"big": content})
    async with working(home, shelf) as engine:
        sent = await done(engine, upload(local, there()))
        assert sent.is_verified
        kept = shelf.objects[there("big")]
        assert kept.metadata == {PART_BYTES_NAME: str(MIB // 4)} and kept.etag.endswith("-9")
        assert (await done(engine, check(local, there()))).is_verified
        (local / "big").write_bytes(with_flip(content, MIB + 1))
        row = await done(engine, check(local, there()))
        assert await listed(engine, row.id) == {"big": ItemState.DIFFERENT}
        kept.content = with_flip(content, 2 * MIB + 4)
        row = await done(engine, download(there(), tmp_path / "back"))
        assert (row.state, content_of(tmp_path / "back")) == (TransferState.FAILED, {})


async def test_both_sides_are_found_equal_by_their_parts(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    local = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    async with working(home, shelf) as engine:
        await done(engine, upload(local, there()))
        os.utime(local / "big", ns=(1, 1))  # what is remembered of it says nothing any more
        for order in (
            upload(local, there(), compare=CompareBy.MD5),
            upload(local, there(), compare=CompareBy.SIZE_AND_TIME),
            download(there(), local, compare=CompareBy.MD5),
        ):
            assert (await done(engine, order)).equal_files == 1


async def test_the_md5_of_the_whole_is_kept_for_who_wants_it(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})
    async with working(home, shelf) as engine:
        await done(engine, upload(local, there(), store_md5=True))
        assert shelf.objects[there("big")].metadata == {MD5_NAME: md5_of(content), PART_BYTES_NAME: str(MIB // 4)}
        assert (await done(engine, check(local, there()))).is_verified


async def test_objects_of_older_versions_are_proved_by_the_whole(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})
    keep_in_parts(shelf, "big", content, MIB // 3 + 1, **{MD5_NAME: md5_of(content)})
    async with working(home, shelf) as engine:
        assert (await done(engine, check(local, there()))).is_verified
        fetched = await done(engine, download(there(), tmp_path / "back"))
        assert fetched.is_verified and content_of(tmp_path / "back") == {"big": content}
        (local / "big").write_bytes(with_flip(content, 7))
        row = await done(engine, check(local, there()))
        assert await listed(engine, row.id) == {"big": ItemState.DIFFERENT}
        shelf.objects[there("big")].content = with_flip(content, 8)
        shelf.objects[there("big")].told_part_bytes = MIB // 3 + 1
        assert (await done(engine, check(local, there()))).different_files == 1
        row = await done(engine, download(there(), tmp_path / "unsure"))
        assert (row.state, row.verified_files) == (TransferState.DONE, 0), "the parts may be of many sizes"
        shelf.objects[there("big")].metadata[PART_BYTES_NAME] = str(MIB // 3 + 1)
        assert (await done(engine, download(there(), tmp_path / "bad"))).state is TransferState.FAILED


@pytest.mark.parametrize("note", [{PART_BYTES_NAME: str(MIB // 3 + 444)}, {MD5_NAME: "0" * 32}])
@pytest.mark.parametrize("size", [2 * MIB + 5, MIB - 5])
async def test_what_is_written_down_and_not_true_is_no_dead_end(
    shelf: ObjectShelf, home: Path, tmp_path: Path, size: int, note: dict[str, str]
) -> None:
    """By a program that made another object of one of ours, and copied along what was said of that."""
    content = random_bytes(size)
    local = tree(tmp_path / "data", {"big": content})
    keep_in_parts(shelf, "big", content, MIB // 3 + 333, **note)
    kept = shelf.objects[there("big")]
    async with working(home, shelf) as engine:
        fetched = await done(engine, download(there(), tmp_path / "back"))
        assert (fetched.state, fetched.verified_files) == (TransferState.DONE, 0)
        assert content_of(tmp_path / "back") == {"big": content}
        # The service knows better, where it says so.
        kept.told_part_bytes = MIB // 3 + 333
        assert (await done(engine, download(there(), tmp_path / "told"))).is_verified
        assert (await done(engine, check(local, there()))).is_verified
        assert (await done(engine, download(there(), local, compare=CompareBy.MD5))).equal_files == 1
        # What is usual is tried without a question.
        keep_in_parts(shelf, "big", content, MIB // 4, **{PART_BYTES_NAME: str(MIB // 4 - 1)})
        asked = len(shelf.asked)
        assert (await done(engine, check(local, there()))).is_verified
        assert not any(line.startswith("part size") for line in shelf.asked[asked:])
        assert (await done(engine, download(there(), tmp_path / "usual"))).is_verified


async def test_what_comes_otherwise_each_time_is_not_kept(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    content, whole = random_bytes(2 * MIB), shelf.get
    keep_in_parts(shelf, "big", content, MIB // 3 + 1, **{MD5_NAME: md5_of(content)})
    places = iter(range(100))

    async def spoiled(source: ObjectPath, sink: Any, *, offset: int = 0, **named: Any) -> object:
        shelf.objects[source].content = with_flip(content, offset + next(places))
        return await whole(source, sink, offset=offset, **named)

    shelf.get = spoiled
    async with working(home, shelf) as engine:
        row = await done(engine, download(there(), tmp_path / "back"))
    assert (row.state, content_of(tmp_path / "back")) == (TransferState.FAILED, {})


async def test_without_what_we_wrote_down_unknown_is_unknown(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"odd": content, "secret": content})
    keep_in_parts(shelf, "odd", content, MIB // 3 + 1)
    async with working(home, shelf) as engine:
        await done(engine, upload(local / "secret", there("secret")))
        kept = shelf.objects[there("secret")]
        kept.etag, kept.is_encrypted = f"{md5_of(b'of the service')}-8", True
        row = await done(engine, check(local, there()))
        assert (row.unknown_files, row.verified_files) == (2, 0)
        fetched = await done(engine, download(there(), tmp_path / "back"))
        assert (fetched.state, fetched.verified_files) == (TransferState.DONE, 0)
        assert content_of(tmp_path / "back") == {"odd": content, "secret": content}


async def test_another_size_of_parts_takes_up_what_was_begun_with_the_old(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})
    stuck, whole = asyncio.Event(), shelf.put_part

    async def held(target: ObjectPath, upload_id: str, number: int, *more: Any, **named: Any) -> object:
        if number > 3:
            await stuck.wait()
        return await whole(target, upload_id, number, *more, **named)

    shelf.put_part = held
    async with working(home, shelf) as engine:
        await engine.add(upload(local, there()))
        await until(lambda: sum(len(one.parts) for one in shelf.uploads.values()) == 3)
    shelf.put_part = whole
    monkeypatch.setattr(sizes, "PART_BYTES", MIB // 2)
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        row = await engine.ended(engine.rows()[0].id)
        assert row.is_verified and shelf.content(BUCKET) == {"big": content}
        assert shelf.objects[there("big")].metadata == {PART_BYTES_NAME: str(MIB // 4)}, "as it was begun"
        await done(engine, upload(local, there("new/")))
        assert shelf.objects[there("new/big")].metadata == {PART_BYTES_NAME: str(MIB // 2)}
        for folder in ("", "new/"):
            row = await done(engine, check(local, there(folder), both_sides=False))
            assert row.is_verified


async def test_a_copy_in_another_layout_is_proved_by_its_own(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": content})
    monkeypatch.setattr(moving, "_ONE_COPY_BYTES", MIB)
    monkeypatch.setattr(moving, "_MOST_SAME_PARTS", 4)
    monkeypatch.setattr(moving, "_LEAST_PART_BYTES", MIB)
    async with working(home, shelf) as engine:
        await done(engine, upload(local, there("one/")))
        await done(engine, copy(there("one/"), there("two/")))
        kept = shelf.objects[there("two/big")]
        assert kept.etag.endswith("-2") and kept.metadata == {PART_BYTES_NAME: str(MIB)}
        assert (await done(engine, check(local, there("two/")))).is_verified
        # Between the two nothing tells but the contents, and nobody says otherwise.
        row = await done(engine, check(there("one/"), there("two/")))
        assert row.unknown_files == 1
        (item,) = await all_items(engine, row.id)
        assert item.error is not None and "different parts" in str(item.error)


async def test_a_file_that_becomes_another_between_hashing_and_leaving_goes_up_as_it_is_then(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    old, new = random_bytes(2 * MIB), random_bytes(2 * MIB)
    local = tree(tmp_path / "data", {"big": old})
    whole, is_first = shelf.put_part, True

    async def changed(*given: Any, **named: Any) -> object:
        nonlocal is_first
        if is_first:
            is_first = False
            (local / "big").write_bytes(new)
            os.utime(local / "big", ns=(2, 2))
        return await whole(*given, **named)

    shelf.put_part = changed
    async with working(home, shelf) as engine:
        row = await done(engine, upload(local, there()))
        assert row.is_verified and shelf.content(BUCKET) == {"big": new} and shelf.uploads == {}
