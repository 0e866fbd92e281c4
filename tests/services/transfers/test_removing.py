"""Deleting by pages, and bringing it back where the bucket keeps versions; against the real Lab."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.object_shelf import ObjectShelf
from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client
from support.stores.stores import lab_store, new_bucket
from support.transfer_works import BUCKET, all_items, done, working
from traindeck.domain.accounts.profiles import Signature
from traindeck.domain.errors import Conflict
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Kind, Order, Rules
from traindeck.domain.transfers.records import ItemState, TransferState
from traindeck.services.storage.data_ports import BytesBody, NotRemoved
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.among import markers_among
from traindeck.services.transfers.engine import TransferEngine

ODD = ["a b.bin", "数据/一.txt", "x&<y>.txt", "tab\there", "ctrl\x01", "deep/er/", "deep/er/z"]


def removal(source: ObjectPath, **rules: Any) -> Order:
    return Order(Kind.REMOVE, "lab", str(source), "", Rules(**rules))


def restoring(source: ObjectPath, **rules: Any) -> Order:
    return Order(Kind.RESTORE, "lab", str(source), "", Rules(**rules))


async def keys(plane: DataPlane, place: ObjectPath) -> list[str]:
    return [row.key for row in (await plane.page(place.bucket, place.key)).rows]


async def fill(plane: DataPlane, bucket: ObjectPath, names: list[str]) -> None:
    for name in names:
        await plane.put(bucket.join(name), BytesBody(name.encode()))


@pytest.mark.parametrize("signature", [Signature.OBS, Signature.V2, Signature.V4])
async def test_a_folder_goes_is_undone_and_only_that(lab: LabProcess, tmp_path: Path, signature: Signature) -> None:
    store = lab_store(lab, signature)
    bucket = new_bucket(store)
    async with store.plane() as plane, working(tmp_path, plane) as engine:
        assert not await plane.keeps_versions(bucket.bucket)
        with closing(obs_client(lab)) as client:
            assert client.setBucketVersioning(bucket.bucket, "Enabled").status < 300
        assert await plane.keeps_versions(bucket.bucket)
        names = [f"in/{name}" for name in ODD]
        await fill(plane, bucket, [*names, "in/long gone", "in-beside"])
        await plane.remove(bucket.bucket, ["in/long gone"])

        planned = await engine.add(removal(bucket.join("in/")), needs_confirmation=True)
        row = await engine.planned(planned)
        assert (row.state, row.removals, row.removal_bytes) == (
            TransferState.READY, len(ODD), sum(len(name.encode()) for name in names)
        )  # fmt: skip
        assert len(await keys(plane, bucket)) == len(ODD) + 1
        await engine.confirm(planned)
        row = await engine.ended(planned)
        assert (row.state, row.done_files) == (TransferState.DONE, len(ODD))
        assert await keys(plane, bucket) == ["in-beside"]

        undo = await done(engine, restoring(bucket.join("in/"), undoes=planned))
        assert (undo.state, undo.done_files) == (TransferState.DONE, len(ODD))
        assert await keys(plane, bucket.join("in/")) == sorted(names)
        again = await done(engine, restoring(bucket.join("in/"), undoes=planned))
        assert (again.state, again.done_files) == (TransferState.DONE, 0)

        everything = await done(engine, restoring(bucket.join("in/")))
        assert (everything.state, everything.done_files) == (TransferState.DONE, 1)
        assert "in/long gone" in await keys(plane, bucket)


async def test_chosen_ones_go_and_come_back(lab: LabProcess, tmp_path: Path) -> None:
    store = lab_store(lab)
    bucket = new_bucket(store)
    async with store.plane() as plane, working(tmp_path, plane) as engine:
        with closing(obs_client(lab)) as client:
            client.setBucketVersioning(bucket.bucket, "Enabled")
        await fill(plane, bucket, ODD)
        chosen = (("deep/", "deep/"), ("ctrl\x01", "ctrl\x01"), ("a b.bin", "a b.bin"))
        row = await done(engine, removal(bucket, chosen=chosen))
        assert (row.state, row.done_files) == (TransferState.DONE, 4)
        assert await keys(plane, bucket) == sorted(set(ODD) - {"deep/er/", "deep/er/z", "ctrl\x01", "a b.bin"})
        assert sorted(await markers_among(plane, bucket.bucket, ["ctrl\x01", "deep/er/z", "x&<y>.txt"])) == [
            "ctrl\x01", "deep/er/z",
        ]  # fmt: skip
        back = await done(engine, restoring(bucket, chosen=chosen))
        assert (back.state, back.done_files) == (TransferState.DONE, 4)
        assert await keys(plane, bucket) == sorted(ODD)


async def test_each_that_stays_is_told_with_its_reason(tmp_path: Path) -> None:
    shelf = ObjectShelf(page_size=100)
    for number in range(2500):
        shelf.keep(ObjectPath(BUCKET, f"in/{number:05}"), b"12")
    removes = shelf.remove

    async def all_but_two(bucket: str, names: list[str]) -> list[NotRemoved]:
        held = [name for name in names if name.endswith(("00007", "02000"))]
        await removes(bucket, [name for name in names if name not in held])
        return [NotRemoved(name, "AccessDenied", "Held.") for name in held]

    shelf.remove = all_but_two
    async with working(tmp_path, shelf) as engine:
        row = await done(engine, removal(ObjectPath(BUCKET, "in/")))
        assert (row.state, row.done_files, row.failed_files) == (TransferState.PARTLY, 2498, 2)
        failed = [item for item in await all_items(engine, row.id) if item.state is ItemState.FAILED]
        assert [item.name for item in failed] == ["00007", "02000"]
        assert "Held." in failed[0].error.sentence()
        shelf.remove = removes
        await engine.retry(row.id)
        assert (await engine.ended(row.id)).state is TransferState.DONE
    assert shelf.keys(BUCKET) == []


async def planned_removal(shelf: ObjectShelf, engine: TransferEngine) -> int:
    """Of a folder with one object."""
    shelf.keep(ObjectPath(BUCKET, "in/a"), b"12")
    number = await engine.add(removal(ObjectPath(BUCKET, "in/")), needs_confirmation=True)
    await engine.planned(number)
    return number


async def test_what_came_after_the_count_stays(tmp_path: Path) -> None:
    shelf = ObjectShelf()
    async with working(tmp_path, shelf) as engine:
        number = await planned_removal(shelf, engine)
        shelf.keep(ObjectPath(BUCKET, "in/b"), b"12")
        await engine.confirm(number)
        assert (await engine.ended(number)).state is TransferState.DONE
    assert shelf.keys(BUCKET) == ["in/b"]


async def test_what_nobody_agreed_to_is_not_done_by_another_try(tmp_path: Path) -> None:
    shelf = ObjectShelf()
    async with working(tmp_path, shelf) as engine:
        number = await planned_removal(shelf, engine)
        await engine.cancel(number)
        assert (await engine.ended(number)).state is TransferState.CANCELLED
        with pytest.raises(Conflict, match="was not confirmed"):
            await engine.retry(number)
    async with working(tmp_path, shelf) as engine:
        await engine.resume_unfinished()
        assert all(row.state is TransferState.CANCELLED for row in engine.rows())
    assert shelf.keys(BUCKET) == ["in/a"]
