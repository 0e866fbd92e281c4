"""What is half there is taken back: uploads nobody heard of, parts of what is forgotten, and no file shared."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    MIB,
    content_of,
    copy,
    done,
    download,
    failing,
    hold_gets,
    offline,
    random_bytes,
    there,
    tree,
    upload,
    working,
    written_parts,
)
from support.waiting import until
from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import TransferState
from traindeck.services.transfers import moving as copies


def losing_begins(shelf: ObjectShelf, times: int, error: AppError | None) -> None:
    """The service begins an upload and nobody hears of it; without `error` the line sends the request again."""
    whole = shelf.begin_upload
    left = times

    async def begin(target: ObjectPath, metadata: dict[str, str], **said: Any) -> str:
        nonlocal left
        upload_id = await whole(target, metadata, **said)
        if left:
            left -= 1
            if error is not None:
                raise error
            upload_id = await whole(target, metadata, **said)
        return upload_id

    shelf.begin_upload = begin


@pytest.mark.parametrize("error", [None, offline()])
async def test_an_upload_whose_id_was_lost_is_gone_when_the_transfer_is_over(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, soon: None, error: AppError | None
) -> None:
    await shelf.begin_upload(there("in/big of another"))
    await shelf.begin_upload(there("other"))
    losing_begins(shelf, 1, error)
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB), "large": random_bytes(2 * MIB)})
    async with working(home, shelf) as engine:
        assert (await done(engine, upload(source, there("in/")))).state is TransferState.DONE
    assert sorted(one.path.key for one in shelf.uploads.values()) == ["in/big of another", "other"]


async def test_also_after_a_failure_and_of_a_copy(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    losing_begins(shelf, 9, NotFound(text("No."), text("No.")))
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    async with working(home, shelf) as engine:
        assert (await done(engine, upload(source, there()))).state is TransferState.FAILED
        assert shelf.uploads == {}
        monkeypatch.setattr(copies, "_ONE_COPY_BYTES", MIB)
        shelf.keep(there("in/big"), random_bytes(2 * MIB))
        assert (await done(engine, copy(there("in/"), there("to/")))).state is TransferState.FAILED
    assert shelf.uploads == {}


async def fail_half_way(shelf: ObjectShelf, home: Path, tmp_path: Path) -> int:
    """A transfer that failed with two parts at the service."""
    source = tree(tmp_path / "data", {"big": random_bytes(2 * MIB)})
    no = AppError(text("No."), text("No."))
    whole = shelf.put_part

    async def put_part(*given: Any, **named: Any) -> object:
        if len(parts(shelf)) >= 2:
            raise no
        return await whole(*given, **named)

    shelf.put_part = put_part
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()))
        assert (await engine.ended(number)).state is TransferState.FAILED
    assert len(shelf.uploads) == 1
    return number


def parts(shelf: ObjectShelf) -> list[int]:
    return [number for one in shelf.uploads.values() for number in one.parts]


def transfers_in(home: Path) -> int:
    with closing(sqlite3.connect(home / "transfers.db")) as db:
        return int(db.execute("SELECT count(*) FROM transfers").fetchone()[0])


async def nothing_is_left(shelf: ObjectShelf, home: Path) -> None:
    """Once parts can be taken back again."""
    shelf.abort_upload = type(shelf).abort_upload.__get__(shelf)
    async with working(home, shelf):
        await until(lambda: transfers_in(home) == 0)
    assert shelf.uploads == {}


async def test_an_old_failure_is_forgotten_only_after_its_parts(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    await fail_half_way(shelf, home, tmp_path)
    long_ago = (datetime.now(UTC) - timedelta(days=30)).isoformat()
    with closing(sqlite3.connect(home / "transfers.db")) as db, db:
        db.execute("UPDATE transfers SET ended = ?", (long_ago,))
    tried: list[str] = []

    def shut(key: str) -> AppError:
        tried.append(key)
        return offline()

    failing(shelf, "abort_upload", shut)
    async with working(home, shelf):
        await until(lambda: bool(tried))
    assert transfers_in(home) == 1 and len(shelf.uploads) == 1, "what could not be taken back is not forgotten"
    await nothing_is_left(shelf, home)


async def test_after_a_season_nobody_waits_for_a_bucket_that_may_be_gone(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    await fail_half_way(shelf, home, tmp_path)
    with closing(sqlite3.connect(home / "transfers.db")) as db, db:
        db.execute("UPDATE transfers SET ended = ?", ((datetime.now(UTC) - timedelta(days=100)).isoformat(),))
    failing(shelf, "abort_upload", lambda _: offline())
    async with working(home, shelf):
        await until(lambda: transfers_in(home) == 0)


async def test_what_is_taken_out_of_the_list_without_a_network_is_taken_back_later(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    number = await fail_half_way(shelf, home, tmp_path)
    failing(shelf, "abort_upload", lambda _: offline())
    async with working(home, shelf) as engine:
        await engine.forget(number)
    assert len(shelf.uploads) == 1
    await nothing_is_left(shelf, home)


async def test_a_failed_download_leaves_no_part_when_it_is_forgotten(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    shelf.keep(there("big"), random_bytes(2 * MIB))
    whole = shelf.get

    async def get(*given: Any, **named: Any) -> object:
        if named["offset"]:
            raise AppError(text("No."), text("No."))
        return await whole(*given, **named)

    shelf.get = get
    async with working(home, shelf) as engine:
        number = await engine.add(download(there("big"), tmp_path / "to" / "big"))
        assert (await engine.ended(number)).state is TransferState.FAILED
        assert len(list((tmp_path / "to").iterdir())) == 1
        await engine.forget(number)
    assert list((tmp_path / "to").iterdir()) == []


async def test_two_transfers_to_one_file_do_not_mix(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    one, other = random_bytes(2 * MIB), random_bytes(2 * MIB)
    shelf.keep(there("one"), one)
    shelf.keep(there("other"), other)
    stuck = asyncio.Event()
    hold_gets(shelf, stuck, MIB)
    place = tmp_path / "to" / "big"
    async with working(home, shelf) as engine:
        first = await engine.add(download(there("one"), place))
        await until(lambda: written_parts(home) == 7)
        second = await engine.add(download(there("other"), place))
        await until(lambda: written_parts(home) == 14)
        stuck.set()
        assert {(await engine.ended(number)).state for number in (first, second)} == {TransferState.DONE}
    assert content_of(tmp_path / "to") in ({"big": one}, {"big": other})


@pytest.mark.parametrize("name", ["head", "begin_upload"])
async def test_pauses_are_no_tries(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None, name: str
) -> None:
    content = random_bytes(2 * MIB)
    shelf.keep(there("in/big"), content)
    source = tree(tmp_path / "data", {"big": content})
    order = download(there("in/"), tmp_path / "to") if name == "head" else upload(source, there("to/"))
    gate, whole, asked = asyncio.Event(), getattr(shelf, name), 0  # a folder is planned without a head

    async def held(*given: object, **named: object) -> object:
        nonlocal asked
        asked += 1
        await gate.wait()
        return await whole(*given)

    async with working(home, shelf) as engine:
        setattr(shelf, name, held)
        number = await engine.add(order)
        for count in range(1, 6):
            await until(lambda count=count: asked == count)
            await engine.pause(number)
            await engine.resume(number)
        gate.set()
        assert (await engine.ended(number)).state is TransferState.DONE


async def test_what_another_program_has_taken_up_is_not_taken_back(
    shelf: ObjectShelf, home: Path, tmp_path: Path, small_parts: None
) -> None:
    number = await fail_half_way(shelf, home, tmp_path)
    gate, asked = asyncio.Event(), asyncio.Event()

    async def held(*_: object, **__: object) -> object:
        asked.set()
        await gate.wait()
        raise AppError(text("No."), text("No."))

    shelf.put_part = held
    async with working(home, shelf) as one, working(home, shelf) as other:
        await one.retry(number)
        await asked.wait()
        await other.forget(number)
        assert len(shelf.uploads) == 1 and transfers_in(home) == 1
        gate.set()
        await one.ended(number)
