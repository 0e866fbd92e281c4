"""What benches made of real services have in common: how they are left, and who follows the runs."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType

from traindeck.domain.errors import AppError
from traindeck.runtime.tasks import TaskScope
from traindeck.services.jobs.run_watch import RunWatch


class Entered:
    """Owns what it opened, and tasks whose errors are kept."""

    watch: RunWatch
    scope: TaskScope

    def __init__(self) -> None:
        self.reported: list[tuple[str, AppError]] = []
        self._owned = AsyncExitStack()

    async def open_scope(self) -> None:
        scope = TaskScope(lambda name, error: self.reported.append((name, error)))
        self.scope = await self._owned.enter_async_context(scope)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._owned.__aexit__(kind, error, trace)

    def watch_runs(self) -> None:
        self.scope.start("watch", self.watch.run)
