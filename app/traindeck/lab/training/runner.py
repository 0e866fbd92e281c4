"""Takes one job from accepted to ended: files in, processes up, files out, phase by phase."""

import itertools
import logging
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from traindeck.lab.training import job_events as events
from traindeck.lab.training.job_delivery import Delivery
from traindeck.lab.training.job_environment import (
    JOB_VARIABLE,
    Interpreters,
    NoInterpreterError,
    Rank,
    Sandbox,
    launch,
    ranks,
    write_rank_table,
)
from traindeck.lab.training.job_files import Fetched, GivenUpError, ObsPath, OwnBuckets, TransferError, fetch
from traindeck.lab.training.job_form import JobForm
from traindeck.lab.training.job_log import add_service_line
from traindeck.lab.training.job_metrics import Meter
from traindeck.lab.training.job_records import LIVE_PHASES, STOPPABLE_PHASES, EventText, JobRecords
from traindeck.lab.training.process_tree import ProcessId, ProcessTree

log = logging.getLogger(__name__)

_RECORD_RETRY_S = 1.0
_LEFTOVER_GRACE_S = 1.0
# The window waits for the Lab when it is closed, so the last words must be short.
_LAB_END_UPLOAD_S = 0.5


@dataclass(frozen=True)
class Timing:
    """How often a run looks at its processes and sends things; a test of hours shortens the hour."""

    look_s: float = 0.1
    sample_s: float = 2.0
    log_upload_s: float = 5.0
    output_upload_s: float = 30.0
    metrics_s: float = 60.0
    grace_s: float = 5.0
    hour_s: float = 3600.0


class StopReason(Enum):
    """Why a run is to end before its processes do."""

    USER = auto()
    TIME_LIMIT = auto()
    LAB_END = auto()


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    phase: str
    secondary_phase: str
    event: EventText
    task_statuses: tuple[dict[str, Any], ...] = ()

    @property
    def level(self) -> str:
        return "Error" if self.phase in ("Failed", "Abnormal") else "Info"


class _EndedError(Exception):
    """The run cannot go on."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.phase)
        self.outcome = outcome


class _StoppedError(GivenUpError):
    """Somebody asked for the end of the run."""


class _Every:
    """Says once per interval that it is time."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._last = time.monotonic()

    def is_due(self) -> bool:
        if time.monotonic() - self._last < self._interval_s:
            return False
        self._last = time.monotonic()
        return True


class JobRun:
    """The life of one job, on a thread of its own."""

    def __init__(
        self,
        form: JobForm,
        sandbox: Sandbox,
        records: JobRecords,
        buckets: OwnBuckets,
        interpreters: Interpreters,
        uploads: Executor,
        obs_url: str,
        timing: Timing,
    ) -> None:
        self._form = form
        self._sandbox = sandbox
        self._id = sandbox.job_id
        self._records = records
        self._buckets = buckets
        self._interpreters = interpreters
        self._delivery = Delivery(form, sandbox, records, buckets, uploads)
        self._obs_url = obs_url
        self._timing = timing
        self._tree = job_tree(self._id)
        self._processes: list[tuple[Rank, subprocess.Popen[bytes]]] = []
        self._meters: list[Meter] = []
        self._measured_at = 0.0
        self._last_lines: list[tuple[str, str]] = []
        self._stop_lock = threading.Lock()
        self._stop = threading.Event()
        self._reason: StopReason | None = None
        self._lab_ended_at: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"job-{self._id}")

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def request_stop(self, reason: StopReason) -> None:
        """End the run soon; the first reason counts, but the Lab's own end hurries any other."""
        with self._stop_lock:
            if reason is StopReason.LAB_END:
                self._lab_ended_at = time.monotonic()
            if self._reason is None:
                self._reason = reason
        self._stop.set()

    # The thread

    def _run(self) -> None:
        try:
            outcome = self._outcome()
        except Exception:
            log.exception("job %s could not be run", self._id)
            self._tree.end(_LEFTOVER_GRACE_S, self._is_hurried)
            outcome = Outcome("Abnormal", "Unknown", events.INTERNAL_ERROR)
        while not self._recorded(outcome):
            # The disk may be full; a job that ended must not look live for ever.
            if self._is_hurried():
                return
            time.sleep(_RECORD_RETRY_S)

    def _outcome(self) -> Outcome:
        self._records.move(self._id, "Pending", "Queuing", only_from=("Creating",), event=events.QUEUED)
        self._records.move(self._id, "Running", only_from=("Pending",), event=events.RUNNING)
        try:
            self._records.begin_stage(self._id, "preparing")
            self._prepare()
            self._records.begin_stage(self._id, "running")
            self._start()
            outcome = self._watch()
        except _EndedError as ended:
            outcome = ended.outcome
        except _StoppedError:
            outcome = self._stopped()
        finally:
            grace_s = _LEFTOVER_GRACE_S if self._reason is None else self._timing.grace_s
            all_gone = self._tree.end(grace_s, self._is_hurried)
            for _, process in self._processes:
                process.poll()
        self._records.begin_stage(self._id, "end")
        for task, line in self._last_lines:
            add_service_line(self._sandbox.log(task), line)
        self._measure(is_last=True)
        if not all_gone:
            outcome = Outcome("Abnormal", "TerminatedFailed", events.NOT_STOPPED)
        self._delivery.wait()
        unsent = self._delivery.send_outputs(self._check_lab) if self._processes else None
        if unsent is not None and outcome.phase == "Completed":
            outcome = self._failed(unsent).outcome
        self._say_goodbye(outcome)
        if unsent is None:
            self._clear()
        return outcome

    def _say_goodbye(self, outcome: Outcome) -> None:
        for task in self._form.tasks:
            try:
                add_service_line(self._sandbox.log(task), f"the job ends as {outcome.phase}: {outcome.event.english}")
            except OSError as error:
                self._tell(events.log_not_uploaded(task, error), level="Warning", source="Task")
        self._delivery.send_logs()

    def _recorded(self, outcome: Outcome) -> bool:
        try:
            # A stop that was accepted at the last moment wins over the end it came too late for.
            if not self._moved(outcome, STOPPABLE_PHASES if outcome.phase in ("Completed", "Failed") else LIVE_PHASES):
                self._moved(self._stopped(), LIVE_PHASES)
        except sqlite3.Error:
            log.exception("the end of job %s could not be recorded", self._id)
            return False
        return True

    def _moved(self, outcome: Outcome, only_from: Sequence[str]) -> bool:
        return self._records.move(
            self._id,
            outcome.phase,
            outcome.secondary_phase,
            only_from=only_from,
            task_statuses=outcome.task_statuses,
            event=outcome.event,
            level=outcome.level,
        )

    # Before training

    def _prepare(self) -> None:
        try:
            self._sandbox.make(self._form)
            write_rank_table(self._form, self._sandbox)
            for task in self._form.tasks:
                add_service_line(self._sandbox.log(task), f"job {self._form.name} ({self._id}) is being prepared")
        except OSError as error:
            raise _EndedError(Outcome("Abnormal", "CreateFailed", events.not_prepared(error))) from error
        for channel in self._form.outputs:
            if not self._buckets.has_bucket(channel.path.bucket):
                cause = f"the bucket {channel.path.bucket} does not exist"
                raise self._failed(events.output_not_uploaded(channel.name, cause))
        if self._form.code:
            code = self._sandbox.code(self._form)
            self._tell(events.code_download_started(self._form.code), source="Task")
            fetched, seconds = self._fetched("the code", self._form.code, code)
            self._tell(events.code_downloaded(fetched.files, fetched.size_bytes, seconds), source="Task")
            if (code / "pip-requirements.txt").exists():
                self._tell(events.NO_PIP, level="Warning", source="Task")
        for index, channel in enumerate(self._form.inputs):
            target = self._sandbox.input(index, channel.name)
            self._tell(events.input_download_started(channel.name, channel.path), source="Task")
            fetched, seconds = self._fetched(f"the input {channel.name}", channel.path, target)
            told = events.input_downloaded(channel.name, fetched.files, fetched.size_bytes, seconds)
            self._tell(told, source="Task")

    def _fetched(self, what: str, source: ObsPath, target: Path) -> tuple[Fetched, float]:
        began = time.monotonic()
        try:
            return fetch(self._buckets, source, target, self._check_stop), time.monotonic() - began
        except TransferError as error:
            raise self._failed(events.download_failed(what, error)) from error

    def _failed(self, event: EventText) -> _EndedError:
        statuses = ({"task": self._form.tasks[0], "exit_code": 1, "message": event.english},)
        return _EndedError(Outcome("Failed", "Failed", event, statuses))

    # Training

    def _start(self) -> None:
        self._check_stop()
        try:
            python = self._interpreters.for_engine(self._form.engine.id)
        except NoInterpreterError as error:
            event = events.not_started(self._form.tasks[0], error)
            raise _EndedError(Outcome("Abnormal", "CreateFailed", event)) from error
        by_node = itertools.groupby(ranks(self._form), key=lambda rank: rank.node)
        for (_, of_node), task in zip(by_node, self._form.tasks, strict=True):
            tree = self._tree if self._form.node_count == 1 else job_tree(self._id)
            self._meters.append(Meter(tree))
            add_service_line(self._sandbox.log(task), f"training starts with {python}")
            # The processes write the file themselves: a slow or dead Lab never blocks or cuts their output. They share
            # one handle, for Windows keeps the place to write at with the handle.
            with self._sandbox.log(task).open("ab") as output:
                for rank in of_node:
                    self._start_one(rank, python, tree, output)
            self._tell(events.training_started(task), source="Task")

    def _start_one(self, rank: Rank, python: Path, tree: ProcessTree, output: BinaryIO) -> None:
        try:
            wanted = launch(self._form, self._sandbox, rank, python, self._obs_url)
            wanted.folder.mkdir(parents=True, exist_ok=True)
            process = subprocess.Popen(
                wanted.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=wanted.folder,
                env=dict(wanted.variables),
                start_new_session=True,
                creationflags=_creation_flags(),
            )
        except (OSError, ValueError, NoInterpreterError) as error:
            event = events.not_started(self._form.tasks[rank.node], error)
            raise _EndedError(Outcome("Abnormal", "CreateFailed", event)) from error
        self._processes.append((rank, process))
        try:
            identity = ProcessId.of(process.pid)
        except psutil.NoSuchProcess:
            return  # already over, as seen on Windows
        tree.add(identity)
        self._tree.add(identity)
        self._records.add_process(self._id, identity)

    def _watch(self) -> Outcome:
        deadline, hours = self._time_limit()
        sample, metrics = _Every(self._timing.sample_s), _Every(self._timing.metrics_s)
        logs, outputs = _Every(self._timing.log_upload_s), _Every(self._timing.output_upload_s)
        self._measured_at = time.monotonic()
        self._sample()
        while True:
            self._stop.wait(self._timing.look_s)
            codes = [(self._form.tasks[rank.node], process.poll()) for rank, process in self._processes]
            ended = [(task, _exit_code(code)) for task, code in codes if code is not None]
            bad = next(((task, code) for task, code in ended if code != 0), None)
            if self._reason is not None:
                return self._stopped()
            if bad is not None or len(ended) == len(codes):
                for task, code in ended:
                    self._tell(events.training_ended(task, code), source="Task")
                    self._last_lines.append((task, f"training ended with exit code {code}"))
                return _exit_outcome(bad)
            if deadline is not None and time.monotonic() > deadline:
                self._records.move(self._id, "Terminating", only_from=("Running",))
                self.request_stop(StopReason.TIME_LIMIT)
                return Outcome("Terminated", "Terminated", events.stopped_by_time(hours))
            if sample.is_due():
                self._sample()
            if metrics.is_due():
                self._measure()
            if logs.is_due():
                self._delivery.send_logs_soon()
            if outputs.is_due():
                self._delivery.send_outputs_soon(self._check_stop)

    def _time_limit(self) -> tuple[float | None, int]:
        limits = [hours for hours in (self._form.stop_after_hours, self._form.flavor.hours_limit) if hours]
        if not limits:
            return None, 0
        job = self._records.job(self._id)
        running_s = 0.0 if job is None else max(0.0, time.time() - job.start_time / 1000)
        return time.monotonic() - running_s + min(limits) * self._timing.hour_s, min(limits)

    def _sample(self) -> None:
        for meter in self._meters:
            meter.sample()

    def _measure(self, *, is_last: bool = False) -> None:
        """Record one averaged sample; a run shorter than the interval gets a single one at its end."""
        if is_last and (not self._meters or self._records.metrics(self._id, self._form.tasks[0])):
            return
        now = time.monotonic()
        for task, meter in zip(self._form.tasks, self._meters, strict=True):
            self._records.add_metrics(self._id, task, *meter.reading(now - self._measured_at))
        self._measured_at = now

    def _clear(self) -> None:
        try:
            self._sandbox.clear()
        except OSError:
            log.warning("the folders of job %s could not be removed", self._id, exc_info=True)

    # Stopping

    def _check_stop(self) -> None:
        if self._reason is not None:
            raise _StoppedError

    def _check_lab(self) -> None:
        ended_at = self._lab_ended_at
        if ended_at is not None and time.monotonic() - ended_at > _LAB_END_UPLOAD_S:
            raise GivenUpError(f"the Lab ended; what is missing is in {self._sandbox.root / 'outputs'}")

    def _is_hurried(self) -> bool:
        return self._lab_ended_at is not None

    def _stopped(self) -> Outcome:
        event = events.STOPPED_BY_USER if self._reason is StopReason.USER else events.STOPPED_BY_LAB
        return Outcome("Terminated", "Terminated", event)

    def _tell(self, text: EventText, *, level: str = "Info", source: str = "Job") -> None:
        self._records.add_event(self._id, text, level=level, source=source)


def job_tree(job_id: str, roots: Sequence[ProcessId] = ()) -> ProcessTree:
    """The processes of a job, also those of a Lab that is gone."""
    return ProcessTree(JOB_VARIABLE, f"ma-job-{job_id}", roots)


def _exit_outcome(bad: tuple[str, int] | None) -> Outcome:
    if bad is None:
        return Outcome("Completed", "Completed", events.COMPLETED)
    task, code = bad
    message = events.training_ended(task, code).english
    statuses = ({"task": task, "exit_code": code, "message": message},)
    return Outcome("Failed", "Failed", events.failed(task, code), statuses)


def _exit_code(code: int) -> int:
    """A process ended by a signal counts as a shell and the platform count it."""
    return 128 - code if code < 0 else code


def _creation_flags() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return 0
