"""What the panels need from the services, as protocols."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Engine, Flavor, JobSpec, Run
from traindeck.domain.lab import LabDiskUsage, LabSight
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import Text
from traindeck.domain.transfers.records import Item, ItemState, Order
from traindeck.runtime.tasks import Listeners
from traindeck.services.logs.log_files import Gap
from traindeck.services.logs.run_logs import LogGrowth
from traindeck.services.ports import ObjectStorage
from traindeck.services.storage.bucket_listing import BucketListing
from traindeck.services.storage.place_facts import PlaceFacts
from traindeck.services.storage.ports import Access, ObjectProperties
from traindeck.services.transfers import Transfer
from traindeck.store.object_index import ObjectIndex

Stage = Callable[[Text], None]
"""Told, in words, what a long operation is doing."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What the user is asked to give up: the question, what it means, and the word on the button."""

    question: Text
    facts: tuple[Text, ...]
    action: Text
    typed: Text | None = None  # to be typed first, where much would be lost


ConfirmLoss = Callable[[Loss], Awaitable[bool]]

Confirm = Callable[[Text, Text], Awaitable[bool]]
"""Asks the user: the question, and the word on the button that does it."""


@dataclass(frozen=True, slots=True)
class Way:
    """One of several ways to go on, and the words on its button."""

    id: str
    action: Text
    is_advised: bool = False


Choose = Callable[[Text, Sequence[Text], Sequence[Way]], Awaitable[str]]
"""Asks the user which way: the question, and what the ways mean. Empty: none of them."""


class Tasks(Protocol):
    """Owns what a dialog starts; each has a name and may be ended by it."""

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> bool:
        """False: it runs already, or the window is going."""

    def cancel(self, name: str) -> None: ...


class Watch(Protocol):
    """Where news of the runs come from."""

    @property
    def changed(self) -> Listeners[Run]: ...

    @property
    def gone(self) -> Listeners[str]: ...

    @property
    def connection_state(self) -> Listeners[str]: ...

    def last_answer(self, profile: str) -> datetime | None: ...

    def trouble(self, profile: str) -> AppError | None: ...

    def next_look(self, profile: str) -> datetime | None: ...


class RunActions(Protocol):
    """The recorded runs, and what can be done to one."""

    async def recent(self, limit: int | None = None) -> list[Run]: ...

    async def stop(self, run_id: str) -> Run: ...

    async def remove(self, run_id: str) -> None: ...

    async def outputs(self, run_id: str) -> list[ObjectEntry]: ...

    async def fetch(
        self, run_id: str, target: Path, on_file: Callable[[ObjectPath, Path], None] | None = None
    ) -> list[Path]: ...


REST_S = 1.0
"""For so long after a job was taken, asking once more is taken for the same wish: a double click, a key held down."""


class Sender(Protocol):
    """The only way a job is created."""

    def profile_for(self, spec: JobSpec, profile: str | None) -> str: ...

    async def submit(self, spec: JobSpec, base: Path, profile: str | None = None, *, stage: Stage = ...) -> Run: ...

    async def rerun(self, run_id: str, *, changes: Sequence[str] = (), stage: Stage = ...) -> Run: ...

    async def check_again(self, run_id: str) -> Run: ...


class Logs(Protocol):
    """The logs on this computer; `read` and `gaps` touch the disk and belong into a worker."""

    @property
    def grew(self) -> Listeners[LogGrowth]: ...

    def size(self, run_id: str, task: str) -> int: ...

    def read(self, run_id: str, task: str, offset: int, max_bytes: int = -1) -> bytes: ...

    def gaps(self, run_id: str, task: str) -> tuple[Gap, ...]: ...


class Offer(Protocol):
    """What one account can run a job on."""

    @property
    def engines(self) -> tuple[Engine, ...]: ...

    @property
    def flavors(self) -> tuple[Flavor, ...]: ...


class Offers(Protocol):
    async def load(self, profile: str) -> Offer: ...


class Profiles(Protocol):
    def all(self) -> list[Profile]: ...

    @property
    def current(self) -> str: ...


class Opened(Protocol):
    @property
    def storage(self) -> ObjectStorage: ...

    @property
    def objects(self) -> ObjectProperties: ...

    @property
    def access(self) -> Access: ...


class Opener(Protocol):
    async def open(self, name: str) -> Opened: ...


class PlaceAsker(Protocol):
    """Who knows what there is at a place."""

    async def look(self, profile: str, path: ObjectPath) -> PlaceFacts: ...

    async def complete(self, profile: str, typed: str) -> list[ObjectPath]: ...

    async def create(self, profile: str, path: ObjectPath) -> None: ...


class Listings(Protocol):
    """Buckets as they are listed into their indexes."""

    async def open(self, profile: str, bucket: str) -> BucketListing[ObjectIndex]: ...


class Relocator(Protocol):
    """Moves what is asked for, and first shows what that would be; all of it is in the list of transfers."""

    async def pack(
        self, profile: str, source: Path | ObjectPath, target: ObjectPath, *, may_replace: bool = False
    ) -> int:
        """Occupied: another packing is there, and nothing was done."""

    async def begin(self, order: Order) -> int: ...

    async def planned(self, order: Order, *, is_preview: bool = False) -> Transfer: ...

    def confirm(self, transfer_id: int) -> None: ...

    async def drop(self, transfer_id: int) -> None: ...

    async def finished(self, transfer_id: int) -> Transfer: ...

    async def amount_below(self, transfer_id: int, prefix: str) -> tuple[int, int]: ...

    async def keeps_versions(self, profile: str, bucket: str) -> bool: ...

    async def taken(self, profile: str, folder: ObjectPath, names: Sequence[str]) -> set[str]: ...


class Transferring(Protocol):
    """What moves, and what moved in this session."""

    @property
    def changed(self) -> Listeners[Transfer]: ...

    def rows(self) -> list[Transfer]: ...

    async def items(
        self,
        transfer_id: int,
        states: Sequence[ItemState] = ...,
        *,
        is_verified: bool | None = ...,
        after: str = ...,
        most: int = ...,
    ) -> list[Item]: ...

    def cancel(self, transfer_id: int) -> None: ...

    def pause(self, transfer_id: int) -> None: ...

    def resume(self, transfer_id: int) -> None: ...

    def retry(self, transfer_id: int) -> None: ...

    def verify(self, transfer_id: int) -> None: ...

    def move_first(self, transfer_id: int) -> None: ...

    def confirm(self, transfer_id: int) -> None: ...

    def set_rate(self, bytes_per_s: float) -> None: ...

    def clear_finished(self) -> None: ...


class Planner(Protocol):
    """Finds out what a transfer would do before it does it."""

    async def planned(self, order: Order, *, is_preview: bool = False) -> Transfer: ...

    def confirm(self, transfer_id: int) -> None: ...

    async def drop(self, transfer_id: int) -> None: ...


class LabService(Protocol):
    """The Lab of this home, seen, started, ended and emptied."""

    root: Path

    async def look(self) -> LabSight: ...

    async def contents(self) -> LabDiskUsage: ...

    async def measure(self, on_part: Callable[[LabDiskUsage], None]) -> LabDiskUsage: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def empty(self, on_files: Callable[[int], None]) -> None: ...
