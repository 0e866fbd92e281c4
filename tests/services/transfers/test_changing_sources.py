"""Sources that become others while they are moved."""

from __future__ import annotations

from pathlib import Path

from object_shelf import ObjectShelf
from traindeck.domain.objects import ObjectPath
from traindeck.domain.transfers import (
    ItemState,
    TransferState,
)
from transfer_works import (
    BUCKET,
    MIB,
    done,
    download,
    random_bytes,
    there,
    tree,
    upload,
    working,
)


async def test_a_source_that_changes_is_sent_as_it_is_in_the_end(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    new, whole = random_bytes(2 * MIB + 5), shelf.put_part

    async def changing(target: ObjectPath, upload_id: str, number: int, *more: object, **named: object) -> object:
        if number == 4 and (source / "big").stat().st_size == 2 * MIB:
            (source / "big").write_bytes(new)
        return await whole(target, upload_id, number, *more, **named)

    shelf.put_part = changing
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()))
    assert row.state is TransferState.DONE
    assert shelf.content(BUCKET) == {"big": new}
    assert shelf.uploads == {}


async def test_a_source_that_always_changes_or_is_gone_fails_with_a_clear_word(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB), "gone": b"x", "stays": b"y"})
    whole = shelf.put_part

    async def changing(*given: object, **named: object) -> object:
        (source / "big").write_bytes(random_bytes(2 * MIB))
        return await whole(*given, **named)

    shelf.put_part = changing
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()), needs_yes=True)
        planned = await engine.planned(number)
        assert (planned.state, planned.files) == (TransferState.READY, 3)
        (source / "gone").unlink()
        await engine.say_yes(number)
        row = await engine.ended(number)
        assert row.state is TransferState.PARTLY
        words = {item.name: item.error.sentence() for item in await engine.items(number, [ItemState.FAILED])}
    assert "changes all the time" in words["big"]
    assert "deleted or moved" in words["gone"]
    assert shelf.content(BUCKET) == {"stays": b"y"}
    assert shelf.uploads == {}


async def test_an_object_that_changes_while_it_comes_is_never_mixed(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    old, new = random_bytes(2 * MIB), random_bytes(2 * MIB)
    shelf.keep(there("big"), old)
    whole = shelf.get

    async def changing(*given: object, **named: object) -> object:
        found = await whole(*given, **named)
        if shelf.objects[there("big")].content == old:
            shelf.keep(there("big"), new)
        return found

    shelf.get = changing
    async with working(home, shelf) as engine:
        row = await done(engine, download(there("big"), tmp_path / "big"))
    assert row.state is TransferState.DONE
    assert (tmp_path / "big").read_bytes() == new
