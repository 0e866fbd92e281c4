"""Many objects at once, in a real Lab."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.servers.faults import Answer, FaultyProxy, Flip
from support.stores.way import Way
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import InvalidInput, KeysRefused, LocalTrouble, Unreachable
from traindeck.domain.storage.buckets import BulkReport, Tally
from traindeck.domain.storage.object_facts import HeadChange, RestoreSpeed
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.bulk_changes import BulkChange, changing, each, restoring, tally
from traindeck.services.storage.sdk.buckets import ObsStorage
from traindeck.services.storage.sdk.objects import ObsObjects
from traindeck.services.transfers.part_files import fetch_version


@dataclass(frozen=True)
class Shelf:
    objects: ObsObjects
    storage: ObsStorage
    place: ObjectPath

    async def row(self, key: str) -> ObjectEntry:
        found = await self.storage.page(self.place.bucket, key, most=1)
        row = found.rows[0]
        return ObjectEntry(self.place.join(row.key), row.size_bytes, row.modified, row.etag, row.storage_class)

    def folder(self, key: str) -> ObjectEntry:
        return ObjectEntry(ObjectPath(self.place.bucket, key))


def shelf_at(way: Way, bucket: str) -> Shelf:
    account = ObsStorage(way.profile, way.credentials, way.calls)
    _opened.append(account)
    storage = account
    return Shelf(ObsObjects(account), storage, ObjectPath(bucket))


pytestmark = pytest.mark.usefixtures("no_waiting")

_opened: list[ObsStorage] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


async def filled(way: Way, count: int = 30) -> Shelf:
    shelf = shelf_at(way, f"b-{secrets.token_hex(6)}")
    await shelf.storage.create_bucket(shelf.place.bucket)
    await way.put(b"12345", *(shelf.place.join(f"data/{number % 3}/{number:03}") for number in range(count)))
    await way.put(b"top", shelf.place.join("top"))
    await way.put(b"", shelf.place.join("data/"))
    return shelf


async def test_a_selection_is_counted_once_whatever_overlaps(way: Way) -> None:
    shelf = await filled(way)
    await shelf.objects.change(shelf.place.join("data/0/000"), HeadChange(storage_class="WARM"))
    chosen = [shelf.folder("data/"), shelf.folder("data/1/"), await shelf.row("data/2/002"), await shelf.row("top")]
    told: list[Tally] = []
    found = await tally(shelf.storage, chosen, told.append)
    assert (found.objects, found.size_bytes) == (31, 153)
    assert sum(count for count, _ in found.classes.values()) == 31
    assert len(found.classes) == 2 and told[-1] == found


async def test_all_are_changed_and_each_that_fails_is_named(way: Way) -> None:
    shelf = await filled(way)
    for number in (4, 7):
        await shelf.objects.change(shelf.place.join(f"data/1/{number:03}"), HeadChange(storage_class="COLD"))
    told: list[BulkReport] = []
    change = HeadChange(storage_class="WARM", metadata={"stage": "old"})
    job = BulkChange(shelf.storage, changing(shelf.objects, change), told.append)
    report = await job.run([shelf.folder("data/"), await shelf.row("top")])
    assert (report.changed, report.left_alone, report.failed) == (29, 0, 2)
    assert {path.key for path, _ in report.failures} == {"data/1/004", "data/1/007"}
    assert [one.seen for one in told] == list(range(1, 32))
    facts = await shelf.objects.facts(shelf.place.join("data/2/005"))
    assert (facts.storage_class, facts.metadata) == ("WARM", {"stage": "old"})

    again = await BulkChange(shelf.storage, changing(shelf.objects, change), told.append).run([shelf.folder("data/")])
    assert (again.changed, again.left_alone, again.failed) == (0, 28, 2)
    back = await BulkChange(shelf.storage, restoring(shelf.objects, 3, RestoreSpeed.EXPEDITED), told.append).run(
        [shelf.folder("data/")]
    )
    assert (back.changed, back.left_alone, back.failed) == (2, 28, 0)
    last = HeadChange(storage_class="STANDARD")
    whole = await BulkChange(shelf.storage, changing(shelf.objects, last), told.append).run([shelf.folder("")])
    assert (whole.changed, whole.failed) == (31, 0)
    with pytest.raises(InvalidInput):
        changing(shelf.objects, HeadChange(metadata={"Ü": "x"}))


async def test_who_is_told_and_raises_ends_no_work(way: Way) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))

    def broken(_: object) -> None:
        raise ZeroDivisionError

    shelf = await filled(way, 5)
    assert (await tally(shelf.storage, [shelf.folder("data/")], broken)).objects == 5
    change = changing(shelf.objects, HeadChange(metadata={"a": "b"}))
    done = await BulkChange(shelf.storage, change, broken).run([shelf.folder("data/")])
    assert done.changed == 5 and done.failed == 0
    assert {type(error) for error in reported} == {ZeroDivisionError}


async def test_it_can_be_cancelled_and_what_is_done_stays(way: Way) -> None:
    shelf = await filled(way, 200)
    begun = asyncio.Event()

    def told(report: BulkReport) -> None:
        if report.seen >= 10:
            begun.set()

    job = BulkChange(shelf.storage, changing(shelf.objects, HeadChange(metadata={"a": "b"})), told)
    task = asyncio.ensure_future(job.run([shelf.folder("data/")]))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert 10 <= job.report.changed < 200


async def test_what_would_fail_for_all_ends_it(way: Way, unused_port: int) -> None:
    shelf = await filled(way)
    wrong = shelf_at(way.at(credentials=Credentials("NOSUCHKEYNOSUCHKEY", Secret("x" * 40))), shelf.place.bucket)
    with pytest.raises(KeysRefused):
        await BulkChange(wrong.storage, changing(wrong.objects, HeadChange(metadata={"a": "b"})), lambda _: None).run(
            [shelf.folder("data/")]
        )
    dead = shelf_at(way.at(obs_endpoint=f"http://127.0.0.1:{unused_port}"), shelf.place.bucket)
    rows = [await shelf.row("top"), await shelf.row("data/1/001")]
    with pytest.raises(Unreachable):
        await BulkChange(dead.storage, changing(dead.objects, HeadChange(metadata={"a": "b"})), lambda _: None).run(
            rows
        )


async def test_a_version_arrives_whole_or_not_at_all(way: Way, calls: BlockingCalls, tmp_path: Path) -> None:
    shelf = await filled(way, 0)
    account = ObsStorage(way.profile, way.credentials, way.calls)
    await account.ask(lambda client: client.setBucketVersioning(shelf.place.bucket, "Enabled"), shelf.place)
    path, old = shelf.place.join("v"), bytes(range(256)) * 40_000
    await way.put(old, path)
    await way.put(b"new", path)
    version = (await shelf.objects.versions(path))[1]
    target = tmp_path / "old"
    (tmp_path / "old.part").write_bytes(b"somebody's own")
    async with FaultyProxy(way.profile.obs_endpoint) as proxy, way.at(obs_endpoint=proxy.url).plane() as plane:
        proxy.faults.append(Answer(503))
        await fetch_version(plane, calls, path, version, target)
        assert target.read_bytes() == old
        proxy.faults.append(Flip())
        with pytest.raises(LocalTrouble, match="corrupted"):
            await fetch_version(plane, calls, path, version, tmp_path / "bad")
    assert (tmp_path / "old.part").read_bytes() == b"somebody's own"
    assert [one.name for one in tmp_path.iterdir() if "part" in one.name or one.name == "bad"] == ["old.part"]
    account.close()


async def test_a_selection_of_many_does_not_keep_the_loop(way: Way) -> None:
    shelf = await filled(way, 0)
    names = [f"{number:04}" for number in range(5_000)]
    chosen = [shelf.folder(f"{name}/") for name in reversed(names)] + [shelf.folder(f"{name}/x/") for name in names]
    chosen += [ObjectEntry(shelf.place.join(f"{name}/x/y"), 1) for name in names]
    chosen += [ObjectEntry(shelf.place.join(name), 1) for name in names]

    class Enough(Exception):
        pass

    async def take(entries: list[ObjectEntry]) -> None:
        assert [entry.path.key for entry in entries] == names
        raise Enough

    begun = time.thread_time()
    with pytest.raises(Enough):
        await each(shelf.storage, chosen, take)
    assert time.thread_time() - begun < 5, "comparing each with each takes many times that"
