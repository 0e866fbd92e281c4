"""Previews of objects: the bytes a parser asks for, fetched by range from one state of the object."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.previews import PreviewPage
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.previews.steps import Enough, Steps, Want, too_much
from traindeck.services.storage.data_ports import ObjectHead

if TYPE_CHECKING:
    from traindeck.services.storage.planes import Planes


MOST_BYTES_A_PAGE = 32 << 20
MOST_REQUESTS_A_PAGE = 300
_KEPT = 4
"""Pieces that were fetched and may be asked for again."""


class ObjectPreview:
    """One object, page by page, pinned to the state it was first seen in; used by one task at a time."""

    def __init__(self, planes: Planes, calls: BlockingCalls, profile: str, found: ObjectHead) -> None:
        self.found = found
        self._planes = planes
        self._calls = calls
        self._profile = profile
        self._steps: Steps | None = None
        self._reply: bytes | None = None
        self._kept: list[tuple[int, bytes]] = []
        self._fetched = self._requests = 0
        self._is_over = False

    async def next_page(self) -> PreviewPage | None:
        """None: there is no more."""
        self._fetched = self._requests = 0
        is_enough = False
        while not self._is_over:
            step = await self._calls.run(partial(self._work, is_enough))
            if not isinstance(step, Want):
                return step
            is_enough = self._fetched >= MOST_BYTES_A_PAGE or self._requests >= MOST_REQUESTS_A_PAGE
            if not is_enough:
                self._reply = await self._fetched_for(step)
        return None

    def _work(self, is_enough: bool, token: CancelToken) -> PreviewPage | Want | None:
        """In a worker: as far as the parser comes with what is here."""
        steps = self._steps
        if steps is None:
            from traindeck.services.previews.kinds import preview_steps  # all the parsers, when the first is needed

            steps = self._steps = preview_steps(self.found.path.name, self.found.size_bytes)
        try:
            while True:
                token.check()
                reply, self._reply = self._reply, None
                if is_enough:
                    step = steps.throw(Enough())
                    is_enough = False
                else:
                    step = next(steps) if reply is None else steps.send(reply)
                self._reply = self._at_hand(step) if isinstance(step, Want) else b""
                if self._reply is None or (step is not None and not isinstance(step, Want)):
                    return step
        except StopIteration:
            self._is_over = True
            return None
        except Enough:
            self._is_over = True
            raise too_much(text("Showing this would require reading too much data.")) from None
        except AppError:
            self._is_over = True
            raise

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


async def open_preview(planes: Planes, calls: BlockingCalls, profile: str, path: ObjectPath) -> ObjectPreview:
    return ObjectPreview(planes, calls, profile, await head_of(planes, profile, path))


async def head_of(planes: Planes, profile: str, path: ObjectPath) -> ObjectHead:
    """How the object is now; NotFound: it is gone."""
    found = await planes.run(profile, lambda plane: plane.head(path))
    if found is None:
        raise NotFound(text("“{name}” no longer exists.", name=path.name), text("Refresh the list."))
    return found


async def fetched(planes: Planes, profile: str, found: ObjectHead, offset: int, length: int) -> bytes:
    """These bytes of the object as it was found; Conflict: it is another one now."""
    pieces: list[bytes] = []
    await planes.run(
        profile,
        lambda plane: plane.get(found.path, pieces.append, offset=offset, length=length, if_match=found.etag),
    )
    return b"".join(pieces)
