"""A data plane that counts what is read through it, and one with objects far larger than any disk."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from traindeck.domain.errors import Conflict
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.storage.data_ports import ObjectHead, Sink
from traindeck.services.storage.wire.data_plane import DataPlane

Result = TypeVar("Result")


class CountedPlane:
    """`plane` with a note of every range that is asked for, and a word after each."""

    def __init__(self, plane: Any) -> None:
        self._plane = plane
        self.ranges: list[tuple[int, int | None]] = []
        self.read_bytes = 0
        self.after_get: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plane, name)

    async def get(self, source: ObjectPath, sink: Sink, **more: Any) -> ObjectHead:
        self.ranges.append((more.get("offset", 0), more.get("length")))

        def count(piece: bytes) -> Awaitable[None] | None:
            self.read_bytes += len(piece)
            return sink(piece)

        found: ObjectHead = await self._plane.get(source, count, **more)
        if self.after_get is not None:
            await self.after_get()
        return found


class SparsePlane:
    """Objects of zeros, but for some pieces; `etag` is for the test to change."""

    def __init__(self, size_bytes: int, pieces: Mapping[int, bytes]) -> None:
        self.size_bytes = size_bytes
        self.pieces = pieces
        self.etag = "etag-1"

    async def head(self, path: ObjectPath, version: str = "") -> ObjectHead | None:
        return ObjectHead(path, self.size_bytes, self.etag)

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
        if if_match != self.etag:
            raise Conflict(text("It was changed."), text("Look at it again."))
        assert length is not None
        content = bytearray(length)
        for start, piece in self.pieces.items():
            first, last = max(start, offset), min(start + len(piece), offset + length)
            if first < last:
                content[first - offset : last - offset] = piece[first - start : last - start]
        waiting = sink(bytes(content))
        if inspect.isawaitable(waiting):
            await waiting
        return ObjectHead(source, self.size_bytes, self.etag)


class _Here:
    """Work with a plane on the loop of the test."""

    def __init__(self, plane: Any) -> None:
        self.plane = plane

    async def run(self, profile: str, work: Callable[[DataPlane], Awaitable[Result]]) -> Result:
        return await work(self.plane)


def here(plane: Any) -> Any:
    """Takes the place of the planes of all accounts."""
    return _Here(plane)
