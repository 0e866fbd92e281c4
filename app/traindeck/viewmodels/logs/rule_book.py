"""The rules on lines as they are edited: listed, tried on the log that is shown, changed, switched off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.notices.line_rules import LineRule
from traindeck.runtime.tasks import Repeat, TaskScope

if TYPE_CHECKING:
    from traindeck.services.notices.log_rules import LogRules

MOST_TRIED = 200


@dataclass(frozen=True, slots=True)
class Trial:
    """What a pattern finds in the logs of a run; `is_cut`: and more."""

    run: Run
    lines: tuple[tuple[str, str], ...]
    """Worker and line."""
    is_cut: bool


@dataclass(frozen=True, slots=True)
class RuleBookState:
    rules: tuple[LineRule, ...] = ()
    is_known: bool = False
    trouble: AppError | None = None
    """Why the file cannot be used, or what was asked last was not done."""
    trial: Trial | None = None


class RuleBook(QObject):
    """The file is the truth: it may be edited by hand meanwhile."""

    changed = Signal()
    kept = Signal(str)
    """A rule of this name is in the file now."""

    def __init__(self, rules: LogRules, scope: TaskScope) -> None:
        super().__init__()
        self._rules = rules
        self._scope = scope
        self.state = RuleBookState()

    def load(self) -> None:
        self._do("read the rules on lines", self._read)

    def keep(self, rule: LineRule, instead_of: str = "") -> None:
        async def work() -> None:
            await self._rules.put(rule, instead_of)
            await self._read()
            self.kept.emit(rule.name)

        self._do("keep a rule on lines", work)

    def enable(self, rule: LineRule, wanted: bool) -> None:
        if rule.is_enabled != wanted:
            self.keep(replace(rule, is_enabled=wanted), rule.name)

    def remove(self, name: str) -> None:
        async def work() -> None:
            await self._rules.remove(name)
            await self._read()

        self._do("remove a rule on lines", work)

    def try_out(self, pattern: str, run: Run) -> None:
        """Nothing is done about what it finds."""

        async def work() -> None:
            found = await self._rules.tried(pattern, run, MOST_TRIED + 1)
            self._become(trial=Trial(run, tuple(found[:MOST_TRIED]), len(found) > MOST_TRIED))

        self._become(trial=None)
        self._do("try a rule on lines", work)

    def _do(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        async def guarded() -> None:
            self._become(trouble=None)
            try:
                await work()
            except AppError as error:
                self._become(trouble=error)

        self._scope.start(name, guarded, Repeat.REPLACE)

    async def _read(self) -> None:
        self._become(rules=await self._rules.known(), is_known=True)

    def _become(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        self.changed.emit()
