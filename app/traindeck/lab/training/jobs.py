"""The training service behind the API: accepts jobs, runs them, remembers them over restarts."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from traindeck.lab.accounts import Accounts, LabAccount
from traindeck.lab.faults import Faults
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.training import job_history as events
from traindeck.lab.training.algorithms import Algorithms, in_job
from traindeck.lab.training.api.routes import RefusedError, object_in, text_in
from traindeck.lab.training.catalogue import Catalogue
from traindeck.lab.training.experiments import Experiments
from traindeck.lab.training.job_document import completed
from traindeck.lab.training.job_form import MPI_ENGINES, JobForm, read_form
from traindeck.lab.training.job_records import (
    STOPPABLE_PHASES,
    EventText,
    JobRecord,
    JobRecords,
    NameTakenError,
    TrainingDatabase,
    now_ms,
)
from traindeck.lab.training.job_search import JobChanges, JobSearch
from traindeck.lab.training.lab_settings import SETTINGS, LabSettings, SettingsError, read_settings
from traindeck.lab.training.running.containers import Containers
from traindeck.lab.training.running.interpreters import (
    Interpreters,
    NoInterpreterError,
    PackageEnvironments,
)
from traindeck.lab.training.running.job_environment import ObsAccess
from traindeck.lab.training.running.job_files import ObsPath, OwnBuckets
from traindeck.lab.training.running.job_log import (
    LinePage,
    LineQuery,
    LogTail,
    add_service_line,
    page_of,
    signed_link,
    tail,
)
from traindeck.lab.training.running.job_outcome import JobFaults, StopReason, Timing
from traindeck.lab.training.running.process_tree import end_orphans
from traindeck.lab.training.running.runner import ChosenPython, JobRun, RunTools
from traindeck.lab.training.running.worker_places import Sandbox, WorkerPlaces, log_name
from traindeck.runtime.resources import resource


class JobQueue:
    """The order in which jobs get their turn; may be used from any thread."""

    def __init__(self, parallel: int, is_held_back: Callable[[JobRun], bool]) -> None:
        self._parallel = parallel
        self._is_held_back = is_held_back
        self._lock = threading.Lock()
        self._waiting: list[JobRun] = []
        self._running: set[str] = set()

    def put(self, run: JobRun) -> None:
        with self._lock:
            self._waiting.append(run)
            self._fill()

    def ended(self, run: JobRun) -> None:
        """Give the place of `run` to the next."""
        with self._lock:
            self._running.discard(run.id)
            self._fill()

    def dismiss(self, run: JobRun) -> None:
        """A run that was asked to stop need not wait for its turn to end."""
        with self._lock:
            if run in self._waiting:
                self._waiting.remove(run)
                run.start()

    def look(self) -> None:
        """Something changed that may let a job begin."""
        with self._lock:
            self._fill()

    def _fill(self) -> None:
        while len(self._running) < self._parallel:
            ready = [run for run in self._waiting if not self._is_held_back(run)]
            if not ready:
                return
            run = max(ready, key=lambda run: run.priority)
            self._waiting.remove(run)
            self._running.add(run.id)
            run.start()


log = logging.getLogger(__name__)

JOBS = "job-num"
_JOB_QUOTA = 10_000
_CALL_WORKERS = 8
_UPLOAD_WORKERS = 4

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Remembered:
    """What the database holds."""

    database: TrainingDatabase
    records: JobRecords
    experiments: Experiments
    algorithms: Algorithms


class JobService:
    """All training jobs of one root. Methods that are not async block; `call` takes them off the loop."""

    def __init__(
        self,
        root: Path,
        objects: ObjectStore,
        accounts: Accounts,
        *,
        timing: Timing | None = None,
        catalogue: Path | None = None,
        parallel_jobs: int | None = None,
        faults: Faults | None = None,
        warn: Callable[[EventText], None] | None = None,
    ) -> None:
        """What is not given comes from the user's `lab.toml`, or is as the service has it.

        `warn` gets, from a thread of its own, what the check of that file at the start finds wrong.
        """
        settings = _settings(root)
        self.obs_url = ""
        self.catalogue = Catalogue(catalogue or resource("lab", "catalogue.toml"))
        self._root = root
        self._warn = warn
        self._faults = JobFaults(faults or Faults())
        self._folder = root / "jobs"
        self._objects = objects
        self._accounts = accounts
        self._timing = timing or Timing(metrics_s=settings.metrics_interval_s, hour_s=3600 / settings.clock)
        # Jobs get a copy: their Pythons write byte code beside it, where the program itself may not be writable.
        self._moxing = root / "moxing"
        self._interpreters = Interpreters(root)
        self._environments = PackageEnvironments(root)
        self._containers = Containers(root)
        self._queue = JobQueue(parallel_jobs or settings.parallel_jobs, self._is_held_back)
        self._faults.on_change(self._queue.look)
        self._is_ending = False
        self._remembered: _Remembered | None = None
        self._runs: dict[str, JobRun] = {}
        self._lock = threading.Lock()
        self._calls = ThreadPoolExecutor(_CALL_WORKERS, thread_name_prefix="lab-jobs")
        self._uploads = ThreadPoolExecutor(_UPLOAD_WORKERS, thread_name_prefix="lab-uploads")

    @property
    def records(self) -> JobRecords:
        return self._known.records

    @property
    def experiments(self) -> Experiments:
        return self._known.experiments

    @property
    def algorithms(self) -> Algorithms:
        return self._known.algorithms

    @property
    def _known(self) -> _Remembered:
        if self._remembered is None:
            raise RuntimeError("the job service is not started")
        return self._remembered

    async def start(self) -> None:
        """Open the records; jobs that a killed Lab left behind are ended and marked as lost."""
        await self.call(self._open)
        if (self._root / SETTINGS).exists():
            # Beside the first requests: a Python may take its time to answer.
            self._calls.submit(self._check_pythons)

    async def stop(self) -> None:
        """End every job with all its processes, and only then return."""
        await self.call(self._end_runs)
        if self._remembered is not None:
            await self.call(self._remembered.database.close)
        self._calls.shutdown()
        self._uploads.shutdown()

    def live_jobs(self) -> int:
        # Without the lock, for this is asked on the loop; the table is replaced, never changed.
        return sum(not run.is_over for run in self._runs.values())

    async def call(self, work: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._calls, work, *arguments)

    def create(self, account: LabAccount, body: Mapping[str, Any]) -> JobRecord:
        buckets = OwnBuckets(self._objects, account.domain_id)
        body = self._with_algorithm(account, body)
        form = read_form(body, self.catalogue, buckets)
        form = replace(form, has_obs_urls=form.engine.v1_compatible and _settings(self._root).obs_urls)
        held_by = self._faults.hold(form.flavor)
        quota = self.quota(account.project_id)
        if self.records.count(account.project_id) >= quota:
            raise RefusedError("2815", f"there are {quota} training jobs already")
        reference = object_in(object_in(body, "metadata"), "training_experiment_reference")
        experiment = self.experiments.of_job(account.project_id, form.workspace_id, reference)
        job_id = str(uuid.uuid4())
        python, obstacle = self._python(form)
        sandbox = Sandbox(job_id, self._folder / job_id, is_mapped=not obstacle)
        created = now_ms()
        job = JobRecord(
            id=job_id,
            project_id=account.project_id,
            user_id=account.user_id,
            workspace_id=form.workspace_id,
            name=form.name,
            create_time=created,
            start_time=0,
            end_time=0,
            phase="Creating",
            secondary_phase="Creating",
            tasks=form.tasks,
            task_statuses=(),
            document=completed(body, form, sandbox, account, created, experiment),
        )
        access = ObsAccess(self.obs_url, account.access_key, account.secret_key, self._moxing)
        tools = RunTools(self.records, self._environments, self._containers, self._uploads, self._timing)
        run = JobRun(form, sandbox, buckets, python, access, tools, self._queue.ended)
        run.held_by = held_by
        run.limit_by_rule_s = self._faults.time_limit_s(form.flavor, self._timing.hour_s)
        run.priority = (spec_of(job).get("schedule_policy") or {}).get("priority") or run.priority
        with self._lock:
            if self._is_ending:
                raise RefusedError("2950", "the Lab is ending", status=500)
            self._check_free_flavor(form, account)
            try:
                self.records.add(job)
            except NameTakenError as error:
                raise RefusedError("2751", f"a training job named {form.name} exists already") from error
            self.records.add_event(job_id, events.CREATED)
            self.records.begin_stage(job_id, "scheduling")
            self.records.move(job_id, "Pending", "Queuing", only_from=("Creating",), event=events.QUEUED)
            self._tell_differences(job, form, obstacle)
            unfinished = {known: other for known, other in self._runs.items() if not other.is_over}
            self._runs = {**unfinished, job_id: run}
            # Whoever finds the run may dismiss it from the queue, so it must be there.
            self._queue.put(run)
        return job

    def job(self, account: LabAccount, job_id: str) -> JobRecord:
        job = self.records.job(job_id)
        if job is None or job.project_id != account.project_id:
            raise RefusedError("2775", f"the training job {job_id} does not exist")
        return job

    def quota(self, project_id: str) -> int:
        """How many jobs the project may have."""
        changed = self.records.quota(project_id)
        return _JOB_QUOTA if changed is None else changed

    def found(
        self, conditions: Sequence[str], values: Sequence[Any], skip: int, limit: int
    ) -> tuple[int, list[JobRecord]]:
        """How many jobs meet all the SQL conditions, and some of them, newest first."""
        return self.records.search(conditions, values, newest_first=True, skip=skip, limit=limit)

    def search(self, wanted: JobSearch) -> tuple[int, list[JobRecord]]:
        return self.records.search(
            wanted.conditions,
            wanted.values,
            newest_first=wanted.newest_first,
            skip=wanted.page * wanted.limit,
            limit=wanted.limit,
        )

    def stop_job(self, account: LabAccount, job_id: str) -> JobRecord:
        job = self.job(account, job_id)
        if not self.records.move(job_id, "Terminating", only_from=STOPPABLE_PHASES):
            phase = self.job(account, job_id).phase
            raise RefusedError("2796", f"the training job {job.name} is {phase} and cannot be stopped", status=409)
        stopped = self.job(account, job_id)
        run = self._run(job_id)
        if run is not None:
            run.request_stop(StopReason.USER)
            self._queue.dismiss(run)
        return stopped

    def delete_job(self, account: LabAccount, job_id: str) -> None:
        """Stop the job if it is live, then forget it with its log."""
        job = self.job(account, job_id)
        self.records.move(job_id, "Terminating", only_from=STOPPABLE_PHASES)
        run = self._run(job_id)
        if run is not None:
            run.request_stop(StopReason.USER)
            self._queue.dismiss(run)
            run.join()
        self.records.remove(job_id)
        try:
            shutil.rmtree(self._folder / job_id)
        except FileNotFoundError:
            return
        except OSError:
            log.warning("the folder of the deleted job %s could not be removed", job.id, exc_info=True)

    def update_job(self, account: LabAccount, job_id: str, changes: JobChanges) -> None:
        with self._lock:
            job = self.job(account, job_id)
            changes.apply(job)
            self.records.replace_document(job_id, job.document)
            run = self._runs.get(job_id)
        if run is not None and changes.schedule_policy.get("priority") is not None:
            run.priority = changes.schedule_policy["priority"]

    def change_job(self, account: LabAccount, job_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        with self._lock:
            document = self.job(account, job_id).document
            change(document)
            self.records.replace_document(job_id, document)

    def addresses(self, job: JobRecord) -> list[str]:
        """Of the workers, in their order."""
        sandbox = Sandbox(job.id, self._folder / job.id)
        return [sandbox.address(node, len(job.tasks)) for node in range(len(job.tasks))]

    def log_tail(self, job: JobRecord, task: str) -> LogTail | None:
        return tail(self._log(job, task), is_growing=job.is_live, max_bytes=self._timing.max_log_bytes)

    def log_lines(self, job: JobRecord, task: str, wanted: LineQuery) -> LinePage | None:
        return page_of(self._log(job, task), wanted)

    def _log(self, job: JobRecord, task: str) -> Path:
        """The log of a task, where it is or will be."""
        path = Sandbox(job.id, self._folder / job.id).log(task)
        if job.start_time and not job.is_live and not path.exists():
            raise RefusedError("2819", f"the log of {task} of the training job {job.name} has been cleared")
        return path

    def _with_algorithm(self, account: LabAccount, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The request as if it brought with it what it takes from an algorithm it names."""
        given = object_in(body, "algorithm")
        if text_in(given, "subscription_id"):
            raise RefusedError("2755", "the subscribed algorithm does not exist")
        algorithm_id = text_in(given, "id")
        if not algorithm_id:
            return body
        return {**body, "algorithm": in_job(self.algorithms.algorithm(account.project_id, algorithm_id), given)}

    def log_link(self, job: JobRecord, task: str, expires: int) -> str:
        """A link to the log in the job's log folder, good until `expires` (seconds since 1970)."""
        url = (job.document["spec"].get("log_export_path") or {}).get("obs_url")
        if not url:
            raise RefusedError("2822", f"the training job {job.name} has no log folder")
        folder = ObsPath.parse(url)
        path = ObsPath(folder.bucket, folder.folder + log_name(job.id, task))
        account = self._accounts.by_project(job.project_id)
        if account is None or OwnBuckets(self._objects, account.domain_id).info(path) is None:
            raise RefusedError("2818", f"the log of {task} has not been written yet")
        return signed_link(self.obs_url, account, path.bucket, path.key, expires)

    def _check_free_flavor(self, form: JobForm, account: LabAccount) -> None:
        if not form.flavor.is_free:
            return
        for job in self.records.live():
            flavor_id = job.document["spec"]["resource"]["flavor_id"]
            if job.user_id == account.user_id and flavor_id == form.flavor.id:
                raise RefusedError("2833", f"the free flavor {flavor_id} is in use by the job {job.name}")

    def _tell_differences(self, job: JobRecord, form: JobForm, obstacle: str) -> None:
        if obstacle:
            self.records.add_event(job.id, events.no_container_paths(obstacle), level="Warning")
        else:
            self.records.add_event(job.id, events.CONTAINER_PATHS)
        algorithm, spec = job.document["algorithm"], spec_of(job)
        if algorithm["engine"].get("image_url"):
            self.records.add_event(job.id, events.NO_IMAGE, level="Warning")
        if form.engine.name in MPI_ENGINES:
            self.records.add_event(job.id, events.NO_MPI, level="Warning")
        ignored = [name for name in ("volumes", "notification") if spec.get(name)]
        places = Sandbox(job.id, self._folder / job.id, is_mapped=not obstacle).worker(form.tasks[0])
        if form.local_code_dir is not None and places.local_code_dir(form) is None:
            ignored.append("local_code_dir")
        if form.working_dir is not None and places.working_dir(form) is None:
            ignored.append("working_dir")
        if any(places.seen(folder) != str(wanted) for wanted, folder in _wanted_folders(form, places)):
            ignored.append("local_dir")
        for name in ignored:
            self.records.add_event(job.id, events.ignored_field(name), level="Warning")

    def _python(self, form: JobForm) -> tuple[ChosenPython, str]:
        """The Python of the job, and what keeps it from seeing the service's folders, if anything does."""
        try:
            python = self._interpreters.for_engine(form.engine.id)
        except NoInterpreterError as error:
            return ChosenPython(None, error.reason), "it cannot be started"
        if not _settings(self._root).container_paths:
            return ChosenPython(python), f"{SETTINGS} says so"
        return ChosenPython(python), self._containers.means(python).reason

    def _check_pythons(self) -> None:
        for problem in self._interpreters.problems(self.catalogue.engines):
            log.warning("%s", problem.english)
            if self._warn is not None:
                self._warn(problem)

    def _is_held_back(self, run: JobRun) -> bool:
        return run.held_by is not None and self._faults.is_in_force(run.held_by)

    def _run(self, job_id: str) -> JobRun | None:
        with self._lock:
            return self._runs.get(job_id)

    def _open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._moxing.exists():
            shutil.rmtree(self._moxing)
        shutil.copytree(resource("lab", "moxing"), self._moxing, ignore=shutil.ignore_patterns("__pycache__"))
        for made in (self._moxing, *self._moxing.rglob("*")):
            made.chmod(0o700 if made.is_dir() else 0o600)
        database = TrainingDatabase(self._folder / "jobs.sqlite3")
        records = JobRecords(database)
        self._remembered = _Remembered(database, records, Experiments(database), Algorithms(database))
        for job in records.live():
            end_orphans(job.id, records.processes(job.id))
            records.move(job.id, "Abnormal", "Lost", event=events.LOST, level="Error")
            sandbox = Sandbox(job.id, self._folder / job.id)
            for task in job.tasks:
                if sandbox.log(task).exists():
                    add_service_line(sandbox.log(task), events.LOST.english)

    def _end_runs(self) -> None:
        with self._lock:
            self._is_ending = True
            runs = [run for run in self._runs.values() if not run.is_over]
        for run in runs:
            self.records.move(run.id, "Terminating", only_from=STOPPABLE_PHASES)
            run.request_stop(StopReason.LAB_END)
        for run in runs:
            self._queue.dismiss(run)
        for run in runs:
            run.join()


def spec_of(job: JobRecord) -> dict[str, Any]:
    spec: dict[str, Any] = job.document["spec"]
    return spec


def _wanted_folders(form: JobForm, places: WorkerPlaces) -> Iterator[tuple[PurePosixPath, Path]]:
    """Where the job wants its channels, and where they are."""
    for index, channel in enumerate(form.inputs):
        if channel.local_dir is not None:
            yield channel.local_dir, places.input_of(index, channel)
    for index, channel in enumerate(form.outputs):
        if channel.local_dir is not None:
            yield channel.local_dir, places.output_of(index, channel)


def _settings(root: Path) -> LabSettings:
    """Those of `lab.toml`; a file that cannot be used must not keep the Lab from starting."""
    try:
        return read_settings(root)
    except SettingsError as error:
        log.warning("%s", error)
        return LabSettings()
