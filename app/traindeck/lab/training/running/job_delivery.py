"""Brings a job's outputs and logs to where the job wants them, during the run and at its end."""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.training import job_history as events
from traindeck.lab.training.job_form import ASCEND_ENGINE, JobForm
from traindeck.lab.training.job_records import EventText, JobRecords
from traindeck.lab.training.running.job_environment import ranks
from traindeck.lab.training.running.job_files import (
    GivenUpError,
    KeepGoing,
    OutputFolders,
    OwnBuckets,
    TransferError,
)
from traindeck.lab.training.running.worker_places import Sandbox

log = logging.getLogger(__name__)


class Delivery:
    """The uploads of one job; each kind runs once at a time."""

    def __init__(
        self, form: JobForm, sandbox: Sandbox, records: JobRecords, buckets: OwnBuckets, pool: Executor
    ) -> None:
        self._form = form
        self._sandbox = sandbox
        self._records = records
        self._buckets = buckets
        self._pool = pool
        # Every worker has a folder of its own for each output; all of them go to the same place.
        self._outputs = [
            (
                channel.name,
                OutputFolders(
                    buckets, [sandbox.worker(task).output_of(index, channel) for task in form.tasks], channel.path
                ),
            )
            for index, channel in enumerate(() if form.has_obs_urls else form.outputs)
        ]
        self._log_sizes: dict[Path, int] = {}
        self._running: dict[str, Future[None]] = {}
        self._told: set[EventText] = set()

    def send_logs_soon(self) -> None:
        self._in_background("logs", self.send_logs)

    def send_outputs_soon(self, keep_going: KeepGoing) -> None:
        self._in_background("outputs", lambda: self._send_changed_outputs(keep_going))

    def wait(self) -> None:
        """Until what was begun in the background is done."""
        for running in self._running.values():
            running.result()

    def send_outputs(self, keep_going: KeepGoing) -> EventText | None:
        """Send what is still missing; what went wrong, if anything did."""
        unsent = None
        task = self._form.tasks[0]
        for name, folders in self._outputs:
            began = time.monotonic()
            self._tell(events.output_upload_started(task, name, folders.target))
            try:
                folders.send_changes(keep_going)
            except (TransferError, GivenUpError) as error:
                unsent = events.output_not_uploaded(task, name, error)
                self._tell(unsent, level="Error")
            else:
                self._tell(events.output_uploaded(task, name, time.monotonic() - began))
        return unsent

    def send_logs(self) -> None:
        if self._form.log is None:
            return
        for task, path in self._logs():
            try:
                size = path.stat().st_size
                if self._log_sizes.get(path) == size:
                    continue
                self._buckets.store(self._form.log.bucket, self._form.log.folder + path.name, path)
                self._log_sizes[path] = size
            except FileNotFoundError:
                continue  # of a process that was not started
            except ObsError as error:
                self._warn_once(events.log_not_uploaded(task, error.message))
            except (OSError, TransferError) as error:
                self._warn_once(events.log_not_uploaded(task, error))

    def _logs(self) -> Iterator[tuple[str, Path]]:
        for task in self._form.tasks:
            yield task, self._sandbox.log(task)
        if self._form.engine.name == ASCEND_ENGINE:
            for rank in ranks(self._form):
                yield self._form.tasks[rank.node], self._sandbox.card_log(rank.number, rank.device)

    def _send_changed_outputs(self, keep_going: KeepGoing) -> None:
        for name, folders in self._outputs:
            try:
                folders.send_changes(keep_going)
            except TransferError as error:
                self._warn_once(events.output_not_uploaded(self._form.tasks[0], name, error))
            except GivenUpError:
                return

    def _in_background(self, name: str, work: Callable[[], None]) -> None:
        running = self._running.get(name)
        if running is None or running.done():
            self._running[name] = self._pool.submit(self._guarded, name, work)

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            log.exception("uploading the %s of job %s failed", name, self._sandbox.job_id)

    def _warn_once(self, text: EventText) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text, level="Warning")

    def _tell(self, text: EventText, *, level: str = "Info") -> None:
        self._records.add_event(self._sandbox.job_id, text, level=level, source="Task")
