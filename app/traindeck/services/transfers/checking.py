"""Looks whether a file is what the service has; nothing moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict, LocalTrouble, NotFound
from traindeck.domain.storage.objects import ObjectPath, ObjectRow
from traindeck.domain.texts import text
from traindeck.domain.transfers.object_limits import SINGLE_PUT_BYTES
from traindeck.domain.transfers.records import Item, ItemState, is_plain_md5
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_error
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.bodies import batches
from traindeck.services.transfers.comparing import Match, item_of, matched, says_all, whole_md5
from traindeck.services.transfers.digests import file_digests
from traindeck.services.transfers.local_tree import LocalEntry, kept_link
from traindeck.services.transfers.orphans import target_of
from traindeck.services.transfers.planning import Planner, is_kept_as, shown_item, upload_item
from traindeck.services.transfers.ready import Unit
from traindeck.services.transfers.sides import KeyOf, LocalPair, NamedRow, Placed, RemotePair, known_entry

# What is read in one go by one worker.
_TOGETHER_FILES = 64
_TOGETHER_BYTES = 16 * 1024 * 1024
_LOOK_WHICH = text("Check which one is correct, and transfer it again.")


@dataclass(slots=True)
class Checks:
    """Makes units out of the pairs of one check; a request is made only where the listing does not tell."""

    active: ActiveTransfer

    async def feed(self, items: Sequence[Item]) -> None:
        active = self.active
        plain: list[Item] = []
        for item in items:
            if active.record.order.is_within_service:
                active.add(Unit(item, partial(self._look_there, item)))
            elif not is_plain_md5(item.etag) or item.size_bytes > SINGLE_PUT_BYTES:
                # Its head tells, and where that has a CRC-64, a large file is read in a thirtieth of the time.
                active.add(Unit(item, partial(self._look, item)))
            else:
                plain.append(item)
        for batch in batches(plain, _TOGETHER_FILES, _TOGETHER_BYTES):
            active.add(Unit(batch[0], partial(self._read, batch), others=batch[1:]))
        await active.room()

    async def _read(self, items: Sequence[Item]) -> None:
        active = self.active
        places = [active.place(item) for item in items]
        answers = await active.engine.disk.run(lambda token: [_md5_of(place, token) for place in places])
        for item, answer in zip(items, answers, strict=True):
            if isinstance(answer, AppError):
                self._not_read(item, answer)
            elif answer == item.etag:
                self._ended(item, ItemState.DONE)
            else:
                # With encryption an ETag only looks like an MD5.
                active.add(Unit(item, partial(self._look, item)))

    async def _look(self, item: Item) -> None:
        active, place = self.active, self.active.place(item)
        found = await (await active.plane()).head(active.remote(item))
        if found is None:
            self._ended(item, ItemState.MISSING_THERE)
        elif found.is_encrypted and found.crc64 is None:
            self._ended(item, ItemState.UNKNOWN, _encrypted())
        else:
            try:
                match = await matched(await active.plane(), active.engine.disk, place, found)
            except (LocalTrouble, NotFound) as error:
                self._not_read(item, error)
            else:
                self._tell(item, match)

    async def _look_there(self, item: Item) -> None:
        active = self.active
        plane = await active.plane()
        one, other = await plane.head(active.remote(item)), await plane.head(target_of(active, item))
        if one is None or other is None:
            self._ended(item, ItemState.MISSING_THERE if other is None else ItemState.MISSING_HERE)
        elif one.size_bytes != other.size_bytes:
            self._tell(item, Match.NO)
        elif one.crc64 is not None and other.crc64 is not None:
            self._tell(item, Match.YES if one.crc64 == other.crc64 else Match.NO)
        elif one.is_encrypted or other.is_encrypted:
            self._ended(item, ItemState.UNKNOWN, _encrypted())
        elif one.etag and one.etag == other.etag:
            self._tell(item, Match.YES)
        else:
            signs = whole_md5(one), whole_md5(other)
            if all(signs):
                self._tell(item, _match_of_two(one, other))
            else:
                self._ended(item, ItemState.UNKNOWN, _cut_otherwise())

    def _not_read(self, item: Item, error: AppError) -> None:
        if isinstance(error, NotFound):
            self._ended(item, ItemState.MISSING_HERE)
        else:
            self.active.failed(item, error)

    def _tell(self, item: Item, match: Match) -> None:
        state, error = ItemState.DIFFERENT, Conflict(text("The contents differ."), _LOOK_WHICH)
        if match is Match.YES:
            self._ended(item, ItemState.DONE)
            return
        if match is Match.UNKNOWN:
            state = ItemState.UNKNOWN
            error = Conflict(
                text("It was uploaded in parts of an unknown size, without a stored MD5."),
                text("Download it to compare the contents."),
            )
        elif match is Match.NOT_AS_NOTED:
            error = Conflict(
                text("The contents differ, or the information stored with the object is wrong."),
                text("Download it to compare the contents."),
            )
        self._ended(item, state, error)

    def _ended(self, item: Item, state: ItemState, error: AppError | None = None) -> None:
        self.active.count(item.size_bytes)
        self.active.ended(item, state, error, is_verified=state is ItemState.DONE)
        self.active.went_well()


def _md5_of(place: Path, token: CancelToken) -> str | AppError:
    try:
        return file_digests(place, token)[0]
    except OSError as error:
        return local_error(error, place)


def _match_of_two(one: ObjectHead, other: ObjectHead) -> Match:
    if whole_md5(one) == whole_md5(other):
        return Match.YES
    return Match.NO if says_all(one) and says_all(other) else Match.NOT_AS_NOTED


def _cut_otherwise() -> AppError:
    return Conflict(
        text("They were uploaded in different parts, without a stored MD5 of the whole."),
        text("Compare each with the file on this computer, or download it."),
    )


def _encrypted() -> AppError:
    return Conflict(
        text("The service encrypts it and does not report its MD5."),
        text("Download it to compare the contents."),
    )


class CheckPlanner(Planner):
    """What the names and sizes tell is decided here; the rest is queued."""

    async def _uploads(self, pairs: Sequence[LocalPair], key_of: KeyOf) -> list[Item]:
        items: list[Item] = []
        for entry, listed in ((pair.left, pair.right) for pair in pairs):
            if entry is None:
                items += self._only_there(listed) if listed else []
            elif entry.problem is not None or not entry.name.endswith("/"):
                item = upload_item(key_of(entry.name), entry, is_there=listed is not None)
                row = listed.row if listed else None
                if item.error is None:
                    item = _compared_link(item, entry, row) if entry.link else _compared(item, row)
                items.append(item)
        return items

    def _only_there(self, listed: NamedRow) -> list[Item]:
        """The markers of folders are left alone, and names that are ignored."""
        name, row = listed.name, listed.row
        if not self._looks_both_ways or (name.endswith("/") and not row.size_bytes):
            return []
        if self._sides.leaves_out(name):
            return []
        return [replace(item_of(row, name), state=ItemState.MISSING_HERE)]

    async def _downloads(self, placed: Sequence[Placed]) -> list[Item]:
        target = Path(self._sides.root)
        places = [one for one in placed if not one[1].endswith("/")]
        files = [target / name if name else target for _, name in places]
        entries = await self._disk.run(lambda _: [known_entry(file) for file in files])
        items: list[Item] = []
        for (row, name), entry in zip(places, entries, strict=True):
            item = item_of(row, name)
            if self._order.is_of_link(row.key):
                here = await self._disk.run(partial(_link_here, target / name if name else target))
                items.append(_compared_link(item, here, row) if here else replace(item, state=ItemState.MISSING_HERE))
            elif entry is None:
                items.append(replace(item, state=ItemState.MISSING_HERE))
            else:
                items.append(_compared(replace(item, size_bytes=entry.size_bytes), row))
        return items

    def _only_here(self, entry: LocalEntry, item: Item) -> Item | None:
        """No object is called as this file of the target is."""
        return shown_item(replace(item, state=ItemState.MISSING_THERE))

    def _copies(self, pairs: Sequence[RemotePair]) -> list[Item]:
        target = self._order.remote_target
        items: list[Item] = []
        for left, right in ((pair.left, pair.right) for pair in pairs):
            if left is None:
                # The key of an item is that of its source, and another object of the source may be called so.
                for item in self._only_there(right) if right else []:
                    items.append(replace(item, key=str(ObjectPath(target.bucket, item.key))))
            elif not (_is_marker(left) or self._sides.leaves_out(left.name)):
                row = left.row
                item = item_of(row, left.name)
                item = _compared(item, right.row if right else None)
                is_same = right is not None and bool(row.etag) and row.etag == right.row.etag
                is_done = is_same and item.state is ItemState.QUEUED
                items.append(replace(item, state=ItemState.DONE, is_verified=True) if is_done else item)
        return items


def _link_here(place: Path, _: CancelToken) -> LocalEntry | None:
    return kept_link(place, "") if place.is_symlink() else None


def _compared_link(item: Item, entry: LocalEntry, row: ObjectRow | None) -> Item:
    """All there is to know of a link is known without reading what it leads to."""
    if row is None:
        return replace(item, state=ItemState.MISSING_THERE)
    if is_kept_as(entry, row):
        return replace(item, state=ItemState.DONE, is_verified=True)
    return replace(item, state=ItemState.DIFFERENT, error=Conflict(text("The contents differ."), _LOOK_WHICH))


def _is_marker(listed: NamedRow) -> bool:
    return listed.name.endswith("/") and not listed.row.size_bytes


def _compared(item: Item, row: ObjectRow | None) -> Item:
    """`item` is of the source, or of the file where that is the target."""
    if row is None:
        return replace(item, state=ItemState.MISSING_THERE)
    item = replace(item, etag=row.etag)
    if item.size_bytes != row.size_bytes:
        error = Conflict(
            text("The sizes differ: {one} and {other} bytes.", one=f"{item.size_bytes:,}", other=f"{row.size_bytes:,}"),
            _LOOK_WHICH,
        )
        return replace(item, state=ItemState.DIFFERENT, error=error)
    if not item.size_bytes:
        return replace(item, state=ItemState.DONE, is_verified=True)
    return item
