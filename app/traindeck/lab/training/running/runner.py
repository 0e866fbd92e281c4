"""Takes one job from accepted to ended: files in, processes up, files out, phase by phase."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence

from traindeck.lab.faults import Fault
from traindeck.lab.training import job_history as events
from traindeck.lab.training.job_records import STOPPABLE_PHASES, EventText
from traindeck.lab.training.running.job_files import GivenUpError
from traindeck.lab.training.running.job_outcome import (
    KILLED,
    EndedError,
    Outcome,
    StoppedError,
    StopReason,
    Work,
    ended_by_exit,
    failed,
)
from traindeck.lab.training.running.job_processes import Exceeded, JobProcesses
from traindeck.lab.training.running.job_transfers import Delivery, Preparation
from traindeck.lab.training.running.process_tree import LIVE_PHASES

log = logging.getLogger(__name__)

_RECORD_RETRY_S = 1.0
_LEFTOVER_GRACE_S = 1.0
# The window waits for the Lab when it is closed, so the last words must be short.
_LAB_END_UPLOAD_S = 0.5


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

    def __init__(self, work: Work, on_end: Callable[["JobRun"], None], on_look: Callable[[], None]) -> None:
        """`on_look` is called now and then while it runs."""
        self.id = work.id
        self.form = work.form
        self.priority = 1
        # What fault rules do to this run: it waits while the one is in force, and ends after so long.
        self.held_by: Fault | None = None
        self.limit_by_rule_s: float | None = None
        self._work = work
        self._records = work.records
        self._timing = work.timing
        self._on_end = on_end
        self._on_look = on_look
        self._delivery = Delivery(work)
        self._processes = JobProcesses(work)
        self._preparation = Preparation(work, self._check_stop, self._processes.begin)
        self._measured_at = 0.0
        self._stopped_before: StopReason | None = None
        self._delivery_end = 0.0
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
            self._records.begin_stage(self.id, "preparing")
            self._processes.make_workers()
            python = self._preparation.run()
            self._records.begin_stage(self.id, "running")
            self._check_stop()
            self._processes.start(python, self._check_stop)
            outcome = self._watch()
        except EndedError as ended:
            outcome = ended.outcome
        except StoppedError:
            outcome = self._stopped()
        finally:
            grace_s = _LEFTOVER_GRACE_S if self._reason is None else self._timing.grace_s
            all_gone = self._processes.tree.end(grace_s, self._is_hurried)
            self._processes.clear()
            self._processes.finish_logs()
        self._records.begin_stage(self.id, "end")
        self._say_last_lines()
        self._measure(is_last=True)
        if not all_gone:
            outcome = Outcome("Abnormal", "TerminatedFailed", events.NOT_STOPPED)
        self._begin_delivery()
        self._delivery.wait()
        unsent = self._delivery.send_outputs(self._check_delivery) if self._processes.count else None
        if self._reason is StopReason.USER and self._stopped_before is None:
            outcome = self._stopped()
        elif unsent is not None and outcome.phase == "Completed":
            outcome = failed(self.form.tasks[0], unsent)
        self._say_goodbye(outcome)
        if unsent is None:
            self._clear()
        return outcome

    def _say_last_lines(self) -> None:
        try:
            self._work.sandbox.log_dir.mkdir(parents=True, exist_ok=True)
            for task, line in self._last_lines:
                self._work.say(task, line)
        except OSError:
            # A full disk must not take the place of what really became of the job.
            log.warning("the log of job %s could not be written", self.id, exc_info=True)

    def _say_goodbye(self, outcome: Outcome) -> None:
        for task in self.form.tasks:
            try:
                self._work.say(task, f"the job ends as {outcome.phase}: {outcome.event.english}")
            except OSError as error:
                self._work.tell(events.LOG_NOT_UPLOADED.of(task=task, cause=error), level="Warning", source="Task")
        self._delivery.send_logs()

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
        disk = _Every(self._timing.disk_s)
        self._measured_at = time.monotonic()
        self._processes.sample()
        while True:
            self._stop.wait(self._timing.look_s)
            ended = self._processes.look()
            if self._reason is not None:
                return self._stopped()
            bad = next(((task, code) for task, code in ended if code != 0), None)
            if bad is not None and (exceeded := self._processes.out_of_memory()) is not None:
                return self._over_limit(exceeded)
            if bad is not None or len(ended) == self._processes.count:
                for task, code in ended:
                    self._work.tell(events.TRAINING_ENDED.of(task=task, exit_code=code), source="Task")
                    self._last_lines.append((task, f"training ended with exit code {code}"))
                return ended_by_exit(bad)
            if deadline is not None and time.monotonic() > deadline:
                self._records.move(self.id, "Terminating", only_from=("Running",))
                self.request_stop(StopReason.TIME_LIMIT)
                return Outcome("Terminated", "Terminated", limit_event)
            if sample.is_due():
                self._on_look()
                if (exceeded := self._processes.sample()) is not None:
                    return self._over_limit(exceeded)
            if disk.is_due():
                self._processes.look_at_disk()
            if metrics.is_due():
                self._measure()
            if logs.is_due():
                self._delivery.begin("logs", self._delivery.send_logs)
            if outputs.is_due():
                self._delivery.begin("outputs", lambda: self._delivery.send_changed_outputs(self._check_stop))

    def _over_limit(self, exceeded: Exceeded) -> Outcome:
        # The platform kills at once, without a word to the process.
        self._processes.tree.end(0)
        self._last_lines.append((exceeded.task, f"training ended with exit code {KILLED}: {exceeded.words}"))
        return failed(exceeded.task, exceeded.event, KILLED)

    def _time_limit(self) -> tuple[float | None, EventText]:
        limits = [hours for hours in (self.form.stop_after_hours, self.form.flavor.hours_limit) if hours]
        by_rule = self.limit_by_rule_s
        seconds = [by_rule] if by_rule is not None else []
        if limits:
            seconds.append(min(limits) * self._timing.hour_s)
        if not seconds:
            return None, events.STOPPED_BY_RULE
        event = events.STOPPED_BY_RULE
        if by_rule != min(seconds):
            hours = min(limits)
            event = events.STOPPED_BY_TIME.of(hours=hours, unit="hour" if hours == 1 else "hours")
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
            self._work.sandbox.clear()
        except OSError:
            log.warning("the folders of job %s could not be removed", self.id, exc_info=True)

    # Stopping

    def _check_stop(self) -> None:
        if self._reason is not None:
            raise StoppedError

    def _begin_delivery(self) -> None:
        """From now on a stop ends the upload; one that came before lets it go on for a while."""
        self._stopped_before = self._reason
        self._delivery_end = time.monotonic() + self._timing.stop_upload_s

    def _check_delivery(self) -> None:
        ended_at, missing = self._lab_ended_at, f"what is missing is in {self._work.sandbox.root}"
        if ended_at is not None and time.monotonic() - ended_at > _LAB_END_UPLOAD_S:
            raise GivenUpError(f"the Lab ended; {missing}")
        if self._reason is StopReason.USER and (self._stopped_before is None or time.monotonic() > self._delivery_end):
            raise GivenUpError(f"the job was stopped; {missing}")

    def _is_hurried(self) -> bool:
        return self._lab_ended_at is not None

    def _stopped(self) -> Outcome:
        event = events.STOPPED_BY_USER if self._reason is StopReason.USER else events.STOPPED_BY_LAB
        return Outcome("Terminated", "Terminated", event)
