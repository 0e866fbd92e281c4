"""Keeps a worker to the processors and the memory of its flavor, as far as this computer can."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import psutil

from traindeck.lab.training.catalogue import Flavor
from traindeck.lab.training.running.process_tree import ProcessTree

_GIB = 1024**3
# Frameworks reserve much more address space than they use, so this only stops what runs away between two looks.
_FENCE = 4


class FlavorLimits:
    """The limits of one flavor on this computer."""

    def __init__(self, flavor: Flavor, place: int) -> None:
        """`place` is any number that differs between workers, so that not all get the same processors."""
        self.processors = int(flavor.cpu["core_num"])
        self.memory_gb = flavor.memory_gb
        self.own_processors = psutil.cpu_count() or 1
        self.own_memory_gb = psutil.virtual_memory().total / _GIB
        self.is_processor_bound = self.processors < self.own_processors and hasattr(psutil.Process, "cpu_affinity")
        self._fence = int(flavor.memory_gb * _GIB) * _FENCE if flavor.cards == 0 else 0
        self._place = place

    @property
    def max_bytes(self) -> int:
        return int(self.memory_gb * _GIB)

    def apply(self, process: psutil.Process) -> None:
        """For a process just started; what it starts inherits the limits."""
        if self.is_processor_bound:
            known = sorted(process.cpu_affinity() or range(self.own_processors))
            first = self._place * self.processors % len(known)
            process.cpu_affinity((known[first:] + known[:first])[: self.processors])
        if self._fence and sys.platform == "linux":
            _, hard = process.rlimit(psutil.RLIMIT_AS)
            soft = self._fence if hard == psutil.RLIM_INFINITY else min(self._fence, hard)
            process.rlimit(psutil.RLIMIT_AS, (soft, hard))

    def is_exceeded(self, members: Iterable[psutil.Process]) -> bool:
        """Whether these processes use more memory together than the flavor has."""
        processes = list(members)
        if sum(_resident(process) for process in processes) <= self.max_bytes:
            return False
        # Shared pages were counted once for each process; only the exact number, which costs more, is a verdict.
        return sum(_proportional(process) for process in processes) > self.max_bytes


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _proportional(process: psutil.Process) -> int:
    try:
        if sys.platform == "linux" and os.name == "posix":
            return int(process.memory_full_info().pss)
        return int(process.memory_full_info().uss)
    except psutil.Error:
        return 0


class Meter:
    """Averages processor and memory use of one worker between two readings."""

    def __init__(self, tree: ProcessTree) -> None:
        self._tree = tree
        self._cpu_of: dict[tuple[int, float], float] = {}
        self._cpu_s = 0.0
        self._memory: list[int] = []

    def sample(self) -> None:
        """Look once; processes that come and go between two looks are missed."""
        memory = 0
        for process in self._tree.members():
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
