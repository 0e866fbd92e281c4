"""Measures what the processes of a worker use of this computer."""

import psutil

from traindeck.lab.training.process_tree import ProcessTree


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
