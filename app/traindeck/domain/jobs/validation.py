"""What can be seen to be wrong with a form without asking anyone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.choices import Choices, fits
from traindeck.domain.jobs.job_spec import JobSpec, Target, filled_in
from traindeck.domain.jobs.stop_time import stop_time
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, count_text, text

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
        stop_time(spec.stop_after)
    except InvalidInput as error:
        yield FieldError("stop_after", error.paragraph())


def _check_channels(spec: JobSpec) -> Iterator[FieldError]:
    seen: set[str] = set()
    for place_of, channels in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for channel in channels:
            field = f"{place_of}:{channel.name}"
            yield from _check_name(field, channel.name, seen)
            yield from _check_place(field, channel.place)
    if spec.log_to:
        yield from _check_place("log_to", spec.log_to)
    if not any(channel.place for channel in spec.outputs) and not spec.log_to:
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
        ObjectPath.parse(filled_in(place, {"run": "run", "name": "name", "account": "account"}))
    except AppError as error:
        yield FieldError(field, error.title)


def _check_parameters(spec: JobSpec) -> Iterator[FieldError]:
    channels = {channel.name for channel in (*spec.inputs, *spec.outputs)}
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
