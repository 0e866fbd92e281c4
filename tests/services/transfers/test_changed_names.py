"""Objects whose names no file here can have: down and back again, each stays the object that it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    all_items,
    check,
    content_of,
    done,
    download,
    listed,
    there,
    tree,
    upload,
    working,
)
from traindeck.domain.errors import NoRight
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import HERE, System
from traindeck.domain.transfers.orders import CompareBy, uploads_of
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.services.transfers import sides

WINDOWS = System(is_windows=True, folds_case=True)
ODD = {
    "plain.txt": b"plain", "a:b.txt": b"colon", "a%3Ab.txt": b"written so", "a": b"object", "a/b": b"in its folder",
    "..": b"dots", "x/../y": b"dots between", "x//y": b"two slashes", "/first": b"a slash first", "run:1/log": b"log",
    "run:1/deep/log?": b"deep", 'q"q': b"quoted", "q%22q": b"as if quoted", "con": b"reserved", "end.": b"a dot last",
    "x.traindeck.part": b"half", "n\x01l": b"control", "l" * 300: b"long", "marked/": b"content of a marker",
}  # fmt: skip


@contextmanager
def rule(system: System) -> Iterator[None]:
    """The names of another system: what it cannot hold is written as it would be there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sides, "HERE", system)
        patch.setattr(sides, "system_of", lambda _: system)
        patch.setattr(sides, "system_beside", lambda _: system)
        yield


@pytest.fixture(params=[HERE, WINDOWS], ids=["here", "windows"])
def system(request: pytest.FixtureRequest) -> Iterator[System]:
    with rule(request.param):
        yield request.param


def filled(shelf: ObjectShelf, objects: dict[str, bytes]) -> ObjectPath:
    for key, content in objects.items():
        shelf.keep(there("to/" + key), content)
    return there("to/")


async def test_what_came_down_goes_back_as_nothing_new(
    shelf: ObjectShelf, home: Path, tmp_path: Path, system: System
) -> None:
    bucket, here = filled(shelf, ODD), tmp_path / "here"
    async with working(home, shelf) as engine:
        assert (await done(engine, download(bucket, here))).state is TransferState.DONE
        assert sorted(content_of(here).values()) == sorted(ODD.values())
        for by in CompareBy:
            back = await done(engine, upload(here, bucket, compare=by, delete=True))
            assert (back.done_files, back.removals, back.equal_files) == (0, 0, len(ODD))
            down = await done(engine, download(bucket, here, compare=by, delete=True))
            assert (down.done_files, down.removals, down.equal_files) == (0, 0, len(ODD))
        for one in (check(here, bucket), check(bucket, here)):
            row = await done(engine, one)
            assert (row.state, row.done_files, row.differences) == (TransferState.DONE, len(ODD), 0)
    assert shelf.content(BUCKET, "to/") == ODD


async def test_what_was_changed_here_changes_the_objects_that_it_came_from(
    shelf: ObjectShelf, home: Path, tmp_path: Path, system: System
) -> None:
    bucket, here = filled(shelf, ODD), tmp_path / "here"
    async with working(home, shelf) as engine:
        await done(engine, download(bucket, here))
        place = next(place for place, content in content_of(here).items() if content == b"in its folder")
        (here / place).write_bytes(b"edited")
        (here / place).with_name("new").write_bytes(b"beside it")
        gone = next(place for place, content in content_of(here).items() if content == b"two slashes")
        (here / gone).unlink()
        preview = await engine.add(upload(here, bucket, compare=CompareBy.MD5, delete=True), needs_confirmation=True)
        row = await engine.planned(preview)
        assert (row.removals, row.equal_files) == (1, len(ODD) - 2)
        moving = {item.key for item in await all_items(engine, preview) if item.state is ItemState.QUEUED}
        assert moving == {"to/a/b", "to/a/new", "to/x//y"}
        await engine.confirm(preview)
        assert (await engine.ended(preview)).state is TransferState.DONE
    expected = ODD | {"a/b": b"edited", "a/new": b"beside it"}
    del expected["x//y"]
    assert shelf.content(BUCKET, "to/") == expected


@pytest.mark.parametrize("by", CompareBy)
async def test_a_mark_stays_good_after_what_was_in_the_way_is_gone(
    shelf: ObjectShelf, home: Path, tmp_path: Path, system: System, by: CompareBy
) -> None:
    objects = {"a": b"object", "a/b": b"below", "a/c/": b"", "d/x": b"x", "d/x/y": b"deeper", "e": b"e"}
    if system.folds_case:
        objects |= {"F": b"large", "f": b"small"}
    bucket, here = filled(shelf, objects), tmp_path / "here"
    async with working(home, shelf) as engine:
        await done(engine, download(bucket, here))
        for gone in ("a", "d/x", "e", "F"):
            if objects.pop(gone, None) is not None:
                (here / gone).unlink()
        first = await done(engine, upload(here, bucket, compare=by, delete=True))
        assert first.removals == 3 + system.folds_case
        again = await done(engine, upload(here, bucket, compare=by, delete=True))
        assert (again.done_files, again.removals) == (0, 0)
        new = next(file for file in here.rglob("b") if file.is_file()).with_name("new")
        new.write_bytes(b"beside it")
        await done(engine, upload(here, bucket, compare=by, delete=True))
        await done(engine, upload(here, bucket))
    assert shelf.content(BUCKET, "to/") == objects | {"a/new": b"beside it"}


@pytest.mark.parametrize("moves", [False, True])
async def test_what_is_copied_or_moved_back_replaces_the_originals(
    shelf: ObjectShelf, home: Path, tmp_path: Path, system: System, *, moves: bool
) -> None:
    bucket, here = filled(shelf, ODD), tmp_path / "here"
    async with working(home, shelf) as engine:
        await done(engine, download(bucket, here))
        row = await done(engine, upload(here, bucket, moves=moves))
        assert (row.state, row.done_files) == (TransferState.DONE, len(ODD))
    assert shelf.content(BUCKET, "to/") == ODD
    assert content_of(here) == {} if moves else len(content_of(here)) == len(ODD)


async def test_what_is_dropped_back_in_pieces_replaces_the_originals(
    shelf: ObjectShelf, home: Path, tmp_path: Path, system: System
) -> None:
    objects = {"one/a:b": b"1", "one/a%3Ab": b"2", "one/..": b"3", "two/x//y": b"4", "plain": b"5"}
    bucket, here = filled(shelf, objects), tmp_path / "here"
    async with working(home, shelf) as engine:
        await done(engine, download(bucket, here))
        pieces = [(here / "one", True), (here / "two", True), (here / "plain", False)]
        for order in uploads_of("lab", pieces, bucket):
            row = await done(engine, order)
            assert (row.done_files, row.equal_files) == (0, len(objects))
    assert shelf.content(BUCKET, "to/") == objects


async def test_a_single_file_goes_to_the_object_it_came_from(
    shelf: ObjectShelf, home: Path, tmp_path: Path, system: System
) -> None:
    bucket, here = filled(shelf, {"..": b"1", "plain": b"2"}), tmp_path / "here"
    here.mkdir()
    async with working(home, shelf) as engine:
        await done(engine, download(there("to/.."), here))
        assert content_of(here) == {"%2E%2E": b"1"}
        (here / "%2E%2E").write_bytes(b"edited")
        await done(engine, upload(here / "%2E%2E", bucket))
        (here / "%2E").write_bytes(b"own")
        await done(engine, upload(here / "%2E", bucket))
    assert shelf.content(BUCKET, "to/") == {"..": b"edited", "plain": b"2", "%2E": b"own"}


async def test_a_name_made_here_keeps_its_object_though_a_download_would_change_it(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    objects, here = {"n\x01l": b"1", "n%01l": b"2"}, tmp_path / "here"
    bucket, _ = filled(shelf, objects), tree(here, objects)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(here, bucket, compare=CompareBy.MD5, delete=True))
        assert (row.done_files, row.removals, row.equal_files) == (0, 0, 2)
        (here / "n\x01l").write_bytes(b"edited")
        await done(engine, upload(here, bucket, compare=CompareBy.MD5))
        (here / "n%01l").write_bytes(b"edited too")
        await done(engine, upload(here, bucket))
    assert shelf.content(BUCKET, "to/") == {"n\x01l": b"edited", "n%01l": b"edited too"}


async def test_what_a_rule_protects_stays_under_either_name(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    with rule(WINDOWS):
        bucket, here = filled(shelf, {"a:b": b"1", "c": b"2"}), tmp_path / "here"
        async with working(home, shelf) as engine:
            await done(engine, download(bucket, here))
            for ignored in ("a:b", "a%3Ab"):
                rules = {"compare": CompareBy.MD5, "delete": True, "ignore": (ignored,)}
                assert (await done(engine, download(bucket, here, **rules))).removals == 0
            (here / "a%3Ab").unlink()
            row = await done(engine, upload(here, bucket, compare=CompareBy.MD5, delete=True, ignore=("a%3Ab",)))
            assert row.removals == 0
    assert set(shelf.content(BUCKET, "to/")) == {"a:b", "c"}


async def test_keys_that_may_only_write_send_names_as_they_are(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "a%3Ab").write_bytes(b"1")

    async def page(*_: object, **__: object) -> object:
        raise NoRight(text("No."), text("No."))

    shelf.page = page
    async with working(home, shelf) as engine:
        row = await done(engine, upload(here, there("to/")))
        assert await listed(engine, row.id) == {"a%3Ab": ItemState.DONE}


_PARTS = st.sampled_from(["a", "b", "A", "a:b", "a%3Ab", "", ".", "..", "con", "c.", "c%2E", "é", "x?", "a~00000000"])
_KEYS = st.lists(_PARTS, min_size=1, max_size=4).map("/".join).filter(lambda key: key.strip("/"))


@pytest.mark.parametrize("system", [HERE, replace(HERE, folds_case=True), WINDOWS])
@settings(max_examples=25)
@given(keys=st.sets(_KEYS, min_size=1, max_size=12))
def test_whatever_the_names_are_all_of_them_are_matched_again(system: System, keys: set[str]) -> None:
    async def there_and_back() -> None:
        with TemporaryDirectory() as folder, rule(system):
            shelf, here = ObjectShelf(), Path(folder) / "here"
            objects = {key: str(number).encode() for number, key in enumerate(sorted(keys))}
            bucket = filled(shelf, objects)
            async with working(Path(folder) / "home", shelf) as engine:
                row = await done(engine, download(bucket, here))
                assert (row.state, row.done_files) == (TransferState.DONE, len(objects))
                back = await done(engine, upload(here, bucket, compare=CompareBy.MD5, delete=True))
                assert (back.done_files, back.removals, back.equal_files) == (0, 0, len(objects))
                copied = await done(engine, upload(here, bucket))
                assert copied.state is TransferState.DONE
            assert shelf.content(BUCKET, "to/") == objects

    asyncio.run(there_and_back())
