"""What a training job is: the form, the states it goes through, the names it gets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
STEM_LENGTH = 40
_STOP_AFTER = re.compile(r"(\d{1,4})\s*([hd])", re.IGNORECASE)

Scalar = str | int | float | bool


class Target(StrEnum):
    MODELARTS = "modelarts"
    APULIS = "apulis"
    LAB = "lab"


class RunState(StrEnum):
    """Our word for where a run is; the first three are before the service has a job."""

    PREPARING = "Preparing"
    SUBMITTING = "Submitting"  # the intent is on disk, the request may have left
    UNCONFIRMED = "Unconfirmed"  # may exist and bill
    NOT_SENT = "NotSent"
    CREATING = "Creating"
    PENDING = "Pending"
    RUNNING = "Running"
    TERMINATING = "Terminating"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TERMINATED = "Terminated"
    ABNORMAL = "Abnormal"
    UNKNOWN = "Unknown"  # the service said a word we do not know; it is shown as it is

    @property
    def is_over(self) -> bool:
        return self in _OVER

    @property
    def is_remote(self) -> bool:
        """The service has (or had) a job for it."""
        return self not in _LOCAL

    @property
    def is_open(self) -> bool:
        """On its way to the service, or lost on it."""
        return not self.is_remote and not self.is_over

    @property
    def can_stop(self) -> bool:
        return self in _STOPPABLE


_LOCAL = frozenset({RunState.PREPARING, RunState.SUBMITTING, RunState.UNCONFIRMED, RunState.NOT_SENT})
_OVER = frozenset(
    {RunState.NOT_SENT, RunState.COMPLETED, RunState.FAILED, RunState.TERMINATED, RunState.ABNORMAL}
)
_STOPPABLE = frozenset({RunState.CREATING, RunState.PENDING, RunState.RUNNING, RunState.UNKNOWN})


def state_of(phase: str) -> RunState:
    try:
        state = RunState(phase)
    except ValueError:
        return RunState.UNKNOWN
    return state if state.is_remote else RunState.UNKNOWN


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The form: everything the user decides about a job. Local paths are as typed."""

    name: str = ""
    target: Target = Target.LAB
    description: str = ""
    code_folder: str = "."
    boot: str = ""
    command: str = ""
    ignore: tuple[str, ...] = ()
    engine: str = ""
    engine_version: str = ""
    image: str = ""
    flavor: str = ""
    nodes: int = 1
    pool: str = ""
    stop_after: str = ""
    priority: int = 1
    inputs: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    log_to: str = ""
    parameters: tuple[tuple[str, Scalar], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    checkpoint_folder: str = ""
    checkpoint_pattern: str = ""

    def for_run(self, run_name: str) -> JobSpec:
        """The same job with `{run}` filled in, so that no two runs share a folder."""

        def filled(place: str) -> str:
            return place.replace("{run}", run_name)

        return replace(
            self,
            inputs=tuple((name, filled(place)) for name, place in self.inputs),
            outputs=tuple((name, filled(place)) for name, place in self.outputs),
            log_to=filled(self.log_to),
        )


def stop_hours(stop_after: str) -> int | None:
    """Whole hours of `4h` or `2d`; None for `none`; ValueError for anything else."""
    if stop_after.strip().lower() == "none":
        return None
    found = _STOP_AFTER.fullmatch(stop_after.strip())
    hours = int(found[1]) * (24 if found[2].lower() == "d" else 1) if found else 0
    if hours < 1:
        raise ValueError(stop_after)
    return hours


def wire_value(value: Scalar) -> str:
    """As the script sees it; true and false as they stand in the job file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def run_name(job_name: str, when: datetime, random_part: str) -> str:
    """Unique within the service's 64 characters, and still readable in its console."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", job_name).strip("-")[:STEM_LENGTH] or "job"
    return f"{stem}-{when:%m%d-%H%M}-{random_part}"


@dataclass(frozen=True, slots=True)
class Run:
    """One submission with all that belongs to it."""

    id: str
    number: int
    name: str
    profile: str
    spec: JobSpec
    state: RunState
    created: datetime
    bundle: str = ""
    code_url: str = ""
    job_id: str = ""
    phase: str = ""  # as the service said it
    reason: str = ""
    submitted: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    duration_ms: int | None = None
    resubmission_of: str = ""
    checked: datetime | None = None  # when the service last answered about it
    tasks: tuple[str, ...] = field(default=("worker-0",))

    def run_seconds(self, now: datetime) -> float | None:
        """Run time now; None while it is not known."""
        if self.duration_ms is not None and (self.state.is_over or self.started is None):
            return self.duration_ms / 1000
        if self.started is None:
            return None
        return max(0.0, ((self.ended or now) - self.started).total_seconds())


def duration_words(seconds: float | None) -> str:
    """`1:02:03`, `0:42`; an unknown time is a dash, never 0."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """A job as the service tells it."""

    id: str
    name: str
    phase: str
    created: datetime | None = None
    started: datetime | None = None
    duration_ms: int | None = None
    tasks: tuple[str, ...] = ()
    exit_message: str = ""

    @property
    def state(self) -> RunState:
        return state_of(self.phase)


@dataclass(frozen=True, slots=True)
class LogChunk:
    """What a look at a worker's log gave: the text of its newest bytes and how long the whole is.

    The service repairs what is not UTF-8, so that the text may be longer or shorter than its bytes.
    """

    data: bytes
    full_size: int
    shown_size: int | None = None  # how many bytes of the service the text stands for

    @property
    def covered(self) -> int:
        size = len(self.data) if self.shown_size is None else self.shown_size
        return min(size, self.full_size)

    @property
    def is_exact(self) -> bool:
        return len(self.data) == self.covered


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    version: str
    id: str
    arch: str = ""


@dataclass(frozen=True, slots=True)
class Flavor:
    id: str
    name: str
    kind: str
    cores: int | None = None
    memory: str = ""
    accelerator: str = ""
    max_nodes: int = 1


def fits(engine: Engine, flavor: Flavor) -> bool:
    """Ascend images are built for Ascend, CUDA images run on GPU and CPU."""
    if "cann" in engine.version.lower() or "aarch64" in engine.version.lower():
        return flavor.kind == "Ascend"
    return flavor.kind != "Ascend"


def from_epoch_ms(value: int | float | str | None) -> datetime | None:
    if value in (None, "", 0, "0"):
        return None
    return datetime.fromtimestamp(float(value) / 1000, UTC)
