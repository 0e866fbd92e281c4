"""One line on a terminal that shows how far the work is."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from traindeck.cli.columns import cut, room_of, shortened, width
from traindeck.cli.output import Output
from traindeck.domain.errors import AppError
from traindeck.domain.outcomes import Outcomes
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, printable, say
from traindeck.domain.transfers.records import ItemState

if TYPE_CHECKING:
    from traindeck.domain.transfers.records import Item
    from traindeck.services.transfers import Transfer, Transfers

_EVERY_S = 0.1
_BAR_COLUMNS = 24
_USUAL_COLUMNS = 80
_LEAST_LABEL = 8
_RATE_AFTER_S = 1.0


class StatusLine:
    """Redrawn in place while a terminal is there to see it; gone before anything else is said."""

    is_of_files = False
    """Programs get a document for each file, so one more is no surprise."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._drawn_at = float("-inf")
        self._columns = 0
        self._tries = 0

    @property
    def room(self) -> int:
        return (room_of(sys.stderr) or _USUAL_COLUMNS) - 1

    def __enter__(self) -> Self:
        self._output.before_writing = self.clear
        if self._shown:
            self._output.draw_setback = lambda words: self.draw(lambda: words, at_once=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self._output.before_writing = self._output.draw_setback = None

    def draw(self, say_it: Callable[[], str], *, at_once: bool = False) -> None:
        """What there is to say, if it is time for it."""
        if not self._shown or (not at_once and time.monotonic() - self._drawn_at < _EVERY_S):
            return
        # One less: the last column would already begin another line.
        words = cut(printable(say_it()), self.room)
        # Blanks, not an escape: older consoles print escapes as they are.
        rest = " " * max(0, self._columns - width(words))
        sys.stderr.write(f"\r{words}{rest}")
        sys.stderr.flush()
        self._drawn_at = time.monotonic()
        self._columns = width(words)

    def on_row(self, row: Transfer) -> None:
        """News of a transfer."""
        self._sets_back(row)

    def _sets_back(self, row: Transfer) -> bool:
        """Whether one of its requests has just failed; then that is said."""
        before, self._tries = self._tries, row.tries
        if row.error is None or row.tries in (0, before):
            return False
        self._output.setback(row.error, row.tries, row.next_try, is_stream=self.is_of_files)
        return True

    def clear(self) -> None:
        if self._columns:
            sys.stderr.write("\r" + " " * self._columns + "\r")
            sys.stderr.flush()
            self._columns = 0


class ByteProgress(StatusLine):
    """How many bytes of a transfer have moved."""

    def __init__(self, output: Output, label: str) -> None:
        super().__init__(output)
        self._label = label
        self._begun = time.monotonic()

    def at(self, done: int, total: int | None = None) -> None:
        self.draw(lambda: bar(self._label, done, total, time.monotonic() - self._begun, self.room))


class TransferProgress(ByteProgress):
    """The same from the rows of transfers, and why one of them does not get on."""

    is_of_files = True

    def on_row(self, row: Transfer) -> None:
        if not self._sets_back(row) and row.waits_for is None:
            self.at(row.done_bytes, row.total_bytes)


@contextmanager
def moving_shown(output: Output, transfers: Transfers, label: str) -> Iterator[None]:
    """How far transfers are, and what they wait for."""
    with TransferProgress(output, label) as progress, transfers.changed.heard_by(progress.on_row):
        for row in transfers.rows():  # what happened before anybody listened
            if not row.state.is_over:
                progress.on_row(row)
        yield


async def to_its_end(output: Output, transfers: Transfers, number: int, label: str) -> tuple[Transfer, AppError | None]:
    """Show how far a transfer is until it is over; its row, and what kept it from being done."""
    try:
        with moving_shown(output, transfers, label):
            return await transfers.finished(number), None
    except AppError as error:
        return next(row for row in transfers.rows() if row.id == number), error


async def items_of(transfers: Transfers, row: Transfer, *states: ItemState) -> AsyncIterator[Item]:
    """Its files in these states, a page at a time: there may be a million."""
    after = ""
    while page := await transfers.items(row.id, states, after=after):
        for item in page:
            yield item
        after = page[-1].key


def item_content(row: Transfer, item: Item, result: str, **more: object) -> dict[str, object]:
    """One file of a transfer, for programs."""
    content: dict[str, object] = {
        "name": item.name or Path(row.source).name,
        "size": item.size_bytes,
        "result": result,
        **more,
    }
    if item.error is not None:
        content["error"] = item.error.sentence()
    return content


_MOST_LISTED = 100


async def say_failed(output: Output, transfers: Transfers, row: Transfer) -> None:
    """Each file that failed, where they are several: the error itself tells of one."""
    listed = 0
    async for item in items_of(transfers, row, ItemState.FAILED):
        listed += 1
        if output.json_wanted:
            output.document(item_content(row, item, "failed"))
        elif listed > _MOST_LISTED:
            output.note(say("And {count} more.", count=f"{row.failed_files - _MOST_LISTED:,}"))
            return
        elif item.error is not None:
            output.note(f"× {printable(item.name or item.key)}  {item.error.sentence()}")


def raise_worst(output: Output, outcomes: Outcomes) -> None:
    """After each of several was tried; each that failed is named."""
    if len(outcomes.failures) > 1:
        for name, error in outcomes.failures:
            output.note(f"× {printable(name)}  {error.sentence()}")
    outcomes.end()


class Stages(StatusLine):
    """What a submission is doing; a log file gets each stage once."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._last = ""

    def at(self, stage: Text) -> None:
        if self._shown:
            self.draw(partial(say, stage))
        elif stage.english != self._last:
            self._last = stage.english
            self._output.note(say(stage))


def bar(label: str, done: int, total: int | None, seconds: float, room: int | None = None) -> str:
    """`data  [######······] 42 %  84 kB / 200 kB  1.2 MB/s  0:07`; what is not known, or has no room, is left out."""
    rests = ["  ".join(part for part in parts if part) for parts in _parts_of(done, total, seconds)]
    fitting = (rest for rest in rests if room is None or width(label) + 2 + width(rest) <= room)
    if (rest := next(fitting, None)) is not None:
        return f"{label}  {rest}"
    assert room is not None
    rest = next((rest for rest in rests[1:] if _LEAST_LABEL + 2 + width(rest) <= room), rests[-1])
    return f"{shortened(printable(label), max(1, room - 2 - width(rest)))}  {rest}"


def _parts_of(done: int, total: int | None, seconds: float) -> list[tuple[str, ...]]:
    """What there is to be said of it, less and less."""
    rate = done / seconds if seconds >= _RATE_AFTER_S else 0.0
    speed = f"{size_words(int(rate))}/s" if rate else ""
    if not total:
        return [(size_words(done), speed), (size_words(done),)]
    share = min(1.0, done / total)
    filled = int(share * _BAR_COLUMNS)
    percent = f"{int(share * 100)} %"
    graph = f"[{'#' * filled}{'.' * (_BAR_COLUMNS - filled)}] {percent}"
    sizes, left = f"{size_words(done)} / {size_words(total)}", ""
    if rate:
        from traindeck.domain.jobs.job import duration_words

        left = duration_words((total - done) / rate)
    return [(graph, sizes, speed, left), (percent, sizes, speed, left), (percent, sizes), (percent,)]
