"""A small cloud for tests of the panels: objects are files in a folder, jobs are moved on by the test.

It implements the ports of the services; everything above it in these tests is the program's own.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from support.entered import Entered
from support.folder_access import FolderAccess
from support.folder_plane import FolderPlane
from support.hand_made_connection import HandMadeConnection
from support.listed_names import ListedNames
from support.memory_secrets import MemorySecrets
from support.open_gate import open_gate
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.errors import AppError, Conflict, NotFound, Unreachable
from traindeck.domain.jobs.choices import Engine, Flavor
from traindeck.domain.jobs.job import LiveJobs, LogChunk, NumberedLines, RemoteJob
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.jobs.pools import JobQuota, ResourcePool
from traindeck.domain.jobs.resource_use import ResourceUse
from traindeck.domain.readings.phases import JobEvent
from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath, ObjectRow
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import Connection, Connections, LabAddress
from traindeck.services.accounts.profiles import ProfileService
from traindeck.services.jobs.adoption import Adoption
from traindeck.services.jobs.choices import JobChoices
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.submission import Submission
from traindeck.services.logs.log_search import LogFinder
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.notices.log_rules import LogRules
from traindeck.services.storage.bucket_listing import BucketListings
from traindeck.services.storage.data_ports import ListingPage
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.sdk.buckets import ObsStorage
from traindeck.services.storage.unfinished_uploads import UnfinishedUploads
from traindeck.services.transfers import Transfers
from traindeck.store.object_index import ObjectIndexes
from traindeck.store.offers import OfferStore
from traindeck.store.paths import Paths
from traindeck.store.records import RecordsFile
from traindeck.store.rule_file import RuleFile
from traindeck.store.runs import RunStore
from traindeck.store.settings import ProfileStore, SettingsFile
from traindeck.store.transfer_journal import TransferJournal

if TYPE_CHECKING:
    from traindeck.viewmodels.jobs.runs.run_list import RunList

TORCH = Engine("PyTorch", "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64", "e1", "x86_64")
TORCH_OLD = Engine("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64", "e2", "x86_64")
MIND = Engine("Ascend-Powered-Engine", "mindspore_2.3.0-cann_8.0.rc1-py_3.9-aarch64", "e3", "aarch64")
CPU = Flavor("modelarts.vm.cpu.2u", "2 vCPU", "CPU", 2, "8 GB", "", 2)
GPU = Flavor("modelarts.p3.large.public", "1 GPU", "GPU", 8, "64 GB", "V100", 4)
NPU = Flavor("modelarts.vm.npu.1", "1 NPU", "Ascend", 24, "96 GB", "Ascend", 8)


class PlainSettings:
    """Those of buckets that nobody changed."""

    async def region(self, bucket: str) -> str:
        return "lab"

    async def encryption(self, bucket: str) -> str:
        return ""

    async def used_bytes(self, bucket: str) -> int | None:
        return None


class FolderStorage(ObsStorage):
    """Objects as files; `page_size`, `wait` and `trouble` are for the test to turn."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.page_size = 1000
        self.wait: asyncio.Event | None = None
        self.trouble: AppError | None = None
        self.listed: list[str] = []
        root.mkdir(parents=True, exist_ok=True)

    async def _gate(self) -> None:
        if self.wait is not None:
            await self.wait.wait()
        if self.trouble is not None:
            raise self.trouble

    clock_ahead_s = 0.0

    async def try_to_write(self, path: ObjectPath) -> None:
        await self._gate()

    def place(self, path: ObjectPath) -> Path:
        return self.root / path.bucket / path.key

    async def buckets(self) -> list[Bucket]:
        await self._gate()
        return [Bucket(place.name) for place in sorted(self.root.iterdir())]

    async def create_bucket(self, name: str) -> None:
        await self._gate()
        (self.root / name).mkdir(exist_ok=True)

    async def entries(self, folder: ObjectPath, *, recursive: bool = False) -> AsyncIterator[list[ObjectEntry]]:
        self.listed.append(str(folder))
        await self._gate()
        entries = await asyncio.to_thread(self._list, self.place(folder), recursive)
        for start in range(0, len(entries), self.page_size):
            await self._gate()
            yield entries[start : start + self.page_size]

    def _list(self, place: Path, recursive: bool) -> list[ObjectEntry]:
        found = place.rglob("*") if recursive else place.iterdir()
        entries = [self._entry(path) for path in found if not (recursive and path.is_dir())]
        return sorted(entries, key=lambda entry: (not entry.is_folder, entry.path.key))

    def _entry(self, path: Path) -> ObjectEntry:
        bucket, *rest = path.relative_to(self.root).parts
        key = "/".join(rest)
        if path.is_dir():
            return ObjectEntry(ObjectPath(bucket, key + "/"))
        return ObjectEntry(ObjectPath(bucket, key), path.stat().st_size, datetime.now(UTC))

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage:
        self.listed.append(f"obs://{bucket}/{prefix}")
        await self._gate()
        if not (self.root / bucket).is_dir():
            raise NotFound(text("The bucket “{bucket}” does not exist.", bucket=bucket), text("Refresh the list."))
        return await self.listed_page(bucket, prefix, delimiter, marker, min(most, self.page_size))

    async def listed_page(self, bucket: str, prefix: str, delimiter: str, marker: str, most: int) -> ListingPage:
        """A bucket that nobody made is empty: what is moved there makes it."""
        found = {row.key: row for row in await asyncio.to_thread(self._rows, bucket)}
        page = await ListedNames(found).page(bucket, prefix, delimiter=delimiter, marker=marker, most=most)
        return ListingPage([found[row.key] for row in page.rows], page.folders, page.next_marker)

    def _rows(self, bucket: str) -> list[ObjectRow]:
        root = self.root / bucket
        files = [path for path in root.rglob("*") if path.is_file()]
        return [
            ObjectRow(
                path.relative_to(root).as_posix(),
                path.stat().st_size,
                datetime.fromtimestamp(path.stat().st_mtime, UTC),
                md5(path.read_bytes(), usedforsecurity=False).hexdigest(),
                "STANDARD",
            )
            for path in files
        ]

    async def info(self, path: ObjectPath) -> ObjectEntry | None:
        place = self.place(path)
        return self._entry(place) if place.is_file() else None

    async def put(self, content: bytes, target: ObjectPath) -> None:
        self.place(target).parent.mkdir(parents=True, exist_ok=True)
        self.place(target).write_bytes(content)

    async def remove(self, paths: Sequence[ObjectPath]) -> None:
        for path in paths:
            place = self.place(path)
            place.unlink()
            while (place := place.parent) != self.root / path.bucket and not any(place.iterdir()):
                place.rmdir()

    def close(self) -> None:
        """There is nothing to close."""


@dataclass
class HandMadeJobs(ModelArtsTraining):
    """Jobs that go on when the test says so."""

    jobs: dict[str, RemoteJob] = field(default_factory=dict)
    specs: dict[str, JobSpec] = field(default_factory=dict)
    logs: dict[str, bytes] = field(default_factory=dict)
    used: dict[str, ResourceUse] = field(default_factory=dict)
    """By worker."""
    told: list[JobEvent] = field(default_factory=list)
    written: dict[tuple[str, str], str] = field(default_factory=dict)
    """What was written to a job: its description, and its tags with their values."""
    offered_engines: list[Engine] = field(default_factory=lambda: [TORCH, TORCH_OLD, MIND])
    offered_flavors: list[Flavor] = field(default_factory=lambda: [CPU, GPU, NPU])
    asked_offers: int = 0
    wait: asyncio.Event | None = None
    trouble: AppError | None = None
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def _gate(self) -> None:
        if self.wait is not None:
            await self.wait.wait()
        if self.trouble is not None:
            raise self.trouble

    async def project(self) -> str:
        return "project"

    async def is_authorised(self) -> bool:
        await self._gate()
        return True

    async def pools(self) -> list[ResourcePool]:
        return []

    async def job_quota(self) -> JobQuota | None:
        return None

    async def live_outputs(self) -> list[tuple[str, ObjectPath]]:
        return []

    async def engines(self) -> list[Engine]:
        self.asked_offers += 1
        await self._gate()
        return self.offered_engines

    async def flavors(self) -> list[Flavor]:
        await self._gate()
        return self.offered_flavors

    async def create(self, name: str, spec: JobSpec, code: ObjectPath | None) -> RemoteJob:
        await self._gate()
        if any(job.name == name for job in self.jobs.values()):
            raise Conflict(text("The name exists."), text("Take another."))
        job = RemoteJob(f"job-{next(self.numbers)}", name, "Creating", tasks=("worker-0",))
        self.jobs[job.id], self.specs[job.id] = job, spec
        return job

    def move(self, phase: str, job_id: str = "", **changes: Any) -> None:
        """Bring the newest job, or the one named, into another phase."""
        job_id = job_id or next(reversed(self.jobs))
        started = self.jobs[job_id].started or (datetime.now(UTC) if phase == "Running" else None)
        self.jobs[job_id] = replace(self.jobs[job_id], phase=phase, **{"started": started, **changes})

    def write(self, content: bytes, job_id: str = "") -> None:
        job_id = job_id or next(reversed(self.jobs))
        self.logs[job_id] = self.logs.get(job_id, b"") + content

    async def find_by_name(self, name: str) -> RemoteJob | None:
        return next((job for job in self.jobs.values() if job.name == name), None)

    async def show(self, job_id: str) -> RemoteJob | None:
        await self._gate()
        return self.jobs.get(job_id)

    async def document(self, job_id: str) -> dict[str, Any] | None:
        """As much of it as taking it in asks for."""
        await self._gate()
        job = self.jobs.get(job_id)
        if job is None:
            return None
        meta = {"id": job.id, "name": job.name, "create_time": 1_700_000_000_000}
        spec = {"resource": {"flavor_id": CPU.id, "node_count": 1}}
        return {"kind": "job", "metadata": meta, "status": {"phase": job.phase}, "algorithm": {}, "spec": spec}

    async def live_jobs(self) -> LiveJobs:
        await self._gate()
        return LiveJobs(tuple(job for job in self.jobs.values() if not job.state.is_over))

    async def last_error(self, job_id: str) -> str:
        return ""

    async def stop(self, job_id: str) -> None:
        await self._gate()
        if job_id not in self.jobs:
            raise NotFound(text("There is no such job."), text("Refresh the list."))
        self.move("Terminated", job_id)

    async def delete(self, job_id: str) -> None:
        self.jobs.pop(job_id, None)

    async def describe(self, job_id: str, description: str) -> None:
        await self._gate()
        self.written[job_id, "description"] = description

    async def add_tags(self, job_id: str, tags: Mapping[str, str]) -> None:
        await self._gate()
        self.written.update({(job_id, key): value for key, value in tags.items()})

    async def remove_tags(self, job_id: str, keys: Sequence[str]) -> None:
        await self._gate()
        for key in keys:
            self.written.pop((job_id, key), None)

    async def log_tail(self, job_id: str, task: str) -> LogChunk | None:
        content = self.logs.get(job_id)
        return None if content is None else LogChunk(content, len(content))

    async def log_part(self, job_id: str, task: str, start: int, most_bytes: int) -> bytes | None:
        return self.logs.get(job_id, b"")[start : start + most_bytes]

    async def log_lines(self, job_id: str, task: str, after: str) -> NumberedLines | None:
        return None  # as a service that does not know the operation

    async def stage(self, job_id: str) -> str:
        return "running"

    async def resource_use(self, job_id: str, task: str) -> ResourceUse | None:
        return self.used.get(task)

    async def events(self, job_id: str) -> list[JobEvent]:
        return self.told

    def close(self) -> None:
        """There is nothing to close."""


class FolderCloud(Entered):
    """The program's services over the folder and the hand-made jobs, as `async with` gives them."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.paths = Paths(folder / "home")
        self.storage = FolderStorage(folder / "obs")
        self.access = FolderAccess(folder / "obs")
        self.jobs = HandMadeJobs()
        self.others: dict[tuple[str, str], HandMadeJobs] = {}
        """Those of an account in a region, where they are not the same."""
        self.objects = None  # their properties are tried against real stores

    async def __aenter__(self) -> Self:
        owned = await self._owned.__aenter__()
        self.paths.make()
        self.disk, writer = BlockingCalls(4, "disk"), BlockingCalls(1, "records")
        owned.callback(self.disk.close)
        owned.callback(writer.close)
        self.records = RunStore(RecordsFile(self.paths.database, self.paths.runs), writer)
        owned.callback(self.records.close)
        await self.records.open()
        self.book = ProfileStore(SettingsFile(self.paths.settings), self.disk)
        secrets = MemorySecrets(self.disk)
        self.connections = Connections(self.book, secrets, self._open_lab, self._connect)
        owned.callback(self.connections.close)
        self.profiles = ProfileService(self.book, secrets, self.connections, self.disk)
        journal_writer = BlockingCalls(1, "journal")
        owned.callback(journal_writer.close)
        journal = TransferJournal(self.paths.transfers, journal_writer)
        owned.callback(journal.close)
        self.planes = await owned.enter_async_context(Planes(self.connections))
        self.unfinished = UnfinishedUploads(self.planes, journal)
        self.transfers = await owned.enter_async_context(
            Transfers(self.connections, self.planes, journal, self.disk, self.paths.transfer_locks, patience_s=0)
        )
        indexes = ObjectIndexes(self.paths.index)
        owned.callback(indexes.close)
        index = BlockingCalls(3, "index")
        owned.callback(index.close)
        self.index_calls = index
        self.listings = BucketListings(self.connections, indexes.open, index)
        bundles = self.bundles = CodeBundles(self.paths.bundles, self.disk)
        self.submission = Submission(
            self.records, self.connections, self.planes, bundles, self.paths.run, self.disk, self.book, open_gate
        )
        self.logs = RunLogs(self.records, self.paths.run_log, self.disk)
        self.watch = RunWatch(self.records, self.connections, self.logs)
        self.submission.changed.add(self.watch.tell)
        self.choices = JobChoices(self.connections, OfferStore(self.paths.offers, self.disk))
        self.service = RunService(self.records, self.connections, self.watch, self.transfers, bundles)
        self.log_search = LogFinder(self.logs, self.disk)
        self.adoption = Adoption(
            self.records, self.connections, self.watch, self.transfers, bundles, self.disk, self.paths.adopted,
            self.planes, self.submission.mark_of_home, self.submission.claim,
        )  # fmt: skip
        await self.open_scope()
        return self

    def rules(self) -> LogRules:
        return LogRules(
            RuleFile(self.paths.rules), self.records, self.logs, self.service, self.disk,
            self.paths.run_rules,
        )  # fmt: skip

    def run_list(self) -> RunList:
        from traindeck.viewmodels.jobs.runs.run_list import RunList  # not all who use this folder have Qt

        return RunList(self.service, self.submission, self.watch, self.scope, self.adoption, self.log_search)

    async def add_cloud_profile(self, name: str = "work") -> None:
        profile = Profile(name, Provider.MODELARTS, "cn-north-4")
        await self.profiles.add(profile, Credentials("AKAKAKAKAKAK", Secret("not-a-real-one")))

    async def _open_lab(self) -> LabAddress:
        profile = Profile(LAB, Provider.LAB, "lab")
        return LabAddress(profile, Credentials("LABKEYLABKEY", Secret("not-a-real-one")), "1")

    def _connect(self, profile: Profile, credentials: Credentials) -> Connection:
        jobs = self.others.get((profile.name, profile.region), self.jobs)
        services = {"training": jobs, "settings": PlainSettings(), "objects": self.objects, "access": self.access}
        plane = FolderPlane(self.storage)
        return HandMadeConnection(profile, credentials, plane, self._connect, storage=self.storage, **services)


def offline() -> AppError:
    return Unreachable(text("The service cannot be reached."), text("Look at the network."))


def digits_spec(**changes: Any) -> JobSpec:
    """A job that has everything it needs."""
    spec = JobSpec(
        name="digits",
        code_folder=".",
        boot="train.py",
        engine=TORCH.name,
        engine_version=TORCH.version,
        flavor=CPU.id,
        stop_after="1h",
        inputs=(Channel("data_url", "obs://digits/data/"),),
        outputs=(Channel("train_url", "obs://digits/out/{run}/"),),
        parameters=(("epochs", 30), ("lr", 0.05), ("tag", "7")),
    )
    return replace(spec, **changes)


def code_folder(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / "train.py").write_bytes(b"print('hello')\n")
    (place / "data.txt").write_bytes(b"1 2 3\n")
    return place
