"""Runs that are named together: each is tried, and what became of all of them is one document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE, code_of
from traindeck.cli.job.waiting import find
from traindeck.cli.main import Call
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.outcomes import fails_all, worst
from traindeck.domain.texts import printable

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


class SeveralRuns:
    """One that is named alone fails as every command does; of several, the rest is done all the same."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._failures: list[tuple[str, AppError]] = []
        self.are_several = len(set(call.options.runs)) > 1

    async def found(self, core: RunCore) -> list[Run]:
        """Each once, in the order they were named in."""
        found: dict[str, Run] = {}
        for reference in dict.fromkeys(self._call.options.runs):
            try:
                run = await find(self._call, core, reference)
            except AppError as error:
                self._failed(reference, error)
            else:
                found.setdefault(run.id, run)
        return list(found.values())

    async def each(self, runs: Iterable[Run], act: Callable[[Run], Awaitable[object]]) -> list[Run]:
        """Those that it was done with; a service that fails all is asked no more about its other jobs."""
        done: list[Run] = []
        lost: dict[str, AppError] = {}
        for run in runs:
            error = lost.get(run.profile) if run.job_id else None  # what has no job is recorded only here
            if error is None:
                try:
                    await act(run)
                except AppError as caught:
                    error = caught
                    if fails_all(error):
                        lost[run.profile] = error
            if error is None:
                done.append(run)
            else:
                self._failed(run.name, error)
        return done

    def end(self, done: Sequence[tuple[dict[str, object], str]]) -> int:
        """Documents and sentences of what was done, after them what failed; the exit code is that of the worst."""
        output = self._call.output
        if not self.are_several:
            for content, words in done:
                output.result(content, words)
            return DONE
        if output.json_wanted:
            failed = [{"asked": name, "error": error.sentence()} for name, error in self._failures]
            output.document({"runs": [content for content, _ in done], "failed": failed})
        else:
            for _, words in done:
                output.line(words)
        found = worst(error for _, error in self._failures)
        return DONE if found is None else code_of(found)

    def _failed(self, name: str, error: AppError) -> None:
        if not self.are_several:
            raise error
        self._failures.append((name, error))
        self._call.output.note(f"× {printable(name)}  {error.sentence()}")
