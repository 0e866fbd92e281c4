"""Everything a run does before training: folders, code, inputs and packages for every worker."""

import logging
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from traindeck.lab.training import job_history as events
from traindeck.lab.training.job_form import JobForm
from traindeck.lab.training.running.interpreters import (
    REQUIREMENTS,
    PackageEnvironments,
    PackagesError,
)
from traindeck.lab.training.running.job_environment import base_variables, write_rank_tables
from traindeck.lab.training.running.job_files import (
    Fetched,
    KeepGoing,
    ObsPath,
    OwnBuckets,
    TransferError,
    fetch,
)
from traindeck.lab.training.running.job_log import add_service_line
from traindeck.lab.training.running.job_outcome import EndedError, failed, not_created
from traindeck.lab.training.running.process_tree import ProcessId, creation_flags, exit_code
from traindeck.lab.training.running.worker_places import Sandbox

log = logging.getLogger(__name__)

Tell = Callable[..., None]


class Preparation:
    """The first leg of one run; raises EndedError where it leads nowhere."""

    def __init__(
        self,
        form: JobForm,
        sandbox: Sandbox,
        buckets: OwnBuckets,
        environments: PackageEnvironments,
        keep_going: KeepGoing,
        own: Callable[[ProcessId], None],
        tell: Tell,
    ) -> None:
        """`own` takes every process that is started into the job's tree."""
        self._form = form
        self._sandbox = sandbox
        self._buckets = buckets
        self._environments = environments
        self._keep_going = keep_going
        self._own = own
        self._tell = tell

    def run(self, base: Path) -> Path:
        """Do it all; the Python that runs the job, which is `base` or one with the job's packages."""
        self._make_folders()
        for channel in self._form.outputs:
            if not self._buckets.has_bucket(channel.path.bucket):
                cause = f"the bucket {channel.path.bucket} does not exist"
                event = events.output_not_uploaded(self._form.tasks[0], channel.name, cause)
                raise EndedError(failed(self._form.tasks[0], event))
        for task in self._form.tasks:
            self._fetch_code(task)
        python = self._with_packages(base)
        if self._form.has_obs_urls:
            self._tell(events.OBS_URLS)
        else:
            for task in self._form.tasks:
                self._fetch_inputs(task)
        return python

    def _make_folders(self) -> None:
        try:
            self._sandbox.make(self._form)
            write_rank_tables(self._form, self._sandbox)
            for task in self._form.tasks:
                text = f"job {self._form.name} ({self._sandbox.job_id}) is being prepared"
                add_service_line(self._sandbox.log(task), text)
        except OSError as error:
            raise EndedError(not_created(events.not_prepared(error))) from error

    def _fetch_code(self, task: str) -> None:
        code = self._form.code
        if code is None:
            return
        self._tell(events.code_download_started(task, code), source="Task")
        target = self._sandbox.worker(task).code(self._form)
        fetched, seconds = self._fetched(task, "the code", code, target)
        self._tell(events.code_downloaded(task, fetched.files, fetched.size_bytes, seconds), source="Task")

    def _fetch_inputs(self, task: str) -> None:
        for index, channel in enumerate(self._form.inputs):
            target = self._sandbox.worker(task).input_of(index, channel)
            self._tell(events.input_download_started(task, channel.name, channel.path), source="Task")
            fetched, seconds = self._fetched(task, f"the input {channel.name}", channel.path, target)
            told = events.input_downloaded(task, channel.name, fetched.files, fetched.size_bytes, seconds)
            self._tell(told, source="Task")

    def _fetched(self, task: str, what: str, source: ObsPath, target: Path) -> tuple[Fetched, float]:
        began = time.monotonic()
        try:
            return fetch(self._buckets, source, target, self._keep_going), time.monotonic() - began
        except TransferError as error:
            raise EndedError(failed(task, events.download_failed(task, what, error))) from error

    def _with_packages(self, base: Path) -> Path:
        task = self._form.tasks[0]
        code = self._sandbox.worker(task).code(self._form)
        if self._form.code is None or not (code / REQUIREMENTS).is_file():
            return base
        began = time.monotonic()
        self._tell(events.packages_started(task), source="Task")
        try:
            python = self._environments.python(code, base, base_variables(self._sandbox), self._run)
        except (PackagesError, OSError) as error:
            raise EndedError(failed(task, events.packages_not_installed(task, error))) from error
        if python.was_kept:
            self._tell(events.packages_kept(task), source="Task")
        else:
            self._tell(events.packages_installed(task, time.monotonic() - began), source="Task")
        for other in self._form.tasks[1:]:
            add_service_line(self._sandbox.log(other), f"packages as on {task}")
        return python.path

    def _run(self, command: tuple[str, ...], folder: Path, variables: Mapping[str, str]) -> int:
        """Run one command of the installation, its output in the log of the first worker."""
        with self._sandbox.log(self._form.tasks[0]).open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**variables, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"},
                start_new_session=True,
                creationflags=creation_flags(),
            )
        try:
            self._own(ProcessId.of(process.pid))
        except psutil.NoSuchProcess:
            log.debug("process %s was over at once", process.pid)
        return exit_code(process, self._keep_going)
