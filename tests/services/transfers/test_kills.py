"""kill -9 and cut lines while a folder goes up: in the end the bucket is the folder, and no part went twice."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import FaultyProxy, Request, Reset
from support.servers.lab_control import Control
from support.servers.lab_keys import plane_to
from support.servers.lab_process import LabProcess
from support.servers.mover import started
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.digests import md5

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX")

MIB = 1024 * 1024
BIG = "0-first.bin"  # in the order of keys, so that every kill finds it under way
PART = re.compile(r"PUT (/[^?]+)\?.*partNumber=(\d+)")
ROOT = Path(__file__).parents[2]


class Witness(FaultyProxy):
    """Sees every request that reached the Lab, and what it answered."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.kept: Counter[tuple[str, int]] = Counter()

    async def _forward(self, request: Request) -> tuple[bytes, bytes]:
        head, body = await super()._forward(request)
        match = PART.match(f"{request.method} {request.target}")
        if match and head.split(b" ")[1:2] == [b"200"]:  # none where the Lab hung up
            self.kept[match[1], int(match[2])] += 1
        return head, body


def folder(root: Path, files: int, each: int, big: int) -> Path:
    """Files of all sizes up to twice `each`, and one that goes in parts."""
    chance = random.Random(7)
    for number in range(files):
        place = root / f"{number % 17:02}" / f"文件 {number:05}.bin"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(chance.randbytes(chance.randrange(2 * each)))
    with (root / BIG).open("wb") as file:
        for _ in range(0, big, MIB):
            file.write(chance.randbytes(MIB))
    return root


async def moved_under_fire(
    lab: LabProcess,
    home: Path,
    source: Path,
    *,
    kills: int,
    cuts: int,
    bytes_per_s: int,
    life_s: float,
    **asked: object,
) -> Counter[tuple[str, int]]:
    """Every part the Lab took, and how often."""
    chance = random.Random(11)
    async with Witness(lab.obs) as witness:
        given = {
            "endpoint": witness.url, "access_key": lab.access_key, "secret_key": lab.secret_key, "region": lab.region,
            "home": str(home), "kind": "up", "source": str(source), "target": "obs://kills/in/",
            "bytes_per_s": bytes_per_s, **asked,
        }  # fmt: skip
        lives = 0
        while True:
            lives += 1
            process = await started(given)
            assert process.stdout is not None
            if lives <= cuts:
                witness.faults.extend([Reset(served=chance.random() < 0.5) for _ in range(3)])
            if lives <= kills:
                known = witness.kept.total()
                # Every second one dies as soon as another part is there, the others at any time.
                ends = asyncio.get_running_loop().time() + (life_s * (0.5 + chance.random()) if lives % 2 else 5.0)
                while process.returncode is None and asyncio.get_running_loop().time() < ends:
                    await asyncio.sleep(0.01)
                    if not lives % 2 and witness.kept.total() > known:
                        break
                if process.returncode is None:
                    process.kill()
                    await process.wait()
                    continue
            last = await process.stdout.readline()
            assert await process.wait() == 0
            word, _, content = last.decode().partition(" ")
            assert word == "ended", last
            assert json.loads(content)["state"] == "done", last
            assert lives > kills, "the transfer was over before it was killed often enough"
            return witness.kept


async def check_same(plane: DataPlane, source: Path) -> None:
    """The bucket is the folder, by size and MD5, and nothing half done is left."""
    expected = {path.relative_to(source).as_posix(): path for path in source.rglob("*") if path.is_file()}
    found: dict[str, int] = {}
    marker = ""
    while True:
        page = await plane.page("kills", "in/", marker=marker)
        for row in page.rows:
            found[row.key.removeprefix("in/")] = row.size_bytes
            place = expected[row.key.removeprefix("in/")]
            if "-" not in row.etag:
                assert row.etag == md5(place.read_bytes()).hexdigest(), row.key
        marker = page.next_marker
        if not marker:
            break
    assert found == {name: path.stat().st_size for name, path in expected.items()}
    pieces: list[bytes] = []
    await plane.get(ObjectPath("kills", f"in/{BIG}"), pieces.append)
    assert md5(b"".join(pieces)).digest() == md5((source / BIG).read_bytes()).digest()
    await check_nothing_left(plane)


async def check_nothing_left(plane: DataPlane) -> None:
    left = [fragment async for fragments in plane.fragments("kills") for fragment in fragments]
    assert left == []


async def fire(lab: LabProcess, tmp_path: Path, source: Path, **how: Any) -> None:
    plane = plane_to(lab.obs, lab.access_key, lab.secret_key, lab.region)
    try:
        with Lost(lab):
            parts = await moved_under_fire(lab, tmp_path / "home", source, **how)
        await check_same(plane, source)
    finally:
        await plane.close()
    count = -(-(source / BIG).stat().st_size // (16 * MIB))
    assert {number for _, number in parts} == set(range(1, count + 1))
    assert max(parts.values()) <= 1 + how["kills"]
    assert sum(parts.values()) - len(parts) <= 2, f"parts went twice: {parts}"


class Lost:
    """Some answers of the Lab never arrive."""

    def __init__(self, lab: LabProcess) -> None:
        self._control = Control(lab.root)

    def __enter__(self) -> None:
        self._control.rules(
            {"kind": "lost-answer", "service": "obs", "resource": "/kills/in/*", "count": 4, "skip": 40},
            {"kind": "error", "service": "obs", "status": 503, "code": "SlowDown", "probability": 0.01, "count": 5},
        )

    def __exit__(self, *_: object) -> None:
        self._control.call("DELETE")


@pytest.fixture
def bucket(lab: LabProcess) -> None:
    from support.stores.stores import lab_store

    lab_store(lab).make_bucket("kills")


@pytest.mark.limit(600)
async def test_a_folder_goes_up_through_kills_and_cuts(lab: LabProcess, bucket: None, tmp_path: Path) -> None:
    source = folder(tmp_path / "data", 300, 130_000, 80 * MIB)
    await fire(lab, tmp_path, source, kills=4, cuts=2, bytes_per_s=24 * MIB, life_s=0.7)


@pytest.mark.long
@pytest.mark.limit(1800)
async def test_a_large_tree_goes_up_through_thirty_kills(lab: LabProcess, bucket: None, tmp_path: Path) -> None:
    source = folder(tmp_path / "data", 20_000, 50_000, 1024 * MIB)
    await fire(lab, tmp_path, source, kills=30, cuts=10, bytes_per_s=50 * MIB, life_s=1.0)


async def packed_under_fire(lab: LabProcess, tmp_path: Path, source: Path, shard_mib: int, **how: Any) -> None:
    """Archives are the folder, whole, and none that was there went again."""
    target = ObjectPath("kills", f"in/{tmp_path.name}/")
    plane = plane_to(lab.obs, lab.access_key, lab.secret_key, lab.region)
    try:
        with Lost(lab):
            parts = await moved_under_fire(
                lab, tmp_path / "home", source,
                kind="pack", target=str(target), rules={"shard_bytes": shard_mib * MIB}, **how,
            )  # fmt: skip
        await check_nothing_left(plane)
        rows = (await plane.page(target.bucket, target.key)).rows
        found: dict[str, str] = {}
        for row in rows:
            pieces: list[bytes] = []
            await plane.get(ObjectPath("kills", row.key), pieces.append)
            if row.key.endswith(".tar"):
                with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
                    found |= {info.name: md5(archive.extractfile(info).read()).hexdigest() for info in archive}
            elif row.key.endswith(".jsonl"):
                lines = [json.loads(line) for line in b"".join(pieces).splitlines()]
    finally:
        await plane.close()
    files = [path for path in source.rglob("*") if path.is_file()]
    assert found == {path.relative_to(source).as_posix(): md5(path.read_bytes()).hexdigest() for path in files}
    assert {line["path"]: line["md5"] for line in lines} == found
    assert sum(parts.values()) - len(parts) <= 2, f"parts went twice: {parts}"


@pytest.mark.long
@pytest.mark.limit(600)
async def test_a_folder_is_packed_through_kills_and_cuts(lab: LabProcess, bucket: None, tmp_path: Path) -> None:
    source = folder(tmp_path / "data", 900, 130_000, 80 * MIB)
    await packed_under_fire(lab, tmp_path, source, 70, kills=4, cuts=2, bytes_per_s=40 * MIB, life_s=0.7)


@pytest.mark.long
@pytest.mark.limit(1800)
async def test_a_hundred_thousand_files_are_packed_through_ten_kills(
    lab: LabProcess, bucket: None, tmp_path: Path
) -> None:
    source = folder(tmp_path / "data", 100_000, 10_000, 300 * MIB)
    await packed_under_fire(lab, tmp_path, source, 256, kills=10, cuts=4, bytes_per_s=80 * MIB, life_s=2.0)
