"""Listing a bucket: one level page by page, or everything below a folder by several at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Protocol

from traindeck.domain.errors import NotFound
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, ObjectRow, shared_beginning
from traindeck.domain.texts import text
from traindeck.runtime.blocking import over
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.storage.data_ports import ListingPage
from traindeck.services.storage.page_count import PageCount

_LOW, _HIGH, _TOP = 0x20, 0x7F, 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Names behind the one and up to the other; None is the end of all."""

    after: str
    upto: str | None


def _spans_behind(after: str, edges: list[str]) -> list[KeyRange]:
    """All behind a name, parted at some of the edges, evenly chosen."""
    inside = sorted(edge for edge in set(edges) if edge > after)
    step = max(1, -(-len(inside) // _SPANS))
    cuts: list[str | None] = [after, *inside[step - 1 :: step], None]
    return [KeyRange(start or "", end) for start, end in pairwise(cuts)]


def beyond_family(first: str, last: str) -> str:
    """Behind every name that begins as both of these do, counters left aside."""
    return shared_beginning(first, last).rstrip(_DIGITS) + chr(_HIGH)


def middle(after: str, upto: str | None) -> str | None:
    """A name about half-way, by the order of characters; None: there is no room for one."""
    same = shared_beginning(after, upto or "")
    start = len(same)
    low = ord(after[start]) if start < len(after) else _LOW - 1
    high = _HIGH if upto is None else ord(upto[start])
    if low >= _HIGH and upto is None:
        high = _TOP
    if high - low > 1:
        return same + chr(_allowed((low + high) // 2, low))
    if start >= len(after):
        return None
    rest = middle(after[start + 1 :], None)
    return None if rest is None else same + after[start] + rest


def _allowed(letter: int, low: int) -> int:
    if letter not in _SURROGATES:
        return letter
    return _SURROGATES.start - 1 if low < _SURROGATES.start - 1 else _SURROGATES.stop


AT_ONCE = 16
"""Over a long line more would be faster; but the service allows an account 1,000 pages a second."""

_SPANS = 256
_DEPTH = 3
_PAGES_ALONE = 8
_PAGES_AHEAD = 4
_SPARE_PROBES = 16
_FEW, _MANY_PAGES = 8, 100
_HELD_ROWS = 200_000
"""Rows that came early and wait for their turn, when they are to be handed on in order."""


class PageSource(Protocol):
    """What gives pages of a listing, each further on than the one before."""

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """All there is behind `after` and up to `upto` (None: the end)."""

    after: str
    upto: str | None
    rows: Sequence[ObjectRow]
    folders: Sequence[str] = ()


TakePiece = Callable[[Piece], Awaitable[None]]


async def pieces_of(source: PageSource, folder: ObjectPath, *, recursive: bool = False) -> AsyncGenerator[Piece, None]:
    """What is in a folder, page by page; not recursive: one level."""
    after, pages = "", PageCount()
    while True:
        page = await source.page(folder.bucket, folder.key, delimiter="" if recursive else "/", marker=after)
        upto = _end_of(page, pages)
        yield Piece(after, upto, page.rows, page.folders)
        if upto is None:
            return
        after = upto


async def entries(
    source: PageSource, folder: ObjectPath, *, recursive: bool = False
) -> AsyncGenerator[list[ObjectEntry], None]:
    """The same as entries, folders first in each page."""
    async with aclosing(pieces_of(source, folder, recursive=recursive)) as pieces:
        async for piece in pieces:
            found = [ObjectEntry(ObjectPath(folder.bucket, path)) for path in piece.folders]
            found += [entry_of(folder.bucket, row) for row in piece.rows if row.key != folder.key]
            if found:
                yield found


def entry_of(bucket: str, row: ObjectRow) -> ObjectEntry:
    path = ObjectPath(bucket, row.key)
    if path.is_folder and row.size_bytes == 0:
        return ObjectEntry(path)  # an empty object that marks a folder
    return ObjectEntry(path, row.size_bytes, row.modified, row.etag, row.storage_class)


def nothing_there(path: ObjectPath) -> NotFound:
    if path.is_bucket:  # one that is missing says so when it is listed
        return NotFound(text("The bucket “{name}” is empty.", name=path.bucket), text("Check the name of the bucket."))
    return NotFound(
        text("{place} does not exist.", place=str(path)),
        text("List the parent folder to see what exists."),
    )


async def pages_ahead(
    source: PageSource, folder: ObjectPath, *, is_strict: bool = False
) -> AsyncGenerator[Sequence[ObjectRow], None]:
    """Everything below a folder in the order of names; the next page is on its way while one is looked at.

    After some pages the rest is asked for by several at once. `is_strict`: it is not; should a service keep another
    order than it ought to, names would be lost between the ranges.
    """
    come: asyncio.Queue[Sequence[ObjectRow] | None] = asyncio.Queue()
    room = asyncio.Semaphore(_PAGES_AHEAD)

    async def take(piece: Piece) -> None:
        await room.acquire()
        come.put_nowait(piece.rows)

    async def ask() -> None:
        after: str | None = ""
        pages = PageCount()
        for number in count():
            assert after is not None
            if number == _PAGES_ALONE and not is_strict:
                await Sweep(source, folder, spans=[KeyRange(after, None)], in_order=True).run(take)
                return
            page = await source.page(folder.bucket, folder.key, marker=after)
            before, after = after, _end_of(page, pages)
            await take(Piece(before, after, page.rows))
            if after is None:
                return

    asking = asyncio.create_task(ask())  # noqa: TID251 - it is ended below, whoever leaves and why
    asking.add_done_callback(lambda _: come.put_nowait(None))
    try:
        while (rows := await come.get()) is not None:
            room.release()
            yield rows
        await asking
    finally:
        asking.cancel()
        await over(asking)  # its error was told already, or is of no interest any more


@dataclass(slots=True, eq=False)
class _Stretch:
    """A range on its way: what is behind `after` is still to come."""

    after: str
    upto: str | None
    pages: int = 0
    family: str = ""
    """Behind the names like those that came; once tried, empty."""
    is_probe: bool = False
    is_done: bool = False
    ready: deque[Piece] = field(default_factory=deque)

    def half(self) -> str | None:
        """Where the rest may be parted."""
        family, self.family = self.family, ""
        if family and family > self.after and (self.upto is None or family < self.upto):
            return family
        place = middle(self.after, self.upto)
        is_inside = place is not None and place > self.after and (self.upto is None or place < self.upto)
        return place if is_inside else None


class Sweep:
    """Everything below a folder, listed by several at once; it can be stopped and gone on with.

    Where names lie is not known: ranges are parted at the folders that are found first, later wherever one that is
    idle finds a range that still goes on. A guess that hits nothing costs a request, so guesses are counted.
    """

    def __init__(
        self,
        source: PageSource,
        folder: ObjectPath,
        *,
        spans: Sequence[KeyRange] | None = None,
        in_order: bool = False,
    ) -> None:
        self._source = source
        self._folder = folder
        self._in_order = in_order
        self._is_begun = spans is not None
        self._stretches = [_Stretch(span.after, span.upto) for span in spans or (KeyRange("", None),)]
        self._waiting: deque[_Stretch] = deque(self._stretches)
        self._moved = asyncio.Condition()
        self._handing = asyncio.Lock()
        self._in_hand: list[Piece] = []
        self._held = 0
        self._pages = PageCount()
        self._fruitful = 0
        self._fruitless = 0

    @property
    def left(self) -> list[KeyRange]:
        """What was not handed on yet, for another sweep to go on with."""
        going_on = [KeyRange(stretch.after, stretch.upto) for stretch in self._stretches if not stretch.is_done]
        return [*(KeyRange(piece.after, piece.upto) for piece in self._in_hand), *going_on]

    async def run(self, take: TakePiece) -> None:
        """Hand on everything, piece by piece; with `in_order` by name, else as it comes."""
        if not self._is_begun:
            await self._begin(take)
        await gather_or_raise(self._work(take) for _ in range(AT_ONCE))

    async def _begin(self, take: TakePiece) -> None:
        """A small folder is one page; a larger one shows by its levels where it may be parted."""
        first, level = await gather_or_raise((self._page(""), self._level(self._folder.key)))
        upto = _end_of(first, self._pages)
        await take(Piece("", upto, first.rows))
        self._is_begun = True
        spans = [] if upto is None else _spans_behind(upto, await self._edges(level))
        self._stretches = [_Stretch(span.after, span.upto) for span in spans]
        if len(spans) == 1 and first.rows:
            # Flat: the first page tells what names are like here.
            self._stretches[0].pages = 1
            self._stretches[0].family = beyond_family(first.rows[0].key, first.rows[-1].key)
        # Far apart: whoever comes to the end of his own goes on with the next, as long as nobody has begun it.
        step = 1 if self._in_order else max(1, len(spans) // AT_ONCE)
        self._waiting = deque(one for start in range(step) for one in self._stretches[start::step])

    async def _edges(self, level: ListingPage) -> list[str]:
        edges, folders = list(level.folders), level.folders
        for _ in range(_DEPTH):
            if len(edges) >= _SPANS // 2 or not folders:
                break
            pages = await gather_or_raise(self._level(path) for path in folders[:AT_ONCE])
            folders = [path for page in pages for path in page.folders]
            edges += folders
        return edges

    async def _page(self, after: str) -> ListingPage:
        return await self._source.page(self._folder.bucket, self._folder.key, marker=after)

    async def _level(self, path: str) -> ListingPage:
        return await self._source.page(self._folder.bucket, path, delimiter="/")

    async def _work(self, take: TakePiece) -> None:
        while (stretch := await self._next()) is not None:
            while not stretch.is_done:
                if self._in_order:
                    await self._turn(stretch)
                page = await self._page(stretch.after)
                await self._came(stretch, page, take)
                async with self._moved:
                    self._moved.notify_all()

    async def _next(self) -> _Stretch | None:
        async with self._moved:
            while True:
                if self._waiting:
                    return self._waiting.popleft()
                if all(stretch.is_done for stretch in self._stretches):
                    return None
                if (parted := self._parted()) is not None:
                    return parted
                await self._moved.wait()

    def _parted(self) -> _Stretch | None:
        """Take a part of what somebody else still has before him."""
        if self._fruitless > self._fruitful + _SPARE_PROBES:
            return None
        going_on = [stretch for stretch in self._stretches if stretch.pages and not stretch.is_done]
        # Each part costs a page that is fetched twice: of a short list not too many are made.
        is_short = self._fruitful < _MANY_PAGES
        if is_short and sum(not stretch.is_done for stretch in self._stretches) >= _FEW:
            return None
        for stretch in sorted(going_on, key=lambda stretch: -stretch.pages):
            place = stretch.half()
            if place is not None:
                other = _Stretch(place, stretch.upto, is_probe=True)
                stretch.upto = place
                self._stretches.insert(self._stretches.index(stretch) + 1, other)
                return other
        return None

    async def _came(self, stretch: _Stretch, page: ListingPage, take: TakePiece) -> None:
        next_after = _end_of(page, self._pages)
        self._absorb(stretch, next_after)
        # While the page was on its way somebody may have taken the far end.
        upto = stretch.upto
        rows = page.rows if upto is None else [row for row in page.rows if row.key <= upto]
        is_last = next_after is None or (upto is not None and next_after >= upto)
        piece = Piece(stretch.after, upto if is_last else next_after, rows)
        if rows:
            self._fruitful += 1
            if not stretch.pages:
                stretch.family = beyond_family(rows[0].key, rows[-1].key)
        elif stretch.is_probe and not stretch.pages:
            self._fruitless += 1
        stretch.pages += 1
        # Before anything is awaited: others look at how far this is.
        stretch.is_done = is_last
        if next_after is not None:
            stretch.after = next_after
        if self._in_order:
            stretch.ready.append(piece)
            self._held += len(rows)
            await self._hand_on(take)
        else:
            self._in_hand.append(piece)
            await take(piece)
            self._in_hand.remove(piece)

    def _absorb(self, stretch: _Stretch, next_after: str | None) -> None:
        """A page that reaches into what nobody has begun yet counts there, too."""
        at = self._stretches.index(stretch) + 1
        while stretch.upto is not None and (next_after is None or next_after >= stretch.upto):
            following = self._stretches[at] if at < len(self._stretches) else None
            if following is None or following.after != stretch.upto or following not in self._waiting:
                return
            self._waiting.remove(following)
            self._stretches.remove(following)
            stretch.upto = following.upto

    async def _hand_on(self, take: TakePiece) -> None:
        async with self._handing:
            while self._stretches:
                head = self._stretches[0]
                while head.ready:
                    piece = head.ready.popleft()
                    await take(piece)
                    self._held -= len(piece.rows)
                if not head.is_done or head.ready:
                    return
                self._stretches.pop(0)

    async def _turn(self, stretch: _Stretch) -> None:
        """Whoever is far ahead waits for those before."""
        async with self._moved:
            while self._held > _HELD_ROWS and self._stretches[0] is not stretch:
                await self._moved.wait()


def _end_of(page: ListingPage, pages: PageCount) -> str | None:
    if not page.next_marker:
        return None
    pages.came(len(page.rows) + len(page.folders))
    return page.next_marker
