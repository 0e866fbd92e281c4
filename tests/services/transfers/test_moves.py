"""Moves: the source is left only for what was seen at the target, and nothing is lost on the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    all_items,
    content_of,
    copy,
    done,
    download,
    noted,
    tree,
    upload,
    working,
)
from traindeck.domain.errors import Unreachable
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import Action, ItemState, TransferState
from traindeck.services.storage.data_ports import NotRemoved
from traindeck.services.transfers import active
from traindeck.services.transfers import moving as copies
from traindeck.services.transfers.among import objects_among

FILES = {"a.txt": b"a", "deep/er/b.bin": bytes(range(256)) * 300, "空/c 文件.txt": b"", "deep/.hidden": b"h"}


def there(key: str = "") -> ObjectPath:
    return ObjectPath(BUCKET, key)


@pytest.fixture
def shelf() -> ObjectShelf:
    return ObjectShelf(page_size=3)


def fill(shelf: ObjectShelf, prefix: str, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        shelf.keep(there(prefix + name), content)


async def test_a_folder_moves_whole_with_its_markers_and_leaves_nothing(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "in/", FILES | {"": b"", "empty/": b""})
    shelf.keep(there("in-beside"), b"stays")
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/new/"), moves=True))
        assert (row.state, row.done_files, row.failed_files, row.copied_files) == (TransferState.DONE, 6, 0, 0)
        assert row.done_bytes == row.total_bytes == sum(map(len, FILES.values()))
        items = await all_items(engine, row.id)
    assert {(item.action, item.state) for item in items} == {(Action.LEAVE, ItemState.DONE)}
    assert shelf.content(BUCKET, "to/new/") == FILES | {"": b"", "empty/": b""}
    assert shelf.keys(BUCKET) == sorted(["in-beside", *(f"to/new/{name}" for name in (*FILES, "", "empty/"))])


async def test_case_alone_may_change_and_one_object_gets_another_name(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "Data/", FILES)
    shelf.keep(there("x"), b"x")
    async with working(home, shelf) as engine:
        assert (await done(engine, copy(there("Data/"), there("data/"), moves=True))).state is TransferState.DONE
        assert (await done(engine, copy(there("x"), there("data/deep/"), moves=True))).state is TransferState.DONE
        assert (await done(engine, copy(there("data/a.txt"), there("A.TXT"), moves=True))).state is TransferState.DONE
    rest = {name: content for name, content in FILES.items() if name != "a.txt"}
    assert shelf.content(BUCKET) == {"A.TXT": b"a", "data/deep/x": b"x"} | {f"data/{n}": c for n, c in rest.items()}


@pytest.mark.parametrize(
    ("source", "target"), [("in/", "in/"), ("in/", "in/deep/"), ("in/a.txt", "in/a.txt"), ("in/a.txt", "in/")]
)
async def test_nothing_moves_into_itself(shelf: ObjectShelf, home: Path, source: str, target: str) -> None:
    fill(shelf, "in/", FILES)
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there(source), there(target), moves=True))
        assert row.state is TransferState.FAILED
        assert "is inside" in row.error.sentence()
    assert shelf.content(BUCKET, "in/") == FILES


async def test_a_folder_that_goes_up_does_not_run_over_itself(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "a/", {"1": b"one", "a/1": b"inner", "b/2": b"two"})
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("a/"), there(""), moves=True))
        assert (row.state, row.failed_files) == (TransferState.PARTLY, 1)
    assert shelf.content(BUCKET) == {"1": b"one", "a/a/1": b"inner", "b/2": b"two"}


async def test_some_of_a_folder_go_under_names_of_their_own(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "in/", FILES)
    chosen = (("deep/", "deep (2)/"), ("a.txt", "a (2).txt"), ("never.txt", "never.txt"))
    async with working(home, shelf) as engine:
        copied = await done(engine, copy(there("in/"), there("to/"), chosen=chosen))
        assert (copied.state, copied.done_files) == (TransferState.DONE, 3)
        assert shelf.content(BUCKET, "in/") == FILES
        moved = await done(engine, copy(there("in/"), there("on/"), chosen=chosen, moves=True))
        assert (moved.state, moved.done_files) == (TransferState.DONE, 3)
    expected = {"deep (2)/er/b.bin": FILES["deep/er/b.bin"], "deep (2)/.hidden": b"h", "a (2).txt": b"a"}
    assert shelf.content(BUCKET, "to/") == shelf.content(BUCKET, "on/") == expected
    assert shelf.content(BUCKET, "in/") == {"空/c 文件.txt": b""}


async def test_what_changed_meanwhile_is_kept_and_told_and_another_try_moves_it(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "in/", FILES)
    whole, changed = shelf.copy, False

    async def copy_and_change(source: ObjectPath, target: ObjectPath, **more: Any) -> object:
        nonlocal changed
        stored = await whole(source, target, **more)
        if source.key == "in/a.txt" and not changed:
            changed = True
            shelf.keep(source, b"another")
        return stored

    shelf.copy = copy_and_change
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/"), moves=True))
        assert (row.state, row.done_files, row.failed_files) == (TransferState.PARTLY, 3, 1)
        assert "has changed since it was copied" in row.error.sentence()
        assert shelf.content(BUCKET, "in/") == {"a.txt": b"another"}
        await engine.retry(row.id)
        row = await engine.ended(row.id)
        assert (row.state, row.error) == (TransferState.DONE, None)
    assert shelf.content(BUCKET) == {f"to/{name}": content for name, content in (FILES | {"a.txt": b"another"}).items()}


async def test_a_copy_that_is_not_there_any_more_costs_no_source(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "in/", FILES)
    whole = shelf.copy

    async def copy_and_lose(source: ObjectPath, target: ObjectPath, **more: Any) -> object:
        stored = await whole(source, target, **more)
        if source.key == "in/a.txt":
            del shelf.objects[target]
        return stored

    shelf.copy = copy_and_lose
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/"), moves=True))
        assert (row.state, row.failed_files) == (TransferState.PARTLY, 1)
    assert shelf.content(BUCKET, "in/") == {"a.txt": b"a"}


async def test_who_may_not_delete_is_told_that_both_are_there(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "in/", FILES)

    async def refuse(bucket: str, keys: list[str]) -> list[NotRemoved]:
        return [NotRemoved(key, "AccessDenied", "No.") for key in keys]

    removes, shelf.remove = shelf.remove, refuse
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/"), moves=True))
        assert (row.state, row.failed_files, row.copied_files) == (TransferState.FAILED, 4, 4)
        assert shelf.content(BUCKET, "in/") == shelf.content(BUCKET, "to/") == FILES
        shelf.remove, copied = removes, len([one for one in shelf.asked if one.startswith("copy")])
        await engine.retry(row.id)
        assert (await engine.ended(row.id)).state is TransferState.DONE
    assert shelf.content(BUCKET) == {f"to/{name}": content for name, content in FILES.items()}
    assert len([one for one in shelf.asked if one.startswith("copy")]) == copied, "what was there was copied again"


async def test_a_lost_line_between_the_halves_copies_nothing_twice(
    shelf: ObjectShelf, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active, "FIRST_WAIT_S", 0.02)
    fill(shelf, "in/", FILES)
    removes, failures = shelf.remove, 2

    async def lose(bucket: str, keys: list[str]) -> list[NotRemoved]:
        nonlocal failures
        left = await removes(bucket, keys)
        if failures:
            failures -= 1
            raise Unreachable(text("The service cannot be reached."), text("Look at the network."))
        return left

    shelf.remove = lose
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("in/"), there("to/"), moves=True))
        assert (row.state, row.done_files, row.copied_files) == (TransferState.DONE, 4, 0)
    assert shelf.content(BUCKET) == {f"to/{name}": content for name, content in FILES.items()}
    assert len([one for one in shelf.asked if one.startswith("copy")]) == 4


async def test_who_cancels_while_it_is_copied_keeps_the_whole_source(shelf: ObjectShelf, home: Path) -> None:
    fill(shelf, "in/", {f"{number:03}": b"x" for number in range(50)})
    async with working(home, shelf) as engine:
        whole, begun = shelf.copy, 0

        async def count(source: ObjectPath, target: ObjectPath, **more: Any) -> object:
            nonlocal begun
            begun += 1
            if begun == 20:
                await engine.cancel(1)
            return await whole(source, target, **more)

        shelf.copy = count
        row = await done(engine, copy(there("in/"), there("to/"), moves=True))
        assert row.state is TransferState.CANCELLED
    assert len(shelf.content(BUCKET, "in/")) == 50
    assert row.copied_files >= len(shelf.content(BUCKET, "to/")) - 20


async def test_a_local_folder_moves_up_and_only_what_arrived_is_removed(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", FILES)
    (source / "hollow/inner").mkdir(parents=True)
    rules = {"moves": True, "empty_folders": True}
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("in/"), **rules))
        assert (row.state, row.failed_files) == (TransferState.DONE, 0)
    assert not source.exists()
    assert shelf.content(BUCKET, "in/") == FILES | {"hollow/inner/": b""}


async def test_a_large_file_stays_when_somebody_replaced_what_arrived(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    place = tmp_path / "big"
    place.write_bytes(os.urandom(300_000))
    whole = shelf.finish_upload

    async def finish_and_replace(target: ObjectPath, *more: Any, **named: Any) -> object:
        stored = await whole(target, *more, **named)
        shelf.keep(target, os.urandom(300_000))
        return stored

    shelf.finish_upload = finish_and_replace
    async with working(home, shelf) as engine:
        row = await done(engine, upload(place, there("big"), moves=True, part_bytes=100 * 1024))
        assert (row.state, row.failed_files) == (TransferState.FAILED, 1)
    assert place.exists()


async def test_a_file_written_meanwhile_stays(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", FILES)
    whole = shelf.put

    async def put_and_write(target: ObjectPath, *more: Any, **named: Any) -> object:
        stored = await whole(target, *more, **named)
        if target.key == "in/a.txt":
            (source / "a.txt").write_bytes(b"more")
        return stored

    shelf.put = put_and_write
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("in/"), moves=True))
        assert (row.state, row.failed_files) == (TransferState.PARTLY, 1)
    assert content_of(source) == {"a.txt": b"more"}


async def test_a_folder_moves_down_and_is_gone_up_there(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    fill(shelf, "in/", FILES | {"": b"", "hollow/": b""})
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("in/"), tmp_path / "down", moves=True, empty_folders=True))
        assert (row.state, row.failed_files) == (TransferState.DONE, 0)
    assert content_of(tmp_path / "down") == FILES
    assert (tmp_path / "down/hollow").is_dir()
    assert shelf.keys(BUCKET) == []


@pytest.mark.parametrize("is_paused", [False, True])
async def test_a_move_goes_on_in_the_next_program(shelf: ObjectShelf, home: Path, is_paused: bool) -> None:
    fill(shelf, "in/", FILES)
    removes = shelf.remove

    async def stop(bucket: str, keys: list[str]) -> list[NotRemoved]:
        raise Unreachable(text("The service cannot be reached."), text("Look at the network."))

    shelf.remove = stop
    order = copy(there("in/"), there("to/"), moves=True)
    async with working(home, shelf) as engine:
        number = await engine.add(order)
        while shelf.content(BUCKET, "to/") != FILES:
            await noted(engine, number)
        if is_paused:
            await engine.pause(number)
    shelf.remove = removes
    async with working(home, shelf) as engine:
        assert await engine.add(order, takes_up=True) == number
        assert (await engine.ended(number)).state is TransferState.DONE
    assert shelf.content(BUCKET) == {f"to/{name}": content for name, content in FILES.items()}


@pytest.mark.parametrize("wanted", [["b"], ["a", "zz"], ["k050", "k051", "k999"], ["k/", "k/\U0010ffff"], ["!"]])
async def test_some_are_found_among_many(wanted: list[str]) -> None:
    shelf = ObjectShelf(page_size=4)
    keys = ["b", "a", "k/", "k/\U0010ffff", "!", *(f"k{number:03}" for number in range(200)), os.sep * 2]
    for key in keys:
        shelf.keep(there(key), b"")
    found = await objects_among(shelf, BUCKET, wanted)
    assert sorted(found) == sorted(set(wanted) & set(keys))
    assert len(shelf.asked) < 10


async def test_a_large_object_moves_in_parts(shelf: ObjectShelf, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_ONE_COPY_BYTES", 1000)
    monkeypatch.setattr(copies, "_LEAST_PART_BYTES", 256)
    monkeypatch.setattr(copies, "part_bytes", lambda size: 256)
    content = os.urandom(5000)
    shelf.keep(there("big"), content, None, colour="blue")
    async with working(home, shelf) as engine:
        row = await done(engine, copy(there("big"), there("far/away"), moves=True))
        assert (row.state, row.done_files, row.done_bytes) == (TransferState.DONE, 1, 5000)
    assert shelf.content(BUCKET) == {"far/away": content}
    assert shelf.objects[there("far/away")].metadata["colour"] == "blue"
    assert shelf.uploads == {}
