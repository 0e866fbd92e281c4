"""Files and folders arrive whole and safely, and the list says what became of each."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from support.servers.faults import FaultyProxy, Reset, Stall
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import AT_ONCE_S, until
from support.work_bench import BUCKET, Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import NotFound, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.transfers import Transfer, TransferState
from traindeck.services.transfers.engine import TransferEngine

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def place(request: pytest.FixtureRequest) -> ObjectPath:
    return ObjectPath(BUCKET, f"{abs(hash(request.node.name))}/")


FILES = {"a.txt": b"a", "deep/er/b.bin": bytes(range(256)) * 3000, "空/c 文件.txt": b"", "deep/.hidden": b"h"}


def folder_of(root: Path) -> Path:
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def content_of(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_a_folder_goes_up_and_comes_back_the_same(way: Way, tmp_path: Path, place: ObjectPath) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        shown: list[Transfer] = []
        counted: list[tuple[int, int | None]] = []
        bench.transfers.changed.add(shown.append)
        source = folder_of(tmp_path / "我的 data")
        sent = await bench.transfers.upload(LAB, source, place, progress=lambda *news: counted.append(news))
        assert sent == len(FILES)
        fetched = await bench.transfers.fetch(LAB, place, tmp_path / "back" / "here")
        assert len(fetched) == len(FILES)
        assert content_of(tmp_path / "back" / "here") == FILES == content_of(source)
        down, up = bench.transfers.rows()
        size = sum(len(content) for content in FILES.values())
        for row in (up, down):
            assert (row.state, row.files, row.total_bytes, row.done_bytes) == (TransferState.DONE, 4, size, size)
            assert row.started and row.ended and row.error is None
        assert counted and counted[-1][1] == size and all(done <= size for done, _ in counted)
        assert [row.state for row in shown if row.id == up.id][-1] is TransferState.DONE
        bench.transfers.forget([row.id for row in bench.transfers.rows()])
        assert bench.transfers.rows() == []


async def test_a_file_goes_where_it_is_meant_to(way: Way, tmp_path: Path, place: ObjectPath) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        file = tmp_path / "one.txt"
        file.write_bytes(b"one")
        await bench.transfers.upload(LAB, file, place)
        await bench.transfers.upload(LAB, file, place.join("other name.txt"))
        keys = await bench.objects(place.key)
        assert keys == [place.key + "one.txt", place.key + "other name.txt"]
        (tmp_path / "into").mkdir()
        paths = await bench.transfers.fetch(LAB, place.join("one.txt"), tmp_path / "into")
        assert paths == [tmp_path / "into" / "one.txt"]
        paths = await bench.transfers.fetch(LAB, place.join("one.txt"), tmp_path / "new" / "two.txt")
        assert paths == [tmp_path / "new" / "two.txt"] and paths[0].read_bytes() == b"one"


async def test_what_is_not_there_is_named(way: Way, tmp_path: Path, place: ObjectPath) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        with pytest.raises(NotFound, match=r"nowhere\.txt"):
            await bench.transfers.upload(LAB, tmp_path / "nowhere.txt", place)
        with pytest.raises(NotFound, match="does not exist"):
            await bench.transfers.fetch(LAB, place.join("nothing"), tmp_path / "to")
        assert [row.state for row in bench.transfers.rows()] == [TransferState.FAILED] * 2
        assert all(isinstance(row.error, NotFound) for row in bench.transfers.rows())
        assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("key", ["../out.txt", "a/../../out.txt", "/etc/out.txt", "c:/out.txt", "a\\..\\out.txt"])
async def test_no_name_leads_out_of_the_target(way: Way, tmp_path: Path, place: ObjectPath, key: str) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        await way.put(b"x", ObjectPath(BUCKET, place.key + key))
        (path,) = await bench.transfers.fetch(LAB, place, tmp_path / "to")
        assert path.read_bytes() == b"x"
        assert path.resolve().is_relative_to(tmp_path / "to")
        assert list(tmp_path.rglob("*out.txt")) == [path]


async def test_names_that_differ_by_case_only_both_arrive(way: Way, tmp_path: Path, place: ObjectPath) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        for name in ("Model.bin", "model.bin"):
            await way.put(name.encode(), place.join(name))
        await bench.transfers.fetch(LAB, place, tmp_path / "to")
        assert sorted(content_of(tmp_path / "to").values()) == [b"Model.bin", b"model.bin"]


async def test_a_broken_line_is_counted_honestly(lab: LabProcess, way: Way, tmp_path: Path, place: ObjectPath) -> None:
    async with FaultyProxy(lab.obs) as proxy, Bench(tmp_path / "home", way.at(obs_endpoint=proxy.url)) as bench:
        await bench.prepare()
        source = tmp_path / "big.bin"
        source.write_bytes(os.urandom(400_000))
        proxy.faults.extend([Reset(), Reset(served=True)])
        await bench.transfers.upload(LAB, source, place.join("big.bin"))
        (row,) = bench.transfers.rows()
        assert (row.state, row.done_bytes) == (TransferState.DONE, 400_000)
        proxy.faults.extend([Reset()] * 1000)
        with pytest.raises(ServiceTrouble):
            await bench.transfers.upload(LAB, source, place.join("again.bin"))
        await until(lambda: bench.transfers.rows()[0].done_bytes == 0)
        assert bench.transfers.rows()[0].state is TransferState.FAILED
        proxy.faults.clear()
        assert place.key + "again.bin" not in await bench.objects(place.key)


async def test_one_that_is_cancelled_ends_at_once_and_leaves_nothing(
    lab: LabProcess, way: Way, tmp_path: Path, place: ObjectPath
) -> None:
    async with FaultyProxy(lab.obs) as proxy, Bench(tmp_path / "home", way.at(obs_endpoint=proxy.url)) as bench:
        await bench.prepare()
        await way.put(bytes(100_000), place.join("big.bin"))
        asked = len(proxy.seen) + 2  # what it is, and its content

        async def fetch() -> None:
            await bench.transfers.fetch(LAB, place.join("big.bin"), tmp_path / "to" / "big.bin")

        proxy.only = re.compile(r"^GET .*big\.bin")
        proxy.faults.append(Stall())
        bench.scope.start("fetch", fetch)
        await until(lambda: len(proxy.seen) == asked)
        (row,) = bench.transfers.rows()
        bench.transfers.ask(TransferEngine.cancel, row.id)
        async with asyncio.timeout(AT_ONCE_S):
            await until(lambda: not bench.scope.is_running("fetch"))
        (row,) = bench.transfers.rows()
        assert row.state is TransferState.CANCELLED and row.ended
        assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob("big.bin"))
        bench.transfers.ask(TransferEngine.cancel, row.id)  # over already: nothing happens
