"""The processes of one run: started with their logs and limits, looked at while they run."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psutil

from traindeck.lab.training import job_history as events
from traindeck.lab.training.catalogue import Flavor
from traindeck.lab.training.job_form import ASCEND_ENGINE
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.running.interpreters import NoInterpreterError
from traindeck.lab.training.running.job_environment import (
    Launch,
    Rank,
    launch,
    launch_before,
    ranks,
)
from traindeck.lab.training.running.job_files import KeepGoing
from traindeck.lab.training.running.job_log import CardLog, add_service_line, cut
from traindeck.lab.training.running.job_outcome import EndedError, Work, failed, not_created
from traindeck.lab.training.running.job_pythons import JobPython
from traindeck.lab.training.running.process_group import ProcessGroup
from traindeck.lab.training.running.process_tree import (
    ProcessId,
    ProcessTree,
    exit_code,
)
from traindeck.lab.training.running.starting import start_in_worker
from traindeck.lab.training.running.worker_places import hand_over

_GIB = 1024**3
# Frameworks reserve much more address space than they use, so this only stops what runs away between two looks.
_FENCE = 4
# Threads count where a control group counts; a node of the service allows some thousands.
_FEWEST_PROCESSES = 4096
_PROCESSES_PER_CORE = 1024
# A look at millions of files takes long, and then comes less often.
_DISK_SHARE = 20


class FlavorLimits:
    """The limits of one flavor on this computer."""

    def __init__(self, flavor: Flavor, place: int) -> None:
        """`place` is any number that differs between workers, so that not all get the same processors."""
        self.processors = int(flavor.cpu["core_num"])
        self.memory_gb = flavor.memory_gb
        self.disk_gb = flavor.disk_gb
        self.most_processes = max(_FEWEST_PROCESSES, _PROCESSES_PER_CORE * self.processors)
        self.own_processors = psutil.cpu_count() or 1
        self.own_memory_gb = psutil.virtual_memory().total / _GIB
        self.is_processor_bound = self.processors < self.own_processors and hasattr(psutil.Process, "cpu_affinity")
        self._fence = int(flavor.memory_gb * _GIB) * _FENCE if flavor.cards == 0 else 0
        self._place = place

    def apply(self, pid: int) -> None:
        """Limit a process just started; what it starts inherits the limits, and what it has started gets them."""
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            self._apply(process)
            # From the top down: each has its limits before its children are looked for.
            for child in process.children():
                self.apply(child.pid)

    def _apply(self, process: psutil.Process) -> None:
        if self.is_processor_bound:
            known = sorted(process.cpu_affinity() or range(self.own_processors))
            first = self._place * self.processors % len(known)
            process.cpu_affinity((known[first:] + known[:first])[: self.processors])
        if self._fence and sys.platform == "linux":
            _, hard = process.rlimit(psutil.RLIMIT_AS)
            soft = self._fence if hard == psutil.RLIM_INFINITY else min(self._fence, hard)
            process.rlimit(psutil.RLIMIT_AS, (soft, hard))

    def is_exceeded(self, processes: Collection[psutil.Process]) -> bool:
        """Whether these processes use more memory together than the flavor has."""
        most = int(self.memory_gb * _GIB)
        if sum(_bytes(process, lambda one: one.memory_info().rss) for process in processes) <= most:
            return False
        # Shared pages were counted once for each process; only the exact number, which costs more, is a verdict.
        return sum(_bytes(process, _proportional) for process in processes) > most


def _bytes(process: psutil.Process, read: Callable[[psutil.Process], int]) -> int:
    try:
        return int(read(process))
    except psutil.Error:
        return 0


def _disk_bytes(folder: Path, is_over: Callable[[], bool]) -> int:
    """What is removed while this looks counts or not; too little where the look is over before its end."""
    size, left = 0, [folder]
    while left and not is_over():
        with suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                if is_over():
                    break
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    size += getattr(status, "st_blocks", status.st_size // 512) * 512
                    if entry.is_dir(follow_symlinks=False):
                        left.append(Path(entry.path))
    return size


def _proportional(process: psutil.Process) -> int:
    found = process.memory_full_info()
    if sys.platform == "linux":
        return int(found.pss)
    return int(found.uss)


class Meter:
    """Averages processor and memory use of one worker between two readings."""

    def __init__(self) -> None:
        self._cpu_of: dict[tuple[int, float], float] = {}
        self._cpu_s = 0.0
        self._memory: list[int] = []

    def sample(self, members: Collection[psutil.Process]) -> None:
        """Count these once; processes that come and go between two looks are missed."""
        memory = 0
        for process in members:
            try:
                with process.oneshot():
                    key = (process.pid, process.create_time())
                    times = process.cpu_times()
                    memory += process.memory_info().rss
            except psutil.Error:
                continue
            used = times.user + times.system
            self._cpu_s += used - self._cpu_of.get(key, 0.0)
            self._cpu_of[key] = used
        self._memory.append(memory)

    def reading(self, elapsed_s: float) -> tuple[float, float]:
        """Percent of all processors and of all memory since the last reading."""
        cpu = 100 * self._cpu_s / max(elapsed_s, 0.001) / (psutil.cpu_count() or 1)
        used = sum(self._memory) / max(len(self._memory), 1)
        memory = 100 * used / psutil.virtual_memory().total
        self._cpu_s = 0.0
        self._memory.clear()
        return round(min(max(cpu, 0.0), 100.0), 2), round(min(memory, 100.0), 2)


@dataclass(frozen=True)
class Exceeded:
    """A limit of the flavor that a worker is killed for; `words` are for its log."""

    task: str
    event: EventText
    words: str


@dataclass(frozen=True)
class _Worker:
    """One machine of the job."""

    task: str
    tree: ProcessTree
    meter: Meter
    limits: FlavorLimits
    group: ProcessGroup

    def limit(self, pid: int) -> None:
        self.group.add(pid)
        self.limits.apply(pid)


class JobProcesses:
    """All processes of one run."""

    def __init__(self, work: Work) -> None:
        self.tree = ProcessTree(work.id)
        self._work = work
        self._started: list[tuple[Rank, subprocess.Popen[bytes]]] = []
        self._workers: list[_Worker] = []
        self._card_logs: list[CardLog] = []
        self._cut: set[Path] = set()
        self._max_log_bytes = work.timing.max_log_bytes
        self._full_disk: Exceeded | None = None
        self._next_disk_look = 0.0
        self._disk_look: threading.Thread | None = None
        self._is_over = threading.Event()
        self._was_refused = False

    @property
    def count(self) -> int:
        return len(self._started)

    def make_workers(self) -> None:
        """Before the first process: what limits the workers."""
        work, form = self._work, self._work.form
        for node, task in enumerate(form.tasks):
            tree = self.tree if form.node_count == 1 else ProcessTree(work.id)
            limits = FlavorLimits(form.flavor, int(work.id[:4], 16) + node)
            group = ProcessGroup.made(work.id, task, limits.most_processes, int(limits.memory_gb * _GIB))
            for one in {tree, self.tree}:
                one.watch(group)
            self._workers.append(_Worker(task, tree, Meter(), limits, group))

    def begin(
        self, node: int, wanted: Launch, output: BinaryIO, *, packages: Path | None = None, writable: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start one process within the limits of its worker; it ends with the job, even after the Lab was killed."""
        worker = self._workers[node]
        process = start_in_worker(
            self._work, node, wanted, output, packages=packages, writable=writable, limit=worker.limit
        )
        with suppress(psutil.NoSuchProcess):  # already over, as seen on Windows
            identity = ProcessId.of(process.pid)
            worker.tree.add(identity)
            self.tree.add(identity)
            self._work.records.add_process(self._work.id, identity)
        return process

    def start(self, python: JobPython, keep_going: KeepGoing) -> None:
        """Start every process of every worker."""
        work, form = self._work, self._work.form
        nodes = [list(of_node) for _, of_node in itertools.groupby(ranks(form), key=lambda rank: rank.node)]
        for of_node in nodes:
            self._run_before(of_node[0], python, keep_going)
        for of_node, task in zip(nodes, form.tasks, strict=True):
            work.say(task, f"training starts with {python.base}")
            # The processes write the file themselves: a slow or dead Lab never blocks or cuts their output.
            with work.sandbox.log(task).open("ab") as output:
                for rank in of_node:
                    if form.engine.name == ASCEND_ENGINE:
                        self._start_card(rank, python)
                    else:
                        self._start_one(rank, python, output)
            work.tell(events.TRAINING_STARTED.of(task=task), source="Task")
        self._tell_limits()

    def look(self) -> list[tuple[str, int]]:
        """Carry the logs on; the processes that have ended: their tasks and exit codes."""
        for card_log in self._card_logs:
            card_log.pass_on()
        self._cut_logs()
        return [
            (self._work.form.tasks[rank.node], _exit_code(code))
            for rank, process in self._started
            if (code := process.poll()) is not None
        ]

    def finish_logs(self) -> None:
        """After the last process: everything they wrote is in the logs."""
        for _, process in self._started:
            process.poll()
        for card_log in self._card_logs:
            card_log.pass_on(is_last=True)
        self._cut_logs(is_over=True)
        for path in self._cut:
            add_service_line(path, "the log reached its limit: what follows here was cut", self._max_log_bytes)

    def _cut_logs(self, *, is_over: bool = False) -> None:
        logs = [card_log.path for card_log in self._card_logs]
        logs += [self._work.sandbox.log(task) for task in self._work.form.tasks]
        self._cut |= {path for path in logs if cut(path, self._max_log_bytes, is_over=is_over)}

    def sample(self) -> Exceeded | None:
        """Look at what the workers use; the first limit that one of them exceeds."""
        for worker in self._workers:
            members, limits = worker.tree.members(), worker.limits
            worker.meter.sample(members)
            if limits.is_exceeded(members):
                return self._out_of_memory(worker)
            if worker.group.was_full() and not self._was_refused:
                self._was_refused = True
                told = events.PROCESSES_REFUSED.of(task=worker.task, most=limits.most_processes)
                self._work.tell(told, level="Warning", source="Task")
            if len(members) > limits.most_processes:
                event = events.TOO_MANY_PROCESSES.of(task=worker.task, most=limits.most_processes)
                return Exceeded(worker.task, event, "Resource temporarily unavailable")
        return self._full_disk

    def out_of_memory(self) -> Exceeded | None:
        """What the kernel has killed a process for, if that was its memory."""
        found = (worker for worker in self._workers if worker.group.ran_out_of_memory())
        return next(map(self._out_of_memory, found), None)

    def look_at_disk(self) -> None:
        """Count what the workers have on the disk, beside all else: it may take long. `sample` tells of the result."""
        is_looking = self._disk_look is not None and self._disk_look.is_alive()
        if not is_looking and time.monotonic() >= self._next_disk_look:
            self._disk_look = threading.Thread(target=self._look_at_disk, name=f"disk-{self._work.id}")
            self._disk_look.start()

    def _look_at_disk(self) -> None:
        began = time.monotonic()
        for worker in self._workers:
            most = worker.limits.disk_gb
            places = self._work.sandbox.worker(worker.task)
            folders = {folder for folder, _ in places.own}
            if most is not None and sum(_disk_bytes(one, self._is_over.is_set) for one in folders) > most * _GIB:
                event = events.DISK_FULL.of(task=worker.task, disk_gb=most)
                self._full_disk = Exceeded(worker.task, event, "No space left on device")
        self._next_disk_look = time.monotonic() + _DISK_SHARE * (time.monotonic() - began)

    def clear(self) -> None:
        """After the last process."""
        self._is_over.set()
        if self._disk_look is not None:
            self._disk_look.join()
        for worker in self._workers:
            worker.group.remove()

    def _out_of_memory(self, worker: _Worker) -> Exceeded:
        event = events.OUT_OF_MEMORY.of(task=worker.task, memory_gb=worker.limits.memory_gb)
        return Exceeded(worker.task, event, "out of memory")

    def measure(self, elapsed_s: float) -> None:
        """Record one averaged sample for every worker."""
        for worker in self._workers:
            self._work.records.add_metrics(self._work.id, worker.task, *worker.meter.reading(elapsed_s))

    def _start_card(self, rank: Rank, python: JobPython) -> None:
        path = self._work.sandbox.card_log(rank.number, rank.device)
        target = self._work.sandbox.log(self._work.form.tasks[rank.node])
        with path.open("ab") as output:
            hand_over(path, self._work.sandbox.user)
            self._start_one(rank, python, output)
        self._card_logs.append(CardLog(path, target, self._work.timing.max_log_bytes))

    def _start_one(self, rank: Rank, python: JobPython, output: BinaryIO) -> None:
        try:
            wanted = launch(self._work, rank, python)
            process = self.begin(rank.node, wanted, output, packages=python.packages)
        except (OSError, ValueError, NoInterpreterError) as error:
            raise self._not_started(rank, error) from error
        self._started.append((rank, process))

    def _run_before(self, rank: Rank, python: JobPython, keep_going: KeepGoing) -> None:
        """Run the worker's script that comes before training, to its end."""
        task = self._work.form.tasks[rank.node]
        try:
            wanted = launch_before(self._work, rank, python)
            if wanted is None:
                return
            with self._work.sandbox.log(task).open("ab") as output:
                process = self.begin(rank.node, wanted, output, packages=python.packages)
        except (OSError, ValueError, NoInterpreterError) as error:
            raise self._not_started(rank, error) from error
        code = _exit_code(exit_code(process, keep_going))
        event = events.RAN_BEFORE.of(task=task, exit_code=code)
        self._work.tell(event, level="Error" if code else "Info", source="Task")
        if code:
            raise EndedError(failed(task, event, code))

    def _not_started(self, rank: Rank, error: Exception) -> EndedError:
        return EndedError(not_created(events.NOT_STARTED.of(task=self._work.form.tasks[rank.node], cause=error)))

    def _tell_limits(self) -> None:
        limits = self._workers[0].limits
        told = events.LIMITED if limits.is_processor_bound else events.MEMORY_LIMITED
        self._work.tell(told.of(**vars(limits)))
        if limits.own_processors < limits.processors or limits.own_memory_gb < limits.memory_gb:
            self._work.tell(events.SMALLER_COMPUTER.of(**vars(limits)), level="Warning")
        if not limits.is_processor_bound and limits.processors < limits.own_processors:
            self._work.tell(events.NO_PROCESSOR_LIMIT, level="Warning")


def _exit_code(code: int) -> int:
    """A process ended by a signal counts as a shell and the platform count it."""
    return 128 - code if code < 0 else code
