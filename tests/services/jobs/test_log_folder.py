"""Where the service's link to a log does not help, its bytes come from the folder of the run in OBS, by range."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import until
from support.work_bench import BUCKET, Bench, code_in
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.run_log_source import RunLogSource

pytestmark = pytest.mark.usefixtures("no_waiting")

# What is no UTF-8 is shown repaired in the preview: the bytes themselves have to come from elsewhere.
SCRIPT = r"""
import sys
for number in range(3000):
    sys.stdout.buffer.write("第 {} 步 损失\n".format(number).encode("gbk") + b"\x00\xff\n")
"""
SERVICE_LINK = "/*/logs/url"


@pytest.fixture
def control(lab: LabProcess) -> Control:
    return Control(lab.root)


@pytest.mark.parametrize("status", [403, 404, 500])
async def test_the_file_in_obs_is_read_by_range_where_the_link_cannot_be_had(
    way: Way, control: Control, tmp_path: Path, status: int
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        control.rules({"kind": "error", "service": "modelarts", "resource": SERVICE_LINK, "status": status})
        bench.watch_runs()
        run = await bench.submitted(code_in(tmp_path / "code", SCRIPT))
        ended = await bench.watch.until_over(run.id)
        await until(lambda: bench.logs.file(run.id).notes().is_whole)
        name = f"log/{run.name}/modelarts-job-{ended.job_id}-worker-0.log"
        content = bytearray()
        place = ObjectPath(BUCKET, name)
        await bench.planes.run(LAB, lambda plane: plane.get(place, content.extend))
        stored = bytes(content)
        assert stored.count(b"\x00\xff\n") == 3000
        assert bench.logs.file(run.id).read(0) == stored and bench.logs.file(run.id).marks() == ()

        # By range: from any place on, at most so many bytes, and nothing behind the end or of a file that is gone.
        connection = await bench.connections.open(LAB)
        source = RunLogSource(connection.training, bench.planes, ended, "worker-0")
        assert await source.part(100, 50) == stored[100:150]
        assert await source.part(len(stored) - 5, 1000) == stored[-5:]
        assert await source.part(len(stored), 10) == b""
        await way.remove(place)
        assert await source.part(0, 10) == b""
