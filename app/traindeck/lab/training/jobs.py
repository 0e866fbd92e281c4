"""The training service behind the API: accepts jobs, runs them, remembers them over restarts."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from traindeck.lab.accounts import Accounts, LabAccount
from traindeck.lab.faults import Faults
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.training import job_history as events
from traindeck.lab.training.api.routes import RefusedError, object_in, text_in
from traindeck.lab.training.catalogue import Catalogue
from traindeck.lab.training.collection import Algorithms, Experiments, in_job
from traindeck.lab.training.database import TrainingDatabase, now_ms
from traindeck.lab.training.job_document import completed
from traindeck.lab.training.job_form import MPI_ENGINES, JobForm, read_form
from traindeck.lab.training.job_records import STOPPABLE_PHASES, EventText, JobRecord, JobRecords
from traindeck.lab.training.lab_settings import SETTINGS, CurrentSettings, SettingsError
from traindeck.lab.training.running.containers import Containers, Means
from traindeck.lab.training.running.interpreters import Interpreters
from traindeck.lab.training.running.job_environment import ObsAccess
from traindeck.lab.training.running.job_files import ObsPath, OwnBuckets
from traindeck.lab.training.running.job_log import add_service_line, signed_link
from traindeck.lab.training.running.job_outcome import StopReason, Timing, Work, hold, time_limit_s
from traindeck.lab.training.running.packages import PackageEnvironments
from traindeck.lab.training.running.process_group import ProcessGroup
from traindeck.lab.training.running.process_tree import end_orphans
from traindeck.lab.training.running.runner import JobRun
from traindeck.lab.training.running.volumes import Mounts, mounts_of
from traindeck.lab.training.running.worker_places import Sandbox, log_name
from traindeck.runtime.resources import resource


class JobQueue:
    """The order in which jobs get their turn; may be used from any thread."""

    def __init__(self, parallel: Callable[[], int], faults: Faults) -> None:
        """`parallel`: how many run at once, as of now."""
        self._parallel = parallel
        self._faults = faults
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
        while self._waiting and len(self._running) < self._parallel():
            ready = [run for run in self._waiting if not run.held_by or not self._faults.is_in_force(run.held_by)]
            if not ready:
                return
            run = max(ready, key=lambda run: run.priority)
            self._waiting.remove(run)
            self._running.add(run.id)
            run.start()


log = logging.getLogger(__name__)

_NO_PYTHON = EventText("it cannot be started", "作业无法启动")
_BY_SETTING = EventText(f"{SETTINGS} says so", f"{SETTINGS} 如此设置")
JOBS = "job-num"
_LINK_LIFE_S = 300
_CALL_WORKERS = 8
_UPLOAD_WORKERS = 4

Result = TypeVar("Result")


class JobService:
    """All training jobs of one root. Methods that are not async block; `call` takes them off the loop."""

    # From the start on.
    records: JobRecords
    experiments: Experiments
    algorithms: Algorithms

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
        python: str = "",
    ) -> None:
        """What is not given comes from the user's `lab.toml`, or is as the service has it.

        `warn` gets, from a thread of its own, what the check of that file at the start finds wrong.
        """
        root = Path(os.path.realpath(root))  # what jobs see of it has no other name
        self._settings = CurrentSettings(root)
        settings = self._settings.now()
        self.obs_url = ""
        self.catalogue = Catalogue(catalogue or resource("lab", "catalogue.toml"))
        self._root = root
        self._warn = warn
        self._faults = faults or Faults()
        self._folder = root / "jobs"
        self._objects = objects
        self._accounts = accounts
        self.timing = timing or Timing(metrics_s=settings.metrics_interval_s, hour_s=3600 / settings.clock)
        # Jobs get a copy: their Pythons write byte code beside it, where the program itself may not be writable.
        self._moxing = root / "moxing"
        self._interpreters = Interpreters(root, python)
        self._environments = PackageEnvironments(root)
        self._containers = Containers(root)
        self._queue = JobQueue(lambda: parallel_jobs or self._settings.now().parallel_jobs, self._faults)
        self._faults.on_change(self._queue.look)
        self._is_ending = False
        self._database: TrainingDatabase | None = None
        self._runs: dict[str, JobRun] = {}
        self._lock = threading.Lock()
        self._calls = ThreadPoolExecutor(_CALL_WORKERS, thread_name_prefix="lab-jobs")
        self._uploads = ThreadPoolExecutor(_UPLOAD_WORKERS, thread_name_prefix="lab-uploads")

    async def start(self) -> None:
        """Open the records; jobs that a killed Lab left behind are ended and marked as lost."""
        await self.call(self._open)
        if (self._root / SETTINGS).exists():
            # Beside the first requests: a Python may take its time to answer.
            self._calls.submit(self._check_pythons)

    async def stop(self) -> None:
        """End every job with all its processes, and only then return."""
        await self.call(self._end_runs)
        if self._database is not None:
            await self.call(self._database.close)
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
        settings = self._settings.now()
        form = read_form(body, self.catalogue, buckets, settings.code_entries)
        form = replace(form, has_obs_urls=form.engine.v1_compatible and settings.obs_urls)
        held_by = hold(self._faults, form.flavor)
        quota = self.records.quota(account.project_id)
        if self.records.count(account.project_id) >= quota:
            raise RefusedError("2815", f"there are {quota} training jobs already")
        reference = object_in(object_in(body, "metadata"), "training_experiment_reference")
        experiment = self.experiments.of_job(account.project_id, form.workspace_id, reference)
        job_id = str(uuid.uuid4())
        python, means, obstacle = self._python(form)
        apart = {"is_mapped": obstacle is None, "is_apart": bool(means.tool)}
        sandbox = Sandbox(job_id, self._folder / job_id, user=means.user, **apart)
        created = now_ms()
        job = JobRecord(
            id=job_id,
            project_id=account.project_id,
            user_id=account.user_id,
            workspace_id=form.workspace_id,
            name=form.name,
            create_time=created,
            tasks=form.tasks,
            document=completed(body, form, sandbox, account, created, means.isolation, experiment),
        )
        access = ObsAccess(self.obs_url, account.access_key, account.secret_key, self._moxing)
        work = Work(
            form=form,
            sandbox=sandbox,
            buckets=buckets,
            access=access,
            python=python,
            records=self.records,
            environments=self._environments,
            containers=self._containers,
            uploads=self._uploads,
            timing=self.timing,
            mounts=self._mounts(account, form, sandbox, python, means),
        )
        run = JobRun(work, self._queue.ended, self._queue.look)
        run.held_by = held_by
        run.limit_by_rule_s = time_limit_s(self._faults, form.flavor, self.timing.hour_s)
        run.priority = (job.document["spec"].get("schedule_policy") or {}).get("priority") or run.priority
        with self._lock:
            if self._is_ending:
                raise RefusedError("2950", "the Lab is ending", status=500)
            self._check_free_flavor(form, account)
            self.records.add(job)
            self.records.add_event(job_id, events.CREATED)
            self.records.begin_stage(job_id, "scheduling")
            self.records.move(job_id, "Pending", "Queuing", only_from=("Creating",), event=events.QUEUED)
            self._tell_differences(job, work, means, obstacle)
            unfinished = {known: other for known, other in self._runs.items() if not other.is_over}
            self._runs = {**unfinished, job_id: run}
            # Whoever finds the run may dismiss it from the queue, so it must be there.
            self._queue.put(run)
        return job

    def stop_job(self, project_id: str, job_id: str) -> JobRecord:
        job = self.records.one(project_id, job_id)
        if not self.records.move(job_id, "Terminating", only_from=STOPPABLE_PHASES):
            phase = self.records.one(project_id, job_id).phase
            raise RefusedError("2796", f"the training job {job.name} is {phase} and cannot be stopped", status=409)
        stopped = self.records.one(project_id, job_id)
        self._end_run(job_id)
        return stopped

    def delete_job(self, project_id: str, job_id: str) -> None:
        """Stop the job if it is live, then forget it with its log."""
        job = self.records.one(project_id, job_id)
        self.records.move(job_id, "Terminating", only_from=STOPPABLE_PHASES)
        run = self._end_run(job_id)
        if run is not None:
            run.join()
        self.records.remove(job_id)
        try:
            shutil.rmtree(self._folder / job_id)
        except FileNotFoundError:
            return
        except OSError:
            log.warning("the folder of the deleted job %s could not be removed", job.id, exc_info=True)

    def change_job(
        self, project_id: str, job_id: str, change: Callable[[JobRecord], None], priority: int | None = None
    ) -> None:
        """Change what is stored of the job, and the priority of its run."""
        with self._lock:
            job = self.records.one(project_id, job_id)
            change(job)
            self.records.replace_document(job_id, job.document)
            run = self._runs.get(job_id)
        if run is not None and priority is not None:
            run.priority = priority

    def sandbox(self, job_id: str) -> Sandbox:
        return Sandbox(job_id, self._folder / job_id)

    def log(self, job: JobRecord, task: str) -> Path:
        """The log of a task, where it is or will be."""
        path = self.sandbox(job.id).log(task)
        if job.start_time and not job.is_live and not path.exists():
            raise RefusedError("2819", f"the log of {task} of the training job {job.name} has been cleared")
        return path

    def _with_algorithm(self, account: LabAccount, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The request as if it brought with it what it takes from an algorithm it names."""
        given = object_in(body, "algorithm")
        subscription_id = text_in(given, "subscription_id")
        if subscription_id and not text_in(given, "item_version_id"):
            raise RefusedError("2755", "a subscribed algorithm needs its item_version_id")
        # Nothing is sold here: an account counts as subscribed to each of its algorithms, in any version.
        algorithm_id = text_in(given, "id") or subscription_id
        if not algorithm_id:
            return body
        return {**body, "algorithm": in_job(self.algorithms.one(account.project_id, algorithm_id), given)}

    def log_link(self, job: JobRecord, task: str) -> str:
        """A link to the log in the job's log folder, good for some minutes."""
        url = (job.document["spec"].get("log_export_path") or {}).get("obs_url")
        if not url:
            raise RefusedError("2822", f"the training job {job.name} has no log folder")
        folder = ObsPath.parse(url)
        path = ObsPath(folder.bucket, folder.folder + log_name(job.id, task))
        account = self._accounts.by_project(job.project_id)
        if account is None or OwnBuckets(self._objects, account.domain_id).info(path) is None:
            raise RefusedError("2818", f"the log of {task} has not been written yet")
        return signed_link(self.obs_url, account, path.bucket, path.key, int(time.time()) + _LINK_LIFE_S)

    def _check_free_flavor(self, form: JobForm, account: LabAccount) -> None:
        if not form.flavor.free:
            return
        for job in self.records.live():
            flavor_id = job.document["spec"]["resource"]["flavor_id"]
            if job.user_id == account.user_id and flavor_id == form.flavor.id:
                raise RefusedError("2833", f"the free flavor {flavor_id} is in use by the job {job.name}")

    def _tell_differences(self, job: JobRecord, work: Work, means: Means, obstacle: EventText | None) -> None:
        form, spec = work.form, job.document["spec"]
        warnings = []
        if not means.tool:
            warnings.append(events.NOT_ISOLATED.of(reason=means.reason))
        elif means.isolation == "partial":
            warnings.append(events.RUNS_AS_ROOT if means.is_root else events.PARTLY_ISOLATED)
        else:
            work.tell(events.ISOLATED)
        if obstacle is not None:
            warnings.append(events.NO_CONTAINER_PATHS.of(reason=obstacle))
        else:
            work.tell(events.CONTAINER_PATHS)
        if job.document["algorithm"]["engine"].get("image_url"):
            warnings.append(events.NO_IMAGE)
            if form.code is None and form.boot_file is not None:
                warnings.append(events.NO_CODE_OF_IMAGE.of(folder=form.boot_file.parent))
        if form.engine.name in MPI_ENGINES:
            warnings.append(events.NO_MPI)
        for volume, _ in work.mounts.folders:
            told = events.VOLUME_MOUNTED if volume.place is None else events.VOLUME_OF_OBS
            work.tell(told.of(mount=volume.mount, source=volume.source))
        for volume, reason in work.mounts.missing:
            warnings.append(events.VOLUME_MISSING.of(mount=volume.mount, source=volume.source, reason=reason))
        ignored = ["notification"] if spec.get("notification") else []
        places = work.sandbox.worker(form.tasks[0])
        for name in ("local_code_dir", "working_dir"):
            folder = getattr(form, name)
            if folder is not None and places.wanted(form, folder) is None:
                ignored.append(name)
        wanted = [(places.of(channel), channel.local_dir) for channel in form.channels if channel.local_dir]
        if any(places.seen(folder) != str(local_dir) for folder, local_dir in wanted):
            ignored.append("local_dir")
        for warning in (*warnings, *(events.IGNORED_FIELD.of(name=name) for name in ignored)):
            work.tell(warning, level="Warning")

    def _mounts(
        self, account: LabAccount, form: JobForm, sandbox: Sandbox, python: Path | EventText, means: Means
    ) -> Mounts:
        if not form.volumes:
            return Mounts()
        places = self._containers.places(python) if isinstance(python, Path) else None
        return mounts_of(form, sandbox, self._root, account.project_id, means.tool, places)

    def _python(self, form: JobForm) -> tuple[Path | EventText, Means, EventText | None]:
        """The Python of the job, how it is kept apart, and what keeps it from seeing the service's folders."""
        try:
            python = self._interpreters.for_engine(form.engine.id)
        except SettingsError as error:
            return error.reason, Means("", _NO_PYTHON), _NO_PYTHON
        # Shims of version managers need the files of those, which jobs do not see.
        python = Path(self._containers.places(python).executable or python)
        means = self._containers.means(python)
        if not self._settings.now().container_paths:
            return python, means, _BY_SETTING
        return python, means, self._containers.paths_obstacle(python)

    def _check_pythons(self) -> None:
        for problem in self._interpreters.problems(self.catalogue.engines):
            log.warning("%s", problem.english)
            if self._warn is not None:
                self._warn(problem)

    def _end_run(self, job_id: str) -> JobRun | None:
        with self._lock:
            run = self._runs.get(job_id)
        if run is not None:
            run.request_stop(StopReason.USER)
            self._queue.dismiss(run)
        return run

    def _open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._moxing.exists():
            shutil.rmtree(self._moxing)
        shutil.copytree(resource("lab", "moxing"), self._moxing, ignore=shutil.ignore_patterns("__pycache__"))
        for made in (self._moxing, *self._moxing.rglob("*")):
            made.chmod(0o700 if made.is_dir() else 0o600)
        self._database = TrainingDatabase(self._folder / "jobs.sqlite3")
        self.records = JobRecords(self._database)
        self.experiments, self.algorithms = Experiments(self._database), Algorithms(self._database)
        for job in self.records.live():
            end_orphans(job.id, self.records.processes(job.id))
            self.records.move(job.id, "Abnormal", "Lost", event=events.LOST, level="Error")
            for path in map(self.sandbox(job.id).log, job.tasks):
                if path.exists():
                    add_service_line(path, events.LOST.english)
        ProcessGroup.left_of(self.records.ids()).remove()

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
