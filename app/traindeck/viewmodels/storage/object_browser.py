"""One tab over a bucket: where one is, what is listed for it, and how far that has come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from traindeck.domain.errors import AppError, InvalidInput, NoRight, NotFound, Unexpected
from traindeck.domain.storage.objects import Column, Look, ObjectEntry, ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope, Work
from traindeck.services.storage.bucket_listing import BucketListing, ListingProgress
from traindeck.viewmodels.ports import Stateful
from traindeck.viewmodels.storage.browser_rows import BrowserRows
from traindeck.viewmodels.storage.deleting import News, topic_of
from traindeck.viewmodels.storage.places import MissingPlace, missing_place

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connections
    from traindeck.services.storage.bucket_listing import BucketListings
    from traindeck.store.object_index import ObjectIndex

MOST_SWEPT = 2_000_000
"""So many objects are listed without anybody asking for more."""

MakeFolder = Callable[[str, ObjectPath], Awaitable[None]]
"""Puts the empty object that stands for a folder: the account, and the place."""

_COMPLETIONS = 30
_PAGE_ROWS = 1000
_YOUNG, _OLD = timedelta(minutes=1), timedelta(hours=1)
_LARGE_ROWS = 5 * _PAGE_ROWS


@dataclass(frozen=True, slots=True)
class BrowserState:
    """What the tab says beside its rows; what is None is not known."""

    place: ObjectPath
    look: Look
    is_reading: bool = False
    """The level that is seen is on its way."""
    swept: int | None = None
    """So many objects came so far, while everything below is listed."""
    is_cut: bool = False
    """There are more objects than are listed without being asked to."""
    trouble: AppError | None = None
    address_trouble: AppError | None = None
    missing: MissingPlace | None = None
    """What was typed and is not there."""
    busy: Text | None = None
    can_go_back: bool = False
    can_go_forward: bool = False

    @property
    def is_gone(self) -> bool:
        """The bucket does not exist any more: what was listed is nowhere."""
        return isinstance(self.trouble, NotFound)


class ObjectBrowser(Stateful):
    """Where one is in a bucket; `rows` are what is there."""

    moved = Signal()
    """Another place is shown."""
    created = Signal(object)
    """This folder has something new in it; None: there is a new bucket."""
    news = Signal(object)
    """News."""
    completed = Signal(list)
    """What the address that is being typed may become."""

    def __init__(
        self,
        profile: str,
        place: ObjectPath,
        listings: BucketListings,
        connections: Connections,
        calls: BlockingCalls,
        scope: TaskScope,
        name: str,
    ) -> None:
        super().__init__()
        self.profile = profile
        self.rows = BrowserRows(calls, scope, name)
        self.state: BrowserState = BrowserState(place.as_folder(), Look(place.as_folder().key))
        self.bucket_names: Callable[[], Iterable[str]] = tuple
        self.make_folder: MakeFolder = _nowhere
        self._listings = listings
        self._connections = connections
        self._calls = calls
        self._scope = scope
        self._name = name
        self._listing: BucketListing | None = None
        self._trail = [self.state.place]
        self._at = 0
        self._is_watched = True
        self._is_started = False
        self._swept_folder = ""

    def start(self) -> None:
        """Once: it is asked for whenever somebody looks."""
        if not self._is_started:
            self._arrive(self.state.place)

    def close(self) -> None:
        for work in ("show", "read", "sweep", "complete", "resolve", "create", "count", "choose"):
            self._scope.cancel(self._named(work))
        self.rows.close()

    # where one is

    def go(self, place: ObjectPath) -> None:
        """Look into a folder."""
        place = place.as_folder()
        self._become(address_trouble=None, missing=None)
        if place != self.state.place:
            self._trail[self._at + 1 :] = [place]
            self._at += 1
            self._arrive(place)

    def show(self, path: ObjectPath) -> None:
        """Go to the folder this is in, and select it there."""
        if path.is_bucket:
            self.go(path)
            return
        self.rows.point_to(path.key)
        self.go(path.parent)
        self.rows.invalidate()

    def go_typed(self, spelling: str) -> None:
        """Go where an address leads; that of an object leads to its folder."""
        try:
            path = ObjectPath.parse(spelling)
        except InvalidInput as error:
            self._become(address_trouble=error, missing=None)
            return
        self._become(address_trouble=None, missing=None)
        self._begin("resolve", partial(self._resolve, path), text("Looking for {place}…", place=str(path)))

    def create_missing(self) -> None:
        """Make the folder or the bucket that was typed, and go there."""
        missing = self.state.missing
        if missing is not None:
            making = partial(self._create, missing)
            self._scope.start(self._named("create"), making, words=text("Creating {place}…", place=str(missing.folder)))

    def back(self) -> None:
        if self._at > 0:
            self._at -= 1
            self._arrive(self._trail[self._at])

    def forward(self) -> None:
        if self._at + 1 < len(self._trail):
            self._at += 1
            self._arrive(self._trail[self._at])

    def up(self) -> None:
        if not self.state.place.is_bucket:
            self.go(self.state.place.parent)

    def watch(self, is_seen: bool) -> None:
        """Nothing is listed while nobody looks; it goes on when somebody does."""
        if is_seen == self._is_watched:
            return
        self._is_watched = is_seen
        if is_seen:
            self._read()
        else:
            self._scope.cancel(self._named("read"))
            self._scope.cancel(self._named("sweep"))

    def complete(self, typed: str) -> None:
        self._begin("complete", partial(self._complete, typed))

    # how it is shown

    def sort(self, column: Column, descending: bool) -> None:
        self._show_as(replace(self.state.look, column=column, descending=descending))

    def search(self, words: str) -> None:
        """Only what is named so, here and everywhere below; empty: the folder itself again."""
        if words.strip() != self.state.look.search:
            self.rows.top_wanted = ""
        self._show_as(replace(self.state.look, search=words.strip()))
        if words.strip():
            self._sweep()

    def refresh(self) -> None:
        """List what is seen once more; only what is new there is written."""
        self._read(force=True)

    def list_everything(self) -> None:
        """List all below once more, however much it is."""
        self._sweep(force=True)

    def stop_listing(self) -> None:
        """What came so far stays."""
        self._scope.cancel(self._named("sweep"))
        self._become(is_cut=True)

    def calculate(self, folders: Sequence[ObjectPath]) -> None:
        """Count what is below these folders; what was never listed is listed for it."""
        self._begin("count", partial(self._calculate, tuple(folders)))

    def touched(self, folder: ObjectPath | None) -> None:
        """Something of ours changed what is in this folder."""
        if folder is not None and folder.bucket == self.state.place.bucket and self._listing is not None:
            self._begin(f"touched {folder}", partial(self._list_again, self._listing, folder))

    def arrived(self, folder: ObjectPath) -> None:
        """A folder of ours came with all that is below it: without a look there, the counts above it were wrong."""
        if folder.bucket == self.state.place.bucket and self._listing is not None:
            self._begin(f"arrived {folder}", partial(self._list_arrived, self._listing, folder))

    def with_chosen(self, ranges: Sequence[tuple[int, int]], use: Callable[[list[ObjectEntry]], None]) -> None:
        """Find out what the rows of these ranks are, and hand that on."""

        async def find_out() -> None:
            use(await self.rows.entries(ranges))

        self._begin("choose", find_out)

    # inside

    def _arrive(self, place: ObjectPath) -> None:
        self._is_started = True
        if place != self.state.place:
            self.rows.top_wanted = ""
        if place.bucket != self.state.place.bucket:
            self._listing = None
            self._scope.cancel(self._named("sweep"))
        self._scope.cancel(self._named("read"))
        self._become(
            place=place,
            look=replace(self.state.look, folder=place.key, search=""),
            is_reading=True,
            is_cut=False,
            trouble=None,
            address_trouble=None,
            missing=None,
            can_go_back=self._at > 0,
            can_go_forward=self._at + 1 < len(self._trail),
        )
        self.moved.emit()
        self._begin("show", partial(self._show, place))

    async def _show(self, place: ObjectPath) -> None:
        """What is known first, then what the service says."""
        if self._listing is None:
            try:
                self._listing = await self._listings.open(self.profile, place.bucket)
            except AppError as error:
                self._become(is_reading=False, trouble=error)
                return
            self.rows.use(self._listing.index)
        self.rows.arrange(self.state.look)
        self._read()

    def _show_as(self, look: Look) -> None:
        if look != self.state.look:
            self._become(look=look)
            self.rows.arrange(look)

    def _read(self, *, force: bool = False) -> None:
        if self._listing is not None and self._is_watched:
            self._begin("read", partial(self._list_level, self._listing, self.state.place.key, force))

    async def _list_level(self, listing: BucketListing, folder: str, force: bool) -> None:
        as_of = await self._calls.run(lambda _: _last_listed(listing.index, folder))
        if force or as_of is None or not self._is_recent(as_of):
            self._become(is_reading=True, trouble=None)
            try:
                await listing.list_level(folder, self._level_came)
            except AppError as error:
                # Said in the tab, where the missing rows would be.
                self._become(is_reading=False, trouble=error)
                return
            self.rows.invalidate()
        self._become(is_reading=False)
        self._sweep()

    def _level_came(self, progress: ListingProgress) -> None:
        if progress.changed:
            self.rows.invalidate()
        if progress.found >= _PAGE_ROWS:
            self._sweep()  # more than a page: side by side it comes faster

    def _is_recent(self, as_of: datetime) -> bool:
        """A level of many pages is not asked for again with every look."""
        is_large = self.rows.shown.count > _LARGE_ROWS
        return datetime.now(UTC) - as_of < (_OLD if is_large else _YOUNG)

    async def _list_again(self, listing: BucketListing, folder: ObjectPath) -> None:
        with suppress(_Enough):
            await listing.list_new(folder.key, _not_too_many)
        await self._keep_sizes(listing)

    async def _list_arrived(self, listing: BucketListing, folder: ObjectPath) -> None:
        await listing.list_below(folder.key, lambda _: None)
        await self._keep_sizes(listing)

    def _sweep(self, *, force: bool = False) -> None:
        """Begin to list all below, unless that is known or on its way."""
        if self._listing is None or not self._is_watched or (self.state.is_cut and not force):
            return
        folder = self.state.place.key
        is_running = self._scope.is_running(self._named("sweep"))
        if force or not (is_running and folder.startswith(self._swept_folder)):
            self._swept_folder = folder
            self._begin("sweep", partial(self._list_below, self._listing, folder, force))

    async def _list_below(self, listing: BucketListing, folder: str, force: bool) -> None:
        if force or await self._calls.run(lambda _: listing.index.listed(folder, deep=True)) is None:
            self._become(swept=0, is_cut=False)
            try:
                await listing.list_below(folder, partial(self._below_came, force))
            except _Enough:
                self._become(is_cut=True)
                return
            except AppError as error:
                self._become(trouble=error)
                return
            finally:
                self._become(swept=None)
            if folder == self.state.place.key:
                self._scope.cancel(self._named("read"))  # this was part of it
                self._become(is_reading=False)
        await self._keep_sizes(listing)

    async def _keep_sizes(self, listing: BucketListing) -> None:
        place = self.state.place.key
        await self._calls.run(lambda token: listing.index.keep_sizes(place, token))
        self.rows.invalidate()

    def _below_came(self, force: bool, progress: ListingProgress) -> None:
        self._become(swept=progress.found)
        if progress.changed:
            self.rows.invalidate()
        if not force:
            _not_too_many(progress)

    async def _calculate(self, folders: tuple[ObjectPath, ...]) -> None:
        listing = self._listing
        if listing is None:
            return
        try:
            for folder in folders:
                self._become(busy=text("Counting the contents of {place}…", place=str(folder)))
                if await self._calls.run(partial(listing.index.keep_size, folder.key)) is None:
                    await listing.list_below(folder.key, lambda _: None)
                    await self._calls.run(partial(listing.index.keep_size, folder.key))
                self.rows.invalidate()
        finally:
            self._become(busy=None)

    async def _resolve(self, path: ObjectPath) -> None:
        try:
            storage = (await self._connections.open(self.profile)).storage
            missing = await missing_place(storage, path)
            found = None if missing or path.is_folder else await storage.info(path)
        except NoRight:
            self.go(path.as_folder())  # who may not look there may yet look into it
            return
        except AppError as error:
            self._become(address_trouble=error, missing=None)
            return
        if missing is not None:
            self._become(address_trouble=None, missing=missing)
            return
        if found is None or found.is_folder:
            self.go(path.as_folder())
            return
        self.show(path)

    async def _create(self, missing: MissingPlace) -> None:
        if missing.has_bucket:
            await self.make_folder(self.profile, missing.folder)
        else:
            await (await self._connections.open(self.profile)).storage.create_bucket(missing.folder.bucket)
        self.created.emit(missing.folder.parent if missing.has_bucket else None)
        words = text("Created the bucket “{name}”.", name=missing.folder.bucket)
        if missing.has_bucket:
            words = text("Created the folder “{name}”.", name=missing.folder.name)
        self.news.emit(News(words, None, topic_of(self.profile, missing.folder)))
        self.go(missing.folder)

    async def _complete(self, typed: str) -> None:
        try:
            path = ObjectPath.parse(typed)
        except InvalidInput:
            path = None
        begun = typed.strip().rpartition("/")[2]
        if path is None or (path.is_bucket and not typed.rstrip().endswith("/")):
            names = sorted(name for name in self.bucket_names() if name.startswith(begun))
            self.completed.emit([str(ObjectPath(name)) for name in names[:_COMPLETIONS]])
            return
        listing = self._listing
        if listing is not None and path.bucket == self.state.place.bucket:
            keys = await self._calls.run(lambda _: listing.index.beginning_with(path.key, _COMPLETIONS))
            self.completed.emit([str(ObjectPath(path.bucket, key)) for key in keys])

    def _named(self, work: str) -> str:
        return f"{self._name} {work}"

    def _begin(self, name: str, work: Work, words: Text | None = None) -> None:
        self._scope.start(self._named(name), work, Repeat.REPLACE, words)


async def _nowhere(profile: str, folder: ObjectPath) -> None:
    raise Unexpected(f"nobody makes {folder}")


def _last_listed(index: ObjectIndex, folder: str) -> datetime | None:
    """Where nothing is known to be, somebody else may have put something: it is asked for with each look."""
    return index.listed(folder, deep=False) if index.beginning_with(folder, 1) else None


def _not_too_many(progress: ListingProgress) -> None:
    if progress.found > MOST_SWEPT:
        raise _Enough


class _Enough(Exception):
    """The limit of what is listed without being asked for."""
