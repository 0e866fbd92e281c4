"""kill -9 while a folder moves within the service: nothing is lost, and in the end nothing is there twice."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from support.servers.faults import FaultyProxy
from support.servers.lab_process import LabProcess
from support.servers.mover import started
from support.stores.stores import lab_store, new_bucket
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.wire.data_plane import DataPlane

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX")

ROOT = Path(__file__).parents[2]
OBJECTS = 1500
# So many requests of this kind after its begin a program is killed: while it copies, and while it removes.
KILLS = (("PUT", 40), ("PUT", 300), ("PUT", 500), ("POST", 1), ("POST", 1))


async def etags(plane: DataPlane, folder: ObjectPath) -> dict[str, str]:
    found: dict[str, str] = {}
    marker = ""
    while True:
        page = await plane.page(folder.bucket, folder.key, marker=marker)
        found |= {row.key.removeprefix(folder.key): row.etag for row in page.rows}
        if not (marker := page.next_marker):
            return found


@pytest.mark.limit(600)
async def test_a_folder_moves_through_kills(lab: LabProcess, tmp_path: Path) -> None:
    store = lab_store(lab)
    bucket = new_bucket(store)
    source, target = bucket.join("in/"), bucket.join("to/")
    async with store.plane() as plane, FaultyProxy(lab.obs) as proxy:
        names = [f"{number % 7}/对象 {number:05}" for number in range(OBJECTS)]
        await asyncio.gather(*(plane.put(source.join(name), BytesBody(name.encode())) for name in names))
        whole = await etags(plane, source)
        assert len(whole) == OBJECTS
        given = {
            "endpoint": proxy.url, "access_key": lab.access_key, "secret_key": lab.secret_key, "region": lab.region,
            "home": str(tmp_path / "home"), "kind": "copy", "source": str(source), "target": str(target),
            "rules": {"moves": True}, "bytes_per_s": 0,
        }  # fmt: skip
        halves = set()
        for method, count in KILLS:
            proxy.seen.clear()
            process = await started(given)
            while process.returncode is None and sum(line.startswith(method) for line in proxy.seen) < count:
                await asyncio.sleep(0.001)
            assert process.returncode is None, "it was over before it was killed"
            process.kill()
            await process.wait()
            here, there = await etags(plane, source), await etags(plane, target)
            assert here | there == whole, "lost"
            halves.add(len(here) < OBJECTS)
        assert halves == {False, True}, "no kill met one of the halves"
        process = await started(given)
        assert process.stdout is not None
        last = (await process.stdout.readline()).decode()
        assert await process.wait() == 0
        assert json.loads(last.removeprefix("ended "))["state"] == "done", last
        assert await etags(plane, target) == whole
        assert await etags(plane, source) == {}
