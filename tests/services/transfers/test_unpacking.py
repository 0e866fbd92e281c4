"""Files come out of shards again: all, or a few by their ranges; damaged and hostile indexes do no harm."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import BUCKET, content_of, done, tree, working
from traindeck.domain.errors import LocalTrouble, NotFound, NotUnderstood
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Kind, Order, Rules
from traindeck.domain.transfers.records import TransferState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.transfers.packing import unpacking
from traindeck.services.transfers.packing import unpacking as packed_places
from traindeck.services.transfers.packing.unpacking import (
    PackedBucket,
    PackedFolder,
    PackedPlace,
    Unpacking,
)

PACKED = ObjectPath(BUCKET, "p/")
CONTENT = {f"{number % 5}/{number:03}.bin": os.urandom(number * 37) for number in range(120)} | {
    "大 文件": b"x" * 400_000
}


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(4, "disk")
    yield calls
    calls.close()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_STRETCH_BYTES", 100_000)
    monkeypatch.setattr(packed_places, "_INDEX_STEP", 3_000)


@pytest.fixture
def shelf() -> ObjectShelf:
    return ObjectShelf()


async def packed(shelf: ObjectShelf, tmp_path: Path, target: str | Path = PACKED) -> None:
    source = tree(tmp_path / "data", CONTENT)
    order = Order(Kind.PACK, "lab", str(source), str(target), Rules(shard_files=50))
    async with working(tmp_path / "home", shelf) as engine:
        assert (await done(engine, order)).state is TransferState.DONE


async def test_all_files_come_back_from_both_kinds_of_places(
    shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path
) -> None:
    await packed(shelf, tmp_path)
    await packed(shelf, tmp_path, tmp_path / "shards")
    places: list[PackedPlace] = [PackedBucket(PACKED, disk, shelf), PackedFolder(tmp_path / "shards", disk)]
    for number, place in enumerate(places):
        seen: list[tuple[int, int | None]] = []
        target = tmp_path / f"out{number}"
        told = await Unpacking(place, target, disk).run(lambda *at, seen=seen: seen.append(at))
        assert (told.files, told.equal, told.failed) == (len(CONTENT), 0, 0)
        assert content_of(target) == CONTENT
        assert seen[-1] == (sum(map(len, CONTENT.values())),) * 2

        (target / "1/001.bin").write_bytes(b"other")
        shelf.asked.clear()
        again = await Unpacking(place, target, disk).run()
        assert (again.files, again.equal) == (1, len(CONTENT) - 1)
        assert content_of(target) == CONTENT
        assert len([words for words in shelf.asked if words.startswith("get p/shard-")]) <= 1, (
            "what is there is not fetched"
        )


async def test_a_few_files_cost_a_few_ranges(shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path) -> None:
    await packed(shelf, tmp_path)
    shelf.asked.clear()
    told = await Unpacking(PackedBucket(PACKED, disk, shelf), tmp_path / "out", disk, ["3/*8.bin", "大*"]).run()
    wanted = {
        name: data for name, data in CONTENT.items() if (name[0] == "3" and name.endswith("8.bin")) or "大" in name
    }
    assert told.files == len(wanted) > 5
    assert content_of(tmp_path / "out") == wanted
    with pytest.raises(NotFound):
        await Unpacking(PackedBucket(PACKED, disk, shelf), tmp_path / "out", disk, ["none*"]).run()


async def test_damaged_shards_fail_the_files_they_hold(shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path) -> None:
    await packed(shelf, tmp_path)
    shard = PACKED.join("shard-000001.tar")
    line = json.loads(next(line for line in shelf.content(BUCKET)["p/index.jsonl"].splitlines() if b"2/062" in line))
    content = bytearray(shelf.objects[shard].content)
    content[line["offset"] + 3] ^= 1
    shelf.keep(shard, bytes(content))
    del shelf.objects[PACKED.join("shard-000000.tar")]
    told = await Unpacking(PackedBucket(PACKED, disk, shelf), tmp_path / "out", disk).run()
    assert (told.failed, told.files) == (51, len(CONTENT) - 51)
    errors = dict(told.failures)
    assert isinstance(errors["2/062.bin"], LocalTrouble)
    assert isinstance(errors["0/000.bin"], NotFound)
    assert len(content_of(tmp_path / "out")) == len(CONTENT) - 51, "nothing half or damaged is left"


async def test_a_shard_shorter_than_its_index_says_is_not_waited_for(
    shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path
) -> None:
    shelf.keep(PACKED.join("shard-000000.tar"), bytes(1000))
    line = {"path": "a", "shard": "shard-000000.tar", "offset": 0, "size": 200_000}
    shelf.keep(PACKED.join("index.jsonl"), json.dumps(line).encode())
    with pytest.raises(NotUnderstood, match="shorter") as told:
        await Unpacking(PackedBucket(PACKED, disk, shelf), tmp_path / "out", disk).run()
    assert not told.value.passes and len([asked for asked in shelf.asked if asked.startswith("get p/shard")]) == 1
    assert content_of(tmp_path / "out") == {}


@pytest.mark.parametrize("name", ["../up", "/abs", "a/../../up", "..", "C:\\x", "a//b"])
async def test_no_name_leads_out_of_the_target(
    shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path, name: str
) -> None:
    shelf.keep(PACKED.join("shard-000000.tar"), b"harm")
    line = {"path": name, "shard": "shard-000000.tar", "offset": 0, "size": 4}
    shelf.keep(PACKED.join("index.jsonl"), json.dumps(line).encode())
    told = await Unpacking(PackedBucket(PACKED, disk, shelf), tmp_path / "in" / "out", disk).run()
    assert told.files == 1
    assert [
        path for path in tmp_path.rglob("*") if path.is_file() and not path.is_relative_to(tmp_path / "in/out")
    ] == []
    (inside,) = content_of(tmp_path / "in" / "out").values()
    assert inside == b"harm"


@pytest.mark.parametrize(
    "line",
    [
        b"{}", b"[]", b"no json", b"\xff\xfe",
        b'{"path": "a", "shard": "../../secret", "offset": 0, "size": 1}',
        b'{"path": "a", "shard": "..\\\\secret", "offset": 0, "size": 1}',
        b'{"path": "a", "shard": "s", "offset": -1, "size": 1}',
        b'{"path": 5, "shard": "s", "offset": 0, "size": 1}',
    ],
)  # fmt: skip
async def test_a_broken_line_is_named(shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path, line: bytes) -> None:
    good = b'{"path": "a", "shard": "s", "offset": 0, "size": 0}\n'
    shelf.keep(PACKED.join("index.jsonl"), good * 2 + line)
    with pytest.raises(LocalTrouble, match="Line 3"):
        await Unpacking(PackedBucket(PACKED, disk, shelf), tmp_path / "out", disk).run()


async def test_without_an_index_there_is_nothing_to_unpack(
    shelf: ObjectShelf, disk: BlockingCalls, tmp_path: Path
) -> None:
    for place in (PackedBucket(PACKED, disk, shelf), PackedFolder(tmp_path / "none", disk)):
        with pytest.raises(NotFound):
            await Unpacking(place, tmp_path / "out", disk).run()
