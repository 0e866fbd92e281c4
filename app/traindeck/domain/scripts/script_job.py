"""What the form of a job says that its script has to fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from traindeck.domain.jobs.job_spec import Channel, ChannelAccess

_FRAMEWORK = re.compile(r"(pytorch|mindspore|tensorflow|tf)[-_]?(\d+(?:\.\d+)*)?", re.IGNORECASE)
_CANN = re.compile(r"cann|aarch64|ascend|snt\d", re.IGNORECASE)


class AcceleratorKind(StrEnum):
    """What the machine of a job computes on."""

    ASCEND = "ascend"
    GPU = "gpu"
    CPU = "cpu"
    UNKNOWN = "unknown"


class Framework(StrEnum):
    """What an engine brings to train with."""

    PYTORCH = "pytorch"
    MINDSPORE = "mindspore"
    TENSORFLOW = "tensorflow"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ScriptJob:
    """The form as far as a script can agree or disagree with it; what is not known is empty, None or unknown."""

    engine: str = ""
    engine_version: str = ""
    image: str = ""
    flavor_kind: AcceleratorKind = AcceleratorKind.UNKNOWN
    cards: int | None = None
    """Of one node."""
    nodes: int = 1
    inputs: tuple[Channel, ...] = ()
    outputs: tuple[Channel, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    """Names, and values as the script is given them."""
    environment: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    """Folders of the container that the form puts storage in."""
    reaches_internet: bool | None = None
    """None: not known."""
    is_rehearsal: bool = False
    """It runs on this computer, whose packages are not those of the engine."""
    silenced: frozenset[str] = frozenset()
    """Rules of which the user wants to hear nothing red or amber."""
    has_form: bool = False
    """False: there is no job file; channels are those that jobs usually have."""

    @property
    def is_ascend(self) -> bool:
        if self.flavor_kind is AcceleratorKind.UNKNOWN:
            return bool(_CANN.search(f"{self.engine} {self.engine_version}"))
        return self.flavor_kind is AcceleratorKind.ASCEND

    @property
    def is_many_cards(self) -> bool:
        """More than one process, or one process with more than one card."""
        return (self.cards or 1) * self.nodes > 1

    @property
    def framework(self) -> Framework:
        found = _FRAMEWORK.search(self.engine_version) or _FRAMEWORK.search(self.engine)
        if found is None:
            return Framework.UNKNOWN
        name = found[1].lower()
        return Framework.TENSORFLOW if name == "tf" else Framework(name)

    @property
    def framework_version(self) -> tuple[int, ...]:
        """Empty: not known."""
        found = _FRAMEWORK.search(self.engine_version)
        return tuple(int(part) for part in found[2].split(".")) if found and found[2] else ()

    @property
    def channels(self) -> tuple[Channel, ...]:
        return self.inputs + self.outputs

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the arguments that the service puts behind the start command, as far as they are known."""
        by_argument = (one.name for one in self.channels if one.access is ChannelAccess.PARAMETER)
        return tuple(dict.fromkeys((*by_argument, *(name for name, _ in self.parameters))))
