"""One way to each account, shared by all who ask, replaced when its keys or addresses change."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from traindeck.domain.errors import AccessRefused, NotFound, Unreachable
from traindeck.domain.profiles import Profile, Provider
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.connections import Connection, Connections, LabAddress
from traindeck.services.make_connection import make_connection
from traindeck.services.secrets import KeyringSecrets, SessionSecrets
from traindeck.store.settings import ProfileShelf, SettingsFile

OLD, NEW = Credentials("AKEXAMPLE1", Secret("one")), Credentials("AKEXAMPLE1", Secret("two"))


@dataclass
class Maker:
    """Makes connections when the test says so; `refuse` keeps it from it."""

    calls: BlockingCalls
    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[Credentials] = field(default_factory=list)
    refuse: bool = False

    async def __call__(self, profile: Profile, credentials: Credentials) -> Connection:
        self.asked.append(credentials)
        await self.go.wait()
        if self.refuse:
            raise Unreachable(text("Nobody answers."), text("Wait."))
        return await make_connection(profile, credentials, self.calls)


@dataclass
class Desk:
    connections: Connections
    maker: Maker
    secrets: SessionSecrets
    book: ProfileShelf


async def desk_at(tmp_path: Path, calls: BlockingCalls) -> Desk:
    async def no_lab() -> LabAddress:
        raise AssertionError("nobody asked for the Lab")

    book = ProfileShelf(SettingsFile(tmp_path / "settings.json"), calls)
    await book.put(Profile("mine", Provider.MODELARTS, "cn-north-4", project_id="p"))
    secrets = SessionSecrets(KeyringSecrets(calls))
    secrets.keep("mine", OLD)
    maker = Maker(calls)
    return Desk(Connections(book, secrets, no_lab, maker), maker, secrets, book)


async def test_all_who_ask_at_once_share_one(tmp_path: Path, calls: BlockingCalls) -> None:
    desk = await desk_at(tmp_path, calls)
    asking = [asyncio.ensure_future(desk.connections.open("mine")) for _ in range(5)]
    await asyncio.sleep(0.01)
    desk.maker.go.set()
    found = await asyncio.gather(*asking)
    assert len({id(each) for each in found}) == len(desk.maker.asked) == 1
    assert await desk.connections.open("mine") is found[0]


async def test_they_share_one_failure_too_and_later_ones_try_again(tmp_path: Path, calls: BlockingCalls) -> None:
    desk = await desk_at(tmp_path, calls)
    desk.maker.refuse = True
    asking = [asyncio.ensure_future(desk.connections.open("mine")) for _ in range(5)]
    await asyncio.sleep(0.01)
    desk.maker.go.set()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(each, Unreachable) for each in found)
    assert len(desk.maker.asked) == 1
    desk.maker.refuse = False
    assert await desk.connections.open("mine")
    assert len(desk.maker.asked) == 2


async def test_new_keys_are_tried_though_the_old_ones_failed_meanwhile(tmp_path: Path, calls: BlockingCalls) -> None:
    desk = await desk_at(tmp_path, calls)
    desk.maker.refuse = True
    old = asyncio.ensure_future(desk.connections.open("mine"))
    await asyncio.sleep(0.01)
    desk.secrets.keep("mine", NEW)
    new = asyncio.ensure_future(desk.connections.open("mine"))
    await asyncio.sleep(0.01)
    desk.maker.go.set()
    await asyncio.gather(old, new, return_exceptions=True)
    assert desk.maker.asked == [OLD, NEW]


async def test_one_who_gives_up_leaves_the_others_their_try(tmp_path: Path, calls: BlockingCalls) -> None:
    desk = await desk_at(tmp_path, calls)
    first, second = (asyncio.ensure_future(desk.connections.open("mine")) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    desk.maker.go.set()
    assert (await second).profile.name == "mine"
    assert len(desk.maker.asked) == 2


async def test_what_changes_is_opened_anew(tmp_path: Path, calls: BlockingCalls) -> None:
    desk = await desk_at(tmp_path, calls)
    desk.maker.go.set()
    first = await desk.connections.open("mine")
    desk.secrets.keep("mine", NEW)
    second = await desk.connections.open("mine")
    await desk.book.put(Profile("mine", Provider.MODELARTS, "cn-south-1", project_id="p"))
    third = await desk.connections.open("mine")
    desk.connections.forget("mine")
    fourth = await desk.connections.open("mine")
    assert len({id(each) for each in (first, second, third, fourth)}) == 4
    desk.connections.close()


async def test_a_profile_or_keys_that_are_not_there_are_named(tmp_path: Path, calls: BlockingCalls) -> None:
    desk = await desk_at(tmp_path, calls)
    with pytest.raises(NotFound, match="nobody"):
        await desk.connections.open("nobody")
    await desk.book.put(Profile("empty", Provider.MODELARTS, "cn-north-4"))
    with pytest.raises(AccessRefused):
        await desk.connections.open("empty")
    assert desk.maker.asked == []
