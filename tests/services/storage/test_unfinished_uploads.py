"""Unfinished uploads of a real Lab: found, measured, told apart from our own, and ended."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import s3_client
from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import NotFound
from traindeck.domain.storage.buckets import Held, UnfinishedUpload
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Kind, Order
from traindeck.domain.transfers.records import Action, Item
from traindeck.store.transfer_journal import TransferJournal


@pytest.fixture
def root() -> ObjectPath:
    return ObjectPath(f"b-{secrets.token_hex(6)}")


async def listed(at: Bench, place: ObjectPath) -> list[UnfinishedUpload]:
    found: list[UnfinishedUpload] = []
    await at.unfinished.each(LAB, place, found.extend)
    return found


async def begin(at: Bench, lab: LabProcess, root: ObjectPath, names: list[str], sizes: list[int]) -> None:
    await (await at.connections.open(LAB)).storage.create_bucket(root.bucket)
    client = s3_client(lab)
    for name, size in zip(names, sizes, strict=True):
        upload = client.create_multipart_upload(Bucket=root.bucket, Key=name)["UploadId"]
        if size:
            client.upload_part(Bucket=root.bucket, Key=name, UploadId=upload, PartNumber=1, Body=b"x" * size)
    client.close()


async def test_they_are_found_measured_and_ended(way: Way, lab: LabProcess, root: ObjectPath, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as at:
        await begin(at, lab, root, ["a/1", "a/1", "a/ü 中.bin", "b"], [100, 0, 300, 7])
        found = await listed(at, root)
        assert sorted(upload.path.key for upload in found) == ["a/1", "a/1", "a/ü 中.bin", "b"]
        assert not any(upload.is_ours for upload in found)
        assert {upload.path.key for upload in await listed(at, root.join("a/"))} == {"a/1", "a/ü 中.bin"}
        held: list[Held] = []
        await at.unfinished.measure(LAB, found, held.extend)
        assert sorted(one.size_bytes or 0 for one in held) == [0, 7, 100, 300]
        told: list[int] = []
        done = await at.unfinished.end(LAB, [one for one in found if one.path.key != "b"], told.append)
        assert (len(done.ended), done.kept, done.failed, told) == (3, [], [], [3])
        assert [upload.path.key for upload in await listed(at, root)] == ["b"]
        # Ending what is gone is no failure.
        again = await at.unfinished.end(LAB, found, told.append)
        assert len(again.ended) == 4 and await listed(at, root) == []


async def test_what_a_transfer_goes_on_with_is_kept(
    way: Way, lab: LabProcess, root: ObjectPath, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as at:
        await begin(at, lab, root, ["mine", "theirs"], [10, 10])
        found = await listed(at, root)
        mine = next(upload for upload in found if upload.path.key == "mine")
        journal = at.unfinished._journal
        assert isinstance(journal, TransferJournal)
        record = await journal.add(Order(Kind.UPLOAD, LAB, "/x", str(root)), datetime.now(UTC))
        item = Item("mine", "mine", 10, 0, 0, 0, "", Action.MOVE)
        await journal.plan(record.id, [item])
        # Noted between listing and ending: it is looked up again.
        await journal.begin_parts(record.id, Item(*_with(item, mine.upload_id)))
        done = await at.unfinished.end(LAB, found, lambda _: None)
        assert [upload.path.key for upload in done.ended] == ["theirs"] and done.kept == [mine]
        left = await listed(at, root)
        assert [(upload.path.key, upload.is_ours) for upload in left] == [("mine", True)]
        assert len((await at.unfinished.end(LAB, left, lambda _: None, ours_too=True)).ended) == 1


def _with(item: Item, upload_id: str) -> tuple[Any, ...]:
    return (item.key, item.name, 10, 0, 0, 0, "", Action.MOVE, item.state, upload_id, 5)


async def test_many_come_in_pages_and_go_in_portions(
    way: Way, lab: LabProcess, root: ObjectPath, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as at:
        await begin(at, lab, root, [f"n{number:04}" for number in range(130)], [0] * 130)
        found = await listed(at, root)
        told: list[int] = []
        done = await at.unfinished.end(LAB, found, told.append)
        assert len(done.ended) == 130 and told == [64, 128, 130]


async def test_age_and_missing_buckets(way: Way, root: ObjectPath, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    old = UnfinishedUpload(root.join("x"), "1", now - timedelta(days=8), False)
    assert old.is_older(timedelta(days=7), now) and not old.is_older(timedelta(days=9), now)
    assert not UnfinishedUpload(root.join("x"), "1", None, False).is_older(timedelta(0), now)
    async with Bench(tmp_path / "home", way) as at:
        with pytest.raises(NotFound):
            await listed(at, ObjectPath("no-such-bucket-here"))
