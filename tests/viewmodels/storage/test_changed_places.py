"""What a transfer changed in a service is told when it is over, whoever began it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, offline
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import CompareBy, Kind, Order, Rules, uploads_of
from traindeck.domain.transfers.records import TransferState
from traindeck.services.transfers.engine import TransferEngine
from traindeck.viewmodels.storage import places as changed_places
from traindeck.viewmodels.storage.places import ChangedPlaces

BUCKET = ObjectPath("bucket")
DATA = BUCKET.join("data/")


class Heard:
    def __init__(self, changes: ChangedPlaces) -> None:
        self.touched: list[str] = []
        self.arrived: list[str] = []
        changes.touched.connect(lambda profile, folder: self.touched.append(f"{profile} {folder}"))
        changes.arrived.connect(lambda profile, folder: self.arrived.append(f"{profile} {folder}"))


@asynccontextmanager
async def heard(folder: Path) -> AsyncIterator[tuple[FolderCloud, Heard]]:
    async with FolderCloud(folder) as cloud:
        await cloud.storage.put(b"12345", DATA.join("old.txt"))
        changes = ChangedPlaces(cloud.transfers, cloud.scope)
        try:
            yield cloud, Heard(changes)
        finally:
            changes.close()


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    return folder


async def test_an_upload_tells_of_each_folder_it_wrote_into_and_of_those_above(tmp_path: Path) -> None:
    async with heard(tmp_path) as (cloud, told):
        source = tree(tmp_path / "run", "a.txt", "ckpt/deep/b.bin")
        await cloud.transfers.upload("lab", source, DATA.join("run/"))
        await until(lambda: told.touched)
        names = ("data/", "data/run/", "data/run/ckpt/", "data/run/ckpt/deep/")
        assert told.touched == [f"lab obs://bucket/{name}" for name in names]
        assert told.arrived == []


async def test_a_single_file_and_a_copy_tell_of_their_folder(tmp_path: Path) -> None:
    async with heard(tmp_path) as (cloud, told):
        source = tree(tmp_path / "here", "a.txt") / "a.txt"
        await cloud.transfers.upload("lab", source, DATA.join("a.txt"))
        await until(lambda: told.touched == ["lab obs://bucket/data/"])
        await cloud.transfers.move(Order(Kind.COPY, "lab", str(DATA), str(BUCKET.join("copy/"))))
        await until(lambda: len(told.touched) > 1)
        assert told.touched[1:] == ["lab obs://bucket/", "lab obs://bucket/copy/"]


async def test_a_sync_tells_of_what_it_sent_and_of_what_it_removed(tmp_path: Path) -> None:
    async with heard(tmp_path) as (cloud, told):
        await cloud.storage.put(b"1", DATA.join("gone/old.txt"))
        source = tree(tmp_path / "here", "new/a.txt")
        rules = Rules(compare=CompareBy.SIZE, delete=True)
        await cloud.transfers.move(Order(Kind.UPLOAD, "lab", str(source), str(DATA), rules))
        await until(lambda: told.touched)
        assert set(told.touched) == {f"lab obs://bucket/{name}" for name in ("", "data/", "data/new/", "data/gone/")}


async def test_what_changes_nothing_there_is_not_told(tmp_path: Path) -> None:
    async with heard(tmp_path) as (cloud, told):
        await cloud.transfers.fetch("lab", DATA, tmp_path / "down")
        await cloud.transfers.move(Order(Kind.CHECK, "lab", str(tmp_path / "down"), str(DATA)))
        rules = Rules(compare=CompareBy.SIZE)
        await cloud.transfers.move(Order(Kind.UPLOAD, "lab", str(tmp_path / "down"), str(DATA), rules))
        await cloud.transfers.upload("lab", tree(tmp_path / "here", "a.txt") / "a.txt", DATA.join("a.txt"))
        await until(lambda: told.touched)
        assert told.touched == ["lab obs://bucket/data/"], "the last one only"


async def test_what_came_before_a_failure_is_told_and_the_rest_when_it_is_tried_again(tmp_path: Path) -> None:
    async with heard(tmp_path) as (cloud, told):
        source = tree(tmp_path / "here", "a.txt")
        cloud.storage.trouble = offline()
        cloud.scope.start("up", lambda: _sent(cloud, source))
        await until(lambda: [row.state for row in cloud.transfers.rows()] == [TransferState.FAILED])
        cloud.storage.trouble = None
        cloud.transfers.ask(TransferEngine.retry, cloud.transfers.rows()[0].id)
        await until(lambda: told.touched)
        assert "lab obs://bucket/new/" in told.touched


async def test_many_folders_are_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_places, "MOST_FOLDERS", 3)
    async with heard(tmp_path) as (cloud, told):
        source = tree(tmp_path / "run", *(f"{number}/a.txt" for number in range(5)))
        await cloud.transfers.upload("lab", source, DATA.join("run/"))
        await until(lambda: told.arrived)
        assert told.arrived == ["lab obs://bucket/data/run/"]
        assert told.touched == ["lab obs://bucket/data/"]


async def test_of_several_that_were_sent_together_only_their_folders_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_places, "MOST_FOLDERS", 3)
    async with heard(tmp_path) as (cloud, told):
        source = tree(tmp_path / "run", *(f"many/{number}/a.txt" for number in range(5)), "b.txt")
        (order,) = uploads_of("lab", [(source / "many", True), (source / "b.txt", False)], DATA)
        await cloud.transfers.move(order)
        await until(lambda: told.arrived)
        assert told.arrived == ["lab obs://bucket/data/many/"], "there may be very much beside it"
        assert told.touched == ["lab obs://bucket/data/"]


async def test_what_was_over_before_is_no_news(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await cloud.storage.put(b"1", DATA.join("old.txt"))
        await cloud.transfers.upload("lab", tree(tmp_path / "here", "a.txt"), DATA.join("first/"))
        changes = ChangedPlaces(cloud.transfers, cloud.scope)
        told = Heard(changes)
        cloud.transfers.changed.tell(cloud.transfers.rows()[0])
        await cloud.transfers.upload("lab", tmp_path / "here", DATA.join("second/"))
        await until(lambda: told.touched)
        assert told.touched == ["lab obs://bucket/data/", "lab obs://bucket/data/second/"]
        changes.close()


async def _sent(cloud: FolderCloud, source: Path) -> None:
    await cloud.transfers.begin(Order(Kind.UPLOAD, "lab", str(source), str(BUCKET.join("new/"))))
