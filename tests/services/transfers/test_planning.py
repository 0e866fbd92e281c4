"""Plans over real folders: what is moved, what is left, what cannot be, and nothing outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf, md5_of
from traindeck.domain.errors import Conflict, InvalidInput, NotFound, Unexpected
from traindeck.domain.storage.objects import MD5_NAME, PART_BYTES_NAME, TIME_NAME, ObjectPath
from traindeck.domain.transfers.orders import CompareBy, Kind, Links, Order, Rules
from traindeck.domain.transfers.records import Action, Item, ItemState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.data_ports import ListingPage
from traindeck.services.transfers import comparing as signs
from traindeck.services.transfers.digests import etag_of_parts, md5
from traindeck.services.transfers.planning import Outline, Planner

BUCKET = "bucket"
NOW = datetime.now(UTC)
EARLIER, LATER = NOW - timedelta(days=1), NOW + timedelta(days=1)


@dataclass
class Plan:
    outline: Outline
    items: list[Item]

    def names(self, state: ItemState, action: Action = Action.MOVE) -> list[str]:
        return [item.name for item in self.items if item.state is state and item.action is action]


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    with closing(BlockingCalls(2, "disk")) as calls:
        yield calls


@pytest.fixture
def shelf() -> ObjectShelf:
    return ObjectShelf(page_size=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


async def plan(
    shelf: ObjectShelf, disk: BlockingCalls, kind: Kind, source: object, target: object, **rules: Any
) -> Plan:
    items: list[Item] = []

    async def keep(batch: list[Item]) -> None:
        items.extend(batch)

    order = Order(kind, "lab", str(source), str(target), Rules(**rules))
    outline = await Planner(order, shelf, disk, keep).plan()
    assert len({item.key for item in items}) == len(items)
    return Plan(outline, items)


def make(folder: Path, *names: str, content: bytes = b"content") -> Path:
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        os.utime(place, (NOW.timestamp(), NOW.timestamp()))
    return folder


def remote(key: str = "") -> ObjectPath:
    return ObjectPath(BUCKET, key)


async def test_a_folder_goes_up_in_the_order_of_a_listing(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, "a.txt", "a/b", "a/c/d", "空/x", "a-b", "a0", "B")
    (folder / "hollow").mkdir()
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote("to"))
    keys = [item.key for item in found.items]
    assert keys == sorted(keys, key=str.encode)
    assert set(keys) == {f"to/{name}" for name in ("a.txt", "a/b", "a/c/d", "空/x", "a-b", "a0", "B")}
    assert found.outline == Outline(str(folder))
    whole = await plan(shelf, disk, Kind.UPLOAD, folder, remote("to"), empty_folders=True)
    assert whole.names(ItemState.QUEUED, Action.MAKE_FOLDER) == ["hollow/"]
    assert whole.items[0].inode and whole.items[0].modified_ns and whole.items[0].size_bytes == 7


async def test_one_file_goes_into_a_folder_or_under_a_name(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, "a.txt")
    for target, key in ((remote("to/"), "to/a.txt"), (remote(), "a.txt"), (remote("b.txt"), "b.txt")):
        found = await plan(shelf, disk, Kind.UPLOAD, folder / "a.txt", target)
        assert [(item.key, item.name) for item in found.items] == [(key, "")]
        assert found.outline.root == str(folder / "a.txt")
    with pytest.raises(NotFound):
        await plan(shelf, disk, Kind.UPLOAD, folder / "none", remote())


@pytest.mark.skipif(os.name == "nt", reason="links and such names are POSIX here")
async def test_what_cannot_go_up_is_named_and_the_rest_is_planned(
    shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path
) -> None:
    folder = make(tmp_path / "d", "ok", "bad\nname", "back\\slash")
    place = folder
    for _ in range(6):
        place = place / ("n" * 200)
        place.mkdir()
    (place / "long").write_bytes(b"x")
    (folder / "nowhere").symlink_to(folder / "missing")
    (folder / "loop").symlink_to(folder)
    with socket.socket(socket.AF_UNIX) as pipe:
        pipe.bind(str(folder / "s"))
        make(folder, os.fsdecode(b"bad\xff") + "/inside")
        found = await plan(shelf, disk, Kind.UPLOAD, folder, remote())
    assert found.names(ItemState.QUEUED) == ["ok"]
    failed = found.names(ItemState.FAILED)
    assert len(failed) == 4 and {"bad\nname", "back\\slash"} <= set(failed)
    assert any(name.endswith("inside") for name in failed)
    assert found.names(ItemState.SKIPPED) == ["loop", "nowhere", "s"]
    for item in found.items:
        item.key.encode()
        assert (item.error is None) == (item.state is ItemState.QUEUED)


@pytest.mark.skipif(os.name == "nt", reason="links are POSIX here")
async def test_links_are_followed_once_or_left_out(shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path) -> None:
    folder = make(tmp_path / "d", "real/a", "z")
    outside = make(tmp_path / "outside", "b")
    (outside / "back").symlink_to(folder)
    (folder / "file").symlink_to(folder / "z")
    (folder / "out1").symlink_to(outside)
    (folder / "out2").symlink_to(outside)
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), links=Links.FOLLOW)
    assert found.names(ItemState.QUEUED) == ["file", "out1/b", "real/a", "z"]
    assert found.names(ItemState.SKIPPED) == ["out1/back", "out2"]
    skipped = await plan(shelf, disk, Kind.UPLOAD, folder, remote())
    assert skipped.names(ItemState.QUEUED) == ["real/a", "z"]
    assert skipped.names(ItemState.SKIPPED) == ["file", "out1", "out2"]


@pytest.mark.skipif(os.name == "nt" or (hasattr(os, "geteuid") and os.geteuid() == 0), reason="root reads everything")
async def test_what_cannot_be_read_is_named(shelf: ObjectShelf, disk: BlockingCalls, folder: Path) -> None:
    make(folder, "ok", "locked", "shut/x")
    (folder / "locked").chmod(0)
    (folder / "shut").chmod(0)
    try:
        found = await plan(shelf, disk, Kind.UPLOAD, folder, remote())
    finally:
        (folder / "shut").chmod(0o700)
    assert found.outline.has_gaps
    assert found.names(ItemState.FAILED) == ["locked", "shut/"]


async def test_a_very_deep_tree_is_walked(shelf: ObjectShelf, disk: BlockingCalls, folder: Path) -> None:
    place = folder
    for _ in range(300):
        place = place / "d"
    make(place, "x")
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote())
    assert found.names(ItemState.QUEUED) == ["d/" * 300 + "x"]


async def test_sync_up_moves_only_what_differs(shelf: ObjectShelf, disk: BlockingCalls, folder: Path) -> None:
    make(folder, "equal", "older", "newer", "kept-time", "size", "only-here")
    (folder / "size").write_bytes(b"longer than before")
    shelf.keep(remote("to/equal"), b"content", LATER)
    shelf.keep(remote("to/older"), b"CONTENT", LATER)
    shelf.keep(remote("to/newer"), b"content", EARLIER)
    shelf.keep(remote("to/kept-time"), b"content", EARLIER, **{TIME_NAME: f"{NOW.timestamp():.6f}"})
    shelf.keep(remote("to/size"), b"short", LATER)
    shelf.keep(remote("to/only-there"), b"x", LATER)
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote("to/"), compare=CompareBy.SIZE_AND_TIME)
    assert found.names(ItemState.QUEUED) == ["older", "only-here", "size"], "a time does not make it the same"
    assert found.names(ItemState.EQUAL) == ["equal", "kept-time", "newer"]
    by_content = await plan(shelf, disk, Kind.UPLOAD, folder, remote("to/"), compare=CompareBy.MD5)
    assert by_content.names(ItemState.QUEUED) == ["older", "only-here", "size"]
    by_size = await plan(shelf, disk, Kind.UPLOAD, folder, remote("to/"), compare=CompareBy.SIZE, delete=True)
    assert by_size.names(ItemState.QUEUED) == ["only-here", "size"]
    assert [item.key for item in by_size.items if item.action is Action.REMOVE] == ["to/only-there"]


async def test_nothing_is_asked_about_files_the_listing_knows(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, *(f"{number}" for number in range(9)))
    for number in range(9):
        shelf.keep(remote(f"{number}"), b"content", LATER)
    await plan(shelf, disk, Kind.UPLOAD, folder, remote(), compare=CompareBy.SIZE_AND_TIME)
    assert [line.split()[0] for line in shelf.asked] == ["page"] * 3


async def test_parts_are_compared_by_their_layout_or_by_the_kept_md5(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs, "LEAST_PART_BYTES", 1)
    make(folder, "a", "b", "c", content=b"0123456789")
    etag = etag_of_parts([md5(b"0123").digest(), md5(b"4567").digest(), md5(b"89").digest()])
    for name, metadata in (("a", {PART_BYTES_NAME: "4"}), ("b", {MD5_NAME: md5_of(b"0123456789")}), ("c", {})):
        shelf.keep(remote(name), b"0123456789", EARLIER, **metadata)
        shelf.objects[remote(name)].etag = etag
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), compare=CompareBy.MD5)
    assert found.names(ItemState.EQUAL) == ["a", "b"]
    assert found.names(ItemState.QUEUED) == ["c"], "nobody knows, so it goes up"


async def test_parts_of_other_programs_are_compared_by_the_sizes_they_use(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    mib = 1024 * 1024
    content = os.urandom(20 * mib)
    make(folder, "aws", "odd", content=content)
    for name, size in (("aws", 8 * mib), ("odd", 7 * mib + 1)):
        parts = [md5(content[at : at + size]).digest() for at in range(0, len(content), size)]
        shelf.keep(remote(name), content, LATER)
        shelf.objects[remote(name)].etag = etag_of_parts(parts)
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), compare=CompareBy.SIZE_AND_TIME)
    assert found.names(ItemState.EQUAL) == ["aws"]
    assert found.names(ItemState.QUEUED) == ["odd"], "what nobody can tell is moved, not believed"


async def test_with_encryption_the_kept_time_or_md5_decides(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, "by-md5", "by-time", "other", "unknown")
    shelf.keep(remote("by-md5"), b"content", LATER, **{MD5_NAME: md5_of(b"content")})
    shelf.keep(remote("by-time"), b"content", LATER, **{TIME_NAME: f"{NOW.timestamp():.6f}"})
    shelf.keep(remote("other"), b"CONTENT", LATER, **{MD5_NAME: md5_of(b"CONTENT")})
    shelf.keep(remote("unknown"), b"content", LATER)
    for kept in shelf.objects.values():
        kept.etag, kept.is_encrypted = md5_of(b"encrypted"), True
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), compare=CompareBy.SIZE_AND_TIME)
    assert found.names(ItemState.EQUAL) == ["by-md5", "by-time"]
    assert [item.is_verified for item in found.items if item.state is ItemState.EQUAL] == [True, False]


async def test_ignored_names_are_neither_moved_nor_removed(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, "a", "b.tmp", "cache/x", ".traindeckignore", content=b"*.log\n")
    shelf.keep(remote("c.tmp"), b"")
    shelf.keep(remote("d.log"), b"")
    shelf.keep(remote("cache/y"), b"")
    shelf.keep(remote("gone"), b"")
    found = await plan(
        shelf, disk, Kind.UPLOAD, folder, remote(), compare=CompareBy.SIZE, delete=True, ignore=("*.tmp", "cache/"),
        has_ignore_files=True,
    )  # fmt: skip
    assert found.names(ItemState.QUEUED) == [".traindeckignore", "a"]
    assert found.names(ItemState.QUEUED, Action.REMOVE) == ["gone"]


async def test_a_folder_without_ignore_files_needs_none(shelf: ObjectShelf, disk: BlockingCalls, folder: Path) -> None:
    make(folder, "a")
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), has_ignore_files=True)
    assert found.names(ItemState.QUEUED) == ["a"]


async def test_more_removals_than_allowed_stop_everything(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, "a")
    for number in range(10):
        shelf.keep(remote(f"old-{number}"), b"")
    rules = {"compare": CompareBy.SIZE, "delete": True}
    with pytest.raises(Conflict, match="more than the limit of 9"):
        await plan(shelf, disk, Kind.UPLOAD, folder, remote(), max_delete=9, **rules)
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), max_delete=10, **rules)
    assert len(found.names(ItemState.QUEUED, Action.REMOVE)) == 10


async def test_a_folder_comes_down_with_names_that_can_be_held(
    shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path
) -> None:
    for key in ("in/../../x", "in//root", "in/a", "in/a/b", "in/empty/", "in/full/", "in/", "in/空"):
        shelf.keep(remote(key), b"x" if key == "in/full/" else b"" if key.endswith("/") else b"data")
    found = await plan(shelf, disk, Kind.DOWNLOAD, remote("in/"), tmp_path / "to", empty_folders=True)
    places = {item.key: item.name for item in found.items}
    assert "in/" not in places
    assert places["in/../../x"] == "%2E%2E/%2E%2E/x"
    assert places["in//root"] == "%2F/root"
    assert places["in/a"] == "a" and places["in/a/b"].startswith("a~")
    assert places["in/empty/"] == "empty/" and places["in/full/"] == "full/%2F"
    for item in found.items:
        assert (tmp_path / "to" / item.name).resolve().is_relative_to(tmp_path / "to")


async def test_sync_down_compares_and_removes_what_is_not_there(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, "same", "touched", "extra", "sub/extra", "by-metadata")
    shelf.keep(remote("same"), b"content", NOW)
    shelf.keep(remote("touched"), b"CONTENT", EARLIER)
    shelf.keep(remote("by-metadata"), b"content", EARLIER, **{TIME_NAME: f"{NOW.timestamp():.6f}"})
    shelf.keep(remote("new"), b"content", EARLIER)
    found = await plan(shelf, disk, Kind.DOWNLOAD, remote(), folder, compare=CompareBy.SIZE_AND_TIME, delete=True)
    assert found.names(ItemState.QUEUED) == ["new", "touched"]
    assert found.names(ItemState.EQUAL) == ["by-metadata", "same"]
    assert found.names(ItemState.QUEUED, Action.REMOVE) == ["extra", "sub/extra"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
async def test_sync_down_removes_nothing_behind_a_link_and_keeps_its_rules(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    elsewhere = make(folder.parent / "elsewhere", "precious")
    make(folder, "extra", ".traindeckignore", content=b"*.log")
    (folder / "link").symlink_to(elsewhere)
    (folder / "alias").symlink_to(elsewhere / "precious")
    with suppress(OSError):  # some systems have no such names
        (folder / os.fsdecode(b"no-text-\xff")).touch()
    shelf.keep(remote("in/new"), b"")
    rules = {"compare": CompareBy.SIZE, "delete": True, "has_ignore_files": True}
    found = await plan(shelf, disk, Kind.DOWNLOAD, remote("in/"), folder, **rules)
    assert found.names(ItemState.QUEUED, Action.REMOVE) == ["extra"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
async def test_a_link_to_what_is_away_keeps_everything_at_the_other_side(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    make(folder, "a")
    (folder / "disk").symlink_to(folder.parent / "not-mounted")
    shelf.keep(remote("disk/x"), b"")
    rules = {"compare": CompareBy.SIZE, "delete": True}
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), links=Links.FOLLOW, **rules)
    assert found.outline.has_gaps
    found = await plan(shelf, disk, Kind.UPLOAD, folder, remote(), **rules)
    assert [item.name for item in found.items] == ["a", "disk"]


async def test_a_source_with_nothing_in_it_empties_no_target(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    rules = {"compare": CompareBy.SIZE, "delete": True}
    make(folder, "a")
    shelf.keep(remote("to/a"), b"")
    (folder.parent / "mount").mkdir()
    for kind, source, target, words in (
        (Kind.DOWNLOAD, remote("misspelled/"), folder, "does not exist"),
        (Kind.COPY, remote("misspelled/"), remote("to/"), "does not exist"),
        (Kind.UPLOAD, folder.parent / "mount", remote("to/"), "is empty"),
    ):
        with pytest.raises(NotFound, match=words):
            await plan(shelf, disk, kind, source, target, **rules)
    new = await plan(shelf, disk, Kind.UPLOAD, folder.parent / "mount", remote("none/"), **rules)
    assert not new.items


async def test_a_copy_never_removes_its_own_source(shelf: ObjectShelf, disk: BlockingCalls) -> None:
    shelf.keep(remote("a/b/x"), b"x")
    for target in ("a/", ""):
        with pytest.raises(InvalidInput):
            await plan(shelf, disk, Kind.COPY, remote("a/b/"), remote(target), compare=CompareBy.SIZE, delete=True)
    found = await plan(shelf, disk, Kind.COPY, remote("a/b/"), remote("a/"), compare=CompareBy.SIZE)
    assert found.names(ItemState.QUEUED) == ["x"]
    other = ObjectPath("other", "to/")
    shelf.keep(remote("to/z"), b"z")
    shelf.keep(other.join("z"), b"old")
    mirrored = await plan(shelf, disk, Kind.COPY, remote(), other, compare=CompareBy.SIZE, delete=True)
    assert mirrored.names(ItemState.QUEUED) == ["a/b/x", "to/z"]
    assert mirrored.names(ItemState.QUEUED, Action.REMOVE) == ["z"]


async def test_a_listing_out_of_order_removes_nothing(shelf: ObjectShelf, disk: BlockingCalls, folder: Path) -> None:
    make(folder, "a", "b")
    shelf.keep(remote("a"), b"content")
    shelf.keep(remote("b"), b"content")
    in_order = shelf.page

    async def page(*given: Any, **named: Any) -> ListingPage:
        found = await in_order(*given, **named)
        return ListingPage(found.rows[::-1], found.folders, found.next_marker)

    shelf.page = page
    with pytest.raises(Unexpected):
        await plan(shelf, disk, Kind.UPLOAD, folder, remote(), compare=CompareBy.SIZE, delete=True)


async def test_one_object_comes_down_under_its_name_or_another(
    shelf: ObjectShelf, disk: BlockingCalls, folder: Path
) -> None:
    shelf.keep(remote("in/a.txt"), b"content")
    folder.mkdir()
    found = await plan(shelf, disk, Kind.DOWNLOAD, remote("in/a.txt"), folder)
    assert found.outline.root == str(folder / "a.txt")
    found = await plan(shelf, disk, Kind.DOWNLOAD, remote("in/a.txt"), folder / "b.txt")
    assert found.outline.root == str(folder / "b.txt")
    below = await plan(shelf, disk, Kind.DOWNLOAD, remote("in"), folder)
    assert below.names(ItemState.QUEUED) == ["a.txt"]
    with pytest.raises(NotFound):
        await plan(shelf, disk, Kind.DOWNLOAD, remote("none"), folder)


async def test_a_copy_within_the_service(shelf: ObjectShelf, disk: BlockingCalls) -> None:
    for key in ("in/a", "in/b/c", "in/same"):
        shelf.keep(remote(key), b"content")
    shelf.keep(remote("to/same"), b"content")
    shelf.keep(remote("to/old"), b"content")
    found = await plan(shelf, disk, Kind.COPY, remote("in/"), remote("to/"), compare=CompareBy.MD5, delete=True)
    assert found.names(ItemState.QUEUED) == ["a", "b/c"]
    assert found.names(ItemState.EQUAL) == ["same"]
    assert found.names(ItemState.QUEUED, Action.REMOVE) == ["old"]
    with pytest.raises(InvalidInput):
        await plan(shelf, disk, Kind.COPY, remote("in/"), remote("in/b/"))
    one = await plan(shelf, disk, Kind.COPY, remote("in/a"), remote("to/"))
    assert one.outline.root == "obs://bucket/to/a"
