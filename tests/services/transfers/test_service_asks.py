"""What a window asks before it moves anything, against the real Lab."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client
from support.stores.way import Way
from support.work_bench import BUCKET, Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.viewmodels.storage.places import missing_place

PLACE = ObjectPath(BUCKET, "new 文件夹/in it/")


async def test_a_folder_is_made_and_its_name_is_taken(lab: LabProcess, tmp_path: Path, calls: BlockingCalls) -> None:
    async with Bench(tmp_path, Way.to(lab, calls)) as bench:
        await bench.prepare()
        storage = (await bench.connections.open(LAB)).storage
        missing = await missing_place(storage, PLACE)
        assert missing is not None
        assert (missing.folder, missing.has_bucket) == (PLACE, True)
        await bench.transfers.make_folder(LAB, missing.folder)
        assert await missing_place(storage, PLACE) is None
        assert await missing_place(storage, PLACE.parent) is None
        taken = await bench.transfers.taken(LAB, PLACE.parent, ["in it/", "in it", "other/", "in/"])
        assert taken == {"in it/"}
        nowhere = await missing_place(storage, ObjectPath("no-bucket-here", "x"))
        assert nowhere is not None and not nowhere.has_bucket


async def test_versions_are_asked_for(lab: LabProcess, tmp_path: Path, calls: BlockingCalls) -> None:
    async with Bench(tmp_path, Way.to(lab, calls)) as bench:
        await bench.prepare()
        for state, keeps in (("Enabled", True), ("Suspended", False)):
            with closing(obs_client(lab)) as client:
                assert client.setBucketVersioning(BUCKET, state).status < 300
            assert await bench.transfers.planes.run(LAB, lambda plane: plane.keeps_versions(BUCKET)) is keeps
