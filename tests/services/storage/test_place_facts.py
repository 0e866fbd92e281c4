"""What is said about a place, against a real Lab."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

from support.servers.faults import FaultyProxy, Stall
from support.stores.way import Way
from support.waiting import PATIENT_S
from support.work_bench import Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.storage import place_facts
from traindeck.services.storage.place_facts import Missing, PlaceService
from traindeck.services.storage.planes import Planes


@pytest.fixture
def place() -> ObjectPath:
    return ObjectPath(f"facts-{secrets.token_hex(4)}")


async def filled(way: Way, place: ObjectPath, *keys: str) -> None:
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
    await way.put(b"12345", *(place.join(key) for key in keys))


async def test_what_is_there_is_counted_with_its_region(way: Way, place: ObjectPath, tmp_path: Path) -> None:
    await filled(way, place, "data/a", "data/deep/b", "data_private/c", "one")
    async with Bench(tmp_path / "home", way) as bench:
        service = PlaceService(bench.connections, bench.planes)
        folder = await service.look(LAB, place.join("data/"))
        assert (folder.count, folder.size_bytes, folder.is_all, folder.takes_in) == (2, 10, True, ())
        assert folder.region == way.profile.region
        open_ended = await service.look(LAB, place.join("data"))
        assert (open_ended.count, open_ended.takes_in) == (2, ("data_private/",))
        alone = await service.look(LAB, place.join("one"))
        assert alone.is_object and alone.missing is None
        assert (await service.look(LAB, place)).count == 4


async def test_many_objects_are_not_all_counted(
    way: Way, place: ObjectPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place_facts, "MOST_COUNTED", 6)
    monkeypatch.setattr(place_facts, "_PAGE", 3)
    await filled(way, place, *(f"data/{number}" for number in range(10)))
    async with Bench(tmp_path / "home", way) as bench:
        found = await PlaceService(bench.connections, bench.planes).look(LAB, place.join("data/"))
    assert (found.count, found.is_all) == (6, False)


async def test_what_is_missing_has_something_near_it_and_can_be_made(
    way: Way, place: ObjectPath, tmp_path: Path
) -> None:
    await filled(way, place, "Datasets/cifar/a", "logs/x")
    async with Bench(tmp_path / "home", way) as bench:
        service = PlaceService(bench.connections, bench.planes)
        found = await service.look(LAB, place.join("dataset/"))
        assert (found.missing, found.nearest) == (Missing.CONTENT, (place.join("Datasets/"),))
        below = await service.look(LAB, place.join("Datasets/cifra/train/"))
        assert below.nearest == (place.join("Datasets/cifar/"),), "beside the deepest folder that is there"
        assert (await service.look(LAB, place.join("Datasets/cifra"))).nearest == (place.join("Datasets/cifar/"),)
        await service.create(LAB, place.join("dataset/"))
        assert (await service.look(LAB, place.join("dataset/"))).missing is None

        other = ObjectPath(place.bucket + "s", "x/")
        missing = await service.look(LAB, other)
        assert (missing.missing, missing.nearest[0]) == (Missing.BUCKET, ObjectPath(place.bucket, "x/"))
        await service.create(LAB, ObjectPath(other.bucket))
        assert (await service.look(LAB, other)).missing is Missing.CONTENT


async def test_buckets_and_folders_are_completed(way: Way, place: ObjectPath, tmp_path: Path) -> None:
    await filled(way, place, "data/train/a", "data/test/b", "data/file")
    async with Bench(tmp_path / "home", way) as bench:
        service = PlaceService(bench.connections, bench.planes)
        for typed in (place.bucket[:-1], f"obs://{place.bucket[:-1]}", f"/{place.bucket[:-1]}"):
            assert await service.complete(LAB, typed) == [place]
        for typed in (f"{place.bucket}/data/t", f"s3://{place.bucket}/data/"):
            assert await service.complete(LAB, typed) == [place.join("data/test/"), place.join("data/train/")]
        assert await service.complete(LAB, "obs://no-such-bucket-here/x") == []


async def test_an_account_that_does_not_answer_keeps_no_other(way: Way, place: ObjectPath) -> None:
    await filled(way, place, "x")
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        proxy.faults.append(Stall())
        ways = {"good": way, "silent": way.at(obs_endpoint=proxy.url)}

        class Accounts(Connections):
            def __init__(self) -> None:
                pass

            async def open(self, name: str) -> Connection:
                return Connection(ways[name].profile, ways[name].credentials, way.calls)

        accounts = Accounts()
        async with Planes(accounts) as planes:
            service = PlaceService(accounts, planes)
            silent = asyncio.create_task(service.complete("silent", "obs://"))
            while not proxy.seen:
                await asyncio.sleep(0.01)
            assert place in await asyncio.wait_for(service.complete("good", f"obs://{place.bucket[:9]}"), PATIENT_S)
            silent.cancel()
            with pytest.raises(asyncio.CancelledError):
                await silent
