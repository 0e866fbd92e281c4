"""The program's services on a home of their own, in front of a real Lab or a bad line to it."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from support.entered import Entered
from support.open_gate import open_gate
from support.servers.faults import FaultyProxy
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import (
    Connection,
    Connections,
    LabAddress,
)
from traindeck.services.accounts.profiles import ProfileService
from traindeck.services.accounts.secrets import Secrets
from traindeck.services.jobs.adoption import Adoption
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.comparing import RunComparing
from traindeck.services.jobs.home_mark import HomeMark
from traindeck.services.jobs.modelarts.job_search import name_filter, pages
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.submission import Gate, Submission
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.unfinished_uploads import UnfinishedUploads
from traindeck.services.transfers import Transfers
from traindeck.store.paths import Paths
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore
from traindeck.store.settings import ProfileStore, SettingsFile
from traindeck.store.transfer_journal import TransferJournal

BUCKET = "bench"
CREATES = re.compile(r"POST \S*/training-jobs$")
SEARCHES = re.compile(r"POST \S*/training-job-searches$")
SHOWS = re.compile(r"GET \S*/training-jobs/[^/]+$")
SOON_S = (0.05, 0.1, 0.2, 0.4)

SCRIPT = """
import argparse, time
parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float)
parser.add_argument("--lines", type=int)
parser.add_argument("--train_url")
given, _ = parser.parse_known_args()
results = given.train_url
for number in range(given.lines):
    print(f"line {number} 行", flush=number % 100 == 0)
print("first", flush=True)
time.sleep(given.seconds)
print("last", flush=True)
"""


def spec(seconds: float = 0.0, lines: int = 0, **changes: Any) -> JobSpec:
    form = JobSpec(
        name="job",
        boot="train.py",
        engine="Local-Python",
        engine_version="local-python",
        flavor="modelarts.vm.cpu.2u",
        stop_after="1h",
        outputs=(Channel("train_url", f"obs://{BUCKET}/out/{{run}}/"),),
        log_to=f"obs://{BUCKET}/log/{{run}}/",
        parameters=(("seconds", seconds), ("lines", lines)),
    )
    return replace(form, **changes)


def an_intent(profile: str = LAB, state: RunState = RunState.SUBMITTING, number: str = "1") -> Run:
    """What a killed program leaves in the records."""
    now = datetime.now(UTC)
    return Run(f"aabb000{number}", 0, f"job-left-{number}-{time.monotonic_ns()}", profile, spec(), state, now)


def code_in(folder: Path, script: str = SCRIPT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(script, encoding="utf-8")
    return folder


class Bench(Entered):
    """One program; several of them may share a home."""

    def __init__(
        self,
        home: Path,
        way: Way,
        *,
        look_ups_s: Sequence[float] = SOON_S,
        waits_for_keys: bool = False,
    ) -> None:
        super().__init__()
        self._waits_for_keys = waits_for_keys
        self.paths = Paths(home)
        self._way = way
        self._look_ups_s = look_ups_s
        self._patience_s = None if waits_for_keys else 0.5
        self.made: list[Connection] = []
        self.gate: Gate = open_gate
        """What looks at a job before it is sent; a test of the sending itself has none."""

    async def __aenter__(self) -> Self:
        owned = await self._owned.__aenter__()
        self.paths.make()

        def pool(workers: int, name: str) -> BlockingCalls:
            calls = BlockingCalls(workers, name)
            owned.callback(calls.close)
            return calls

        writer, self.disk, self.service = pool(1, "records"), pool(2, "disk"), pool(8, "service")
        self.records = RunStore(RecordsFile(self.paths.database, self.paths.runs), writer)
        owned.callback(self.records.close)
        await self.records.open()
        self.book = ProfileStore(SettingsFile(self.paths.settings), self.disk)
        await self.book.read()
        self.secrets = Secrets(pool(1, "keyring"))
        self.connections = Connections(
            self.book, self.secrets, self._open_lab, self._connect, waits_for_keys=self._waits_for_keys
        )
        owned.callback(self.connections.close)
        self.planes = await owned.enter_async_context(Planes(self.connections))
        self.bundles = CodeBundles(self.paths.bundles, self.disk)
        self.submission = Submission(
            self.records,
            self.connections,
            self.planes,
            self.bundles,
            self.paths.run,
            self.disk,
            self.book,
            self.gate,
            look_ups_s=self._look_ups_s,
        )
        self.submission.mark_of_home = HomeMark(self.paths.home_mark, self.disk).read
        self.logs = RunLogs(self.records, self.paths.run_log, self.disk)
        self.watch = RunWatch(self.records, self.connections, self.logs, settle=self.submission.settle)
        self.watch.planes = self.planes
        self.submission.changed.add(self.watch.tell)
        journal = TransferJournal(self.paths.transfers, pool(1, "journal"))
        owned.callback(journal.close)
        self.transfers = await owned.enter_async_context(
            Transfers(
                self.connections,
                self.planes,
                journal,
                self.disk,
                self.paths.transfer_locks,
                patience_s=self._patience_s,
            )
        )
        self.unfinished = UnfinishedUploads(self.planes, journal)
        self.adoption = Adoption(
            self.records, self.connections, self.watch, self.transfers, self.bundles, self.disk, self.paths.adopted,
            self.planes, self.submission.mark_of_home, self.submission.claim,
        )  # fmt: skip
        self.watch.take_back = self.adoption.take_back
        self.comparing = RunComparing(self.records, self.connections, self.bundles)
        self.watch.look_at_data = self.comparing.look_at_data
        self.submission.bring_code = self.adoption.bring_code
        self.run_service = RunService(self.records, self.connections, self.watch, self.transfers, self.bundles)
        self.profiles = ProfileService(self.book, self.secrets, self.connections, self.service)
        await self.open_scope()
        return self

    async def prepare(self) -> None:
        """The bucket the jobs of `spec` write to."""
        await (await self.connections.open(LAB)).storage.create_bucket(BUCKET)

    async def submitted(self, folder: Path, **changes: Any) -> Run:
        return await self.submission.submit(spec(**changes), folder)

    async def objects(self, prefix: str = "", bucket: str = BUCKET) -> list[str]:
        storage = (await self.connections.open(LAB)).storage
        pages = [page async for page in storage.entries(ObjectPath(bucket, prefix), recursive=True)]
        return [entry.path.key for page in pages for entry in page]

    async def add_account(self, name: str, credentials: Credentials | None = None, **addresses: str) -> None:
        """A second way to the same Lab, its keys in memory."""
        lab = self._way.profile
        fields: dict[str, Any] = {
            "obs_endpoint": lab.obs_endpoint, "modelarts_endpoint": lab.modelarts_endpoint,
            "iam_endpoint": lab.iam_endpoint, "project_id": lab.project_id, **addresses,
        }  # fmt: skip
        await self.book.put(Profile(name, Provider.MODELARTS, lab.region, **fields))
        self.secrets.keep(name, credentials or self._way.credentials)

    async def _open_lab(self) -> LabAddress:
        return LabAddress(self._way.profile, self._way.credentials, "1")

    def _connect(self, profile: Profile, credentials: Credentials) -> Connection:
        connection = Connection(profile, credentials, self.service)
        self.made.append(connection)
        return connection


Sending = Callable[[], AbstractAsyncContextManager[tuple[FaultyProxy, Bench]]]
"""Opens a program with the bucket of its jobs, behind a line to ModelArts that may be bad."""


@asynccontextmanager
async def sending_over(lab: LabProcess, way: Way, home: Path) -> AsyncIterator[tuple[FaultyProxy, Bench]]:
    async with bad_line(lab, way) as proxy, Bench(home, over(proxy, way)) as bench:
        await bench.prepare()
        yield proxy, bench


def bad_line(lab: LabProcess, way: Way) -> FaultyProxy:
    """Between the program and ModelArts; its faults meet creates alone until told otherwise."""
    proxy = FaultyProxy(lab.modelarts, way.resign)
    proxy.only = CREATES
    return proxy


async def was_not_sent(bench: Bench, why: str) -> None:
    (run,) = await bench.records.all()
    assert run.state is RunState.NOT_SENT and why in str(run.reason)


def over(proxy: FaultyProxy, way: Way) -> Way:
    return way.at(modelarts_endpoint=proxy.url)


def count(proxy: FaultyProxy, wanted: re.Pattern[str]) -> int:
    return sum(1 for line in proxy.seen if wanted.search(line))


async def jobs_named(way: Way, name: str) -> int:
    """How many jobs of this name the Lab has."""
    with way.training() as training:
        found = [job async for jobs, _ in pages(training._found, name_filter(name)) for job in jobs]
        return len([job for job in found if job.name == name])
