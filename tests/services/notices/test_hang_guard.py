"""A job that hangs is suspected once, within the set time; one that downloads its data is not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import until
from support.work_bench import BUCKET, Bench, code_in
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.notices.hang_guard import Hang, HangGuard
from traindeck.services.storage.data_ports import BytesBody
from traindeck.store.run_waits import RunWaits

pytestmark = pytest.mark.usefixtures("no_waiting")

WAIT = timedelta(seconds=5)
HANGS = "import time\nprint('epoch 1', flush=True)\ntime.sleep(300)\n"
# Silent as long, and all the while at something.
DOWNLOADS = f"""
import time
import moxing as mox
print("epoch 0", flush=True)
while True:
    mox.file.read("obs://{BUCKET}/data/big", binary=True)
"""
WAITS_AND_SPEAKS = "import time\nwhile True:\n    print('on', flush=True)\n    time.sleep(0.3)\n"


def guard_of(bench: Bench, wait: timedelta) -> HangGuard:
    waits = RunWaits(bench.paths.run_waits)
    return HangGuard(bench.records, bench.connections, bench.watch, bench.logs, waits, bench.disk, lambda: wait)


async def test_a_hang_is_told_of_within_the_set_time_and_once(tmp_path: Path, calls: BlockingCalls) -> None:
    """In short; the whole below also has what must not be taken for one."""
    root = tmp_path / "own" / "root"
    root.mkdir(parents=True)
    (root / "lab.toml").write_text("metrics_interval_s = 0.2\n", encoding="utf-8")
    wait = timedelta(seconds=1)
    with LabProcess(root) as own:
        async with Bench(tmp_path / "home", Way.to(own, calls)) as bench:
            await bench.prepare()
            bench.watch_runs()
            guard = guard_of(bench, wait)
            told: list[Hang] = []
            guard.suspected.add(told.append)
            bench.scope.start("guard", guard.run)
            run = await bench.submitted(code_in(tmp_path / "hangs", HANGS))
            await until(lambda: told)
            begin = bench.watch.clock()
            await until(lambda: bench.watch.clock() - begin > wait)
            assert [one.run.id for one in told] == [run.id]
            await bench.run_service.stop(run.id)


@pytest.mark.long
async def test_a_hang_is_told_of_once_and_a_download_is_none(tmp_path: Path, calls: BlockingCalls) -> None:
    root = tmp_path / "own" / "root"
    root.mkdir(parents=True)
    (root / "lab.toml").write_text("metrics_interval_s = 0.3\nparallel_jobs = 3\n", encoding="utf-8")
    with LabProcess(root) as own:
        async with Bench(tmp_path / "home", Way.to(own, calls)) as bench:
            await bench.prepare()
            big = BytesBody(bytes(4_000_000))
            await bench.planes.run(LAB, lambda plane: plane.put(ObjectPath(BUCKET, "data/big"), big))
            Control(root).rules({"kind": "bandwidth", "bytes_per_second": 4_000_000, "resource": f"/{BUCKET}/data/*"})
            bench.watch_runs()
            guard = guard_of(bench, WAIT)
            told: list[Hang] = []
            guard.suspected.add(told.append)
            bench.scope.start("guard", guard.run)
            others = [
                await bench.submitted(code_in(tmp_path / name, script))
                for name, script in (("downloads", DOWNLOADS), ("speaks", WAITS_AND_SPEAKS))
            ]
            hangs = await bench.submitted(code_in(tmp_path / "hangs", HANGS))
            await until(lambda: told)
            first = told[0]
            assert first.run.id == hangs.id and bench.watch.clock() - first.silent_since >= WAIT
            assert bench.watch.clock() - first.silent_since < 4 * WAIT
            assert (await bench.records.existing(hangs.id)).state.can_stop, "nothing was done to it"

            # The others have been at it for longer than that, and the same hang is no news.
            begin = bench.watch.clock()
            await until(lambda: bench.watch.clock() - begin > WAIT)
            assert told == [first]

            # A guard that begins anew knows the hang by what is held of the log: who keeps what was told sees it.
            again = guard_of(bench, WAIT)
            later: list[Hang] = []
            again.suspected.add(later.append)
            bench.scope.start("another guard", again.run)
            await until(lambda: later)
            assert (later[0].run.id, later[0].held_bytes) == (hangs.id, first.held_bytes)
            for run in (*others, hangs):
                await bench.run_service.stop(run.id)


@pytest.mark.long
async def test_what_was_not_measured_is_no_hang(tmp_path: Path, calls: BlockingCalls) -> None:
    """-1 is no data: the Lab here has not measured anything yet."""
    root = tmp_path / "own" / "root"
    root.mkdir(parents=True)
    (root / "lab.toml").write_text("metrics_interval_s = 3600\n", encoding="utf-8")
    with LabProcess(root) as own:
        async with Bench(tmp_path / "home", Way.to(own, calls)) as bench:
            await bench.prepare()
            bench.watch_runs()
            wait = timedelta(seconds=0.5)
            guard = guard_of(bench, wait)
            told: list[Hang] = []
            guard.suspected.add(told.append)
            bench.scope.start("guard", guard.run)
            run = await bench.submitted(code_in(tmp_path / "hangs", HANGS))
            await until(lambda: b"epoch 1" in bench.logs.file(run.id).read(0))
            begin = bench.watch.clock()
            await until(lambda: bench.watch.clock() - begin > 4 * wait)
            assert not told
            await bench.run_service.stop(run.id)
