"""How a run can end, and how fast things go while it lasts."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from traindeck.lab.training import job_events as events
from traindeck.lab.training.job_files import GivenUpError
from traindeck.lab.training.job_log import MAX_LOG_BYTES
from traindeck.lab.training.job_records import EventText

KILLED = 137


@dataclass(frozen=True)
class Timing:
    """How often a run looks at its processes and sends things; a test of hours shortens the hour."""

    look_s: float = 0.1
    sample_s: float = 2.0
    log_upload_s: float = 5.0
    output_upload_s: float = 30.0
    metrics_s: float = 60.0
    grace_s: float = 5.0
    hour_s: float = 3600.0
    max_log_bytes: int = MAX_LOG_BYTES


class StopReason(Enum):
    """Why a run is to end before its processes do."""

    USER = auto()
    TIME_LIMIT = auto()
    LAB_END = auto()


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    phase: str
    secondary_phase: str
    event: EventText
    task_statuses: tuple[dict[str, Any], ...] = ()

    @property
    def level(self) -> str:
        return "Error" if self.phase in ("Failed", "Abnormal") else "Info"


class EndedError(Exception):
    """The run cannot go on."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.phase)
        self.outcome = outcome


class StoppedError(GivenUpError):
    """Somebody asked for the end of the run."""


def failed(task: str, event: EventText, exit_code: int = 1) -> Outcome:
    statuses = ({"task": task, "exit_code": exit_code, "message": event.english},)
    return Outcome("Failed", "Failed", event, statuses)


def not_created(event: EventText) -> Outcome:
    return Outcome("Abnormal", "CreateFailed", event)


def ended_by_exit(bad: tuple[str, int] | None) -> Outcome:
    """The outcome when all processes ended well, or the first bad one did not."""
    if bad is None:
        return Outcome("Completed", "Completed", events.COMPLETED)
    task, code = bad
    message = events.training_ended(task, code).english
    statuses = ({"task": task, "exit_code": code, "message": message},)
    return Outcome("Failed", "Failed", events.failed(task, code), statuses)
