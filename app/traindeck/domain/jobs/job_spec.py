"""The form of a training job: everything the user decides about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

USUAL_BOOTS = ("train.py", "main.py", "run.py")
_STEM_LENGTH = 40
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")

Scalar = str | int | float | bool


class Target(StrEnum):
    MODELARTS = "modelarts"
    APULIS = "apulis"
    LAB = "lab"


class ChannelAccess(StrEnum):
    """How the script learns of the folder of an input or output."""

    PARAMETER = "parameter"
    ENVIRONMENT = "environment"


class ChannelStyle(StrEnum):
    """What the script is given: a folder that the service fills and empties, or the address in OBS itself."""

    LOCAL = "local"
    OBS = "obs"


@dataclass(frozen=True, slots=True)
class Channel:
    """An input or output of a job."""

    name: str
    place: str
    access: ChannelAccess = ChannelAccess.PARAMETER
    style: ChannelStyle = ChannelStyle.LOCAL
    local_dir: str = ""


class VolumeKind(StrEnum):
    NFS = "nfs"
    PFS = "pfs"
    OBS = "obs"


@dataclass(frozen=True, slots=True)
class Volume:
    """Storage that the job sees as a folder from beginning to end."""

    kind: VolumeKind
    source: str
    mount: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The form. Local paths are as typed; what each field means is described in form_fields."""

    name: str = ""
    target: Target = Target.LAB
    description: str = ""
    template: str = ""
    workspace: str = ""
    experiment: str = ""
    experiment_id: str = ""
    code_folder: str = "."
    code_url: str = ""
    boot: str = ""
    command: str = ""
    ignore: tuple[str, ...] = ()
    silenced_rules: tuple[str, ...] = ()
    local_code_dir: str = ""
    working_dir: str = ""
    algorithm_id: str = ""
    subscription_id: str = ""
    item_version_id: str = ""
    engine: str = ""
    engine_version: str = ""
    image: str = ""
    install_moxing: bool = False
    flavor: str = ""
    nodes: int = 1
    pool: str = ""
    stop_after: str = ""
    priority: int = 1
    preemptible: bool = False
    inputs: tuple[Channel, ...] = ()
    outputs: tuple[Channel, ...] = ()
    log_to: str = ""
    log_copy: bool = False
    parameters: tuple[tuple[str, Scalar], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    checkpoint_folder: str = ""
    checkpoint_pattern: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    volumes: tuple[Volume, ...] = ()
    notify_topic: str = ""
    notify_events: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    """What a job made elsewhere holds that has no field: where it stands in the request, and its JSON."""

    @property
    def has_algorithm(self) -> bool:
        """Code, engine and start are those of an algorithm that the service keeps."""
        return bool(self.algorithm_id or self.subscription_id)

    @property
    def has_own_code(self) -> bool:
        """There is a folder to be frozen; else the code is at the service, in OBS or in the image already."""
        return not self.has_algorithm and not self.code_url and bool(self.code_folder.strip())

    def for_run(self, run_name: str, account: str = "") -> JobSpec:
        """The same job with `{run}`, `{name}` and `{account}` filled in, so that no two runs share a folder."""
        values = {"run": run_name, "name": self.name, "account": account}

        def filled(channels: tuple[Channel, ...]) -> tuple[Channel, ...]:
            return tuple(replace(channel, place=filled_in(channel.place, values)) for channel in channels)

        return replace(
            self,
            inputs=filled(self.inputs),
            outputs=filled(self.outputs),
            log_to=filled_in(self.log_to, values),
        )


PLACE_FIELDS = ("run", "name", "account")
"""What a place may hold in braces."""


def filled_in(place: str, values: Mapping[str, str]) -> str:
    """A place with its fields put in; `{{` and `}}` are braces that belong to a name, and unknown fields stay."""
    doubled = {"{{": "{", "}}": "}"}
    return _FIELD.sub(lambda found: doubled.get(found[0]) or values.get(found[1], found[0]), place)


def fields_in(place: str) -> list[str]:
    """The names in braces, in order."""
    return [found[1] for found in _FIELD.finditer(place) if found[1] is not None]


def as_template(place: str) -> str:
    """A place that is meant as it is written, whatever braces it holds."""
    return place.replace("{", "{{").replace("}", "}}")


def wire_value(value: Scalar) -> str:
    """As the script sees it; true and false as they stand in the job file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def name_stem(words: str) -> str:
    """What a job may be called that is about this."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", words).strip("-")[:_STEM_LENGTH] or "job"


def usual_boots(scripts: Collection[str]) -> list[str]:
    """Those among them that mostly start a training, the likeliest first."""
    return [name for name in USUAL_BOOTS if name in scripts]
