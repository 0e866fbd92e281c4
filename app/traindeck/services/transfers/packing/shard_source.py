"""One archive that is made while it is sent, as whoever sends it wants to know it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from traindeck.domain.errors import AppError, LocalTrouble, NotFound
from traindeck.domain.storage.objects import MD5_NAME, MEMBERS_NAME
from traindeck.domain.texts import text
from traindeck.domain.transfers.object_limits import SINGLE_PUT_BYTES
from traindeck.domain.transfers.packing import Member, ShardLayout, read, written
from traindeck.domain.transfers.records import PROBLEM_SCHEME, Item, ItemState, is_plain_md5
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.storage.data_ports import Body, Counted, ObjectHead
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.bodies import IN_MEMORY_BYTES, Content, SourceChanged, Streamed
from traindeck.services.transfers.digests import Checksum, md5
from traindeck.services.transfers.packing.shard_reading import (
    BlockingSink,
    BucketReader,
    Digesting,
    MemberTrouble,
    Reader,
)
from traindeck.services.transfers.parts import until_still

_STEP_BYTES = 4 * 1024 * 1024
_DIGEST = 16
_UNKNOWN = bytes(_DIGEST)


@dataclass(frozen=True, slots=True)
class Digests:
    """MD5 of each file, and of all of the archive where that is known."""

    whole: bytes
    members: tuple[bytes, ...]

    def written(self) -> bytes:
        return self.whole + b"".join(self.members)

    @classmethod
    def read(cls, content: bytes) -> Digests | None:
        if not content:
            return None
        found = [content[at : at + _DIGEST] for at in range(0, len(content), _DIGEST)]
        return cls(found[0], tuple(found[1:]))

    @property
    def whole_md5(self) -> str:
        return "" if self.whole == _UNKNOWN else self.whole.hex()


@dataclass(slots=True)
class ShardSource:
    """What the journal knows of one archive, and the files behind it."""

    active: ActiveTransfer
    reader: Reader
    layout: ShardLayout
    digests: Digests | None
    lost: dict[str, AppError] = field(default_factory=dict)

    @classmethod
    async def of(cls, active: ActiveTransfer, item: Item, reader: Reader) -> ShardSource:
        members, digests = await active.engine.journal.shard(active.id, item.key)
        layout = await active.engine.disk.run(lambda _: ShardLayout(read(members)))
        return cls(active, reader, layout, Digests.read(digests))

    async def look(self, item: Item) -> Item:
        """The files as they are now, hashed; what they are is in the journal when it returns."""
        now = item

        async def attempt() -> None:
            nonlocal now
            now = await self.laid_out(item)
            if self.digests is None:
                await self.hash(now)

        await until_still(self, item, attempt)
        return now

    async def has_changed(self, item: Item) -> bool:
        before = self.layout.members
        found = zip(before, await self.reader.look(before), strict=True)
        return any(now != member and not isinstance(now, NotFound) for member, now in found)

    def may_be_there(self, item: Item) -> bool:
        return True  # what an earlier packing of the same files has sent

    async def laid_out(self, item: Item) -> Item:
        """The archive that can be made of the files as they are now."""
        before = self.layout.members
        members = await self._readable(await self.reader.look(before))
        if members != before:
            self.layout = await self.active.engine.disk.run(lambda _: ShardLayout(members))
            self.digests = None
        content = await self.active.engine.disk.run(lambda _: written(self.layout.members))
        if self.digests is None:
            await self.active.engine.journal.keep_shard(self.active.id, item.key, content)
        return replace(item, size_bytes=self.layout.size_bytes, modified_ns=0, inode=fingerprint(content))

    async def _readable(self, found: list[Member | AppError]) -> list[Member]:
        skips, members = self.active.record.order.rules.skip_unreadable, list[Member]()
        left_out: list[Item] = []
        for before, now in zip(self.layout.members, found, strict=True):
            problem = now if isinstance(now, AppError) else self.lost.get(before.path)
            if problem is None and isinstance(now, Member):
                members.append(now)
            elif problem is not None:
                if not skips:
                    raise problem
                key = PROBLEM_SCHEME + before.path
                left_out.append(Item(key, before.path, before.size_bytes, state=ItemState.SKIPPED, error=problem))
        if left_out:
            await self.active.engine.journal.plan(self.active.id, left_out)
        return members

    async def hash(self, item: Item, sink: BlockingSink | None = None, counted: Counted | None = None) -> None:
        """Learn the digests; `sink` takes the bytes as they go by, in a worker, and `counted` how many."""
        etags = [member.etag for member in self.layout.members]
        if sink is None and all(is_plain_md5(etag) for etag in etags):
            # The service has hashed each of them already.
            self.digests = Digests(_UNKNOWN, tuple(bytes.fromhex(etag) for etag in etags))
        else:
            self.digests = await self._hashed(sink, counted)
        await self.active.engine.journal.keep_digests(self.active.id, item.key, self.digests.written())

    async def _hashed(self, sink: BlockingSink | None, counted: Counted | None) -> Digests:
        digesting, size = Digesting(self.layout), self.layout.size_bytes

        def take(data: bytes) -> None:
            digesting.update(data)
            if sink is not None:
                sink(data)

        data = await self.read(0, min(size, _STEP_BYTES))
        for begin in range(_STEP_BYTES, size + _STEP_BYTES, _STEP_BYTES):
            if counted is not None:
                await self.active.engine.limit.take(len(data))
                counted(len(data))
            # The next is read while this one is hashed; past the end there is nothing to read.
            following = self.read(begin, min(size, begin + _STEP_BYTES))
            taken = self.active.engine.disk.run(partial(_take, take, data))
            data, _ = await gather_or_raise([following, taken])
        return Digests(digesting.whole, tuple(digesting.members))

    async def read(self, begin: int, end: int) -> bytes:
        try:
            return await self.reader.read(self.layout, begin, end)
        except MemberTrouble as trouble:
            if not self.active.record.order.rules.skip_unreadable:
                raise trouble.error from trouble
            self.lost[self.layout.members[trouble.number].path] = trouble.error
            raise SourceChanged from trouble

    async def body(self, item: Item, offset: int, size: int, *, by_crc64: bool = False) -> Body:
        limit, checksum = self.active.engine.limit, Checksum(by_crc64=by_crc64)
        if size <= self.most_in_memory:
            data = await self.read(offset, offset + size)
            await self.active.engine.disk.run(lambda _: checksum.update(data))
            return Content(data, checksum.md5, limit, checksum.crc64)
        is_whole = size == self.layout.size_bytes and self.digests is not None and self.digests.whole != _UNKNOWN
        if is_whole and self.digests is not None:
            return Streamed(self.read, offset, size, self.digests.whole, limit)
        for begin in range(offset, offset + size, _STEP_BYTES):
            data = await self.read(begin, min(offset + size, begin + _STEP_BYTES))
            await self.active.engine.disk.run(partial(_take, checksum.update, data))
        return Streamed(self.read, offset, size, checksum.md5, limit, checksum.crc64)

    @property
    def most_in_memory(self) -> int:
        """What comes over a line is kept rather than fetched twice."""
        return SINGLE_PUT_BYTES if isinstance(self.reader, BucketReader) else IN_MEMORY_BYTES

    async def is_otherwise(self, item: Item, body: Body, offset: int) -> bool:
        return False  # each is hashed right before it is sent

    async def metadata(self, item: Item, part_bytes: int = 0) -> dict[str, str]:
        known = {MEMBERS_NAME: await self.members_md5()}
        if self.digests is not None and self.digests.whole_md5:
            known[MD5_NAME] = self.digests.whole_md5
        return known

    async def is_in(self, item: Item, found: ObjectHead) -> bool:
        if found.size_bytes != self.layout.size_bytes or MEMBERS_NAME not in found.metadata:
            return False
        return found.metadata[MEMBERS_NAME] == await self.members_md5()

    async def members_md5(self) -> str:
        """Of all that decides what the archive is."""
        members, digests = self.layout.members, self.digests.members if self.digests else ()

        def made() -> str:
            digest = md5()
            for member, content in zip(members, digests, strict=True):
                digest.update(f"{member.path}\0{member.size_bytes}\0{member.modified_s}\0".encode() + content)
            return digest.hexdigest()

        return await self.active.engine.disk.run(lambda _: made())

    def keeps_changing(self, item: Item) -> AppError:
        if isinstance(self.reader, BucketReader) and self.reader.trouble is not None:
            return self.reader.trouble
        return LocalTrouble(
            text("Files of {name} keep changing, so it was not created.", name=item.name),
            text("Wait until the program that writes them is done, then try again."),
        )


def _take(take: BlockingSink, data: bytes, _: CancelToken) -> bytes:
    take(data)
    return data


def fingerprint(members: bytes) -> int:
    """Of an archive's list of files, small enough for the journal."""
    return int.from_bytes(md5(members).digest()[:7])
