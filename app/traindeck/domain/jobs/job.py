"""What became of a job: the states of a run, and what a service tells of its jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from traindeck.domain.jobs.checks import AcceptedFinding
from traindeck.domain.jobs.job_spec import JobSpec, name_stem
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OF_RUN = re.compile(r"-\d{4}-\d{4}-[a-z0-9]{4,6}$")
"""What a run adds to the name of its job; it was a shorter random part once."""


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
    def is_failure(self) -> bool:
        """It ended, and not well, for a reason that its log may say."""
        return self in (RunState.FAILED, RunState.ABNORMAL)

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

    @property
    def words(self) -> Text:
        return _WORDS[self]


_WORDS = {
    RunState.PREPARING: text("Preparing"),
    RunState.SUBMITTING: text("Submitting"),
    RunState.UNCONFIRMED: text("Unconfirmed"),
    RunState.NOT_SENT: text("Not submitted"),
    RunState.CREATING: text("Creating"),
    RunState.PENDING: text("Pending"),
    RunState.RUNNING: text("Running"),
    RunState.TERMINATING: text("Stopping"),
    RunState.COMPLETED: text("Completed"),
    RunState.FAILED: text("Failed"),
    RunState.TERMINATED: text("Stopped"),
    RunState.ABNORMAL: text("Abnormal"),
    RunState.UNKNOWN: text("Unknown"),
}
_LOCAL = frozenset({RunState.PREPARING, RunState.SUBMITTING, RunState.UNCONFIRMED, RunState.NOT_SENT})
_OVER = frozenset({RunState.NOT_SENT, RunState.COMPLETED, RunState.FAILED, RunState.TERMINATED, RunState.ABNORMAL})
_STOPPABLE = frozenset({RunState.CREATING, RunState.PENDING, RunState.RUNNING, RunState.UNKNOWN})


def state_of(phase: str) -> RunState:
    try:
        state = RunState(phase)
    except ValueError:
        return RunState.UNKNOWN
    return state if state.is_remote else RunState.UNKNOWN


def run_name(job_name: str, when: datetime, random_part: str) -> str:
    """Unique within the service's 64 characters, and still readable in its console."""
    return f"{name_stem(job_name)}-{when:%m%d-%H%M}-{random_part}"


def job_name_of(name: str) -> str:
    """Of the name of a run; one that is not of our making stays as it is."""
    return _OF_RUN.sub("", name)


class Isolation(StrEnum):
    """How far a job of the Lab is kept from the rest of this computer."""

    UNKNOWN = ""
    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"

    @property
    def warning(self) -> Text | None:
        """What it means for whoever runs code of others."""
        if self is Isolation.NONE:
            return text(
                "This job is not isolated, because this computer does not allow it: "
                "its code can read your files and the keys in your keyring. Run only code that you trust."
            )
        if self is Isolation.PARTIAL:
            return text(
                "This job cannot read your files, but this computer does not allow it to be isolated completely: "
                "its code may end running programs, reach a keyring that listens on an abstract socket, or, where "
                "the Lab runs as root, read system files of root."
            )
        return None


LAB_ENDED = text("The Lab ended unexpectedly while this run was in it, and was started again. Run it again.")
"""Why a run is over that the Lab lost."""


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
    reason: Text | str = ""  # a sentence of ours, or words as the service said them
    submitted: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    duration_ms: int | None = None
    resubmission_of: str = ""
    checked: datetime | None = None  # when the service last answered about it
    tasks: tuple[str, ...] = field(default=("worker-0",))
    isolation: Isolation = Isolation.UNKNOWN
    accepted: tuple[AcceptedFinding, ...] = ()
    """What the checks warned of when it was sent all the same."""
    secondary_phase: str = ""  # of the service's own affairs: shown, nothing depends on it
    remote_name: str = ""  # where the service calls it otherwise by now
    tags: tuple[str, ...] = ()
    note: str = ""
    starred: bool = False
    gone: datetime | None = None  # when the service was found to have no such job any more

    @property
    def state_words(self) -> Text:
        """A word of the service that we do not know is told as it came."""
        if self.state is RunState.UNKNOWN and self.phase:
            return Text("{phase}", {"phase": self.phase})
        return self.state.words

    @property
    def listed_state(self) -> Text:
        """The state, and that its job was deleted."""
        if self.gone is None:
            return self.state_words
        return text("{state}, deleted at the service", state=self.state_words)

    @property
    def filled_spec(self) -> JobSpec:
        """The form with the places this very run has."""
        return self.spec.for_run(self.name, self.profile)

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
    exit_message: Text | str = ""  # a sentence of ours, or words as the service said them
    is_lost: bool = False  # what ran it went away under it
    isolation: Isolation = Isolation.UNKNOWN
    secondary_phase: str = ""  # may be any word; nothing depends on it
    description: str = ""
    tags: tuple[str, ...] | None = None  # None: the service said nothing of them
    user: str = ""
    code_url: str = ""
    outputs: tuple[ObjectPath, ...] = ()
    flavor: str = ""
    flavor_name: str = ""
    nodes: int = 1
    billing_code: str = ""
    billing_units: int = 1
    pool: str = ""
    stop_hours: int | None = None

    @property
    def state(self) -> RunState:
        return state_of(self.phase)


@dataclass(frozen=True, slots=True)
class LiveJobs:
    """All jobs of an account that are not over, ours and others'."""

    jobs: tuple[RemoteJob, ...] = ()
    is_whole: bool = True  # else there are more than anybody asks for


@dataclass(frozen=True, slots=True)
class NumberedLines:
    """Whole lines of a log by their ids, which grow; nobody says which byte one begins at."""

    data: bytes
    first: str
    last: str

    @property
    def is_exact(self) -> bool:
        """Not so where the service had to repair what is not UTF-8."""
        return "\ufffd".encode() not in self.data

    def follows(self, line: str) -> bool:
        """Whether they stand behind the one of this id."""
        if not self.data:
            return True
        return all(one.isdecimal() for one in (self.first, self.last, line)) and (
            int(line) < int(self.first) <= int(self.last)
        )


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
