"""The Lab as it is seen from outside: how it stands, whose it is, and what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from traindeck.domain.texts import Text, text


class LabState(Enum):
    """How the Lab stands."""

    RUNNING = auto()
    STARTING = auto()
    SILENT = auto()  # its process is there and does not answer
    STOPPED = auto()


class LabOwner(Enum):
    """Who ends the Lab that runs."""

    OURS = auto()  # this program
    NOBODY = auto()  # started in the background by a command; ends by itself
    WINDOW = auto()  # another TrainDeck
    TERMINAL = auto()  # somebody who started it by hand
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class LabSight:
    """What was seen in one look."""

    state: LabState
    owner: LabOwner = LabOwner.UNKNOWN
    owner_pid: int | None = None
    pid: int | None = None
    started: datetime | None = None
    version: str = ""
    obs: str = ""
    modelarts: str = ""
    iam: str = ""
    live_jobs: int | None = None

    @property
    def is_ours_to_end(self) -> bool:
        return self.owner in (LabOwner.OURS, LabOwner.NOBODY)


@dataclass(frozen=True, slots=True)
class LabDiskUsage:
    """What is in the folder of the Lab; None is what is not known."""

    buckets: int | None = None
    objects: int | None = None
    object_bytes: int | None = None
    jobs: int | None = None
    live: tuple[str, ...] = ()
    disk_bytes: int | None = None
    disk_is_whole: bool = True  # else some folder could not be looked into


def user_words(sight: LabSight) -> Text:
    """Whose the Lab is that runs on this folder."""
    pid = sight.owner_pid or sight.pid or "–"
    if sight.owner is LabOwner.WINDOW:
        return text("Another TrainDeck window uses this Lab (process {pid}).", pid=pid)
    if sight.owner is LabOwner.TERMINAL:
        return text("This Lab was started by hand, in a terminal or by a script (process {pid}).", pid=pid)
    return text("Another program uses this Lab (process {pid}).", pid=pid)
