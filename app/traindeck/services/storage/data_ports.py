"""What moving data needs from an object store; one implementation speaks to the wire, on a loop of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.objects import ObjectRow as ObjectRow
from traindeck.domain.texts import Text

Counted = Callable[[int], None]
"""Called on the data plane's loop with the bytes that just left or came; negative when they have to move again."""

Sink = Callable[[bytes], Awaitable[None] | None]
"""Takes the next piece of a download; when it waits, so does the sender."""


class Body(Protocol):
    """What is sent: its size and MD5 are known before the first byte leaves, and it can be begun again."""

    @property
    def size_bytes(self) -> int: ...

    @property
    def md5(self) -> bytes: ...

    def pieces(self) -> AsyncIterator[bytes | memoryview]:
        """From the beginning, each time it is called; raises when the source is no longer what it was."""


class InMemory:
    """A body that can be given at once: it leaves with the head of its request."""

    __slots__ = ()

    @property
    def at_once(self) -> bytes | None:
        """None: piece by piece, as it may not leave as fast as it can."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StoredObject:
    """What the service says it has now."""

    etag: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class ObjectHead:
    """An object as its head tells it."""

    path: ObjectPath
    size_bytes: int
    etag: str
    modified: datetime | None = None
    version: str = ""
    storage_class: str = ""
    content_type: str = ""
    is_encrypted: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    web_headers: Mapping[str, str] = field(default_factory=dict)
    """What a browser is told along with the content: how long to keep it, under which name to save it."""


@dataclass(frozen=True, slots=True)
class Part:
    number: int
    size_bytes: int
    etag: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """An upload somebody began and did not finish."""

    path: ObjectPath
    upload_id: str
    begun: datetime | None = None


@dataclass(frozen=True, slots=True)
class ListingPage:
    rows: list[ObjectRow]
    folders: list[str]
    next_marker: str  # empty: this was the last


@dataclass(frozen=True, slots=True)
class NotRemoved:
    key: str
    code: str
    message: Text | str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One of the states a key had; a marker says that it was deleted then."""

    key: str
    id: str
    is_latest: bool
    is_marker: bool
    size_bytes: int = 0
    modified: datetime | None = None
    etag: str = ""
    storage_class: str = ""


@dataclass(frozen=True, slots=True)
class VersionPage:
    rows: list[Version]
    next_key: str  # empty: this was the last
    next_version: str


class DataPlane(Protocol):
    """Every method raises AppError, tries again where that is safe, and ends at once when cancelled."""

    async def put(
        self,
        target: ObjectPath,
        body: Body,
        *,
        metadata: Mapping[str, str] | None = None,
        counted: Counted | None = None,
        content_type: str = "",
        web_headers: Mapping[str, str] | None = None,
        storage_class: str = "",
        if_match: str = "",
    ) -> StoredObject:
        """When it returns the service has confirmed size and MD5.

        Without `content_type` it follows from the name. Conflict: it is not as in `if_match` any more; not every
        service looks at that.
        """

    async def get(
        self,
        source: ObjectPath,
        sink: Sink,
        *,
        offset: int = 0,
        length: int | None = None,
        if_match: str = "",
        version: str = "",
    ) -> ObjectHead:
        """Feed `sink` with the bytes asked for, in order and once; tried again only before the first of them."""

    async def head(self, path: ObjectPath, version: str = "") -> ObjectHead | None: ...

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage: ...

    async def begin_upload(self, target: ObjectPath, metadata: Mapping[str, str] | None = None) -> str:
        """The upload's id; NotOffered: this service takes files in one piece only."""

    async def put_part(
        self, target: ObjectPath, upload_id: str, number: int, body: Body, counted: Counted | None = None
    ) -> Part: ...

    async def copy_part(
        self,
        source: ObjectPath,
        target: ObjectPath,
        upload_id: str,
        number: int,
        offset: int,
        length: int,
        if_match: str,
    ) -> Part: ...

    async def parts(self, target: ObjectPath, upload_id: str) -> list[Part] | None:
        """None: the service does not know this upload."""

    async def finish_upload(self, target: ObjectPath, upload_id: str, parts: Sequence[Part]) -> StoredObject:
        """A lost answer is looked up, not taken for a failure."""

    async def abort_upload(self, target: ObjectPath, upload_id: str) -> None:
        """One that is gone already is no error."""

    def fragments(self, bucket: str, prefix: str = "") -> AsyncIterator[list[Fragment]]: ...

    async def copy(
        self, source: ObjectPath, target: ObjectPath, *, metadata: Mapping[str, str] | None = None, if_match: str = ""
    ) -> StoredObject:
        """Within the service; without `metadata` the target keeps the source's."""

    async def remove(self, bucket: str, keys: Sequence[str]) -> list[NotRemoved]:
        """Any number of keys; the answer names those still there."""

    async def keeps_versions(self, bucket: str) -> bool:
        """Whether what is removed now can be restored."""

    async def versions(
        self, bucket: str, prefix: str = "", *, after: str = "", after_version: str = "", most: int = 1000
    ) -> VersionPage:
        """In the order of keys, the latest of each first."""

    async def remove_versions(self, bucket: str, versions: Mapping[str, str]) -> list[NotRemoved]:
        """One version of each of these keys, for good."""

    async def close(self) -> None: ...


OpenPlane = Callable[[str], Awaitable[DataPlane]]
"""The way to a profile's storage as it is now; asked again when keys or addresses may have changed."""
