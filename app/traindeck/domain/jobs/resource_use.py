"""What a worker used of its machine, as the service measured it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CPU, MEMORY, NPU, NPU_MEMORY, GPU, GPU_MEMORY = MEASURED = (
    "cpuUsage", "memUsage", "npuUtil", "npuMemUsage", "gpuUtil", "gpuMemUsage",
)  # fmt: skip
"""The names the service has for them."""
MINUTE_S = 60.0
"""Of how much time each sample is the average."""


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """In percent, one sample a minute from the start of the job; None is a hole, never 0."""

    values: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)

    def newest(self, name: str, count: int) -> tuple[float | None, ...]:
        return self.values.get(name, ())[-count:] if count > 0 else ()
