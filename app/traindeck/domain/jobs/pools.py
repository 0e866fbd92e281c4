"""What an account has beside what everybody may use: pools of its own, and how many jobs it may keep."""

from __future__ import annotations

from dataclasses import dataclass

RUNNING = "Running"


@dataclass(frozen=True, slots=True)
class ResourcePool:
    """A dedicated pool as the service tells it."""

    id: str
    name: str
    phase: str
    trains: bool | None = None
    """Whether it takes training jobs; None: the service does not say."""


@dataclass(frozen=True, slots=True)
class JobQuota:
    """How many jobs there are, and may be."""

    used: int
    most: int
