"""All runs in their order, and those of them that were read: of thousands, only what somebody looks at."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from traindeck.domain.jobs.job import Run

if TYPE_CHECKING:
    from traindeck.store.runs import RunsOutline


class RunPages:
    """The active ones first, then those that are over, the newest on top; the active ones are always read."""

    def __init__(self) -> None:
        self._read: dict[str, Run] = {}
        self._live: dict[str, Run] = {}
        self._over_numbers: array[int] = array("q")  # as they stand, negative so that they rise
        self._over_ids: list[str] = []
        self._ids: tuple[str, ...] | None = None

    def begin(self, outline: RunsOutline) -> None:
        self._read = {run.id: run for run in outline.read}
        self._live = {run.id: run for run in sorted(outline.read, key=_newest) if not run.state.is_over}
        self._over_numbers = array("q", (-number for number in outline.over_numbers))
        self._over_ids = list(outline.over_ids)
        self._ids = None

    @property
    def ids(self) -> tuple[str, ...]:
        if self._ids is None:
            self._ids = (*self._live, *self._over_ids)
        return self._ids

    @property
    def live(self) -> tuple[Run, ...]:
        return tuple(self._live.values())

    @property
    def runs(self) -> tuple[Run, ...]:
        """Those that were read, in their order."""
        over = [run for run in self._read.values() if run.state.is_over]
        return (*self._live.values(), *sorted(over, key=_newest))

    def get(self, run_id: str) -> Run | None:
        return self._read.get(run_id)

    def unread(self, run_ids: Iterable[str]) -> Iterator[str]:
        return (run_id for run_id in run_ids if run_id not in self._read)

    def put(self, run: Run) -> None:
        """It was read, or there is news of it; one that nobody knew finds its place."""
        before = self._read.get(run.id)
        self._read[run.id] = run
        if run.state.is_over:
            if self._live.pop(run.id, None) is not None:
                self._ids = None
            at = bisect_left(self._over_numbers, -run.number)
            if at == len(self._over_ids) or self._over_ids[at] != run.id:
                self._over_numbers.insert(at, -run.number)
                self._over_ids.insert(at, run.id)
                self._ids = None
            return
        if before is None or run.id not in self._live:
            self._take_from_over(run)
            self._live = {one.id: one for one in sorted((*self._live.values(), run), key=_newest)}
            self._ids = None
        else:
            self._live[run.id] = run

    def drop(self, run_id: str) -> bool:
        """Whether it was there."""
        run, live = self._read.pop(run_id, None), self._live.pop(run_id, None)
        if live is not None:
            self._ids = None
            return True
        if run is not None:
            was_there = self._take_from_over(run)
        elif was_there := run_id in self._over_ids:
            at = self._over_ids.index(run_id)
            del self._over_ids[at], self._over_numbers[at]
            self._ids = None
        return was_there

    def _take_from_over(self, run: Run) -> bool:
        at = bisect_left(self._over_numbers, -run.number)
        if at == len(self._over_ids) or self._over_ids[at] != run.id:
            return False
        del self._over_ids[at], self._over_numbers[at]
        self._ids = None
        return True


def page_around(ids: Sequence[str], number: int, size: int) -> Sequence[str]:
    """Those that are seen with this one, and some that come into sight next."""
    first = max(0, number - size // 4)
    return ids[first : first + size]


def _newest(run: Run) -> int:
    return -run.number
