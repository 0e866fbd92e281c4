"""One way to each account, shared by all who ask, replaced when its keys or addresses change."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.errors import AccessRefused, NotFound, Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import (
    ADAPTERS,
    Connection,
    Connections,
    LabAddress,
)
from traindeck.services.accounts.secrets import Secrets
from traindeck.services.http.calls import load
from traindeck.store.settings import ProfileStore, SettingsFile

OLD, NEW = Credentials("AKEXAMPLE1", Secret("one")), Credentials("AKEXAMPLE1", Secret("two"))


@dataclass
class Maker:
    """Makes connections and counts them; `refuse` keeps it from it."""

    calls: BlockingCalls
    asked: list[Credentials] = field(default_factory=list)
    refuse: bool = False

    def __call__(self, profile: Profile, credentials: Credentials) -> Connection:
        self.asked.append(credentials)
        if self.refuse:
            raise Unreachable(text("Nobody is available."), text("Wait."))
        return Connection(profile, credentials, self.calls)


@dataclass
class RunActions:
    connections: Connections
    maker: Maker
    secrets: Secrets
    book: ProfileStore


async def desk_at(tmp_path: Path, calls: BlockingCalls) -> RunActions:
    async def no_lab() -> LabAddress:
        raise AssertionError("nobody asked for the Lab")

    book = ProfileStore(SettingsFile(tmp_path / "settings.json"), calls)
    await book.put(Profile("mine", Provider.MODELARTS, "cn-north-4", project_id="p"))
    secrets = Secrets(calls)
    secrets.keep("mine", OLD)
    maker = Maker(calls)
    return RunActions(Connections(book, secrets, no_lab, maker), maker, secrets, book)


async def test_all_who_ask_at_once_share_one(tmp_path: Path, calls: BlockingCalls) -> None:
    service = await desk_at(tmp_path, calls)
    asking = [asyncio.ensure_future(service.connections.open("mine")) for _ in range(5)]
    found = await asyncio.gather(*asking)
    assert len({id(each) for each in found}) == len(service.maker.asked) == 1
    assert await service.connections.open("mine") is found[0]


async def test_all_are_told_of_a_failure_and_later_ones_try_again(tmp_path: Path, calls: BlockingCalls) -> None:
    service = await desk_at(tmp_path, calls)
    service.maker.refuse = True
    asking = [asyncio.ensure_future(service.connections.open("mine")) for _ in range(5)]
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(each) for each in found] == [Unreachable] * 5
    service.maker.refuse = False
    assert await service.connections.open("mine")
    assert len(service.maker.asked) == 6


async def test_new_keys_are_tried_though_the_old_ones_failed(tmp_path: Path, calls: BlockingCalls) -> None:
    service = await desk_at(tmp_path, calls)
    service.maker.refuse = True
    with pytest.raises(Unreachable):
        await service.connections.open("mine")
    service.secrets.keep("mine", NEW)
    with pytest.raises(Unreachable):
        await service.connections.open("mine")
    assert service.maker.asked == [OLD, NEW]


async def test_one_who_gives_up_leaves_the_others_their_try(tmp_path: Path, calls: BlockingCalls) -> None:
    service = await desk_at(tmp_path, calls)
    first, second = (asyncio.ensure_future(service.connections.open("mine")) for _ in range(2))
    first.cancel()
    assert (await second).profile.name == "mine"
    assert len(service.maker.asked) == 1


async def test_what_changes_is_opened_anew(tmp_path: Path, calls: BlockingCalls) -> None:
    service = await desk_at(tmp_path, calls)
    first = await service.connections.open("mine")
    service.secrets.keep("mine", NEW)
    second = await service.connections.open("mine")
    await service.book.put(Profile("mine", Provider.MODELARTS, "cn-south-1", project_id="p"))
    third = await service.connections.open("mine")
    service.connections.forget("mine")
    fourth = await service.connections.open("mine")
    assert len({id(each) for each in (first, second, third, fourth)}) == 4
    service.connections.close()


async def test_a_profile_or_keys_that_are_not_there_are_named(tmp_path: Path, calls: BlockingCalls) -> None:
    service = await desk_at(tmp_path, calls)
    with pytest.raises(NotFound, match="nobody"):
        await service.connections.open("nobody")
    await service.book.put(Profile("empty", Provider.MODELARTS, "cn-north-4"))
    with pytest.raises(AccessRefused):
        await service.connections.open("empty")
    assert service.maker.asked == []


def test_what_a_window_loads_beforehand_is_there() -> None:
    load(*ADAPTERS)
    loaded = sys.modules.keys()
    assert {f"traindeck.services.storage.sdk.{name}" for name in ("access", "buckets", "objects", "settings")} <= loaded
    assert "traindeck.services.jobs.modelarts.adapter" in loaded
