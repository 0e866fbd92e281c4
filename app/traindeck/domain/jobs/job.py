"""What a training job is: its states and names, and what its form must hold before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, count_text, text

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
USUAL_BOOTS = ("train.py", "main.py", "run.py")
_STEM_LENGTH = 40
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
_OVER = frozenset({RunState.NOT_SENT, RunState.COMPLETED, RunState.FAILED, RunState.TERMINATED, RunState.ABNORMAL})
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


def name_stem(words: str) -> str:
    """What a job may be called that is about this."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", words).strip("-")[:_STEM_LENGTH] or "job"


def run_name(job_name: str, when: datetime, random_part: str) -> str:
    """Unique within the service's 64 characters, and still readable in its console."""
    return f"{name_stem(job_name)}-{when:%m%d-%H%M}-{random_part}"


def usual_boots(scripts: Collection[str]) -> list[str]:
    """Those among them that mostly start a training, the likeliest first."""
    return [name for name in USUAL_BOOTS if name in scripts]


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
                "This job cannot read your files, but this computer does not allow it to be isolated from all "
                "running programs: its code may end them, or reach a keyring that listens on an abstract socket."
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
    secondary_phase: str = ""  # of the service's own affairs: shown, nothing depends on it
    remote_name: str = ""  # where the service calls it otherwise by now
    tags: tuple[str, ...] = ()
    note: str = ""
    starred: bool = False

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
    is_lost: bool = False  # what ran it went away under it
    isolation: Isolation = Isolation.UNKNOWN

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


@dataclass(frozen=True, slots=True)
class Choices:
    """What an account offers."""

    engines: tuple[Engine, ...]
    flavors: tuple[Flavor, ...]

    def engine_of(self, spec: JobSpec) -> Engine | None:
        wanted = (spec.engine, spec.engine_version)
        return next((engine for engine in self.engines if (engine.name, engine.version) == wanted), None)

    def flavor_of(self, spec: JobSpec) -> Flavor | None:
        return next((flavor for flavor in self.flavors if flavor.id == spec.flavor), None)


_PARAMETER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,8191}")
_JOB_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing to mend; `field` is the name in JobSpec, with the row's name after a colon."""

    field: str
    message: Text


def validate(spec: JobSpec, offer: Choices | None = None) -> list[FieldError]:
    """All mistakes that can be seen without asking the service; an offer that is not known refuses nothing."""
    of_code = chain(_check_words(spec), _check_code(spec), _check_engine(spec, offer))
    return [*of_code, *_check_limits(spec), *_check_channels(spec), *_check_parameters(spec)]


def _check_words(spec: JobSpec) -> Iterator[FieldError]:
    if not _JOB_NAME.fullmatch(spec.name):
        yield FieldError("name", text("Enter a name of 1 to 40 letters, digits, “-” or “_”."))
    if spec.target is Target.APULIS:
        yield FieldError("target", text("This version cannot submit to Apulis yet; choose the Lab or ModelArts."))
    if len(spec.description) > 256:
        yield FieldError("description", text("The description can have at most 256 characters."))


def _check_code(spec: JobSpec) -> Iterator[FieldError]:
    if not spec.code_folder.strip():
        yield FieldError("code_folder", text("Select the folder of your code."))
    if not spec.boot and not spec.command:
        yield FieldError("boot", text("Select the Python file that starts the training."))
    elif spec.boot and not spec.boot.endswith(".py"):
        yield FieldError("boot", text("The boot file must be a .py file."))
    elif spec.boot.startswith(("/", "~")) or ".." in spec.boot.replace("\\", "/").split("/"):
        yield FieldError("boot", text("The boot file must be inside the code directory."))
    if spec.command and not spec.image:
        yield FieldError("image", text("A start command needs a custom image."))


def _check_engine(spec: JobSpec, offer: Choices | None) -> Iterator[FieldError]:
    if not spec.image and not (spec.engine and spec.engine_version):
        yield FieldError("engine", text("Select an engine and its version, or enter an image."))
    if not spec.flavor and not spec.pool:
        yield FieldError("flavor", text("Select a specification."))
    if offer is None:
        return
    engine, flavor = offer.engine_of(spec), offer.flavor_of(spec)
    if spec.engine_version and engine is None:
        yield FieldError("engine", text("“{engine}” is not available here.", engine=spec.engine_version))
    if spec.flavor and not spec.pool and flavor is None:
        yield FieldError("flavor", text("“{flavor}” is not available here.", flavor=spec.flavor))
    if engine and flavor and not fits(engine, flavor):
        yield FieldError("flavor", text("This specification does not match the engine: {kind}.", kind=flavor.kind))
    if flavor and spec.nodes > flavor.max_nodes:
        yield FieldError(
            "nodes",
            count_text(
                "This specification allows at most {count} node.",
                "This specification allows at most {count} nodes.",
                flavor.max_nodes,
            ),
        )


def _check_limits(spec: JobSpec) -> Iterator[FieldError]:
    if spec.nodes < 1:
        yield FieldError("nodes", text("At least one node is needed."))
    try:
        stop_hours(spec.stop_after)
    except ValueError:
        words = text("Enter when to stop, in whole hours: “4h” or “2d”, or “none”.")
        yield FieldError("stop_after", words)


def _check_channels(spec: JobSpec) -> Iterator[FieldError]:
    seen: set[str] = set()
    for place_of, channels in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for name, place in channels:
            yield from _check_name(f"{place_of}:{name}", name, seen)
            yield from _check_place(f"{place_of}:{name}", place)
    if spec.log_to:
        yield from _check_place("log_to", spec.log_to)
    if not any(place for _, place in spec.outputs) and not spec.log_to:
        yield FieldError(
            "outputs", text("Specify an output folder in OBS. Without one, the results of the run are not kept.")
        )


def _check_name(field: str, name: str, seen: set[str]) -> Iterator[FieldError]:
    if not _PARAMETER.fullmatch(name):
        yield FieldError(field, text("A name has 1 to 64 letters, digits, “-” or “_”."))
    if name in seen:
        yield FieldError(field, text("“{name}” appears twice.", name=name))
    seen.add(name)


def _check_place(field: str, place: str) -> Iterator[FieldError]:
    try:
        ObjectPath.parse(place.replace("{run}", "run"))
    except AppError as error:
        yield FieldError(field, error.title)


def _check_parameters(spec: JobSpec) -> Iterator[FieldError]:
    channels = {name for name, _ in (*spec.inputs, *spec.outputs)}
    seen: set[str] = set()
    for name, _ in spec.parameters:
        yield from _check_name(f"parameters:{name}", name, seen)
        if name in channels:
            yield FieldError(f"parameters:{name}", text("“{name}” is already an input or output.", name=name))
    for name, value in spec.environment:
        if not _VARIABLE.fullmatch(name) or name.startswith("MA_"):
            words = text("A variable can contain letters, digits and “_”, and cannot begin with a digit or MA_.")
            yield FieldError(f"environment:{name}", words)
        if len(value) > 4096:
            yield FieldError(f"environment:{name}", text("A value can have at most 4,096 characters."))


def refuse(errors: Sequence[FieldError]) -> None:
    """Raise what validate found as one error."""
    if errors:
        lines = "\n".join(f"{{field{number}}}: {{why{number}}}" for number in range(len(errors)))
        fields: dict[str, object] = {f"field{number}": error.field for number, error in enumerate(errors)}
        fields |= {f"why{number}": error.message for number, error in enumerate(errors)}
        raise InvalidInput(text("The job cannot be submitted yet."), Text(lines, fields))
