"""What the services need from the world, as protocols; adapters and the store implement them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # words only: whoever uses a port has loaded what he gives it
    from traindeck.domain.accounts.keys import Credentials
    from traindeck.domain.accounts.profiles import Profile
    from traindeck.domain.jobs.job import Engine, Flavor, JobSpec, LogChunk, RemoteJob, Run
    from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath
    from traindeck.services.storage.data_ports import Page


class SecretStore(Protocol):
    """The one place a secret is kept."""

    async def backend(self) -> str:
        """What it is called; raises KeyringMissing where there is none."""

    async def read(self, profile: str) -> Credentials | None: ...

    async def write(self, profile: str, credentials: Credentials) -> None: ...

    async def remove(self, profile: str) -> None: ...


class ObjectStorage(Protocol):
    """One account's object storage. Every method raises AppError."""

    async def buckets(self) -> list[Bucket]: ...

    async def create_bucket(self, name: str) -> None:
        """Creating one's own bucket again is no error."""

    def entries(self, folder: ObjectPath, *, recursive: bool = False) -> AsyncIterator[list[ObjectEntry]]:
        """Pages of a listing as they arrive; not recursive: one level, folders first in each page."""

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> Page:
        """One page of a listing: the names behind `marker`, those with `delimiter` folded into folders."""

    async def info(self, path: ObjectPath) -> ObjectEntry | None: ...

    async def remove(self, paths: Sequence[ObjectPath]) -> None: ...

    def close(self) -> None:
        """Close what is idle; a later call opens it again."""


class TrainingBackend(Protocol):
    """Where one account's jobs run. Every method raises AppError."""

    async def engines(self) -> list[Engine]: ...

    async def flavors(self) -> list[Flavor]: ...

    async def create(self, name: str, spec: JobSpec, code: ObjectPath) -> RemoteJob:
        """Ask for a job once. AnswerLost: nobody knows whether it exists. NameTaken: one of this name does."""

    async def find_by_name(self, name: str) -> RemoteJob | None: ...

    async def show(self, job_id: str) -> RemoteJob | None:
        """None: the service no longer knows it."""

    async def stop(self, job_id: str) -> None: ...

    async def delete(self, job_id: str) -> None: ...

    async def log_tail(self, job_id: str, task: str) -> LogChunk | None:
        """None: there is no log yet."""

    async def log_part(self, job_id: str, task: str, start: int, most_bytes: int) -> bytes:
        """The log's own bytes from `start` on, as far as they can be had now."""

    def close(self) -> None:
        """Close what is idle; a later call opens it again."""


class RunRecords(Protocol):
    """The runs on disk. Each method is one transaction."""

    async def add(self, run: Run) -> Run:
        """Store a new run; the answer has its number."""

    async def change(self, run_id: str, **fields: Any) -> Run:
        """Set fields of Run by name; the answer is the run as it is now."""

    async def get(self, run_id: str) -> Run | None: ...

    async def all(self, limit: int | None = None) -> list[Run]:
        """Newest first."""

    async def live(self) -> list[Run]:
        """Every run that is not over."""

    async def matching(self, beginning: str) -> list[Run]:
        """Runs whose id or name begins so, newest first."""

    async def remove(self, run_id: str) -> None: ...


class Clock(Protocol):
    def __call__(self) -> datetime: ...


class ProfileBook(Protocol):
    """The profiles on disk, without their secrets; asking is answered from memory."""

    def all(self) -> list[Profile]: ...

    @property
    def current(self) -> str: ...

    async def read(self) -> None:
        """Look at the disk again: another program may have changed them."""

    async def put(self, profile: Profile) -> None: ...

    async def remove(self, name: str) -> None: ...

    async def use(self, name: str) -> None: ...
