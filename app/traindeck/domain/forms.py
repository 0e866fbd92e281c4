"""What a form must hold before anything is sent, said field by field."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs import Engine, Flavor, JobSpec, Target, fits, stop_hours
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import Text, say, text

_PARAMETER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,8191}")
_JOB_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")

_Wrong = Callable[[str, Text], None]


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing to mend; `field` is the name in JobSpec, with the row's name after a colon."""

    field: str
    message: Text


def validate(
    spec: JobSpec, engines: Sequence[Engine] | None = None, flavors: Sequence[Flavor] | None = None
) -> list[FieldError]:
    """All mistakes that can be seen without asking the service; lists not given are not checked against."""
    found: list[FieldError] = []

    def wrong(field: str, message: Text) -> None:
        found.append(FieldError(field, message))

    if not _JOB_NAME.fullmatch(spec.name):
        wrong("name", text("Give a name of 1 to 40 letters, digits, “-” or “_”."))
    if spec.target is Target.APULIS:
        wrong("target", text("This version cannot submit to Apulis yet; choose the Lab or ModelArts."))
    if len(spec.description) > 256:
        wrong("description", text("The description may have 256 characters at most."))
    _check_code(spec, wrong)
    _check_engine(spec, engines, flavors, wrong)
    if spec.nodes < 1:
        wrong("nodes", text("At least one node is needed."))
    try:
        stop_hours(spec.stop_after)
    except ValueError:
        wrong("stop_after", text("Say when to stop at the latest, in whole hours: “4h” or “2d”; or write “none”."))
    _check_channels(spec, wrong)
    _check_parameters(spec, wrong)
    return found


def _check_code(spec: JobSpec, wrong: _Wrong) -> None:
    if not spec.code_folder.strip():
        wrong("code_folder", text("Choose the folder your code is in."))
    if not spec.boot and not spec.command:
        wrong("boot", text("Choose the Python file that starts the training."))
    elif spec.boot and not spec.boot.endswith(".py"):
        wrong("boot", text("The boot file must be a .py file."))
    elif spec.boot.startswith(("/", "~")) or ".." in spec.boot.replace("\\", "/").split("/"):
        wrong("boot", text("The boot file must lie inside the code folder."))
    if spec.command and not spec.image:
        wrong("image", text("A start command needs an image of your own."))


def _check_engine(
    spec: JobSpec, engines: Sequence[Engine] | None, flavors: Sequence[Flavor] | None, wrong: _Wrong
) -> None:
    if not spec.image and not (spec.engine and spec.engine_version):
        wrong("engine", text("Choose an engine and its version, or give an image."))
    if not spec.flavor and not spec.pool:
        wrong("flavor", text("Choose a specification."))
    engine = next((e for e in engines or () if (e.name, e.version) == (spec.engine, spec.engine_version)), None)
    flavor = next((f for f in flavors or () if f.id == spec.flavor), None)
    if engines is not None and spec.engine_version and engine is None:
        wrong("engine", text("“{engine}” is not offered here.", engine=spec.engine_version))
    if flavors is not None and spec.flavor and not spec.pool and flavor is None:
        wrong("flavor", text("“{flavor}” is not offered here.", flavor=spec.flavor))
    if engine and flavor and not fits(engine, flavor):
        wrong("flavor", text("This specification does not fit the engine: {kind}.", kind=flavor.kind))
    if flavor and spec.nodes > flavor.max_nodes:
        wrong("nodes", text("This specification has {most} nodes at most.", most=flavor.max_nodes))


def _check_channels(spec: JobSpec, wrong: _Wrong) -> None:
    seen: set[str] = set()
    for field, channels in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for name, place in channels:
            if not _PARAMETER.fullmatch(name):
                wrong(f"{field}:{name}", text("A name has 1 to 64 letters, digits, “-” or “_”."))
            if name in seen:
                wrong(f"{field}:{name}", text("“{name}” is there twice.", name=name))
            seen.add(name)
            _check_place(f"{field}:{name}", place, wrong)
    if spec.log_to:
        _check_place("log_to", spec.log_to, wrong)
    if not any(place for _, place in spec.outputs) and not spec.log_to:
        wrong("outputs", text("Give an output folder in OBS: without one nothing of the run is kept."))


def _check_place(field: str, place: str, wrong: _Wrong) -> None:
    try:
        ObjectPath.parse(place.replace("{run}", "run"))
    except AppError as error:
        wrong(field, error.title)


def _check_parameters(spec: JobSpec, wrong: _Wrong) -> None:
    channels = {name for name, _ in (*spec.inputs, *spec.outputs)}
    seen: set[str] = set()
    for name, _ in spec.parameters:
        if not _PARAMETER.fullmatch(name):
            wrong(f"parameters:{name}", text("A name has 1 to 64 letters, digits, “-” or “_”."))
        if name in seen:
            wrong(f"parameters:{name}", text("“{name}” is there twice.", name=name))
        if name in channels:
            wrong(f"parameters:{name}", text("“{name}” is already an input or output.", name=name))
        seen.add(name)
    for name, value in spec.environment:
        if not _VARIABLE.fullmatch(name) or name.startswith("MA_"):
            wrong(
                f"environment:{name}",
                text("A variable has letters, digits and “_”, does not begin with a digit nor with MA_."),
            )
        if len(value) > 4096:
            wrong(f"environment:{name}", text("A value may have 4,096 characters at most."))


def refuse(errors: Sequence[FieldError]) -> None:
    """Raise what validate found as one error."""
    if errors:
        lines = "\n".join(f"{error.field}: {say(error.message)}" for error in errors)
        raise InvalidInput(text("The job cannot be sent yet."), text("{lines}", lines=lines))
