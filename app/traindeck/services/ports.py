"""Where the program meets the world, as protocols; what implements them can be another service, or a test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # words only: whoever uses a port has loaded what he gives it
    from traindeck.domain.accounts.keys import Credentials
    from traindeck.domain.jobs.job import Engine, Flavor, JobSpec, LogChunk, RemoteJob
    from traindeck.domain.storage.access import Acl, CannedAcl, Exposure, Grantees
    from traindeck.domain.storage.buckets import BucketContents, NewBucket
    from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath
    from traindeck.domain.storage.policies import PolicyForm
    from traindeck.services.storage.data_ports import ListingPage


OnBucketProgress = Callable[["BucketContents"], None]
"""Called with what was found, or is gone, so far."""


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
    ) -> ListingPage:
        """One page of a listing: the names behind `marker`, those with `delimiter` folded into folders."""

    async def info(self, path: ObjectPath) -> ObjectEntry | None: ...

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


class Access(Protocol):
    """Who may reach the buckets of one account. Every method raises AppError."""

    @property
    def form(self) -> PolicyForm:
        """How policies are written here."""

    @property
    def region(self) -> str: ...

    @property
    def grantees(self) -> tuple[Grantees, ...]:
        """Whom a grant may be for."""

    @property
    def storage_classes(self) -> tuple[str, ...]:
        """Those a bucket may be made with; the first is the usual one."""

    @property
    def can_deliver(self) -> bool:
        """Whether a grant on a bucket can be handed on to its objects."""

    async def policy(self, bucket: str) -> str:
        """The text as the service keeps it; empty: there is none."""

    async def set_policy(self, bucket: str, policy: str) -> None:
        """An empty text removes it."""

    async def acl(self, place: ObjectPath, version: str = "") -> Acl:
        """Of a bucket or of an object."""

    async def set_acl(self, place: ObjectPath, acl: Acl, version: str = "") -> None:
        """When it returns the service has shown the same list."""

    async def set_canned_acl(self, place: ObjectPath, canned: CannedAcl, version: str = "") -> None: ...

    async def exposure(self, bucket: str, *, patiently: bool = True) -> Exposure:
        """What policy and grants come to; what may not be looked at stays unknown."""

    async def create(self, wanted: NewBucket) -> None:
        """Conflict: it is there already, and stays as it was."""

    async def count(self, bucket: str, on_progress: OnBucketProgress) -> BucketContents: ...

    async def empty(self, bucket: str, on_progress: OnBucketProgress) -> BucketContents:
        """Delete everything in it, with all versions and unfinished uploads; the answer is what went."""

    async def remove(self, bucket: str) -> None:
        """Conflict: it is not empty."""
