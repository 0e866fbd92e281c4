"""What a run works with, how it can end, and how fast things go while it lasts."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any

from traindeck.lab.faults import PENDING, Fault, Faults, Kind
from traindeck.lab.training import job_history as events
from traindeck.lab.training.api.routes import RefusedError
from traindeck.lab.training.catalogue import Flavor
from traindeck.lab.training.job_form import JobForm
from traindeck.lab.training.job_records import EventText, JobRecords
from traindeck.lab.training.running.containers import Containers
from traindeck.lab.training.running.job_environment import ObsAccess
from traindeck.lab.training.running.job_files import GivenUpError, OwnBuckets
from traindeck.lab.training.running.job_log import MAX_LOG_BYTES, add_service_line
from traindeck.lab.training.running.packages import PackageEnvironments
from traindeck.lab.training.running.volumes import Mounts
from traindeck.lab.training.running.worker_places import Sandbox

KILLED = 137


@dataclass(frozen=True)
class Timing:
    """How often a run looks at its processes and sends things; a test of hours shortens the hour."""

    look_s: float = 0.1
    sample_s: float = 2.0
    log_upload_s: float = 5.0
    output_upload_s: float = 30.0
    metrics_s: float = 60.0
    disk_s: float = 10.0
    progress_s: float = 3.0
    # How long a job that was stopped still sends what it has written.
    stop_upload_s: float = 10.0
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


def failed(task: str, event: EventText, exit_code: int = 1, cause: EventText | None = None) -> Outcome:
    """`cause`: what became of the task, where the event tells of the job."""
    statuses = ({"task": task, "exit_code": exit_code, "message": (cause or event).english},)
    return Outcome("Failed", "Failed", event, statuses)


def not_created(event: EventText) -> Outcome:
    return Outcome("Abnormal", "CreateFailed", event)


def ended_by_exit(bad: tuple[str, int] | None) -> Outcome:
    """The outcome when all processes ended well, or the first bad one did not."""
    if bad is None:
        return Outcome("Completed", "Completed", events.COMPLETED)
    task, code = bad
    said = {"task": task, "exit_code": code}
    return failed(task, events.FAILED.of(**said), code, events.TRAINING_ENDED.of(**said))


@dataclass(frozen=True)
class Work:
    """One job and what its run needs; all from the records on is shared by the runs of a Lab."""

    form: JobForm
    sandbox: Sandbox
    buckets: OwnBuckets
    access: ObsAccess
    # Or why there is none.
    python: Path | EventText
    records: JobRecords
    environments: PackageEnvironments
    containers: Containers
    uploads: Executor
    timing: Timing
    mounts: Mounts = field(default_factory=Mounts)

    @property
    def id(self) -> str:
        return self.sandbox.job_id

    @property
    def base(self) -> Path:
        """The Python that makes environments and enters containers; raises EndedError where there is none."""
        if isinstance(self.python, EventText):
            raise EndedError(not_created(events.NOT_STARTED.of(task=self.form.tasks[0], cause=self.python)))
        return self.python

    def tell(self, text: EventText, *, level: str = "Info", source: str = "Job") -> None:
        self.records.add_event(self.id, text, level=level, source=source)

    def say(self, task: str, line: str) -> None:
        """In the log of that worker."""
        add_service_line(self.sandbox.log(task), line, self.timing.max_log_bytes)


_SERVICE = "modelarts"
_CREATE = "POST /v2/{project_id}/training-jobs"


# The rules that concern jobs are asked for every job that is created; their `resource` is a pattern of flavors.


def hold(rules: Faults, flavor: Flavor) -> Fault | None:
    """The rule that lets a new job of this flavor wait; raises where one refuses it."""
    if _struck(rules, Kind.QUOTA, flavor) is not None:
        raise RefusedError("2815", "a fault rule of the Lab says that the quota of training jobs is used up")
    sold_out = _struck(rules, Kind.SOLD_OUT, flavor)
    # A sold-out flavor may refuse its jobs or let them wait; the service does either.
    if sold_out is None or sold_out.body == PENDING:
        return sold_out
    message = f"the resources of the flavor {flavor.id} are sold out; choose another one or try again later"
    raise RefusedError((sold_out.code or "4992").removeprefix("ModelArts."), message)


def time_limit_s(rules: Faults, flavor: Flavor, hour_s: float) -> float | None:
    """Seconds a new job of this flavor may run; a rule that names none means an hour by the clock of the Lab."""
    struck = _struck(rules, Kind.TIME_LIMIT, flavor)
    return None if struck is None else struck.seconds or hour_s


def _struck(rules: Faults, kind: Kind, flavor: Flavor) -> Fault | None:
    return next(iter(rules.drawn(_SERVICE, _CREATE, flavor.id, frozenset({kind}))), None)
