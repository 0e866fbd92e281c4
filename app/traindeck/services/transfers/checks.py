"""Looks whether a file is what the service has; nothing moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict, NotFound
from traindeck.domain.texts import text
from traindeck.domain.transfers import Item, ItemState, is_plain_md5
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.platform_files import local_error
from traindeck.services.data_ports import Found
from traindeck.services.transfers.comparing import has_content
from traindeck.services.transfers.digests import file_digests
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.orphans import target_of
from traindeck.services.transfers.signs import whole_md5

# What is read in one go by one worker.
_TOGETHER_FILES = 64
_TOGETHER_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class Checks:
    """Makes units out of the pairs of one check; a request is made only where the listing does not tell."""

    lane: Lane

    async def feed(self, items: Sequence[Item]) -> None:
        lane = self.lane
        batch: list[Item] = []
        size = 0
        for item in items:
            if lane.record.order.is_within_service:
                lane.add(Unit(item, partial(self._look_there, item)))
            elif not is_plain_md5(item.etag):
                lane.add(Unit(item, partial(self._look, item)))
            else:
                batch.append(item)
                size += item.size_bytes
                if len(batch) >= _TOGETHER_FILES or size >= _TOGETHER_BYTES:
                    self._add(batch)
                    batch, size = [], 0
        if batch:
            self._add(batch)
        await lane.room()

    def _add(self, batch: Sequence[Item]) -> None:
        self.lane.add(Unit(batch[0], partial(self._read, batch), fail=partial(self._failed, batch)))

    async def make_folders(self, items: Sequence[Item]) -> None:
        """A check has none."""

    def _failed(self, items: Sequence[Item], error: AppError) -> None:
        for item in items:
            self.lane.failed(item, error)

    async def _read(self, items: Sequence[Item]) -> None:
        lane = self.lane
        places = [lane.place(item) for item in items]
        answers = await lane.ground.disk.run(lambda token: [_md5_of(place, token) for place in places])
        for item, answer in zip(items, answers, strict=True):
            if isinstance(answer, AppError):
                self._not_read(item, answer)
            elif answer == item.etag:
                self._ended(item, ItemState.DONE)
            else:
                # With encryption an ETag only looks like an MD5.
                lane.add(Unit(item, partial(self._look, item)))

    async def _look(self, item: Item) -> None:
        lane, place = self.lane, self.lane.place(item)
        found = await (await lane.plane()).head(lane.remote(item))
        if found is None:
            self._ended(item, ItemState.MISSING_THERE)
        elif found.is_encrypted:
            self._ended(item, ItemState.UNKNOWN, _encrypted())
        else:
            try:
                is_same = await lane.ground.disk.run(partial(_is_same, place, found))
            except AppError as error:
                self._not_read(item, error)
            else:
                self._tell(item, is_same)

    async def _look_there(self, item: Item) -> None:
        lane = self.lane
        plane = await lane.plane()
        one, other = await plane.head(lane.remote(item)), await plane.head(target_of(lane, item))
        if one is None or other is None:
            self._ended(item, ItemState.MISSING_THERE if other is None else ItemState.MISSING_HERE)
        elif one.is_encrypted or other.is_encrypted:
            self._ended(item, ItemState.UNKNOWN, _encrypted())
        elif one.size_bytes != other.size_bytes:
            self._tell(item, False)
        elif one.etag and one.etag == other.etag:
            self._tell(item, True)
        else:
            signs = whole_md5(one), whole_md5(other)
            self._tell(item, signs[0] == signs[1] if all(signs) else None)

    def _not_read(self, item: Item, error: AppError) -> None:
        if isinstance(error, NotFound):
            self._ended(item, ItemState.MISSING_HERE)
        else:
            self.lane.failed(item, error)

    def _tell(self, item: Item, is_same: bool | None) -> None:
        if is_same is None:
            self._ended(item, ItemState.UNKNOWN, _unknown())
        elif is_same:
            self._ended(item, ItemState.DONE)
        else:
            self._ended(item, ItemState.DIFFERENT, _different())

    def _ended(self, item: Item, state: ItemState, error: AppError | None = None) -> None:
        self.lane.count(item.size_bytes)
        self.lane.ended(item, state, error, is_verified=state is ItemState.DONE)
        self.lane.went_well()


def _md5_of(place: Path, token: CancelToken) -> str | AppError:
    try:
        return file_digests(place, token)[0]
    except OSError as error:
        return local_error(error, place)


def _is_same(place: Path, found: Found, token: CancelToken) -> bool | None:
    try:
        if place.stat().st_size != found.size_bytes:
            return False
    except OSError as error:
        raise local_error(error, place) from error
    return has_content(place, found, token)


def _different() -> AppError:
    return Conflict(text("The contents differ."), text("Look which of them is the right one, and move it once more."))


def _encrypted() -> AppError:
    return Conflict(
        text("The service encrypts it and does not say what its MD5 is."),
        text("Fetch it to compare the contents."),
    )


def _unknown() -> AppError:
    return Conflict(
        text("It was sent in parts of an unknown size, and nobody wrote down its MD5."),
        text("Fetch it to compare the contents."),
    )
