"""What is told of a packing beside its archives: where every file stands, and how many there are of what."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from traindeck.domain.transfers.orders import is_remote
from traindeck.domain.transfers.packing import (
    INDEX_NAME,
    SUMMARY_NAME,
    SUMMARY_VERSION,
    ShardLayout,
    index_line,
    names_of,
    read,
    shard_number,
)
from traindeck.domain.transfers.records import Action, Item, ItemState
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_errors, write_whole
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.bodies import Content
from traindeck.services.transfers.digests import md5
from traindeck.services.transfers.packing.shard_source import Digests
from traindeck.services.transfers.part_files import PartFile

_PAGE = 500
_PIECE_BYTES = 1024 * 1024
_FILE_MODE = 0o644


@dataclass(slots=True)
class _Counted:
    """What was seen of the index while it was hashed."""

    size_bytes: int = 0
    files: int = 0
    content_bytes: int = 0
    shards: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _IndexBody:
    """The index on its way; its lines are made again from the journal, for there may be millions."""

    index: ShardIndex
    size_bytes: int
    md5: bytes
    crc64: int | None = None

    async def pieces(self) -> AsyncIterator[bytes]:
        limit = self.index.active.engine.limit
        async for content in self.index.lines(_Counted()):
            for start in range(0, len(content), _PIECE_BYTES):
                piece = content[start : start + _PIECE_BYTES]
                await limit.take(len(piece))
                yield piece


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """Writes the index, and then the summary: where that is, all of the packing is."""

    active: ActiveTransfer
    item: Item

    async def write(self) -> None:
        counted, digest = _Counted(), md5()
        async for content in self.lines(counted):
            digest.update(content)
            counted.size_bytes += len(content)
        body = _IndexBody(self, counted.size_bytes, digest.digest())
        if is_remote(self.active.record.order.target):
            await self._send(body, counted)
        else:
            await self._keep(body, counted)
        self.active.ended(replace(self.item, size_bytes=counted.size_bytes), ItemState.DONE, is_verified=True)

    async def lines(self, counted: _Counted) -> AsyncIterator[bytes]:
        """The lines of one shard after the other."""
        active, after = self.active, ""
        await active.engine.ledger.flush()
        while items := await active.engine.journal.items(active.id, [ItemState.DONE], after=after, most=_PAGE):
            after = items[-1].key
            for item in items:
                if item.action is Action.MOVE and shard_number(item.name) is not None:
                    yield await self._lines_of(item, counted)

    async def _lines_of(self, item: Item, counted: _Counted) -> bytes:
        members, known = await self.active.engine.journal.shard(self.active.id, item.key)
        digests = Digests.read(known)
        if digests is None:
            raise ValueError(f"{item.key} was sent without being hashed")

        def made() -> tuple[bytes, int, int, str]:
            layout, found, size = ShardLayout(read(members)), [], 0
            for number, content in enumerate(digests.members):
                if not layout.members[number].is_folder:
                    found.append(index_line(item.name, layout, number, content))
                    size += layout.members[number].size_bytes
            return "".join(found).encode(), len(found), size, md5(names_of(layout.members)).hexdigest()

        lines, files, size, names = await self.active.engine.disk.run(lambda _: made())
        counted.files += files
        counted.content_bytes += size
        shard: dict[str, object] = {"name": item.name, "size": item.size_bytes, "files": files, "names": names}
        counted.shards.append(shard | ({"md5": digests.whole_md5} if digests.whole_md5 else {}))
        return lines

    async def _send(self, body: _IndexBody, counted: _Counted) -> None:
        active, plane = self.active, await self.active.plane()
        await plane.put(active.remote(self.item), body)
        summary = _summary(counted, body)
        path = active.record.order.remote_target.as_folder().join(SUMMARY_NAME)
        await plane.put(path, Content(summary, md5(summary).digest(), active.engine.limit))

    async def _keep(self, body: _IndexBody, counted: _Counted) -> None:
        disk, folder = self.active.engine.disk, Path(self.active.record.order.target)
        part = await disk.run(lambda _: PartFile(folder / INDEX_NAME))

        def finish() -> None:
            part.finish()
            with local_errors(folder):
                write_whole(folder / SUMMARY_NAME, _summary(counted, body), _FILE_MODE)

        try:
            async for content in self.lines(_Counted()):
                await disk.run(partial(_append, part, content))
            await disk.run(lambda _: finish())
        finally:
            await disk.run(lambda _: part.drop())


def _append(part: PartFile, content: bytes, _: CancelToken) -> None:
    part.write(content)


def _summary(counted: _Counted, body: _IndexBody) -> bytes:
    content = {
        "version": SUMMARY_VERSION,
        "files": counted.files,
        "bytes": counted.content_bytes,
        "index": {"name": INDEX_NAME, "size": body.size_bytes, "md5": body.md5.hex()},
        "shards": counted.shards,
    }
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
