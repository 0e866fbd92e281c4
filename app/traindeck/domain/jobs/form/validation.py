"""What can be seen to be wrong with a form without asking anyone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from unicodedata import category

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.choices import Choices, misfit
from traindeck.domain.jobs.form.form_field import nearest
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.form.stop_time import stop_time
from traindeck.domain.jobs.job_spec import (
    PLACE_FIELDS,
    Channel,
    ChannelStyle,
    JobSpec,
    Target,
    VolumeKind,
    fields_in,
    filled_in,
    wire_value,
)
from traindeck.domain.jobs.start_kinds import StartKind, start_kind_of
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text

_PARAMETER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,8191}")
_TAG = re.compile(r"(?!_sys_)(?! )[\w _.:=+@-]{1,128}(?<! )")
_TAG_VALUE = re.compile(r"[\w _.:=+@/-]{0,255}")
_POINTER = re.compile(r"(/([^~/]|~[01])+)+")
_NULL = text("A value cannot contain a null character (U+0000).")
_MOST_VARIABLES = 100
_MOST_VOLUMES = 8
_TAKEN_MOUNTS = ("/", "/cache", "/home/ma-user/modelarts")


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing to mend; `field` is the name in JobSpec, with the row's name after a colon."""

    field: str
    message: Text


def validate(spec: JobSpec, offer: Choices | None = None, kind: StartKind | None = None) -> list[FieldError]:
    """All mistakes that can be seen without asking the service; an offer that is not known refuses nothing.

    `kind`: the way to start that somebody chose, where not much more is filled in yet.
    """
    kind = kind or start_kind_of(spec)
    first = chain(_check_limits(spec), _check_code(spec, kind), _check_engine(spec, offer, kind), _check_machine(spec))
    return [*first, *_check_channels(spec), *_check_parameters(spec), *_check_rest(spec)]


def remarks(spec: JobSpec) -> list[FieldError]:
    """What is not wrong, but not what the words of the form say either."""
    found = []
    try:
        later = stop_time(spec.stop_after).remark
    except InvalidInput:
        later = None
    if later is not None:
        found.append(FieldError("stop_after", later))
    if not spec.pool and (spec.priority != JobSpec().priority or spec.preemptible):
        words = text("The priority counts in a dedicated resource pool only.")
        found.append(FieldError("priority", words))
    return found


def _check_limits(spec: JobSpec) -> Iterator[FieldError]:
    if not spec.name:
        yield FieldError("name", text("Enter a name of 1 to 40 letters, digits, “-” or “_”."))
    if spec.target is Target.APULIS:
        yield FieldError("target", text("This version cannot submit to Apulis yet; select the Lab or ModelArts."))
    for field in FIELDS:
        for mistake in field.limits.mistakes(field.label, getattr(spec, field.name)):
            yield FieldError(field.name, mistake)


def _check_code(spec: JobSpec, kind: StartKind) -> Iterator[FieldError]:
    if kind is StartKind.ALGORITHM and not spec.has_algorithm:
        yield FieldError("algorithm_id", text("Enter the ID of the algorithm."))
        return
    if spec.has_algorithm:
        if spec.subscription_id and not spec.item_version_id:
            yield FieldError("item_version_id", text("A subscribed algorithm needs the ID of its version."))
        yield from _check_alone(spec)
        return
    if spec.code_url:
        if not spec.code_url.startswith("file://"):  # in the image already
            yield from _check_place("code_url", spec.code_url)
    elif not spec.code_folder.strip() and not spec.command:
        yield FieldError("code_folder", text("Select the folder of your code."))
    if not spec.boot and not spec.command and kind is StartKind.IMAGE:
        yield FieldError("command", text("Enter the command that starts the training in the image."))
    elif not spec.boot and not spec.command:
        yield FieldError("boot", text("Select the Python file that starts the training."))
    elif spec.boot and not spec.boot.endswith(".py"):
        yield FieldError("boot", text("The boot file must be a .py file."))
    elif spec.boot.startswith(("/", "~")) or ".." in spec.boot.replace("\\", "/").split("/"):
        yield FieldError("boot", text("The boot file must be inside the code directory."))
    if spec.command and not spec.image:
        yield FieldError("image", text("A start command needs a custom image."))


def _check_alone(spec: JobSpec) -> Iterator[FieldError]:
    """An algorithm brings its code and engine along."""
    for name in ("boot", "command", "engine", "image", "code_url"):
        if getattr(spec, name):
            yield FieldError(name, text("An algorithm has its own code and engine; leave this empty."))


def _check_engine(spec: JobSpec, offer: Choices | None, kind: StartKind) -> Iterator[FieldError]:
    if kind is not StartKind.ALGORITHM and not spec.image:
        has_engine = spec.engine and spec.engine_version
        if kind is not StartKind.PRESET and not spec.command:
            yield FieldError("image", text("Enter the address of the image."))
        elif not has_engine and kind is not StartKind.IMAGE:
            yield FieldError("engine", text("Select an engine and its version, or enter an image."))
    if spec.install_moxing and not (spec.image and spec.engine):
        yield FieldError(
            "install_moxing", text("MoXing can be installed into a custom image on top of an engine only.")
        )
    if not spec.flavor and not spec.pool:
        yield FieldError("flavor", text("Select a specification."))
    if offer is None:
        return
    engine, flavor = offer.engine_of(spec), offer.flavor_of(spec)
    if spec.engine_version and engine is None:
        yield FieldError("engine", _wrong_engine(spec, offer))
    if spec.flavor and not spec.pool and flavor is None:
        yield FieldError("flavor", _not_offered(spec.flavor, [one.id for one in offer.flavors]))
    if flavor is not None:
        yield from _check_fit(spec, misfit(engine, flavor), misfit(None, flavor, spec.nodes))


def _wrong_engine(spec: JobSpec, offer: Choices) -> Text:
    """By the word that is wrong: the name where the version is right."""
    names = [one.name for one in offer.engines if one.version == spec.engine_version]
    if names:
        return _not_offered(spec.engine, names)
    same = [one.version for one in offer.engines if one.name == spec.engine]
    return _not_offered(spec.engine_version, same or [one.version for one in offer.engines])


def _check_fit(spec: JobSpec, of_engine: Text | None, of_nodes: Text | None) -> Iterator[FieldError]:
    if of_engine is not None:
        yield FieldError("flavor", of_engine)
    if of_nodes is not None and not spec.pool:
        yield FieldError("nodes", of_nodes)


def _not_offered(word: str, known: list[str]) -> Text:
    near = nearest(word, known, 0.0)
    if near is None:
        return text("“{word}” is not available here.", word=word)
    return text("“{word}” is not available here. The nearest is “{nearest}”.", word=word, nearest=near)


def _check_machine(spec: JobSpec) -> Iterator[FieldError]:
    try:
        stop_time(spec.stop_after)
    except InvalidInput as error:
        yield FieldError("stop_after", error.title)
    if spec.volumes and not spec.pool:
        yield FieldError("volumes", text("Volumes need a dedicated resource pool."))
    if len(spec.volumes) > _MOST_VOLUMES:
        yield FieldError("volumes", text("At most {count} volumes.", count=_MOST_VOLUMES))
    mounts: set[str] = set()
    for volume in spec.volumes:
        mount = volume.mount.rstrip("/") or "/"
        if not volume.source.strip():
            yield FieldError("volumes", text("A volume needs the place it shows."))
        elif volume.kind is VolumeKind.OBS:
            yield from _check_place("volumes", volume.source)
        if not mount.startswith("/") or mount in _TAKEN_MOUNTS:
            yield FieldError("volumes", text("“{folder}” cannot be the folder of a volume.", folder=volume.mount))
        if mount in mounts:
            yield FieldError("volumes", text("“{name}” appears twice.", name=volume.mount))
        mounts.add(mount)


def _check_channels(spec: JobSpec) -> Iterator[FieldError]:
    seen: set[str] = set()
    kept = {pointer.rpartition("/")[0] for pointer, _ in spec.extra if pointer.endswith("/remote")}
    for place_of, channels in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for channel in channels:
            field = f"{place_of}:{channel.name}"
            yield from _check_name(field, channel.name, seen)
            if channel.place or f"/algorithm/{place_of}/{channel.name}" not in kept:
                yield from _check_template(field, channel.place)
            if place_of == "outputs":
                yield from _check_made(field, channel.place)
            yield from _check_way(field, channel)
    if spec.log_to:
        yield from _check_template("log_to", spec.log_to)
        yield from _check_made("log_to", spec.log_to)
    if not any(channel.place for channel in spec.outputs) and not spec.log_to:
        yield FieldError(
            "outputs", text("Specify an output folder in OBS. Without one, the results of the run are not kept.")
        )


def _check_way(field: str, channel: Channel) -> Iterator[FieldError]:
    if channel.local_dir and not channel.local_dir.startswith("/"):
        yield FieldError(field, text("Enter an absolute path of the container, such as /cache/data."))
    if channel.style is ChannelStyle.OBS and (channel.local_dir or channel.access.value != "parameter"):
        yield FieldError(field, text("A place handed over as an OBS path has no folder, and is a parameter."))


def _check_name(field: str, name: str, seen: set[str]) -> Iterator[FieldError]:
    bare = name.lstrip("-")
    if not name:
        yield FieldError(field, text("A row has a value but no name."))
    elif bare != name and _PARAMETER.fullmatch(bare):
        yield FieldError(field, text("Enter the name without dashes: “{name}”.", name=bare))
    elif not _PARAMETER.fullmatch(name):
        yield FieldError(field, text("A name has 1 to 64 letters, digits, “-” or “_”."))
    if name in seen:
        yield FieldError(field, text("“{name}” appears twice.", name=name))
    seen.add(name)


def _check_template(field: str, place: str) -> Iterator[FieldError]:
    for name in fields_in(place):
        if name not in PLACE_FIELDS:
            near = nearest(name, PLACE_FIELDS, 0.4)
            known = ", ".join(f"{{{one}}}" for one in PLACE_FIELDS)
            if near is not None:
                yield FieldError(field, text("“{word}” is unknown. Did you mean “{nearest}”?",
                                             word=f"{{{name}}}", nearest=f"{{{near}}}"))  # fmt: skip
            else:
                yield FieldError(field, text("“{word}” is unknown. Known here: {known}.",
                                             word=f"{{{name}}}", known=known))  # fmt: skip
            return
    yield from _check_place(field, filled_in(place, {"run": "run", "name": "name", "account": "account"}))


def _check_made(field: str, place: str) -> Iterator[FieldError]:
    """OBS takes these names, and programs that read them look elsewhere or not at all."""
    if any(name in (".", "..") for name in re.split(r"[/\\]", place)) or any(category(one) == "Cc" for one in place):
        words = text("A folder cannot be named “.” or “..”, or contain control characters.")
        yield FieldError(field, words)


def _check_place(field: str, place: str) -> Iterator[FieldError]:
    try:
        ObjectPath.parse(place)
    except AppError as error:
        yield FieldError(field, error.title)


def _check_parameters(spec: JobSpec) -> Iterator[FieldError]:
    channels = {channel.name for channel in (*spec.inputs, *spec.outputs)}
    seen: set[str] = set()
    for name, value in spec.parameters:
        field = f"parameters:{name}"
        yield from _check_name(field, name, seen)
        if name in channels:
            yield FieldError(field, text("“{name}” is already an input or output.", name=name))
        if isinstance(value, float) and not math.isfinite(value):
            yield FieldError(field, text("“{value}” is not a number to compute with.", value=wire_value(value)))
        if isinstance(value, str) and "\0" in value:
            yield FieldError(field, _NULL)
    if len(spec.environment) > _MOST_VARIABLES:
        yield FieldError("environment", text("At most {count} variables.", count=_MOST_VARIABLES))
    for name, written in spec.environment:
        if not _VARIABLE.fullmatch(name) or name.startswith("MA_"):
            words = text("A variable can contain letters, digits and “_”, and cannot begin with a digit or MA_.")
            yield FieldError(f"environment:{name}", words)
        if len(written) > 4096:
            yield FieldError(f"environment:{name}", text("A value can have at most 4,096 characters."))
        if "\0" in written:
            yield FieldError(f"environment:{name}", _NULL)


def _check_rest(spec: JobSpec) -> Iterator[FieldError]:
    for name, value in spec.tags:
        if not _TAG.fullmatch(name) or not _TAG_VALUE.fullmatch(value):
            words = text("A tag has up to 128 letters, digits, spaces and “_.:=+-@”, its value up to 255, also “/”.")
            yield FieldError(f"tags:{name}", words)
    if spec.notify_events and not spec.notify_topic:
        yield FieldError("notify_topic", text("Enter the topic to notify."))
    if spec.notify_topic and not spec.notify_events:
        yield FieldError("notify_events", text("Select what to notify about."))
    for pointer, content in spec.extra:
        if not _POINTER.fullmatch(pointer):
            words = text("Enter where it stands in the request, such as /spec/custom_metrics.")
            yield FieldError(f"extra:{pointer}", words)
        elif not is_json(content):
            yield FieldError(f"extra:{pointer}", text("The value must be JSON."))


def is_json(content: str) -> bool:
    try:
        json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def refuse(errors: Sequence[FieldError]) -> None:
    """Raise what validate found as one error."""
    if errors:
        lines = "\n".join(f"{{field{number}}}: {{why{number}}}" for number in range(len(errors)))
        fields: dict[str, object] = {f"field{number}": error.field for number, error in enumerate(errors)}
        fields |= {f"why{number}": error.message for number, error in enumerate(errors)}
        raise InvalidInput(text("The job cannot be submitted yet."), Text(lines, fields))
