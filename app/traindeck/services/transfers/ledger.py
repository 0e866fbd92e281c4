"""Results on their way into the journal, many at once, and a transfer as it is shown."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from traindeck.domain.errors import AppError
from traindeck.domain.transfers.orders import Kind
from traindeck.domain.transfers.records import Item, SentPart, TransferState, WaitsFor

if TYPE_CHECKING:
    from traindeck.store.transfer_journal import TransferJournal


OnBytes = Callable[[int, int | None], None]
"""Told how many bytes are done, and how many there are in all (None while that is unknown)."""

log = logging.getLogger(__name__)

_PAUSE_S = 0.2
_AGAIN_S = 5.0


class Ledger:
    """Keeps what happened until the journal has it."""

    def __init__(self, journal: TransferJournal) -> None:
        self._journal = journal
        self._items: defaultdict[int, list[Item]] = defaultdict(list)
        self._parts: defaultdict[int, list[tuple[str, SentPart]]] = defaultdict(list)
        self._known: defaultdict[str, list[Item]] = defaultdict(list)
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()

    def item(self, transfer_id: int, item: Item) -> None:
        self._items[transfer_id].append(item)
        self._news.set()

    def part(self, transfer_id: int, key: str, part: SentPart) -> None:
        self._parts[transfer_id].append((key, part))
        self._news.set()

    def known(self, place: str, here: Item) -> None:
        self._known[place].append(here)
        self._news.set()

    async def keep(self) -> None:
        """Write as long as this runs; what cannot be written now is written later."""
        while True:
            await self._news.wait()
            await asyncio.sleep(_PAUSE_S)
            try:
                await self.flush()
            except AppError as error:
                log.warning("results of transfers are not on the disk yet: %s", error)
                await asyncio.sleep(_AGAIN_S)

    async def flush(self) -> None:
        """Everything that happened before this is on the disk when it returns."""
        async with self._writing:
            self._news.clear()
            try:
                await _write(self._parts, self._journal.note_parts)
                await _write(self._items, self._journal.note)
                await _write(self._known, self._journal.remember)
            finally:
                if self._parts or self._items or self._known:
                    self._news.set()


Of = TypeVar("Of")
News = TypeVar("News")


async def _write(kept: defaultdict[Of, list[News]], write: Callable[[Of, list[News]], Awaitable[None]]) -> None:
    while kept:
        of = next(iter(kept))
        news = kept.pop(of)
        try:
            await write(of, news)
        except BaseException:
            kept[of] = news + kept[of]
            raise


@dataclass(frozen=True, slots=True)
class Transfer:
    """One row of the list: a file or a whole folder on its way. `total_bytes` is None until all of it is known."""

    id: int
    kind: Kind
    source: str
    target: str
    state: TransferState = TransferState.RUNNING
    profile: str = ""
    chosen: tuple[tuple[str, str], ...] = ()  # only these below the source, and what each is called at the target
    root: str = ""  # the local file or folder, once it is known
    total_bytes: int | None = None
    done_bytes: int = 0
    files: int = 0
    done_files: int = 0
    equal_files: int = 0
    skipped_files: int = 0
    failed_files: int = 0
    verified_files: int = 0  # size and checksum are confirmed, of those moved and of those found equal
    # What a check finds
    different_files: int = 0
    missing_here: int = 0
    missing_there: int = 0
    unknown_files: int = 0
    removals: int = 0
    removal_bytes: int = 0
    is_move: bool = False
    kept_files: int = 0  # stood at the target, and were left alone there
    replaced_files: int = 0  # took the place of something, where that was looked at
    replacing_bytes: int = 0
    copied_files: int = 0  # of a move: at the target, and still at the source
    small_files: int = 0
    error: AppError | None = None  # how it ended; before that, what is tried again
    waits_for: WaitsFor | None = None
    tries: int = 0  # that failed, one after the other
    next_try: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None

    @property
    def differences(self) -> int:
        return self.different_files + self.missing_there + self.missing_here

    @property
    def is_verified(self) -> bool:
        """It is over, and of every file size and checksum are confirmed."""
        confirmable = self.done_files + self.equal_files - self.removals
        is_whole = self.state is TransferState.DONE and not (self.skipped_files or self.unknown_files)
        return is_whole and 0 < confirmable == self.verified_files
