"""What can be given away about a problem: put together here, shown first, saved where the user says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.texts import text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:  # seldom needed
    from traindeck.services.diagnosis.diagnosis import Diagnosis
    from traindeck.services.diagnosis.report import ProblemReport, ReportPart

NOTE, CRASH = "note.txt", "error.txt"

Pieces = Callable[[], Awaitable[Sequence[tuple[str, str]]]]
"""Files of a report with their words, as far as they can be had."""


@dataclass(frozen=True, slots=True)
class ReportState:
    parts: tuple[ReportPart, ...] = ()
    left_out: frozenset[str] = frozenset()
    is_collecting: bool = True
    saved: Path | None = None
    trouble: AppError | None = None


class ProblemForm(Stateful):
    """One report; `pieces` are what the rooms know: the form, the log in sight, what happened."""

    state: ReportState

    def __init__(
        self, diagnosis: Callable[[], Diagnosis], account: str, pieces: Pieces, scope: TaskScope, crash: str = ""
    ) -> None:
        super().__init__()
        self.state = ReportState()
        self.suggested_name = "traindeck-report.zip"
        self._make = diagnosis
        self._account = account
        self._pieces = pieces
        self._scope = scope
        self._crash = crash
        self._note = ""
        self._report: ProblemReport | None = None
        self._name = f"report a problem, {id(self)}"

    def start(self) -> None:
        self._scope.start(self._name, self._collect)

    def close(self) -> None:
        self._scope.cancel(self._name)

    def note(self, words: str) -> None:
        """What the user says about it; looked through like the rest."""
        self._note = words
        self._show()

    def take(self, name: str, *, is_in: bool) -> None:
        """Whether this file goes with it."""
        out = self.state.left_out - {name} if is_in else self.state.left_out | {name}
        self._become(left_out=out, saved=None)

    def words(self) -> str:
        """What goes with it, to be pasted."""
        return self._chosen().as_text() if self._report is not None else ""

    def save(self, place: Path) -> None:
        self._scope.start(self._name, lambda: self._save(place), Repeat.REPLACE)

    async def _collect(self) -> None:
        diagnosis = self._make()
        try:
            report = await diagnosis.report(await diagnosis.run_here(self._account))
            for name, words in (*await self._pieces(), (CRASH, self._crash)):
                report = report.with_part(name, words)
        except AppError as error:
            self._become(is_collecting=False, trouble=error)
            return
        self._report = report
        self._become(is_collecting=False)
        self._show()

    async def _save(self, place: Path) -> None:
        if self._report is None:
            return
        try:
            await self._make().write(self._chosen(), place, replace_old=True)
        except AppError as error:
            self._become(trouble=error, saved=None)
        else:
            self._become(trouble=None, saved=place)

    def _chosen(self) -> ProblemReport:
        assert self._report is not None
        return self._report.with_part(NOTE, self._note).without(self.state.left_out)

    def _show(self) -> None:
        if self._report is not None:
            self._become(parts=self._report.with_part(NOTE, self._note).parts, saved=None)


async def gathered(pieces: Sequence[tuple[str, Callable[[], Awaitable[str]]]]) -> list[tuple[str, str]]:
    """Each by itself: what cannot be had is told in its place, and keeps nothing else out."""
    found: list[tuple[str, str]] = []
    for name, piece in pieces:
        try:
            found.append((name, await piece()))
        except AppError as error:
            found.append((name, text("Not available: {problem}", problem=error.title).in_english()))
    return found
