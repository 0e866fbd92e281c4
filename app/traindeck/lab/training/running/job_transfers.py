"""What a run brings to its workers before training, and their outputs and logs to where the job wants them."""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.training import job_history as events
from traindeck.lab.training.job_form import ASCEND_ENGINE
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.running.job_environment import (
    Launch,
    base_variables,
    make_start_folders,
    ranks,
    write_rank_tables,
)
from traindeck.lab.training.running.job_files import (
    GivenUpError,
    KeepGoing,
    ObsPath,
    TransferError,
    fetch,
)
from traindeck.lab.training.running.job_outcome import EndedError, Work, failed, not_created
from traindeck.lab.training.running.job_outputs import OutputFolders, Progress
from traindeck.lab.training.running.job_pythons import JobPython
from traindeck.lab.training.running.packages import REQUIREMENTS, PackagesError, package_sources
from traindeck.lab.training.running.process_tree import exit_code
from traindeck.lab.training.running.worker_places import hand_over

log = logging.getLogger(__name__)


class Begin(Protocol):
    """Starts a process on a worker, within its limits; it is one of the job's."""

    def __call__(self, node: int, wanted: Launch, output: BinaryIO, *, writable: Path) -> subprocess.Popen[bytes]: ...


@dataclass(frozen=True)
class Preparation:
    """The first leg of one run: folders, code, inputs and packages; raises EndedError where it leads nowhere."""

    work: Work
    keep_going: KeepGoing
    begin: Begin

    def run(self) -> JobPython:
        """Do it all; the Python that runs the job."""
        work, form = self.work, self.work.form
        self._make_folders()
        for channel in form.outputs:
            if not work.buckets.has_bucket(channel.path.bucket):
                cause = f"the bucket {channel.path.bucket} does not exist"
                event = events.OUTPUT_NOT_UPLOADED.of(task=form.tasks[0], name=channel.name, cause=cause)
                raise EndedError(failed(form.tasks[0], event))
        for task in form.tasks:
            self._fetch_code(task)
        self._fill_volumes()
        if form.has_obs_urls:
            work.tell(events.OBS_URLS)
        else:
            for task in form.tasks:
                self._fetch_inputs(task)
        self._make_start_folders()
        python = self._make_pythons()
        self._hand_over()
        # Last: packages may run code of the job, and nothing of ours goes into its folders after that.
        if python.packages is not None:
            self._install(python, python.packages)
        return python

    def _make_folders(self) -> None:
        form, sandbox = self.work.form, self.work.sandbox
        try:
            sandbox.make(form)
            self.work.mounts.make()
            write_rank_tables(form, sandbox)
            places = self.work.containers.places(self.work.base)
            for task in form.tasks:
                places.join(sandbox.worker(task).home)
                self.work.say(task, f"job {form.name} ({sandbox.job_id}) is being prepared")
                if not sandbox.is_apart:
                    self.work.say(
                        task, "the job is not isolated: it can read the files and use the keyring of its user"
                    )
        except OSError as error:
            raise EndedError(not_created(events.NOT_PREPARED.of(cause=error))) from error

    def _make_start_folders(self) -> None:
        """Beside the code and the inputs, which may bring them."""
        try:
            make_start_folders(self.work.form, self.work.sandbox)
        except OSError as error:
            task = self.work.form.tasks[0]
            raise EndedError(not_created(events.NOT_STARTED.of(task=task, cause=error))) from error

    def _fetch_code(self, task: str) -> None:
        code = self.work.form.code
        if code is not None:
            self._tell(events.CODE_DOWNLOAD_STARTED.of(task=task, source=code))
            target = self.work.sandbox.worker(task).code(self.work.form)
            self._fetch(task, "the code", code, target, events.CODE_DOWNLOADED)

    def _fill_volumes(self) -> None:
        """Those of OBS are copied: what the bucket has at the start."""
        task = self.work.form.tasks[0]
        for volume, folder in self.work.mounts.of_obs:
            assert volume.place is not None
            if next(self.work.buckets.under(volume.place), None) is None and self.work.buckets.has_bucket(
                volume.place.bucket
            ):
                continue  # an empty folder is one, too
            name = str(volume.mount)
            self._fetch(task, f"the volume {name}", volume.place, folder, events.VOLUME_COPIED, name)

    def _fetch_inputs(self, task: str) -> None:
        for channel in self.work.form.inputs:
            self._tell(events.INPUT_DOWNLOAD_STARTED.of(task=task, name=channel.name, source=channel.path))
            target = self.work.sandbox.worker(task).of(channel)
            self._fetch(task, f"the input {channel.name}", channel.path, target, events.INPUT_DOWNLOADED, channel.name)

    def _fetch(self, task: str, what: str, source: ObsPath, target: Path, done: EventText, name: str = "") -> None:
        began = time.monotonic()
        try:
            files, size_bytes = fetch(self.work.buckets, source, target, self.keep_going)
        except TransferError as error:
            raise EndedError(failed(task, events.DOWNLOAD_FAILED.of(task=task, what=what, cause=error))) from error
        seconds = time.monotonic() - began
        self._tell(done.of(task=task, name=name, files=files, size_bytes=size_bytes, seconds=seconds))

    def _make_pythons(self) -> JobPython:
        """Lay the environments of the workers, above that of the packages, which is made after them."""
        work, form = self.work, self.work.form
        places = work.containers.places(work.base)
        code = work.sandbox.worker(form.tasks[0]).code(form)
        packages = None
        try:
            if form.code is not None and (code / REQUIREMENTS).is_file():
                packages = work.environments.place(code, places, work.sandbox.user)
            python = JobPython(work.base, places, packages)
            for task in form.tasks:
                python.make(work.sandbox.worker(task))
        except PackagesError as error:
            raise self._not_installed(error) from error
        except OSError as error:
            raise EndedError(not_created(events.NOT_PREPARED.of(cause=error))) from error
        return python

    def _hand_over(self) -> None:
        """All the job finds becomes its user's, before anything of the job runs; what jobs share, once."""
        work, user = self.work, self.work.sandbox.user
        try:
            for task in work.form.tasks:
                hand_over(work.sandbox.worker(task).root, user)
                hand_over(work.sandbox.log(task), user)
            if sys.platform != "win32" and os.geteuid() == 0:
                # Jobs of before may have run as another user; root's own cannot use what is not theirs everywhere.
                owner = os.geteuid() if user is None else user
                for folder in (work.access.moxing, *(folder for _, folder in work.mounts.folders)):
                    if folder.stat().st_uid != owner:
                        hand_over(folder, owner)
        except OSError as error:
            raise EndedError(not_created(events.NOT_PREPARED.of(cause=error))) from error

    def _install(self, python: JobPython, packages: Path) -> None:
        work, task = self.work, self.work.form.tasks[0]
        worker = work.sandbox.worker(task)
        began = time.monotonic()
        self._tell(events.PACKAGES_STARTED.of(task=task))
        variables = {**base_variables(work.sandbox, worker), **package_sources(work.base)}
        variables |= {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        try:
            is_new = work.environments.install(
                packages, python.places, partial(self._run, worker.code(work.form), variables)
            )
        except (PackagesError, OSError) as error:
            raise self._not_installed(error) from error
        told = events.PACKAGES_INSTALLED if is_new else events.PACKAGES_KEPT
        self._tell(told.of(task=task, seconds=time.monotonic() - began))
        for other in work.form.tasks[1:]:
            work.say(other, f"packages as on {task}")

    def _not_installed(self, error: Exception) -> EndedError:
        task = self.work.form.tasks[0]
        return EndedError(failed(task, events.PACKAGES_NOT_INSTALLED.of(task=task, cause=error)))

    def _run(self, folder: Path, variables: Mapping[str, str], environment: Path, command: tuple[str, ...]) -> int:
        """Run one command of the installation, its output in the log of the first worker."""
        work, task = self.work, self.work.form.tasks[0]
        hand_over(environment, work.sandbox.user)
        wanted = Launch(command, work.sandbox.worker(task).seen(folder), variables)
        with work.sandbox.log(task).open("ab") as output:
            process = self.begin(0, wanted, output, writable=environment)
        return exit_code(process, self.keep_going)

    def _tell(self, text: EventText) -> None:
        self.work.tell(text, source="Task")


class Delivery:
    """The uploads of one job; each kind runs once at a time."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._form = work.form
        # Every worker has a folder of its own for each output; all of them go to the same place.
        self._outputs: dict[str, OutputFolders] = {}
        for channel in () if work.form.has_obs_urls else work.form.outputs:
            workers = [work.sandbox.worker(task) for task in work.form.tasks]
            folders = [(places, places.of(channel)) for places in workers]
            self._outputs[channel.name] = OutputFolders(work.buckets, folders, channel.path)
        self._log_sizes: dict[Path, int] = {}
        self._running: dict[str, Future[None]] = {}
        self._told: set[EventText] = set()

    def begin(self, name: str, work: Callable[[], None]) -> None:
        """Send in the background, unless the same is still on its way."""
        running = self._running.get(name)
        if running is None or running.done():
            self._running[name] = self._work.uploads.submit(self._guarded, name, work)

    def wait(self) -> None:
        """Until what was begun in the background is done."""
        for running in self._running.values():
            running.result()

    def send_outputs(self, keep_going: KeepGoing) -> EventText | None:
        """Send what is still missing; what went wrong, if anything did."""
        unsent = None
        task = self._form.tasks[0]
        for name, folders in self._outputs.items():
            began = time.monotonic()
            self._tell(events.OUTPUT_UPLOAD_STARTED.of(task=task, name=name, target=folders.target))
            progress = Progress(partial(self._say_progress, name), self._work.timing.progress_s)
            try:
                folders.send_changes(keep_going, progress)
            except (TransferError, GivenUpError) as error:
                unsent = events.OUTPUT_NOT_UPLOADED.of(task=task, name=name, cause=error)
                self._tell(unsent, level="Error")
            else:
                self._tell(events.OUTPUT_UPLOADED.of(task=task, name=name, seconds=time.monotonic() - began))
        return unsent

    def _say_progress(self, name: str, files: int, of_files: int, size_bytes: int) -> None:
        with suppress(OSError):  # a full disk must not end the upload
            said = f"uploading the output {name}: {files} of {of_files} files, {size_bytes / 1_000_000:.1f} MB"
            self._work.say(self._form.tasks[0], said)

    def send_logs(self) -> None:
        if self._form.log is None:
            return
        for task, path in self._logs():
            try:
                size = path.stat().st_size
                if self._log_sizes.get(path) == size:
                    continue
                with path.open("rb") as file:
                    self._work.buckets.store(self._form.log.bucket, self._form.log.folder + path.name, file)
                self._log_sizes[path] = size
            except FileNotFoundError:
                continue  # of a process that was not started
            except ObsError as error:
                self._warn_once(events.LOG_NOT_UPLOADED.of(task=task, cause=error.message))
            except (OSError, TransferError) as error:
                self._warn_once(events.LOG_NOT_UPLOADED.of(task=task, cause=error))

    def _logs(self) -> Iterator[tuple[str, Path]]:
        for task in self._form.tasks:
            yield task, self._work.sandbox.log(task)
        if self._form.engine.name == ASCEND_ENGINE:
            for rank in ranks(self._form):
                yield self._form.tasks[rank.node], self._work.sandbox.card_log(rank.number, rank.device)

    def send_changed_outputs(self, keep_going: KeepGoing) -> None:
        for name, folders in self._outputs.items():
            try:
                folders.send_changes(keep_going)
            except TransferError as error:
                self._warn_once(events.OUTPUT_NOT_UPLOADED.of(task=self._form.tasks[0], name=name, cause=error))
            except GivenUpError:
                return

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            log.exception("uploading the %s of job %s failed", name, self._work.id)

    def _warn_once(self, text: EventText) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text, level="Warning")

    def _tell(self, text: EventText, *, level: str = "Info") -> None:
        self._work.tell(text, level=level, source="Task")
