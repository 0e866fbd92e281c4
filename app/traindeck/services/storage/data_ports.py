"""What a data plane is given and what it gives: bodies, heads, pages, parts, versions."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from io import FileIO
from typing import Protocol

from traindeck.domain.storage.objects import ObjectPath, ObjectRow, ObjectVersion
from traindeck.domain.texts import Text

Counted = Callable[[int], None]
"""Called on the data plane's loop with the bytes that just left or came; negative when they have to move again."""

Sink = Callable[[bytes], Awaitable[None] | None]
"""Takes the next piece of a download; when it waits, so does the sender."""


class Basin:
    """A sink that names the memory it wants the bytes in, so that they come there without a detour."""

    __slots__ = ()

    def __call__(self, piece: bytes) -> Awaitable[None] | None:
        """What came before anybody could ask for its place."""
        raise NotImplementedError

    def room(self) -> memoryview:
        """For what comes next."""
        raise NotImplementedError

    def came(self, size_bytes: int) -> bool:
        """So much is there; True: `empty` has to be awaited before there is room again."""
        raise NotImplementedError

    async def empty(self) -> None:
        raise NotImplementedError


class Body(Protocol):
    """What is sent: its size and a checksum are known before the first byte leaves, and it can be begun again."""

    @property
    def size_bytes(self) -> int: ...

    @property
    def md5(self) -> bytes:
        """Empty where the CRC-64 is sent instead."""

    @property
    def crc64(self) -> int | None: ...

    def pieces(self) -> AsyncIterator[bytes | memoryview]:
        """From the beginning, each time it is called; raises when the source is no longer what it was."""


class BytesBody:
    """What is sent is in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size_bytes = len(content)
        self.md5 = hashlib.md5(content, usedforsecurity=False).digest()
        self.crc64: int | None = None

    async def pieces(self) -> AsyncIterator[bytes]:
        if self._content:
            yield self._content


class InMemory:
    """A body that can be given at once: it leaves with the head of its request."""

    __slots__ = ()

    @property
    def at_once(self) -> bytes | None:
        """None: piece by piece, as it may not leave as fast as it can."""
        raise NotImplementedError


class InFile:
    """A body that is a stretch of a file: where the line allows, it leaves without passing through our memory."""

    __slots__ = ()
    offset: int
    size_bytes: int

    async def opened(self) -> FileIO | None:
        """The file, checked; None: piece by piece, as it may not leave as fast as it can."""
        raise NotImplementedError

    def check(self, file: FileIO) -> None:
        """Raises when it is no longer what it was."""
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
    crc64: int | None = None
    """Of the whole content, where the service keeps it."""
    web_headers: Mapping[str, str] = field(default_factory=dict)
    """What a browser is told along with the content: how long to keep it, under which name to save it."""


@dataclass(frozen=True, slots=True)
class Part:
    number: int
    size_bytes: int
    etag: str
    crc64: int | None = None  # as the service told it


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
class VersionPage:
    rows: list[ObjectVersion]
    next_key: str  # empty: this was the last
    next_version: str
