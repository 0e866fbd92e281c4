"""Takes one job from accepted to ended: files in, processes up, files out, phase by phase."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from traindeck.lab.faults import Fault
from traindeck.lab.training import job_history as events
from traindeck.lab.training.job_form import JobForm
from traindeck.lab.training.job_records import LIVE_PHASES, STOPPABLE_PHASES, EventText, JobRecords
from traindeck.lab.training.running.containers import Containers
from traindeck.lab.training.running.interpreters import PackageEnvironments
from traindeck.lab.training.running.job_delivery import Delivery
from traindeck.lab.training.running.job_environment import ObsAccess
from traindeck.lab.training.running.job_files import GivenUpError, OwnBuckets
from traindeck.lab.training.running.job_log import add_service_line
from traindeck.lab.training.running.job_outcome import (
    KILLED,
    EndedError,
    Outcome,
    StoppedError,
    StopReason,
    Timing,
    ended_by_exit,
    failed,
    not_created,
)
from traindeck.lab.training.running.job_preparation import Preparation
from traindeck.lab.training.running.job_processes import JobProcesses
from traindeck.lab.training.running.worker_places import Sandbox

log = logging.getLogger(__name__)

_RECORD_RETRY_S = 1.0
_LEFTOVER_GRACE_S = 1.0
# The window waits for the Lab when it is closed, so the last words must be short.
_LAB_END_UPLOAD_S = 0.5


@dataclass(frozen=True)
class RunTools:
    """What all runs of one Lab share."""

    records: JobRecords
    environments: PackageEnvironments
    containers: Containers
    uploads: Executor
    timing: Timing


@dataclass(frozen=True)
class ChosenPython:
    """The Python of a job, or why there is none."""

    path: Path | None
    problem: EventText | None = None


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
        buckets: OwnBuckets,
        python: ChosenPython,
        access: ObsAccess,
        tools: RunTools,
        on_end: Callable[["JobRun"], None],
    ) -> None:
        self.form = form
        self.id = sandbox.job_id
        self.priority = 1
        # What fault rules do to this run: it waits while the one is in force, and ends after so long.
        self.held_by: Fault | None = None
        self.limit_by_rule_s: float | None = None
        self._sandbox = sandbox
        self._records = tools.records
        self._python = python
        self._timing = tools.timing
        self._on_end = on_end
        self._delivery = Delivery(form, sandbox, tools.records, buckets, tools.uploads)
        self._processes = JobProcesses(form, sandbox, tools.records, tools.containers, access, tools.timing)
        self._preparation = Preparation(
            form, sandbox, buckets, tools.environments, self._check_stop, self._processes.own, self._tell
        )
        self._measured_at = 0.0
        self._last_lines: list[tuple[str, str]] = []
        self._stop_lock = threading.Lock()
        self._stop = threading.Event()
        self._over = threading.Event()
        self._reason: StopReason | None = None
        self._lab_ended_at: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"job-{self.id}")

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._over.wait()
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
            log.exception("job %s could not be run", self.id)
            self._processes.tree.end(_LEFTOVER_GRACE_S, self._is_hurried)
            outcome = Outcome("Abnormal", "Unknown", events.INTERNAL_ERROR)
        try:
            while not self._recorded(outcome):
                # The disk may be full; a job that ended must not look live for ever.
                if self._is_hurried():
                    return
                time.sleep(_RECORD_RETRY_S)
        finally:
            self._over.set()
            self._on_end(self)

    def _outcome(self) -> Outcome:
        if self._reason is not None:
            return self._stopped()  # while it waited for its turn
        self._records.move(self.id, "Running", only_from=("Pending",), event=events.RUNNING)
        try:
            if self._python.path is None:
                raise EndedError(not_created(events.not_started(self.form.tasks[0], self._python.problem)))
            self._records.begin_stage(self.id, "preparing")
            python = self._preparation.run(self._python.path)
            self._records.begin_stage(self.id, "running")
            self._check_stop()
            self._processes.start(python, self._python.path, self._check_stop)
            outcome = self._watch()
        except EndedError as ended:
            outcome = ended.outcome
        except StoppedError:
            outcome = self._stopped()
        finally:
            grace_s = _LEFTOVER_GRACE_S if self._reason is None else self._timing.grace_s
            all_gone = self._processes.tree.end(grace_s, self._is_hurried)
            self._processes.finish_logs()
        self._records.begin_stage(self.id, "end")
        self._say_last_lines()
        self._measure(is_last=True)
        if not all_gone:
            outcome = Outcome("Abnormal", "TerminatedFailed", events.NOT_STOPPED)
        self._delivery.wait()
        unsent = self._delivery.send_outputs(self._check_lab) if self._processes.were_started else None
        if unsent is not None and outcome.phase == "Completed":
            outcome = failed(self.form.tasks[0], unsent)
        self._say_goodbye(outcome)
        if unsent is None:
            self._clear()
        return outcome

    def _say_last_lines(self) -> None:
        try:
            self._sandbox.log_dir.mkdir(parents=True, exist_ok=True)
            for task, line in self._last_lines:
                self._say(task, line)
        except OSError:
            # A full disk must not take the place of what really became of the job.
            log.warning("the log of job %s could not be written", self.id, exc_info=True)

    def _say_goodbye(self, outcome: Outcome) -> None:
        for task in self.form.tasks:
            try:
                self._say(task, f"the job ends as {outcome.phase}: {outcome.event.english}")
            except OSError as error:
                self._tell(events.log_not_uploaded(task, error), level="Warning", source="Task")
        self._delivery.send_logs()

    def _say(self, task: str, line: str) -> None:
        add_service_line(self._sandbox.log(task), line, self._timing.max_log_bytes)

    def _recorded(self, outcome: Outcome) -> bool:
        try:
            # A stop that was accepted at the last moment wins over the end it came too late for.
            if not self._moved(outcome, STOPPABLE_PHASES if outcome.phase in ("Completed", "Failed") else LIVE_PHASES):
                self._moved(self._stopped(), LIVE_PHASES)
        except sqlite3.Error:
            log.exception("the end of job %s could not be recorded", self.id)
            return False
        return True

    def _moved(self, outcome: Outcome, only_from: Sequence[str]) -> bool:
        return self._records.move(
            self.id,
            outcome.phase,
            outcome.secondary_phase,
            only_from=only_from,
            task_statuses=outcome.task_statuses,
            event=outcome.event,
            level=outcome.level,
        )

    # Training

    def _watch(self) -> Outcome:
        deadline, limit_event = self._time_limit()
        sample, metrics = _Every(self._timing.sample_s), _Every(self._timing.metrics_s)
        logs, outputs = _Every(self._timing.log_upload_s), _Every(self._timing.output_upload_s)
        self._measured_at = time.monotonic()
        self._processes.sample()
        while True:
            self._stop.wait(self._timing.look_s)
            ended = self._processes.look()
            if self._reason is not None:
                return self._stopped()
            bad = next(((exit_.task, exit_.code) for exit_ in ended if exit_.code != 0), None)
            if bad is not None or len(ended) == self._processes.count:
                for exit_ in ended:
                    self._tell(events.training_ended(exit_.task, exit_.code), source="Task")
                    self._last_lines.append((exit_.task, f"training ended with exit code {exit_.code}"))
                return ended_by_exit(bad)
            if deadline is not None and time.monotonic() > deadline:
                self._records.move(self.id, "Terminating", only_from=("Running",))
                self.request_stop(StopReason.TIME_LIMIT)
                return Outcome("Terminated", "Terminated", limit_event)
            if sample.is_due() and (task := self._processes.sample()) is not None:
                return self._out_of_memory(task)
            if metrics.is_due():
                self._measure()
            if logs.is_due():
                self._delivery.send_logs_soon()
            if outputs.is_due():
                self._delivery.send_outputs_soon(self._check_stop)

    def _out_of_memory(self, task: str) -> Outcome:
        # The platform kills at once, without a word to the process.
        self._processes.tree.end(0)
        event = events.out_of_memory(task, self.form.flavor.memory_gb)
        self._last_lines.append((task, f"training ended with exit code {KILLED}: out of memory"))
        return failed(task, event, KILLED)

    def _time_limit(self) -> tuple[float | None, EventText]:
        limits = [hours for hours in (self.form.stop_after_hours, self.form.flavor.hours_limit) if hours]
        by_rule = self.limit_by_rule_s
        seconds = [by_rule] if by_rule is not None else []
        if limits:
            seconds.append(min(limits) * self._timing.hour_s)
        if not seconds:
            return None, events.STOPPED_BY_RULE
        event = events.STOPPED_BY_RULE if by_rule == min(seconds) else events.stopped_by_time(min(limits))
        job = self._records.job(self.id)
        running_s = 0.0 if job is None else max(0.0, time.time() - job.start_time / 1000)
        return time.monotonic() - running_s + min(seconds), event

    def _measure(self, *, is_last: bool = False) -> None:
        """Record one averaged sample; a run shorter than the interval gets a single one at its end."""
        if is_last and (not self._measured_at or self._records.metrics(self.id, self.form.tasks[0])):
            return
        now = time.monotonic()
        self._processes.measure(now - self._measured_at)
        self._measured_at = now

    def _clear(self) -> None:
        try:
            self._sandbox.clear()
        except OSError:
            log.warning("the folders of job %s could not be removed", self.id, exc_info=True)

    # Stopping

    def _check_stop(self) -> None:
        if self._reason is not None:
            raise StoppedError

    def _check_lab(self) -> None:
        ended_at = self._lab_ended_at
        if ended_at is not None and time.monotonic() - ended_at > _LAB_END_UPLOAD_S:
            raise GivenUpError(f"the Lab ended; what is missing is in {self._sandbox.root}")

    def _is_hurried(self) -> bool:
        return self._lab_ended_at is not None

    def _stopped(self) -> Outcome:
        event = events.STOPPED_BY_USER if self._reason is StopReason.USER else events.STOPPED_BY_LAB
        return Outcome("Terminated", "Terminated", event)

    def _tell(self, text: EventText, *, level: str = "Info", source: str = "Job") -> None:
        self._records.add_event(self.id, text, level=level, source=source)
