"""One order for several files and folders: sent, fetched and verified together, and nothing beside them."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import BUCKET, content_of, done, failing, listed, there, tree, working
from traindeck.domain.errors import InvalidInput, NoRight, NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Order, downloads_of, relocation_of, uploads_of
from traindeck.domain.transfers.records import ItemState, TransferState, check_of
from traindeck.services.transfers.engine import TransferEngine
from traindeck.services.transfers.ledger import Transfer

HERE = {
    "photos/1.jpg": b"1",
    "photos/deep/2.jpg": b"22",
    "photos 2/3.jpg": b"333",
    "a.txt": b"a",
    "b.txt": b"bb",
    "beside.txt": b"not chosen",
    "photos.zip": b"not chosen either",
}
IN = there("in/")
CHOSEN = ("photos", "photos 2", "a.txt", "b.txt")
SENT = {name: content for name, content in HERE.items() if not content.startswith(b"not")}


def sending(*places: Path, target: ObjectPath = IN) -> Order:
    (order,) = uploads_of("lab", [(place, place.is_dir()) for place in places], target)
    return order


def fetching(target: Path, *keys: str) -> Order:
    (order,) = downloads_of("lab", [there(key) for key in keys], target)
    return order


def puts(shelf: ObjectShelf) -> list[str]:
    return [line for line in shelf.asked if line.startswith("put")]


async def verified(engine: TransferEngine, row: Transfer) -> Transfer:
    return await done(engine, check_of(await engine.journal.get(row.id)))


async def test_what_was_chosen_goes_up_and_nothing_beside_it(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "here", HERE)
    async with working(home, shelf) as engine:
        row = await done(engine, sending(*(source / name for name in CHOSEN)))
        assert row.state is TransferState.DONE and row.is_verified
        assert shelf.content(BUCKET, "in/") == SENT
        assert row.done_files == len(SENT) and len(engine.rows()) == 1


async def test_what_is_equal_is_not_sent_again(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "here", HERE)
    order = sending(*(source / name for name in CHOSEN))
    async with working(home, shelf) as engine:
        await done(engine, order)
        (source / "photos/deep/2.jpg").write_bytes(b"another")
        shelf.keep(there("in/b.txt"), b"by somebody else")
        shelf.asked.clear()
        row = await done(engine, order)
        assert sorted(puts(shelf)) == ["put in/b.txt", "put in/photos/deep/2.jpg"]
        assert (row.equal_files, row.done_files) == (len(SENT) - 2, 2)
    assert shelf.content(BUCKET, "in/") == {**SENT, "photos/deep/2.jpg": b"another"}


async def test_of_a_large_target_only_what_lies_between_is_listed(home: Path, tmp_path: Path) -> None:
    shelf = ObjectShelf(page_size=10)
    for number in range(500):
        shelf.keep(there(f"in/photos/{number:04}.jpg"), b"x")
        shelf.keep(there(f"in/zz{number:04}.txt"), b"x")
    source = tree(tmp_path / "here", {"photos/0001.jpg": b"x", "photos/0002.jpg": b"new", "a.txt": b"a"})
    async with working(home, shelf) as engine:
        row = await done(engine, sending(source / "photos", source / "a.txt"))
        assert (row.equal_files, row.done_files) == (1, 2)
    assert len([line for line in shelf.asked if line.startswith("page")]) < 10


async def test_one_folder_alone_is_an_order_of_its_own(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "here", HERE)
    async with working(home, shelf) as engine:
        await done(engine, sending(source / "photos"))
        assert shelf.keys(BUCKET) == ["in/photos/1.jpg", "in/photos/deep/2.jpg"]
        shelf.asked.clear()
        row = await done(engine, sending(source / "photos"))
        assert row.equal_files == 2 and not puts(shelf)


async def test_keys_that_may_only_write_send_all_of_it(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "here", HERE)
    for asked in ("page", "head"):
        failing(shelf, asked, lambda _: NoRight(text("No."), text("Ask.")))
    whole = shelf.page

    async def refused(*given: object, **named: object) -> object:
        raise NoRight(text("No."), text("Ask."))

    shelf.page = refused
    async with working(home, shelf) as engine:
        for order in (sending(*(source / name for name in CHOSEN)), sending(source / "photos", target=there("alone"))):
            assert (await done(engine, order)).state is TransferState.DONE
    shelf.page = whole
    assert shelf.content(BUCKET, "in/") == SENT
    assert shelf.content(BUCKET, "alone/photos/") == {"1.jpg": b"1", "deep/2.jpg": b"22"}


async def test_one_that_went_away_costs_only_itself(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "here", HERE)
    order = sending(*(source / name for name in CHOSEN))
    (source / "a.txt").unlink()
    (source / "photos 2/3.jpg").unlink()
    (source / "photos 2").rmdir()
    async with working(home, shelf) as engine:
        row = await done(engine, order)
        assert row.state is TransferState.PARTLY and row.failed_files == 2
        states = await listed(engine, row.id)
        assert states["a.txt"] is states["photos 2/"] is ItemState.FAILED
    assert shelf.keys(BUCKET) == ["in/b.txt", "in/photos/1.jpg", "in/photos/deep/2.jpg"]


async def test_places_far_apart_keep_their_names(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "here", {"x/y/photos/1.jpg": b"1", "z/a.txt": b"a", "x/b.txt": b"b"})
    async with working(home, shelf) as engine:
        row = await done(engine, sending(source / "x/y/photos", source / "z/a.txt", source / "x/b.txt"))
        assert row.state is TransferState.DONE
        assert (await verified(engine, row)).is_verified
    assert shelf.content(BUCKET, "in/") == {"photos/1.jpg": b"1", "a.txt": b"a", "b.txt": b"b"}


def test_two_of_one_name_are_refused() -> None:
    places = [(PurePath(os.sep, folder, "data"), True) for folder in ("one", "two")]
    with pytest.raises(InvalidInput, match="More than one of them has the name “data”"):
        uploads_of("lab", places, there())


async def test_what_was_chosen_comes_down_and_nothing_beside_it(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    for name, content in HERE.items():
        shelf.keep(there(f"in/{name}"), content)
    target = tmp_path / "down"
    order = fetching(target, "in/photos/", "in/photos 2/", "in/a.txt", "in/b.txt")
    async with working(home, shelf) as engine:
        row = await done(engine, order)
        assert row.state is TransferState.DONE and row.is_verified
        assert content_of(target) == SENT
        (target / "b.txt").write_bytes(b"??")
        shelf.asked.clear()
        row = await done(engine, order)
        assert (row.equal_files, row.done_files) == (len(SENT) - 1, 1)
        assert [line for line in shelf.asked if line.startswith("get")] == ["get in/b.txt 0"]
    assert content_of(target) == SENT


async def test_what_is_gone_there_is_told_and_the_rest_comes(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    for name, content in HERE.items():
        shelf.keep(there(f"in/{name}"), content)
    async with working(home, shelf) as engine:
        row = await done(engine, fetching(tmp_path / "down", "in/gone/", "in/gone.txt", "in/a.txt", "in/photos/"))
        assert row.state is TransferState.PARTLY and row.failed_files == 2
        alone = await done(engine, fetching(tmp_path / "down", "in/gone.txt"))
        assert alone.state is TransferState.FAILED and "does not exist" in str(alone.error)
    assert content_of(tmp_path / "down") == {"a.txt": b"a", "photos/1.jpg": b"1", "photos/deep/2.jpg": b"22"}


async def test_two_objects_of_one_name_become_two_files(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    for name in ("x/a.txt", "y/a.txt", "x/data/1", "y/data/1"):
        shelf.keep(there(name), name.encode())
    async with working(home, shelf) as engine:
        order = fetching(tmp_path / "down", "x/a.txt", "y/a.txt", "x/data/", "y/data/")
        row = await done(engine, order)
        assert row.state is TransferState.DONE
        assert (await verified(engine, row)).is_verified
    assert sorted(content_of(tmp_path / "down").values()) == [b"x/a.txt", b"x/data/1", b"y/a.txt", b"y/data/1"]


async def test_a_whole_bucket_comes_under_its_name(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    shelf.keep(there("a/1"), b"1")
    async with working(home, shelf) as engine:
        await done(engine, fetching(tmp_path, ""))
    assert (tmp_path / BUCKET / "a/1").read_bytes() == b"1"


@pytest.mark.parametrize("way", ["up", "down"])
async def test_a_check_looks_at_what_was_chosen_only(shelf: ObjectShelf, home: Path, tmp_path: Path, way: str) -> None:
    source = tree(tmp_path / "here", HERE)
    async with working(home, shelf) as engine:
        if way == "up":
            row = await done(engine, sending(*(source / name for name in CHOSEN)))
        else:
            for name, content in HERE.items():
                shelf.keep(there(f"in/{name}"), content)
            target = tmp_path / "down"
            row = await done(engine, fetching(target, "in/photos/", "in/photos 2/", "in/a.txt", "in/b.txt"))
            (target / "beside.txt").write_bytes(b"nobody fetched this")
        found = await verified(engine, row)
        assert found.state is TransferState.DONE and found.is_verified and found.verified_files == len(SENT)
        shelf.keep(there("in/photos/1.jpg"), b"!")
        found = await verified(engine, row)
        assert found.state is TransferState.PARTLY
        assert {name for name, state in (await listed(engine, found.id)).items() if state is ItemState.DIFFERENT} == {
            "photos/1.jpg"
        }


async def copied(shelf: ObjectShelf, engine: TransferEngine) -> Transfer:
    for name, content in HERE.items():
        shelf.keep(there(f"in/{name}"), content)
    moves = [(there("in/photos/"), "pictures/"), (there("in/a.txt"), "a.txt")]
    return await done(engine, relocation_of("lab", moves, there("out/"), keeps_source=True))


async def test_a_check_of_a_copy_looks_at_what_was_chosen_only(shelf: ObjectShelf, home: Path) -> None:
    async with working(home, shelf) as engine:
        row = await copied(shelf, engine)
        found = await verified(engine, row)
        assert found.state is TransferState.DONE and found.verified_files == 3
        shelf.keep(there("out/pictures/1.jpg"), b"other")
        assert (await verified(engine, row)).differences == 1


async def test_a_check_tells_of_a_chosen_folder_that_is_gone_here(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "here", HERE)
    async with working(home, shelf) as engine:
        row = await done(engine, sending(*(source / name for name in CHOSEN)))
        (source / "photos 2/3.jpg").unlink()
        (source / "photos 2").rmdir()
        found = await verified(engine, row)
        assert (found.state, found.failed_files) == (TransferState.PARTLY, 1)
        assert (await listed(engine, found.id))["photos 2/"] is ItemState.FAILED


async def test_a_check_of_a_copy_whose_sources_are_all_gone_fails(shelf: ObjectShelf, home: Path) -> None:
    async with working(home, shelf) as engine:
        row = await copied(shelf, engine)
        for key in [key for key in shelf.keys(BUCKET) if key.startswith("in/")]:
            del shelf.objects[there(key)]
        found = await verified(engine, row)
        assert found.state is TransferState.FAILED and isinstance(found.error, NotFound)


async def test_a_program_that_ended_is_followed_by_one_that_goes_on(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "here", HERE)
    async with working(home, shelf) as engine:
        number = await engine.add(sending(*(source / name for name in CHOSEN)), needs_confirmation=True)
        assert (await engine.planned(number)).files == len(SENT)
        assert not puts(shelf)
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        assert (await engine.planned(number)).state is TransferState.READY, "nobody has agreed yet"
        await engine.confirm(number)
        assert (await engine.ended(number)).state is TransferState.DONE
    assert shelf.content(BUCKET, "in/") == SENT
    assert len(puts(shelf)) == len(SENT)


async def test_the_amount_of_one_folder_of_a_plan(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "here", HERE)
    shelf.keep(there("in/photos/1.jpg"), b"1")
    async with working(home, shelf) as engine:
        number = await engine.add(sending(*(source / name for name in CHOSEN)), needs_confirmation=True)
        await engine.planned(number)
        assert await engine.journal.amount_below(number, "in/photos/") == (1, 2), "what is there already is not sent"
        assert await engine.journal.amount_below(number, "in/photos 2/") == (1, 3)
