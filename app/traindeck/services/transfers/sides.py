"""What stands on both sides of an order, name by name, without holding either: of a file, a folder, or chosen names."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

from traindeck.domain.errors import AccessRefused, AppError, InvalidInput, NotFound, Unexpected
from traindeck.domain.storage.objects import ObjectPath, ObjectRow
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import HERE, LocalNames, System, name_before, plain_place
from traindeck.domain.transfers.object_limits import refusal
from traindeck.domain.transfers.orders import LINK_ENDING, Kind, Links, Order
from traindeck.domain.transfers.records import Item, ItemState
from traindeck.domain.transfers.sync_rules import IgnoreRules, Pair, paired
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import file_stamp, local_errors
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.storage.listing import nothing_there, pages_ahead
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.among import objects_among
from traindeck.services.transfers.changed_names import ChangedNames
from traindeck.services.transfers.ignore_files import lines_there, rules_of
from traindeck.services.transfers.local_tree import LocalEntry, LocalTree, kept_link

_BATCH = 1000


@dataclass(slots=True)
class NamedRow:
    """An object by its name below the folder that is listed."""

    name: str
    row: ObjectRow


LocalPair = Pair[LocalEntry, NamedRow]
RemotePair = Pair[NamedRow, NamedRow]
KeyOf = Callable[[str], str]
"""From the name of a file to the key of its object."""
Placed = tuple[ObjectRow, str]
"""An object and where it stands below the target; a marker of a folder ends with a slash."""
_Walked = list[tuple[LocalEntry, str]]
"""Entries named from the source on, each with the key of its object."""
_Piece = tuple[str, str]


class Sides:
    """Each way through them raises AppError when there is nothing to begin with, and sets the root of its names."""

    def __init__(self, order: Order, plane: DataPlane, disk: BlockingCalls) -> None:
        self._order = order
        self._rules = order.rules
        self._plane = plane
        self._disk = disk
        self._chosen = sorted(order.rules.chosen, key=lambda piece: piece[1])
        self._ignored = IgnoreRules(order.rules.ignore, order.rules.filters)
        self._left_links: set[str] = set()
        self.root = ""
        self.has_gaps = False
        # What a folder of this computer should have, after all of it went by: signs are enough, for two that agree
        # spare a file, they never cost one.
        self.seen: set[int] | None = None
        self.system = HERE

    # From here to there

    async def up(self, *, is_compared: bool) -> AsyncGenerator[tuple[list[LocalPair], KeyOf], None]:
        """Files here, with the objects they are to become where those are looked at."""
        source, target = Path(self._order.source), self._order.remote_target
        folder, self.root = target.as_folder(), self._order.source
        keeps_links = self._rules.links is Links.KEEP
        if not self._chosen and await self._disk.run(lambda _: _is_single(source, keeps_links=keeps_links)):
            if self.leaves_out(source.name):
                return
            into = await self._joined(target, source.name) if target.is_folder else target
            entry = await self._disk.run(lambda _: _single(source, keeps_links=keeps_links))
            there = await self._plane.head(ObjectPath(into.bucket, into.key + entry.name)) if is_compared else None
            yield [Pair(entry, _named("", one_row(there) if there else None))], into.key.__add__
            return
        if not is_compared:
            with suppress(AccessRefused):  # one that is missing is told once; keys that may only write cannot look
                await self._plane.page(folder.bucket, folder.key, most=1)
        self.system = await self._disk.run(lambda _: system_beside(source))
        if self._chosen:
            async for walked in self._chosen_here(source, folder):
                rows = await self._beside(folder.bucket, walked) if is_compared else {}
                keys = {entry.name: key for entry, key in walked}
                yield [Pair(entry, _named(entry.name, rows.get(key))) for entry, key in walked], keys.__getitem__
            return
        await self._look_for_rules(source)
        changed = self._changed_names()
        async with aclosing(changed.listed(self._listing(folder) if is_compared else _nothing())) as listing:
            async for pairs in paired(self.local(source), listing):
                await self._look_for_marked(changed, source, [pair.right for pair in pairs if pair.left is None])
                if certain := changed.certain(pairs):
                    yield certain, folder.key.__add__
        if not is_compared and changed.has_entries:
            await self._read_names(changed, source, folder)
        async for pairs, keys in self._settled(changed, source, folder):
            yield [pair for pair in pairs if pair.left or is_compared], keys.__getitem__

    async def _read_names(self, changed: ChangedNames, root: Path, folder: ObjectPath) -> None:
        """Note which names are others here, where nothing is compared."""
        with suppress(AccessRefused):  # keys that may only write
            async with aclosing(changed.listed(self._listing(folder))) as listing:
                async for batch in listing:
                    await self._look_for_marked(changed, root, batch)
                    changed.certain([Pair(None, one) for one in batch])

    async def _look_for_marked(self, changed: ChangedNames, root: Path, rows: Sequence[NamedRow | None]) -> None:
        missing = [one for one in rows if one is not None and not self._ignored.leaves_out_below(one.name)]
        if missing:
            await self._disk.run(lambda _: changed.look_for_marked(root, missing))

    async def _settled(
        self, changed: ChangedNames, root: Path, folder: ObjectPath
    ) -> AsyncIterator[tuple[list[LocalPair], dict[str, str]]]:
        settled = await self._disk.run(lambda _: changed.settled(root, self.leaves_out))
        for start in range(0, len(settled), _BATCH):
            some = settled[start : start + _BATCH]
            keys = {pair.left.name: folder.key + name for pair, name in some if pair.left is not None}
            yield [pair for pair, _ in some], keys

    def _changed_names(self) -> ChangedNames:
        """What a download would call the objects that are not left out."""
        names = LocalNames(self.system)

        def placed(listed: NamedRow) -> str:
            if self._ignored.leaves_out_below(listed.name):
                return ""
            place = self._placed(names, listed)
            return place + LINK_ENDING if self._order.is_of_link(listed.name) else place

        return ChangedNames(placed, self.system)

    async def _joined(self, folder: ObjectPath, name: str) -> ObjectPath:
        """Where one file goes in a folder: to the object that it came from, if its name was changed for this system."""
        into, before = folder.join(name), name_before(name, HERE)
        with suppress(AccessRefused):  # keys that may only write
            if before != name and await self._plane.head(into) is None:
                origin = folder.join(before)
                return origin if await self._plane.head(origin) is not None else into
        return into

    async def local(self, folder: Path, links: Links | None = None) -> AsyncIterator[list[LocalEntry]]:
        """What is in a folder of this computer."""
        walk = LocalTree(folder, self._ignored, links or self._rules.links).entries()
        while entries := await self._disk.run(lambda token: some_entries(walk, token)):
            self.has_gaps |= any(entry.is_gap for entry in entries)
            self._left_links.update(entry.name for entry in entries if entry.is_left_out)
            yield entries

    def leaves_out(self, name: str) -> bool:
        """What is there by this name is left alone, also where it lies in a folder that is, or behind a link."""
        if self._rules.links is Links.KEEP and not self._order.is_within_service:
            name = name.removesuffix(LINK_ENDING)
        if self._left_links:
            parts = name.split("/")
            if any("/".join(parts[:count]) in self._left_links for count in range(1, len(parts))):
                return True
        return self._ignored.leaves_out_below(name)

    async def _chosen_here(self, source: Path, folder: ObjectPath) -> AsyncIterator[_Walked]:
        """What there is of each piece, in the order of the keys; what cannot be looked at says so."""
        for files in _files(self._chosen):
            entries = await self._disk.run(partial(_entries_of, source, files))
            yield [(entry, folder.key + new) for entry, (_, new) in zip(entries, files, strict=True)]
        for old, new in filter(_is_folder, self._chosen):
            into, changed = ObjectPath(folder.bucket, folder.key + new), self._changed_names()
            try:
                async for entries in self.local(source / old):
                    certain = changed.certain([Pair(entry, None) for entry in entries])
                    yield [_below(old, pair.left, into.key + pair.left.name) for pair in certain if pair.left]
            except AppError as error:
                yield [(LocalEntry(old, problem=error, is_gap=True), into.key)]
            if changed.has_entries:
                await self._read_names(changed, source / old, into)
            async for pairs, keys in self._settled(changed, source / old, into):
                yield [_below(old, pair.left, keys[pair.left.name]) for pair in pairs if pair.left]

    async def _beside(self, bucket: str, walked: _Walked) -> dict[str, ObjectRow]:
        """Which of the keys are there; of a large folder only as much is listed as lies between them."""
        keys = [
            key
            for entry, key in walked
            if entry.problem is None and not key.endswith("/") and refusal(key, entry.size_bytes) is None
        ]
        return await objects_among(self._plane, bucket, keys)

    # From there to here

    async def down(self) -> AsyncGenerator[list[Placed] | Item, None]:
        """Objects and where each goes here; an item tells of something chosen of which there is nothing."""
        source, target = self._order.remote_source, Path(self._order.target)
        self.root = self._order.target
        if not self._chosen and not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                if self.leaves_out(source.name):
                    return
                name = source.name.removesuffix(LINK_ENDING) if self._order.is_of_link(source.key) else source.name
                below = target / LocalNames(HERE).place(name)
                into = await self._disk.run(lambda _: below if target.is_dir() else target)
                self.root = str(into)
                yield [(one_row(found), "")]
                return
        self.system = await self._disk.run(lambda _: system_of(target))
        names = LocalNames(self.system)
        if self._chosen:
            async with aclosing(self._chosen_there()) as found_some:
                async for some in found_some:
                    yield some if isinstance(some, Item) else [(one.row, self._placed(names, one)) for one in some]
            return
        seen = set[int]()
        await self._look_for_rules(target, source)
        async with aclosing(self._listing(source.as_folder(), must_be=True)) as listing:
            async for batch in listing:
                wanted = [listed for listed in batch if not self.leaves_out(listed.name)]
                if len(wanted) < len(batch):
                    # The rules may not fit their local names; what they protect stays, whatever it is called here.
                    plain = (plain_place(one.name, self.system) for one in batch if self.leaves_out(one.name))
                    seen.update(map(self.system.sign, plain))
                places = [(listed.row, self._placed(names, listed)) for listed in wanted]
                seen.update(self.system.sign(place) for _, place in places)
                yield places
        self.seen = seen

    def _placed(self, names: LocalNames, listed: NamedRow) -> str:
        """Where an object stands below a folder of this computer; a marker of a folder ends with a slash."""
        if not listed.name.endswith("/"):
            is_link = self._order.is_of_link(listed.name)
            return names.place(listed.name.removesuffix(LINK_ENDING) if is_link else listed.name)
        return names.inside(listed.name) if listed.row.size_bytes else names.place(listed.name) + "/"

    async def _chosen_there(self) -> AsyncGenerator[list[NamedRow] | Item, None]:
        """Objects with the names they get at the target; an item tells of a piece of which there is nothing."""
        source = self._order.remote_source
        for objects in _files(self._chosen):
            rows = await objects_among(self._plane, source.bucket, [source.key + old for old, _ in objects])
            for old, new in objects:
                if source.key + old not in rows:
                    yield _gone(ObjectPath(source.bucket, source.key + old), new)
            yield [NamedRow(new, rows[source.key + old]) for old, new in objects if source.key + old in rows]
        for old, new in filter(_is_folder, self._chosen):
            folder, is_empty = ObjectPath(source.bucket, source.key + old), True
            async with aclosing(self._listing(folder, called=new)) as pages:
                async for page in pages:
                    is_empty = False
                    yield page
            if is_empty:
                yield _gone(folder, new)

    # From there to there

    async def there(self, *, is_compared: bool) -> AsyncGenerator[list[RemotePair], None]:
        """Objects, with those they are to become where these are looked at."""
        source, target = self._order.remote_source, self._order.remote_target
        if not self._chosen and not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                into = target.join(source.name) if target.is_folder else target
                self.root = str(into)
                if self.leaves_out(source.name):
                    return
                right = await self._plane.head(into) if is_compared else None
                yield [Pair(NamedRow("", one_row(found)), _named("", one_row(right) if right else None))]
                return
        target = target.as_folder()
        self.root = str(target)
        if self._chosen:
            is_empty = True
            async with aclosing(self._chosen_there()) as found_some:
                async for some in found_some:
                    if isinstance(some, Item):
                        continue
                    is_empty &= not some
                    rows = await objects_among(self._plane, target.bucket, [target.key + one.name for one in some])
                    yield [Pair(one, _named(one.name, rows.get(target.key + one.name))) for one in some]
            if is_empty:
                raise nothing_there(source)
            return
        source = source.as_folder()
        if self._order.kind is Kind.COPY and source.bucket == target.bucket:
            _refuse_inside(source, target, is_emptied=self._rules.delete)
        await self._look_for_rules(target, source)
        async with (
            aclosing(self._listing(source, must_be=True)) as here,
            aclosing(self._listing(target) if is_compared else _nothing()) as there,
        ):
            async for pairs in paired(here, there):
                yield pairs

    async def _look_for_rules(self, folder: Path | ObjectPath, source: ObjectPath | None = None) -> None:
        """Of both sides: what came down with the files may have been changed here since."""
        rules = self._rules
        if not rules.has_ignore_files:
            return
        lines = await lines_there(self._plane, source) if source is not None else []
        if isinstance(folder, ObjectPath):
            lines += await lines_there(self._plane, folder)
            said = [*lines, *rules.ignore]
            self._ignored = await self._disk.run(lambda _: IgnoreRules(said, rules.filters))
        else:
            place = folder
            self._ignored = await self._disk.run(lambda _: rules_of(place, rules.ignore, rules.filters, before=lines))

    async def _listing(
        self, folder: ObjectPath, *, called: str = "", must_be: bool = False
    ) -> AsyncGenerator[list[NamedRow], None]:
        """All below a folder by their names, which begin with what it is called; its own marker has none."""
        start, last = len(folder.key), ""
        async with aclosing(pages_ahead(self._plane, folder, is_strict=self._rules.delete)) as pages:
            async for rows in pages:
                if self._rules.delete:
                    _check_order([last, *(row.key for row in rows)])
                if rows:
                    last = rows[-1].key
                    yield [NamedRow(called + row.key[start:], row) for row in rows if called or len(row.key) > start]
        if must_be and not last:
            raise nothing_there(folder)


async def _nothing() -> AsyncGenerator[list[NamedRow], None]:
    return
    yield []


def _check_order(keys: Sequence[str]) -> None:
    """What stands on both sides is found by the order of names; without it, it would be removed."""
    for before, key in pairwise(keys):
        if key <= before:
            raise Unexpected(f"{key!a} is listed after {before!a}")


def _refuse_inside(source: ObjectPath, target: ObjectPath, *, is_emptied: bool) -> None:
    inner, outer = target, source
    if is_emptied and not target.key.startswith(source.key):
        # What is to be copied stands only at the target, too.
        inner, outer = source, target
    if inner.key.startswith(outer.key):
        raise InvalidInput(
            text("“{target}” is inside “{source}”.", target=str(inner), source=str(outer)),
            text("Copy into a folder next to it."),
        )


def _named(name: str, row: ObjectRow | None) -> NamedRow | None:
    return None if row is None else NamedRow(name, row)


def _files(chosen: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """All but the folders, some thousand at a time."""
    files = [piece for piece in chosen if not _is_folder(piece)]
    return (files[start : start + _BATCH] for start in range(0, len(files), _BATCH))


def _below(folder: str, entry: LocalEntry, key: str) -> tuple[LocalEntry, str]:
    entry.name = folder + entry.name.lstrip("/")  # a folder that cannot be read is called “/”
    return entry, key


def _is_folder(piece: _Piece) -> bool:
    """Of a whole drive, or bucket, there is nothing to be named."""
    return not piece[0] or piece[0].endswith("/")


def _entries_of(source: Path, files: Sequence[_Piece], _: CancelToken) -> list[LocalEntry]:
    entries: list[LocalEntry] = []
    for name, _new in files:
        try:
            entries.append(_entry_of(source / name, name))
        except AppError as error:
            entries.append(LocalEntry(name, problem=error))
    return entries


def _entry_of(place: Path, name: str = "") -> LocalEntry:
    with local_errors(place):
        found = place.stat()
    return LocalEntry(name, *file_stamp(found), found.st_mode & 0o7777)


def known_entry(place: Path) -> LocalEntry | None:
    """None: what cannot be looked at cannot be equal; writing will say what is wrong."""
    try:
        found = place.stat()
    except OSError:
        return None
    return LocalEntry("", *file_stamp(found))


def _gone(path: ObjectPath, name: str) -> Item:
    return Item(path.key or path.bucket, name, state=ItemState.FAILED, error=nothing_there(path))


def system_of(target: Path) -> System:
    """What names the place of the target can hold: looked at, for any disk can be mounted anywhere."""
    import tempfile  # only a download needs it

    folds = sys.platform in ("win32", "darwin")
    above = next((place for place in (target, *target.absolute().parents) if place.is_dir()), None)
    # A place that cannot be written to is told later, with the file that fails.
    with suppress(OSError), tempfile.NamedTemporaryFile(prefix=".TrainDeck-", dir=above) as probe:
        there = Path(probe.name)
        folds = there.with_name(there.name.swapcase()).exists()
    return replace(HERE, folds_case=folds)


def system_beside(folder: Path) -> System:
    """The same for a folder that is only read: told by how it takes one of its own names."""
    folds = sys.platform in ("win32", "darwin")
    with suppress(OSError), os.scandir(folder) as entries:
        found = next((entry.name for entry in entries if entry.name != entry.name.swapcase()), None)
        if found is not None:
            swapped = folder / found.swapcase()
            folds = os.path.lexists(swapped) and os.path.samestat(swapped.lstat(), (folder / found).lstat())
    return replace(HERE, folds_case=folds)


def some_entries(walk: Iterator[LocalEntry], token: CancelToken) -> list[LocalEntry]:
    token.check()
    with local_errors():
        return list(islice(walk, _BATCH))


def _is_single(source: Path, *, keeps_links: bool) -> bool:
    with local_errors(source):
        if source.is_file() or (keeps_links and source.is_symlink()):
            return True
        if not source.is_dir():
            raise NotFound(
                text("“{place}” does not exist.", place=str(source)),
                text("Check the spelling, and whether the file was moved."),
            )
        return False


def _single(source: Path, *, keeps_links: bool) -> LocalEntry:
    return kept_link(source, LINK_ENDING) if keeps_links and source.is_symlink() else _entry_of(source)


def one_row(found: ObjectHead) -> ObjectRow:
    return ObjectRow(found.path.key, found.size_bytes, found.modified, found.etag, found.storage_class)
