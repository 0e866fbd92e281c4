"""What is dropped, pasted or fetched together is one order: of the account it was meant for, and safe from a kill."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from support.folder_cloud import FolderCloud, FolderStorage
from support.folder_plane import FolderPlane
from support.hand_made_connection import HandMadeConnection
from support.panel_bench import User
from support.servers.lab_process import LabProcess
from support.transfer_works import content_of, tree
from support.waiting import until
from traindeck.assembly.core import Core
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import LAB, Profile
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text
from traindeck.domain.transfers.records import TransferState
from traindeck.services.accounts.connections import Connection
from traindeck.store.paths import Paths
from traindeck.viewmodels.storage.bucket_tree import BucketTree

BUCKET = ObjectPath("bucket")
DATA = BUCKET.join("data/")
SEVEN = {f"{number}.txt": b"x" * number for number in range(1, 6)} | {"one/a.bin": b"a", "two/deep/b.bin": b"b"}
TOP = ("1.txt", "2.txt", "3.txt", "4.txt", "5.txt", "one", "two")


class TwoAccounts(FolderCloud):
    """What is called “work” has a store of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.other = FolderStorage(folder / "other")

    def _connect(self, profile: Profile, credentials: Credentials) -> Connection:
        connection = super()._connect(profile, credentials)
        if profile.name == LAB:
            return connection
        services: dict[str, Any] = {
            "training": self.jobs,
            "settings": connection.settings,
            "objects": None,
            "access": self.access,
        }
        return HandMadeConnection(profile, credentials, FolderPlane(self.other), storage=self.other, **services)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[TwoAccounts, BucketTree]]:
    async with TwoAccounts(folder) as cloud:
        for storage in (cloud.storage, cloud.other):
            await storage.put(b"1", BUCKET.join("here"))
        await cloud.add_cloud_profile("work")
        buckets = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        buckets.use_profile(LAB)
        await until(lambda: buckets.level(None).is_known)
        yield cloud, buckets


def dropped(folder: Path) -> list[Path]:
    tree(folder, SEVEN)
    return [folder / name for name in TOP]


def all_over(cloud: FolderCloud) -> bool:
    rows = cloud.transfers.rows()
    return bool(rows) and all(row.state.is_over for row in rows)


async def test_an_account_switched_during_the_question_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "cloud") as (cloud, buckets):
        await cloud.storage.put(b"to be replaced", DATA.join("1.txt"))

        async def switch(question: Text, button: Text) -> bool:
            buckets.use_profile("work")
            return True

        buckets.upload(dropped(tmp_path / "here"), DATA, switch)
        await until(lambda: all_over(cloud))
        assert content_of(cloud.storage.root / "bucket/data") == SEVEN
        assert not (cloud.other.root / "bucket/data").exists()
        assert {row.profile for row in cloud.transfers.rows()} == {LAB}


async def test_an_account_switched_right_after_the_wish_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "cloud") as (cloud, buckets):
        for name, content in SEVEN.items():
            await cloud.storage.put(content, DATA.join(name))
        buckets.download([DATA.join(f"{number}.txt") for number in range(1, 6)], tmp_path / "down")
        buckets.pack(DATA, BUCKET.join("packed/"), User())
        buckets.use_profile("work")
        await until(lambda: len(cloud.transfers.rows()) == 2 and all_over(cloud))
        assert sorted(content_of(tmp_path / "down")) == list(TOP[:5])
        assert (cloud.storage.root / "bucket/packed/shards.json").exists()
        assert not (cloud.other.root / "bucket/packed").exists()


async def test_what_a_dialog_of_another_account_asked_for_is_of_that_account(tmp_path: Path) -> None:
    async with opened(tmp_path / "cloud") as (cloud, buckets):
        await cloud.storage.put(b"lab", DATA.join("a.txt"))
        await cloud.other.put(b"work", DATA.join("a.txt"))
        buckets.use_profile("work")
        buckets.download([DATA.join("a.txt")], tmp_path / "down", LAB)
        buckets.upload(dropped(tmp_path / "here"), DATA, User(), LAB)
        await until(lambda: len(cloud.transfers.rows()) == 2 and all_over(cloud))
        assert (tmp_path / "down/a.txt").read_bytes() == b"lab"
        assert (cloud.storage.root / "bucket/data/one/a.bin").exists()
        buckets.remove([DATA.join("a.txt")], User(), LAB)
        await until(lambda: not (cloud.storage.root / "bucket/data/a.txt").exists())
        assert (cloud.other.root / "bucket/data/a.txt").exists()


async def test_seven_are_one_order_and_the_second_time_nothing_is_sent(tmp_path: Path) -> None:
    async with opened(tmp_path / "cloud") as (cloud, buckets):
        user, sources = User(), dropped(tmp_path / "here")
        buckets.upload(sources, DATA, user)
        await until(lambda: all_over(cloud))
        (row,) = cloud.transfers.rows()
        assert (row.done_files, row.state) == (7, TransferState.DONE)
        buckets.upload(sources, DATA, user)
        await until(lambda: len(cloud.transfers.rows()) == 2 and all_over(cloud))
        again = cloud.transfers.rows()[0]
        assert (again.equal_files, again.done_files) == (7, 0)
        assert user.asked == [], "nothing is lost by it"
        sources[0].write_bytes(b"!")
        buckets.upload(sources, DATA, user)
        await until(lambda: len(cloud.transfers.rows()) == 3 and all_over(cloud))
        assert user.asked == ["Replace 1 object in obs://bucket/data/? This cannot be undone. [Replace]"]
        assert (cloud.storage.root / "bucket/data/1.txt").read_bytes() == b"!"


async def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path / "cloud") as (cloud, buckets):
        user = User()
        buckets.upload([tmp_path / "gone.txt"], DATA, user)
        await until(lambda: cloud.reported)
        assert "gone.txt" in str(cloud.reported[0][1]) and not user.asked


@pytest.fixture
def looks() -> Iterator[list[str]]:
    """Every folder whose names were read."""
    seen: list[str] = []
    is_on = True

    def hear(event: str, given: tuple[object, ...]) -> None:
        if is_on and event == "os.scandir":
            seen.append(str(given[0]))

    sys.addaudithook(hear)
    yield seen
    is_on = False


async def test_a_folder_is_walked_once(tmp_path: Path, looks: list[str]) -> None:
    async with opened(tmp_path / "cloud") as (cloud, buckets):
        sources = dropped(tmp_path / "here")
        looks.clear()
        buckets.upload(sources, DATA, User())
        await until(lambda: content_of(cloud.storage.root / "bucket/data") == SEVEN and all_over(cloud))
        ours = [place for place in looks if place.startswith(str(tmp_path / "here"))]
        assert sorted(ours) == [str(tmp_path / "here" / name) for name in ("", "one", "two", "two/deep")]


PROGRAM = """
import asyncio, sys
from pathlib import Path
from traindeck.assembly.core import Core
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.accounts.profiles import LAB
from traindeck.runtime.tasks import TaskScope
from traindeck.store.paths import Paths
from traindeck.viewmodels.storage.bucket_tree import BucketTree

home, *sources = map(Path, sys.argv[1:])

async def agrees(question, button):
    return True

async def main():
    async with Core(Paths(home), somebody_helps=True) as core, TaskScope(lambda *what: None) as scope:
        core.transfers.set_rate(1)
        buckets = BucketTree(core.connections, core.transfers, core.disk, scope)
        buckets.use_profile(LAB)
        buckets.upload(sources, ObjectPath("bucket", "data/"), agrees)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def written(home: Path) -> list[tuple[str, int]]:
    """State and number of files of each transfer, as they are on the disk."""
    journal = Paths(home).transfers
    if not journal.exists():
        return []
    with closing(sqlite3.connect(journal)) as db:
        try:
            found = db.execute(
                "SELECT state, (SELECT count(*) FROM items WHERE transfer = id) FROM transfers ORDER BY id"
            )
            return list(found)
        except sqlite3.OperationalError:
            return []  # it is being made


@pytest.mark.limit(240)
@pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX")
async def test_a_program_killed_right_after_the_drop_loses_nothing(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "home")
    sources = dropped(tmp_path / "here")
    (tmp_path / "here/5.txt").write_bytes(os.urandom(3_000_000))
    with LabProcess(paths.lab):
        async with Core(paths) as core:
            await (await core.connections.open(LAB)).storage.create_bucket("bucket")
        program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(paths.home), *map(str, sources)])
        try:
            await until(lambda: written(paths.home) == [("running", 7)], 100.0)
        finally:
            program.kill()
            await asyncio.to_thread(program.wait)
        async with Core(paths, somebody_helps=True) as core:
            await core.transfers.take_up()
            await until(lambda: [row.state for row in core.transfers.rows()] == [TransferState.DONE], 100.0)
            (row,) = core.transfers.rows()
            assert row.done_files == 7 and row.is_verified
            await core.transfers.fetch(LAB, DATA, tmp_path / "back")
        assert content_of(tmp_path / "back") == content_of(tmp_path / "here")
