"""Two to eight runs beside each other, and what of that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.comparison import ComparedRow, CompareSection, value_words
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.run_table import as_csv, as_markdown
from traindeck.domain.texts import say
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.runs.run_words import run_title
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:
    from traindeck.services.jobs.comparing import RunComparing


@dataclass(frozen=True, slots=True)
class RunComparisonState:
    runs: tuple[Run, ...] = ()
    rows: tuple[ComparedRow, ...] = ()
    is_known: bool = False
    is_reading: bool = False
    trouble: AppError | None = None
    shows_equal: bool = False

    @property
    def shown(self) -> tuple[ComparedRow, ...]:
        return self.rows if self.shows_equal else tuple(row for row in self.rows if not row.is_equal)

    @property
    def hidden(self) -> int:
        return len(self.rows) - len(self.shown)


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """A line of the table: a heading of a section, or a row of one."""

    section: CompareSection
    row: ComparedRow | None = None

    @property
    def name(self) -> str:
        return say(self.section.value) if self.row is None else self.row.title


class RunsBeside(Stateful):
    """Read when it is opened, and when somebody asks again."""

    def __init__(self, run_ids: Sequence[str], comparing: RunComparing, scope: TaskScope) -> None:
        super().__init__()
        self.run_ids = tuple(run_ids)
        self._comparing = comparing
        self._scope = scope
        self._task = f"compare {' '.join(run_ids)} for {id(self)}"
        self.state = RunComparisonState()

    def close(self) -> None:
        self._scope.cancel(self._task)

    def load(self) -> None:
        self._become(is_reading=True)
        self._scope.start(self._task, self._load, Repeat.REPLACE)

    def show_equal(self, wanted: bool) -> None:
        self._become(shows_equal=wanted)

    def lines(self) -> list[ComparisonLine]:
        found = []
        for section, rows in groupby(self.state.shown, key=lambda row: row.section):
            found += [ComparisonLine(section), *(ComparisonLine(section, row) for row in rows)]
        return found

    def code_pair(self, line: ComparisonLine, number: int) -> tuple[str, str, str] | None:
        """Two runs and the file whose difference a cell is about: the first run, and that of the cell."""
        row, runs = line.row, self.state.runs
        if row is None or line.section is not CompareSection.CODE or len(runs) < 2:
            return None
        others = [at for at, value in enumerate(row.values) if value != row.values[0]]
        at = number if number in others else (others[0] if others else 1)
        return (runs[0].id, runs[at].id, row.name) if runs[0].bundle and runs[at].bundle else None

    def as_text(self, kind: str) -> str:
        """What is shown, as `markdown` or `csv`."""
        heads = ["", "", *(run_title(run) for run in self.state.runs)]
        cells = [[say(row.section.value), row.title, *map(value_words, row.values)] for row in self.state.shown]
        return as_markdown(heads, cells) if kind == "markdown" else as_csv(heads, cells)

    async def _load(self) -> None:
        try:
            found = await self._comparing.compare(self.run_ids)
        except AppError as error:
            self._become(trouble=error, is_known=True, is_reading=False)
            return
        self._become(runs=found.runs, rows=found.rows, is_known=True, is_reading=False, trouble=None)
