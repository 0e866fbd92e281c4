"""The desk in front of the engine: for a window that stays and a command that ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from support.hand_made_connection import HandMadeConnection
from support.memory_secrets import MemorySecrets
from support.object_shelf import ObjectShelf
from support.transfer_works import BUCKET, content_of, tree
from support.waiting import PATIENT_S, until
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.errors import AccessRefused, AppError, NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import CompareBy, Kind, Order, Rules
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import Connection, Connections, LabAddress
from traindeck.services.storage.planes import Planes
from traindeck.services.transfers import Transfer, Transfers, active, uploads
from traindeck.services.transfers.engine import TransferEngine
from traindeck.store.paths import Paths
from traindeck.store.settings import ProfileStore, SettingsFile
from traindeck.store.transfer_journal import TransferJournal


@asynccontextmanager
async def service(home: Path, shelf: ObjectShelf, patience_s: float | None = None) -> AsyncIterator[Transfers]:
    """One program's desk on `home`."""
    paths = Paths(home)
    disk, writer = BlockingCalls(4, "disk"), BlockingCalls(1, "journal")
    profile, keys = Profile(LAB, Provider.LAB, "lab"), Credentials("AK", Secret("SK"))

    async def address() -> LabAddress:
        return LabAddress(profile, keys, "1")

    def connect(profile: Profile, keys: Credentials) -> Connection:
        return HandMadeConnection(profile, keys, shelf)

    try:
        connections = Connections(
            ProfileStore(SettingsFile(paths.settings), disk), MemorySecrets(disk), address, connect
        )
        with closing(TransferJournal(paths.transfers, writer)) as journal:
            async with (
                Planes(connections) as planes,
                Transfers(connections, planes, journal, disk, paths.transfer_locks, patience_s=patience_s) as transfers,
            ):
                yield transfers
    finally:
        disk.close()
        writer.close()


def there(key: str = "") -> ObjectPath:
    return ObjectPath(BUCKET, key)


@pytest.fixture
def shelf() -> ObjectShelf:
    return ObjectShelf()


def held(shelf: ObjectShelf, after: int) -> None:
    """Puts stop answering after so many."""
    whole = shelf.put

    async def put(*given: Any, **named: Any) -> object:
        if sum(line.startswith("put") for line in shelf.asked) >= after:
            await asyncio.Event().wait()
        return await whole(*given, **named)

    shelf.put = put


def let_go(shelf: ObjectShelf) -> None:
    shelf.put = type(shelf).put.__get__(shelf)


async def interrupted(shelf: ObjectShelf, home: Path, source: Path, after: int) -> Transfer:
    """An upload that was broken off after so many objects, because no more than 20 small ones are let through."""
    held(shelf, 20)
    async with service(home, shelf, patience_s=5) as transfers:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(transfers.upload(LAB, source, there()))
            await until(lambda: len(shelf.keys(BUCKET)) == after)
            waiting.cancel()
        await until(lambda: [row.state for row in transfers.rows()] == [TransferState.PAUSED])
        (row,) = transfers.rows()
        return row


async def test_a_command_that_is_interrupted_goes_on_when_it_is_given_again(shelf: ObjectShelf, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(40)})
    row = await interrupted(shelf, tmp_path / "home", source, after=20)
    let_go(shelf)
    (source / "00").unlink()  # done already, and no longer meant
    (source / "39").unlink()
    (source / "new").write_bytes(b"new")
    async with service(tmp_path / "home", shelf) as window:
        await window.take_up()
        await until(lambda: window.rows())
        assert [row.state for row in window.rows()] == [TransferState.PAUSED], "nobody goes on without being asked"
    async with service(tmp_path / "home", shelf, patience_s=5) as transfers:
        assert await transfers.upload(LAB, source, there()) == 39
        assert [one.id for one in transfers.rows()] == [row.id]
    sent = [line for line in shelf.asked if line.startswith("put")]
    assert len(sent) == len(set(sent)) == 40
    assert "new" in shelf.keys(BUCKET) and "39" not in shelf.keys(BUCKET)


async def test_what_was_done_before_an_interruption_is_looked_at_again(
    shelf: ObjectShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SINGLE_PUT_BYTES", 100)
    monkeypatch.setattr(uploads, "_READ_AHEAD_BYTES", 10)
    big = b"much" * 100
    source = tree(tmp_path / "data", {"0-big": big, "0-big-too": big, **{f"{number:02}": b"x" for number in range(40)}})
    await interrupted(shelf, tmp_path / "home", source, after=22)
    let_go(shelf)
    gone = [key for key in shelf.keys(BUCKET) if key not in ("0-big", "00")]
    for key in gone:
        del shelf.objects[there(key)]
    asked = len(shelf.asked)
    async with service(tmp_path / "home", shelf, patience_s=5) as transfers:
        assert await transfers.upload(LAB, source, there()) == 42
    assert len(shelf.keys(BUCKET)) == 42
    again = shelf.asked[asked:]
    assert "put 00" not in again and "part 0-big 1" not in again, "what is still there is not sent again"


async def test_a_window_that_is_closed_goes_on_at_the_next_start(shelf: ObjectShelf, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(40)})
    held(shelf, 20)
    async with service(tmp_path / "home", shelf) as window:
        number = await window.begin(Order(Kind.UPLOAD, LAB, str(source), str(there())))
        await until(lambda: len(shelf.keys(BUCKET)) == 20)
    let_go(shelf)
    async with service(tmp_path / "home", shelf) as window:
        await window.take_up()
        row = await window.finished(number)
        assert (row.state, row.done_files) == (TransferState.DONE, 40)
        window.forget([row.id for row in window.rows()])
        assert window.rows() == []
    async with service(tmp_path / "home", shelf) as window:
        await window.take_up()
        assert window.rows() == []


async def test_pause_go_on_first_and_retry_reach_the_engine(shelf: ObjectShelf, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number:02}": b"x" for number in range(40)})
    held(shelf, 10)
    told: list[TransferState] = []
    async with service(tmp_path / "home", shelf) as window:
        window.changed.add(lambda row: told.append(row.state))
        number = await window.begin(Order(Kind.UPLOAD, LAB, str(source), str(there())))
        await until(lambda: len(shelf.keys(BUCKET)) == 10)
        window.ask(TransferEngine.move_first, number)
        window.set_rate(10_000_000)
        window.ask(TransferEngine.pause, number)
        await until(lambda: window.rows()[0].state is TransferState.PAUSED)
        let_go(shelf)
        whole = shelf.put

        async def put(target: ObjectPath, *more: Any, **named: Any) -> object:
            if target.key == "39":
                raise NotFound(text("The bucket is gone."), text("Make it."))
            return await whole(target, *more, **named)

        shelf.put = put
        window.ask(TransferEngine.resume, number)
        with pytest.raises(NotFound, match="bucket is gone"):
            await window.finished(number)
        assert window.rows()[0].state is TransferState.PARTLY
        let_go(shelf)
        window.ask(TransferEngine.retry, number)
        await until(lambda: window.rows()[0].state is TransferState.DONE)
        assert window.rows()[0].done_files == 40
    assert TransferState.PAUSED in told


async def test_new_keys_let_it_go_on_at_once(
    shelf: ObjectShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active, "FIRST_WAIT_S", 600.0)
    source = tree(tmp_path / "data", {"a": b"a"})
    error: AppError | None = AccessRefused(text("No."), text("Ask."))
    whole = shelf.put

    async def put(*given: Any, **named: Any) -> object:
        if error is not None:
            raise error
        return await whole(*given, **named)

    shelf.put = put
    async with service(tmp_path / "home", shelf) as window:
        number = await window.begin(Order(Kind.UPLOAD, LAB, str(source), str(there())))
        await until(lambda: window.rows() and window.rows()[0].state is TransferState.WAITING)
        error = None
        window.resume_with(LAB)
        assert (await window.finished(number)).state is TransferState.DONE


async def test_a_preview_is_shown_and_dropped_or_done(shelf: ObjectShelf, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    shelf.keep(there("old"), b"")
    rules = Rules(compare=CompareBy.MD5, delete=True)
    order = Order(Kind.UPLOAD, LAB, str(source), str(there()), rules)
    async with service(tmp_path / "home", shelf, patience_s=5) as transfers:
        row = await transfers.planned(order, is_preview=True)
        assert (row.state, row.removals, row.total_bytes) == (TransferState.READY, 1, 2)
        assert [item.name for item in await transfers.items(row.id, [ItemState.QUEUED])] == ["a", "b", "old"]
        await transfers.drop(row.id)
        assert transfers.rows() == []
        assert shelf.keys(BUCKET) == ["old"]
        row = await transfers.planned(order)
        transfers.confirm(row.id)
        await transfers.finished(row.id)
        assert shelf.keys(BUCKET) == ["a", "b"]
        with pytest.raises(NotFound):
            await transfers.planned(Order(Kind.UPLOAD, LAB, str(source / "none"), str(there()), rules))


async def test_a_plan_that_cannot_be_noted_down_is_not_waited_for(shelf: ObjectShelf, tmp_path: Path) -> None:
    order = Order(Kind.UPLOAD, "no \udcff text", str(tree(tmp_path / "data", {"a": b"a"})), str(there()))
    async with service(tmp_path / "home", shelf) as transfers:
        for is_preview in (True, False):
            with pytest.raises(UnicodeEncodeError):
                await asyncio.wait_for(transfers.planned(order, is_preview=is_preview), PATIENT_S)


async def test_what_was_asked_is_told_and_failures_too(
    shelf: ObjectShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Transfer] = []
    async with service(tmp_path / "home", shelf) as window:
        window.changed.add(rows.append)
        with pytest.raises(NotFound, match="does not exist"):
            await window.fetch(LAB, there("none/"), tmp_path / "to")
        assert rows[-1].state is TransferState.FAILED and rows[-1].error is not None
        shelf.keep(there("in/x"), b"x")
        assert await window.fetch(LAB, there("in/"), tmp_path / "to") == [tmp_path / "to" / "x"]
        monkeypatch.chdir(tmp_path)
        assert await window.fetch(LAB, there("in/"), Path("near")) == [Path("near/x")]
        await window.move(Order(Kind.COPY, LAB, str(there("in/")), str(there("copy/"))))
    assert content_of(tmp_path / "to") == {"x": b"x"}
    assert shelf.keys(BUCKET) == ["copy/x", "in/x"]


async def test_a_window_that_is_closed_right_after_the_yes_is_followed_by_one_that_goes_on(
    shelf: ObjectShelf, tmp_path: Path
) -> None:
    source = tree(tmp_path / "data", {"a": b"a", "b": b"b"})
    async with service(tmp_path / "home", shelf) as window:
        row = await window.planned(Order(Kind.UPLOAD, LAB, str(source), str(there())), is_preview=True)
        window.confirm(row.id)
    async with service(tmp_path / "home", shelf) as window:
        await window.take_up()
        assert (await window.finished(row.id)).state is TransferState.DONE
    assert shelf.keys(BUCKET) == ["a", "b"]
