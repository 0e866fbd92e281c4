"""One line on a terminal that shows how far the work is."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from traindeck.cli.output import Output, cut, width
from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, printable, say

if TYPE_CHECKING:
    from traindeck.domain.transfers.records import Item, ItemState
    from traindeck.services.transfers import Transfer, Transfers

_EVERY_S = 0.1
_BAR_COLUMNS = 24
_RATE_AFTER_S = 1.0


class StatusLine:
    """Redrawn in place while a terminal is there to see it; gone before anything else is said."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._drawn_at = float("-inf")
        self._columns = 0

    def __enter__(self) -> Self:
        self._output.before_writing = self.clear
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self._output.before_writing = None

    def draw(self, say_it: Callable[[], str]) -> None:
        """What there is to say, if it is time for it."""
        if not self._shown or time.monotonic() - self._drawn_at < _EVERY_S:
            return
        words = cut(printable(say_it()), shutil.get_terminal_size().columns - 1)
        # Blanks, not an escape: older consoles print escapes as they are.
        rest = " " * max(0, self._columns - width(words))
        sys.stderr.write(f"\r{words}{rest}")
        sys.stderr.flush()
        self._drawn_at = time.monotonic()
        self._columns = width(words)

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
        self.draw(lambda: bar(self._label, done, total, time.monotonic() - self._begun))


async def to_its_end(output: Output, transfers: Transfers, number: int, label: str) -> tuple[Transfer, AppError | None]:
    """Show how far a transfer is until it is over; its row, and what kept it from being done."""
    try:
        with ByteProgress(output, label) as progress:
            return await transfers.finished(number, progress=progress.at), None
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


def bar(label: str, done: int, total: int | None, seconds: float) -> str:
    """`data  [######······] 42 %  84 kB / 200 kB  1.2 MB/s  0:07`; what is not known is left out."""
    parts = [label]
    rate = done / seconds if seconds >= _RATE_AFTER_S else 0.0
    if total:
        share = min(1.0, done / total)
        filled = int(share * _BAR_COLUMNS)
        parts.append(f"[{'#' * filled}{'.' * (_BAR_COLUMNS - filled)}] {int(share * 100)} %")
        parts.append(f"{size_words(done)} / {size_words(total)}")
    else:
        parts.append(size_words(done))
    if rate:
        parts.append(f"{size_words(int(rate))}/s")
        if total:
            from traindeck.domain.jobs.job import duration_words  # few commands live so long

            parts.append(duration_words((total - done) / rate))
    return "  ".join(parts)
