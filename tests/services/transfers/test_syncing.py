"""One side made like the other: what differs moves, and only what was shown is removed."""

from __future__ import annotations

from pathlib import Path

from object_shelf import ObjectShelf
from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    CompareBy,
    ItemState,
    TransferState,
)
from transfer_works import (
    BUCKET,
    FILES,
    content_of,
    done,
    download,
    failing,
    listed,
    offline,
    there,
    tree,
    upload,
    working,
)


async def test_sync_moves_what_differs_and_removes_what_was_asked(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", FILES)
    shelf.keep(there("to/old"), b"old")
    shelf.keep(there("to/a.txt"), b"a")
    rules = {"compare": CompareBy.MD5, "delete": True}
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there("to/"), **rules), needs_yes=True)
        planned = await engine.planned(number)
        assert (planned.removals, planned.equal_files) == (1, 1)
        assert shelf.keys(BUCKET) == ["to/a.txt", "to/old"], "a preview changes nothing"
        changes = await engine.items(number, [ItemState.QUEUED])
        assert [item.name for item in changes] == ["deep/.hidden", "deep/er/b.bin", "old", "空/c 文件.txt"]
        await engine.say_yes(number)
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
        number = await engine.add(order, needs_yes=True)
        await engine.planned(number)
        await engine.pause(number)
        await engine.go_on(number)
        await engine.pause(number)
    async with working(home, shelf) as engine:
        await engine.resume()
        await engine.go_on(number)
        assert (await engine.planned(number)).state is TransferState.READY
        await engine.cancel(number)
        await engine.ended(number)
    trouble: AppError | None = NotFound(text("No."), text("No."))
    whole = shelf.page

    async def page(*given: object, **named: object) -> object:
        if trouble is not None:
            raise trouble
        return await whole(*given, **named)

    shelf.page = page
    async with working(home, shelf) as engine:
        number = await engine.add(order, needs_yes=True)
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

    async def page(*given: object, marker: str = "", **named: object) -> object:
        if marker == "a" and there("a") in shelf.objects:
            del shelf.objects[there("a")]
            raise offline()
        return await whole(*given, marker=marker, **named)

    shelf.page = page
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there(), compare=CompareBy.SIZE, delete=True), needs_yes=True)
        assert (await engine.planned(number)).removals == 1


async def test_a_file_that_changed_since_the_list_was_shown_stays(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    target = tree(tmp_path / "to", {"changed": b"x", "extra": b"x"})
    shelf.keep(there("in/new"), b"new")
    async with working(home, shelf) as engine:
        order = download(there("in/"), target, compare=CompareBy.SIZE, delete=True)
        number = await engine.add(order, needs_yes=True)
        await engine.planned(number)
        (target / "changed").write_bytes(b"an hour of work")
        await engine.say_yes(number)
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
