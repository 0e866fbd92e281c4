"""What fails, what waits for better times, and who gives up when."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import (
    BUCKET,
    done,
    download,
    failing,
    listed,
    noted,
    offline,
    refused,
    there,
    tree,
    upload,
    working,
)
from support.waiting import until
from traindeck.domain.errors import AppError, DiskFull, NotFound, NotTheService, Unreachable, Vanished
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import ItemState, TransferState, WaitsFor
from traindeck.services.http import calls
from traindeck.services.http.calls import retried
from traindeck.services.transfers import active


async def test_one_file_failing_does_not_stop_the_rest(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(50)})
    wrong = NotFound(text("The bucket is gone."), text("Make it."))
    failing(shelf, "put", lambda key: wrong if key == "07" else None)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()))
        assert (row.state, row.done_files, row.failed_files) == (TransferState.PARTLY, 49, 1)
        states = await listed(engine, row.id)
        assert [name for name, state in states.items() if state is not ItemState.DONE] == ["07"]
        (failed,) = await noted(engine, row.id, [ItemState.FAILED])
        assert failed.error is not None and "gone" in failed.error.sentence()
        failing(shelf, "put", lambda _: None)
        shelf.put = type(shelf).put.__get__(shelf)
        await engine.retry(row.id)
        again = await engine.ended(row.id)
        assert (again.state, again.done_files, again.failed_files) == (TransferState.DONE, 50, 0)
    assert len(shelf.keys(BUCKET)) == 50


async def test_a_key_that_is_refused_waits_and_the_rest_goes_on(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(20)})
    is_shut = True
    failing(shelf, "put", lambda key: refused() if is_shut and key == "03" else None)
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()))
        await until(lambda: len(shelf.keys(BUCKET)) == 19)
        await until(lambda: engine.rows()[0].state is TransferState.WAITING)
        row = engine.rows()[0]
        assert (row.waits_for, row.done_files) == (WaitsFor.KEYS, 19)
        assert row.next_try is not None and row.error is not None
        is_shut = False
        assert (await engine.ended(number)).state is TransferState.DONE


async def test_without_a_network_everything_waits_and_then_goes_on(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    source = tree(tmp_path / "data", {f"{number:03}": b"x" for number in range(200)})
    tries = 0
    is_down = True

    def line(_: str) -> AppError | None:
        nonlocal tries
        tries += is_down
        return offline() if is_down else None

    failing(shelf, "put", line)
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()))
        await until(lambda: engine.rows()[0].state is TransferState.WAITING)
        assert engine.rows()[0].waits_for is WaitsFor.NETWORK
        assert tries < 100, "not every file is tried where none can go"
        is_down = False
        row = await engine.ended(number)
        assert (row.state, row.done_files, row.failed_files) == (TransferState.DONE, 200, 0)


async def test_what_waits_is_tried_at_once_by_the_next_program(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    source = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    failing(shelf, "put", lambda key: refused() if key == "a" else None)
    async with working(home, shelf) as engine:
        await engine.add(upload(source, there()))
        await until(lambda: engine.rows()[0].waits_for is WaitsFor.KEYS)
    shelf.put = type(shelf).put.__get__(shelf)
    async with working(home, shelf) as engine:
        await engine.resume_unfinished()
        row = await engine.ended(engine.rows()[0].id)
        assert (row.state, row.done_files) == (TransferState.DONE, 2)


async def test_a_script_does_not_wait_for_ever(shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None) -> None:
    source = tree(tmp_path / "data", {f"{number:03}": b"x" for number in range(50)})
    failing(shelf, "put", lambda _: offline())
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()), patience_s=0.1)
        assert row.state is TransferState.FAILED
        assert isinstance(row.error, Unreachable)
    shelf.put = type(shelf).put.__get__(shelf)
    failing(shelf, "put", lambda key: refused() if key == "007" else None)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there("x/")), patience_s=60)
        assert row.state is TransferState.DONE
        row = await done(engine, upload(source, there()), patience_s=60)
        assert (row.state, row.failed_files) == (TransferState.PARTLY, 1)


async def test_a_full_disk_waits_for_the_user_and_not_for_a_script(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None
) -> None:
    shelf.keep(there("big"), b"x")
    is_full = True
    failing(shelf, "get", lambda _: DiskFull(text("Full."), text("Make room.")) if is_full else None)
    order = download(there("big"), tmp_path / "big")
    async with working(home, shelf) as engine:
        failed = await done(engine, order, patience_s=60)
        assert failed.state is TransferState.FAILED and isinstance(failed.error, DiskFull)
        number = await engine.add(order)
        await until(lambda: engine.rows()[0].waits_for is WaitsFor.DISK)
        is_full = False
        assert (await engine.ended(number)).state is TransferState.DONE


async def test_the_first_failure_of_a_request_is_in_the_row(
    shelf: ObjectShelf, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "FIRST_S", 25.0)  # it would be long until the request gives up
    source = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    put = shelf.put

    async def never(*arguments: object, **named: object) -> None:
        async def attempt() -> None:
            raise offline()

        await retried(attempt)

    shelf.put = never
    async with working(home, shelf) as engine:
        number = await engine.add(upload(source, there()))
        await until(lambda: engine.rows()[0].tries == 2)
        row = engine.rows()[0]
        assert row.state is TransferState.RUNNING and row.waits_for is None
        assert isinstance(row.error, Unreachable) and row.next_try is not None
        shelf.put = put
        await engine.pause(number)
        await engine.resume(number)
        row = await engine.ended(number)
        assert (row.state, row.error, row.tries, row.next_try) == (TransferState.DONE, None, 0, None)


async def test_one_file_that_waits_is_told_while_the_rest_goes_well(
    shelf: ObjectShelf, home: Path, tmp_path: Path, soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(20)})
    monkeypatch.setattr(active, "FIRST_WAIT_S", 600.0)
    failing(shelf, "put", lambda key: offline() if key == "03" else None)
    async with working(home, shelf) as engine:
        await engine.add(upload(source, there()))
        await until(lambda: engine.rows()[0].done_files == 19 and engine.rows()[0].next_try is not None)
        row = engine.rows()[0]
        assert row.error is not None and row.state is TransferState.WAITING and row.tries >= 1


async def test_who_is_not_the_service_is_asked_once_and_not_for_every_file(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", {f"{number:04}": b"x" for number in range(2000)})
    asked = 0

    def page(_: str) -> AppError:
        nonlocal asked
        asked += 1
        return NotTheService(text("A page."), text("Sign in."))

    failing(shelf, "put", page)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()))  # nobody's patience ends it
        assert (row.state, type(row.error)) == (TransferState.FAILED, NotTheService)
        assert asked <= 32
        shelf.put = type(shelf).put.__get__(shelf)
        await engine.retry(row.id)
        assert (await engine.ended(row.id)).done_files == 2000


async def test_the_worst_failure_is_that_of_the_transfer(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number}": b"x" for number in range(5)})
    wrong = {"1": NotFound(text("No bucket."), text("Make it.")), "3": Vanished(text("Gone."), text("Look."))}
    failing(shelf, "put", wrong.get)
    async with working(home, shelf) as engine:
        row = await done(engine, upload(source, there()))
        assert row.error is not None and row.failed_files == 2
        assert isinstance(row.error, Vanished) and "2 files" in row.error.sentence() and "3" in row.error.sentence()
