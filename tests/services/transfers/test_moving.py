"""Files and folders over objects in memory: both ways, within the service, and what is kept of them."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    FILES,
    MIB,
    all_items,
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
from support.waiting import PATIENT_S, until
from traindeck.domain.storage.objects import PART_BYTES_NAME, TIME_NAME
from traindeck.domain.transfers import object_limits as sizes
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.runtime import disk_barrier
from traindeck.runtime.disk_barrier import on_the_disk
from traindeck.services.transfers import downloads


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
        assert kept.metadata == {PART_BYTES_NAME: str(MIB // 4)}
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
        other = content[:-1] + bytes([content[-1] ^ 1])
        shelf.objects[there("big")].content = other  # the service says one thing and sends another
        failed = await done(engine, download(there("big"), tmp_path / "other"))
    assert failed.state is TransferState.FAILED
    assert failed.error is not None and "corrupted" in failed.error.sentence()
    assert (tmp_path / "big").read_bytes() == content
    assert not (tmp_path / "other").exists()


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


async def test_what_arrives_faster_than_the_disk_takes_it_does_not_fill_the_memory(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_ARRIVED_BYTES", 50_000)
    files = {f"{number:03}": bytes(10_000) for number in range(200)}
    for name, content in files.items():
        shelf.keep(there(name), content)
    first, may_write, whole = asyncio.Event(), threading.Event(), downloads.Downloads._keep
    loop = asyncio.get_running_loop()

    def slow(self: downloads.Downloads, *given: Any) -> object:
        loop.call_soon_threadsafe(first.set)
        may_write.wait(PATIENT_S)
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


async def test_a_pause_while_those_who_fetch_help_to_write_loses_nothing_and_counts_once(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_ARRIVED_BYTES", 50_000)
    monkeypatch.setattr(downloads, "_WRITE_AT_ONCE", 4)
    files = {f"{number:03}": bytes(10_000) for number in range(200)}
    for name, content in files.items():
        shelf.keep(there(name), content)
    writers, helps, may_write = set[str](), threading.Event(), threading.Event()
    whole = downloads.Downloads._keep

    def slow(self: downloads.Downloads, *given: Any) -> object:
        writers.add(threading.current_thread().name)
        if len(writers) > 1:
            helps.set()
        may_write.wait(PATIENT_S)
        return whole(self, *given)

    monkeypatch.setattr(downloads.Downloads, "_keep", slow)
    async with working(home, shelf) as engine:
        number = await engine.add(download(there(), tmp_path / "to"))
        await until(helps.is_set)
        await engine.pause(number)
        may_write.set()
        await engine.resume(number)
        row = await engine.ended(number)
    assert (row.state, row.done_files, row.verified_files) == (TransferState.DONE, 200, 200)
    assert row.done_bytes == row.total_bytes and content_of(tmp_path / "to") == files


async def test_a_time_no_disk_can_hold_spoils_nothing(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    shelf.keep(there("in/a"), b"a", **dict[str, Any]({TIME_NAME: "9" * 30}))
    shelf.keep(there("in/b"), b"b", **dict[str, Any]({TIME_NAME: "-" + "9" * 30}))
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


async def test_a_copy_stays_within_the_service(shelf: ObjectShelf, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from traindeck.services.transfers import moving as copies

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


async def test_what_a_power_cut_could_take_away_is_not_done_yet(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        shelf.keep(there(f"{number:02}"), b"x")
    asked, may_go, whole = threading.Event(), threading.Event(), on_the_disk

    def slow(folder: Path) -> None:
        asked.set()
        may_go.wait(PATIENT_S)
        whole(folder)

    monkeypatch.setattr(downloads, "on_the_disk", slow)
    async with working(home, shelf) as engine:
        number = await engine.add(download(there(), tmp_path / "to"))
        await until(asked.is_set)
        assert set((await listed(engine, number)).values()) == {ItemState.QUEUED}
        assert len(content_of(tmp_path / "to")) == 20
        may_go.set()
        assert (await engine.ended(number)).done_files == 20


async def test_a_disk_that_cannot_keep_what_was_written_is_told(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.keep(there("a"), b"x")

    def broken(folder: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(folder))

    monkeypatch.setattr(downloads, "on_the_disk", broken)
    async with working(home, shelf) as engine:
        row = await done(engine, download(there(), tmp_path / "to"))
    assert row.state is TransferState.FAILED and row.error is not None


def test_files_are_safe_one_by_one_where_there_is_no_call_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk_barrier.write_for_later(tmp_path / "a", b"a")
    disk_barrier.on_the_disk(tmp_path)
    synced: list[int] = []
    monkeypatch.setattr(disk_barrier, "_SYNC", None)
    monkeypatch.setattr(os, "fsync", synced.append)
    disk_barrier.write_for_later(tmp_path / "b", b"b")
    disk_barrier.on_the_disk(tmp_path)
    assert len(synced) == 1 and (tmp_path / "b").read_bytes() == b"b"
