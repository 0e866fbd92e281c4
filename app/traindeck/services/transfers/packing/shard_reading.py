"""The bytes of one archive, read from the files it is made of, here or in a service; no copy is made of it."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict, NotFound, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import LINK_ENDING
from traindeck.domain.transfers.packing import Member, MemberSpan, ShardLayout
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import file_stamp
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.storage.content_check import ContentCheck, checked
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.bodies import (
    READ_ONLY,
    SourceChanged,
    check_same,
    deleted,
    gone,
    looks_same,
    not_read,
    read_exactly,
    still_named,
)
from traindeck.services.transfers.comparing import time_ns_of
from traindeck.services.transfers.digests import damaged, md5
from traindeck.services.transfers.local_tree import kept_link, unreadable

_GETS_AT_ONCE = 24
# Held until what comes before it is there.
_MOST_AHEAD_BYTES = 256 * 1024 * 1024
EMPTY_MD5 = md5().digest()

BlockingSink = Callable[[bytes], object]
"""Is given the bytes in order; blocks."""


class MemberTrouble(Exception):
    """One of the files cannot be read."""

    def __init__(self, number: int, error: AppError) -> None:
        super().__init__(str(error))
        self.number = number
        self.error = error


@dataclass(frozen=True, slots=True)
class FolderReader:
    """Files below a folder of this computer.

    Raises SourceChanged when a file is no longer what the layout says, and MemberTrouble.
    """

    root: str
    disk: BlockingCalls
    keeps_links: bool = False

    async def read(self, layout: ShardLayout, begin: int, end: int) -> bytes:
        return await self.disk.run(lambda token: self._read(layout, begin, end, token))

    async def look(self, members: Sequence[Member]) -> list[Member | AppError]:
        """What the files are like now."""
        return await self.disk.run(lambda token: [self._now(member, token) for member in members])

    def _read(self, layout: ShardLayout, begin: int, end: int, token: CancelToken) -> bytes:
        token.check()
        pieces = layout.pieces(begin, end)
        return b"".join([piece if isinstance(piece, bytes) else self._span(layout, piece) for piece in pieces])

    def _span(self, layout: ShardLayout, span: MemberSpan) -> bytes:
        """Descriptors and names as text: a file object and a Path cost more than a small file."""
        member = layout.members[span.number]
        if self._is_link(member):
            return self._of_link(member, span)
        place = f"{self.root}/{member.path}"
        try:
            descriptor = os.open(place, READ_ONLY)
            try:
                check_same(os.fstat(descriptor), member)
                data = read_exactly(descriptor, span.offset, span.size_bytes)
                check_same(os.fstat(descriptor), member)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise MemberTrouble(span.number, not_read(error, Path(place))) from error
        return data

    def _now(self, member: Member, token: CancelToken) -> Member | AppError:
        token.check()
        if member.is_folder:
            return member
        if self._is_link(member):
            found_link = kept_link(self._link(member), member.path)
            return found_link.problem or Member(
                member.path, found_link.size_bytes, found_link.modified_ns, found_link.inode
            )
        place = f"{self.root}/{member.path}"
        try:
            found = os.stat(place)  # noqa: PTH116
        except OSError as error:
            return not_read(error, Path(place))
        if not stat.S_ISREG(found.st_mode):
            return deleted(Path(place))
        if not os.access(place, os.R_OK):
            return unreadable(place)
        if looks_same(found, member):
            return member
        return Member(member.path, *file_stamp(found))

    def _is_link(self, member: Member) -> bool:
        return self.keeps_links and member.path.endswith(LINK_ENDING)

    def _link(self, member: Member) -> Path:
        return Path(self.root, member.path.removesuffix(LINK_ENDING))

    def _of_link(self, member: Member, span: MemberSpan) -> bytes:
        """Where it leads, which is all there is of it."""
        now = kept_link(self._link(member), member.path)
        if now.problem is not None:
            raise MemberTrouble(span.number, now.problem)
        if (now.size_bytes, now.modified_ns, now.inode) != (member.size_bytes, member.modified_ns, member.inode):
            raise SourceChanged
        return now.link.encode()[span.offset : span.offset + span.size_bytes]


class _InPieces:
    """One object on its way in pieces, in whatever order they come: compared with its ETag as a whole."""

    def __init__(self, found: ObjectHead) -> None:
        self._check = ContentCheck(found)
        self._at = 0
        self._ahead: dict[int, bytes] = {}

    def came(self, offset: int, piece: bytes) -> int:
        """How far all of it is there."""
        if offset >= self._at:
            self._ahead[offset] = piece
        while (following := self._ahead.pop(self._at, None)) is not None:
            self._check.update(following)
            self._at += len(following)
        if sum(map(len, self._ahead.values())) > _MOST_AHEAD_BYTES:
            self._ahead.clear()  # what is missing may have come to an earlier program, or never comes
        return self._at

    def finish(self) -> None:
        self._check.finish()


class BucketReader:
    """Objects below a folder of a service, pinned to what was listed."""

    def __init__(self, folder: ObjectPath, plane: Callable[[], Awaitable[DataPlane]]) -> None:
        self._folder = folder
        self._plane = plane
        self._suspects: set[str] = set()
        self._in_pieces: dict[str, _InPieces] = {}
        self.trouble: AppError | None = None
        """What to say of an object that came otherwise than the service has it, and last did so again."""

    async def read(self, layout: ShardLayout, begin: int, end: int) -> bytes:
        plane, limit = await self._plane(), asyncio.Semaphore(_GETS_AT_ONCE)
        pieces = list(layout.pieces(begin, end))

        async def fetched(span: MemberSpan) -> bytes:
            async with limit:
                return await self._span(plane, layout, span)

        found = iter(await gather_or_raise(fetched(piece) for piece in pieces if isinstance(piece, MemberSpan)))
        return b"".join([piece if isinstance(piece, bytes) else next(found) for piece in pieces])

    async def _span(self, plane: DataPlane, layout: ShardLayout, span: MemberSpan) -> bytes:
        member = layout.members[span.number]
        is_whole = span.size_bytes == member.size_bytes
        found: list[bytes] = []
        try:
            told = await plane.get(
                self._path(member), found.append, offset=span.offset, length=None if is_whole else span.size_bytes,
                if_match=member.etag, listed_bytes=member.size_bytes,
            )  # fmt: skip
        except Conflict as error:
            self._suspects.add(member.path)
            raise SourceChanged from error
        except NotFound as error:
            raise MemberTrouble(span.number, error) from error
        data = b"".join(found)
        if len(data) != span.size_bytes:
            self._suspects.add(member.path)
            raise SourceChanged
        if is_whole:
            return checked(told, data)
        self._compare(told, member, span, data)
        return data

    def _compare(self, told: ObjectHead, member: Member, span: MemberSpan, data: bytes) -> None:
        """Some of it may have been sent already: then all has to be done again."""
        whole = self._in_pieces.setdefault(member.path, _InPieces(told))
        if whole.came(span.offset, data) < member.size_bytes:
            return
        del self._in_pieces[member.path]
        try:
            whole.finish()
        except ServiceTrouble as error:
            self.trouble = damaged(str(self._path(member)))
            raise SourceChanged from error

    async def look(self, members: Sequence[Member]) -> list[Member | AppError]:
        """Only at those of which something else came than was listed; what comes after this comes anew."""
        suspects, self._suspects = self._suspects, set()
        for member in members:
            self._in_pieces.pop(member.path, None)
        return [await self._now(member) if member.path in suspects else member for member in members]

    async def _now(self, member: Member) -> Member | AppError:
        found = await (await self._plane()).head(self._path(member))
        if found is None:
            return gone(self._path(member))
        still_named(found, member.etag)
        return replace(member, size_bytes=found.size_bytes, modified_ns=time_ns_of(found.modified), etag=found.etag)

    def _path(self, member: Member) -> ObjectPath:
        return ObjectPath(self._folder.bucket, self._folder.key + member.path)


Reader = FolderReader | BucketReader


class Digesting:
    """MD5 of a whole archive and of each of its files, while its bytes go by in order."""

    def __init__(self, layout: ShardLayout) -> None:
        self._layout = layout
        self._whole = md5()
        self._current = md5()
        self._at = 0
        self.members = [EMPTY_MD5] * len(layout.members)

    @property
    def whole(self) -> bytes:
        return self._whole.digest()

    def update(self, data: bytes) -> None:
        self._whole.update(data)
        view, at = memoryview(data), self._at
        self._at += len(data)
        for span, start in self._layout.spans(at, self._at):
            if not span.offset:
                self._current = md5()
            self._current.update(view[start - at : start - at + span.size_bytes])
            if span.offset + span.size_bytes == self._layout.members[span.number].size_bytes:
                self.members[span.number] = self._current.digest()
