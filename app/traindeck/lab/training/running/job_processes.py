"""The processes of one run: started with their logs and limits, looked at while they run."""

import itertools
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psutil

from traindeck.lab.training import job_history as events
from traindeck.lab.training.job_form import ASCEND_ENGINE, JobForm
from traindeck.lab.training.job_records import JobRecords
from traindeck.lab.training.running.containers import Box, Containers
from traindeck.lab.training.running.interpreters import NoInterpreterError
from traindeck.lab.training.running.job_environment import (
    Launch,
    ObsAccess,
    Rank,
    hosts_file,
    launch,
    launch_before,
    ranks,
)
from traindeck.lab.training.running.job_files import KeepGoing
from traindeck.lab.training.running.job_limits import FlavorLimits, Meter
from traindeck.lab.training.running.job_log import CardLog, add_service_line, cut
from traindeck.lab.training.running.job_outcome import EndedError, Timing, failed, not_created
from traindeck.lab.training.running.process_tree import (
    ProcessId,
    ProcessTree,
    creation_flags,
    exit_code,
    job_tree,
)
from traindeck.lab.training.running.worker_places import Sandbox, host_name


@dataclass(frozen=True)
class Exit:
    """A process that ended, and how."""

    task: str
    code: int


class JobProcesses:
    """All processes of one run."""

    def __init__(
        self,
        form: JobForm,
        sandbox: Sandbox,
        records: JobRecords,
        containers: Containers,
        access: ObsAccess,
        timing: Timing,
    ) -> None:
        self.tree = job_tree(sandbox.job_id)
        self._form = form
        self._sandbox = sandbox
        self._records = records
        self._containers = containers
        self._access = access
        self._timing = timing
        self._started: list[tuple[Rank, subprocess.Popen[bytes]]] = []
        self._worker_trees: list[ProcessTree] = []
        self._meters: list[Meter] = []
        self._limits: list[FlavorLimits] = []
        self._card_logs: list[CardLog] = []

    @property
    def were_started(self) -> bool:
        return bool(self._started)

    def own(self, identity: ProcessId) -> None:
        """Take a process into the job, so that it ends with it, even after the Lab itself was killed."""
        self.tree.add(identity)
        self._records.add_process(self._sandbox.job_id, identity)

    def start(self, python: Path, base: Path, keep_going: KeepGoing) -> None:
        """Start every process of every worker; `base` is the Python that can enter a container."""
        by_node = itertools.groupby(ranks(self._form), key=lambda rank: rank.node)
        nodes = [list(of_node) for _, of_node in by_node]
        for of_node in nodes:
            self._run_before(of_node[0], python, base, keep_going)
        for node, (of_node, task) in enumerate(zip(nodes, self._form.tasks, strict=True)):
            tree = self.tree if self._form.node_count == 1 else job_tree(self._sandbox.job_id)
            self._worker_trees.append(tree)
            self._meters.append(Meter(tree))
            self._limits.append(FlavorLimits(self._form.flavor, int(self._sandbox.job_id[:4], 16) + node))
            add_service_line(self._sandbox.log(task), f"training starts with {python}")
            if self._form.engine.name == ASCEND_ENGINE:
                for rank in of_node:
                    self._start_card(rank, python, base, tree)
            else:
                # The processes write the file themselves: a slow or dead Lab never blocks or cuts their output.
                with self._sandbox.log(task).open("ab") as output:
                    for rank in of_node:
                        self._start_one(rank, python, base, tree, output)
            self._records.add_event(self._sandbox.job_id, events.training_started(task), source="Task")
        self._tell_limits()

    def look(self) -> list[Exit]:
        """Carry the logs on; the processes that have ended."""
        for card_log in self._card_logs:
            card_log.pass_on()
            cut(card_log.path, self._timing.max_log_bytes)
        for task in self._form.tasks:
            cut(self._sandbox.log(task), self._timing.max_log_bytes)
        return [
            Exit(self._form.tasks[rank.node], _exit_code(code))
            for rank, process in self._started
            if (code := process.poll()) is not None
        ]

    @property
    def count(self) -> int:
        return len(self._started)

    def finish_logs(self) -> None:
        """After the last process: everything they wrote is in the logs."""
        for _, process in self._started:
            process.poll()
        for card_log in self._card_logs:
            card_log.pass_on(is_last=True)

    def sample(self) -> str | None:
        """Look at what the workers use; the task that uses more memory than its flavor has."""
        for meter in self._meters:
            meter.sample()
        for task, tree, limits in zip(self._form.tasks, self._worker_trees, self._limits, strict=True):
            if limits.is_exceeded(tree.members()):
                return task
        return None

    def measure(self, elapsed_s: float) -> None:
        """Record one averaged sample for every worker."""
        for task, meter in zip(self._form.tasks, self._meters, strict=True):
            self._records.add_metrics(self._sandbox.job_id, task, *meter.reading(elapsed_s))

    def _start_card(self, rank: Rank, python: Path, base: Path, tree: ProcessTree) -> None:
        path = self._sandbox.card_log(rank.number, rank.device)
        target = self._sandbox.log(self._form.tasks[rank.node])
        with path.open("ab") as output:
            self._start_one(rank, python, base, tree, output)
        self._card_logs.append(CardLog(path, target, self._timing.max_log_bytes))

    def _run_before(self, rank: Rank, python: Path, base: Path, keep_going: KeepGoing) -> None:
        """Run the worker's script that comes before training, to its end."""
        task = self._form.tasks[rank.node]
        try:
            wanted = launch_before(self._form, self._sandbox, rank, python, self._access)
            if wanted is None:
                return
            with self._sandbox.log(task).open("ab") as output:
                process = self._opened(wanted, rank, base, output)
        except (OSError, ValueError, NoInterpreterError) as error:
            raise EndedError(not_created(events.not_started(task, error))) from error
        with suppress(psutil.NoSuchProcess):
            self.own(ProcessId.of(process.pid))
        code = _exit_code(exit_code(process, keep_going))
        event = events.ran_before(task, code)
        self._records.add_event(self._sandbox.job_id, event, level="Error" if code else "Info", source="Task")
        if code:
            raise EndedError(failed(task, event, code))

    def _opened(self, wanted: Launch, rank: Rank, base: Path, output: BinaryIO) -> subprocess.Popen[bytes]:
        command, folder = wanted.command, wanted.folder
        places = self._sandbox.worker(self._form.tasks[rank.node])
        if places.is_mapped:
            host = host_name(self._sandbox.job_id, rank.node)
            box = Box(places, host, hosts_file(self._form, self._sandbox), folder, str(rank.number))
            command = self._containers.command(self._containers.means(base), base, box, command)
            folder = str(places.root)
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(wanted.variables),
            start_new_session=True,
            creationflags=creation_flags(),
        )

    def _start_one(self, rank: Rank, python: Path, base: Path, tree: ProcessTree, output: BinaryIO) -> None:
        task = self._form.tasks[rank.node]
        try:
            process = self._opened(launch(self._form, self._sandbox, rank, python, self._access), rank, base, output)
        except (OSError, ValueError, NoInterpreterError) as error:
            raise EndedError(not_created(events.not_started(task, error))) from error
        self._started.append((rank, process))
        try:
            identity = ProcessId.of(process.pid)
            self._limits[rank.node].apply(psutil.Process(process.pid))
        except psutil.NoSuchProcess:
            return  # already over, as seen on Windows
        tree.add(identity)
        self.own(identity)

    def _tell_limits(self) -> None:
        job_id, limits = self._sandbox.job_id, self._limits[0]
        if limits.is_processor_bound:
            self._records.add_event(job_id, events.limited(limits.processors, limits.memory_gb))
        else:
            self._records.add_event(job_id, events.memory_limited(limits.memory_gb))
        if limits.own_processors < limits.processors or limits.own_memory_gb < limits.memory_gb:
            own = (limits.own_processors, round(limits.own_memory_gb))
            told = events.smaller_computer(*own, limits.processors, limits.memory_gb)
            self._records.add_event(job_id, told, level="Warning")
        if not limits.is_processor_bound and limits.processors < limits.own_processors:
            self._records.add_event(job_id, events.NO_PROCESSOR_LIMIT, level="Warning")


def _exit_code(code: int) -> int:
    """A process ended by a signal counts as a shell and the platform count it."""
    return 128 - code if code < 0 else code
