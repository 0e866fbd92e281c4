"""Previews of objects: the bytes a parser asks for, fetched by range from one state of the object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.objects import ObjectPath
from traindeck.domain.previews import NotShown, Page
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.data_ports import DataPlane, Found
from traindeck.services.previews.recognise import preview_steps
from traindeck.services.previews.steps import Enough, Steps, Want

MOST_BYTES_A_PAGE = 32 << 20
MOST_REQUESTS_A_PAGE = 300
_KEPT = 4
"""Pieces that were fetched and may be asked for again."""

Result = TypeVar("Result")


class OnPlane(Protocol):
    """Where the ways to the accounts' data are."""

    async def run(self, profile: str, work: Callable[[DataPlane], Awaitable[Result]]) -> Result: ...


class ObjectPreview:
    """One object, page by page, pinned to the state it was first seen in; used by one task at a time."""

    def __init__(self, planes: OnPlane, calls: BlockingCalls, profile: str, found: Found) -> None:
        self.found = found
        self._planes = planes
        self._calls = calls
        self._profile = profile
        self._steps: Steps = preview_steps(found.path.name, found.size_bytes)
        self._reply: bytes | None = None
        self._kept: list[tuple[int, bytes]] = []
        self._fetched = self._requests = 0
        self._is_over = False

    async def next_page(self) -> Page | None:
        """None: there is no more."""
        self._fetched = self._requests = 0
        error: Enough | None = None
        while not self._is_over:
            step = await self._calls.run(partial(self._work, error))
            error = None
            if not isinstance(step, Want):
                return step
            if self._fetched >= MOST_BYTES_A_PAGE or self._requests >= MOST_REQUESTS_A_PAGE:
                error = Enough()
            else:
                self._reply = await self._fetched_for(step)
        return None

    def _work(self, error: Enough | None, token: CancelToken) -> Page | Want | None:
        """In a worker: as far as the parser comes with what is here."""
        while True:
            token.check()
            try:
                step = self._step(error)
            except StopIteration:
                self._is_over = True
                return None
            except Enough:
                self._is_over = True
                raise NotShown(
                    text("Too much would have to be read to show this."), text("Download it to look at all of it.")
                ) from None
            except AppError:
                self._is_over = True
                raise
            error = None
            if isinstance(step, Want):
                found = self._at_hand(step)
                if found is None:
                    return step
                self._reply = found
            elif step is None:
                self._reply = b""
            else:
                self._reply = b""
                return step

    def _step(self, error: Enough | None) -> Page | Want | None:
        if error is not None:
            return self._steps.throw(error)
        reply, self._reply = self._reply, None
        return next(self._steps) if reply is None else self._steps.send(reply)

    def _at_hand(self, want: Want) -> bytes | None:
        length = min(want.length, self.found.size_bytes - want.offset)
        if length <= 0:
            return b""
        for start, content in self._kept:
            if start <= want.offset and want.offset + length <= start + len(content):
                at = want.offset - start
                return content[at : at + length]
        return None

    async def _fetched_for(self, want: Want) -> bytes:
        found = self.found
        length = min(want.length + want.ahead, found.size_bytes - want.offset, MOST_BYTES_A_PAGE)
        self._requests += 1
        self._fetched += length
        content = await fetched(self._planes, self._profile, found, want.offset, length)
        self._kept = [(want.offset, content), *self._kept[: _KEPT - 1]]
        return content[: want.length]


async def open_preview(planes: OnPlane, calls: BlockingCalls, profile: str, path: ObjectPath) -> ObjectPreview:
    return ObjectPreview(planes, calls, profile, await head_of(planes, profile, path))


async def head_of(planes: OnPlane, profile: str, path: ObjectPath) -> Found:
    """How the object is now; NotFound: it is gone."""

    async def look(plane: DataPlane) -> Found | None:
        return await plane.head(path)

    found = await planes.run(profile, look)
    if found is None:
        raise NotFound(text("“{name}” is gone.", name=path.name), text("Refresh the list."))
    return found


async def fetched(planes: OnPlane, profile: str, found: Found, offset: int, length: int) -> bytes:
    """These bytes of the object as it was found; Conflict: it is another one now."""
    pieces: list[bytes] = []

    async def get(plane: DataPlane) -> None:
        await plane.get(found.path, pieces.append, offset=offset, length=length, if_match=found.etag)

    await planes.run(profile, get)
    return b"".join(pieces)
