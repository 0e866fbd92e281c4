"""Bringing the outputs of runs to this computer: by rule, while they run and after, and TensorBoard on what came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import InvalidInput, NoBucket, NotFound
from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import bytes_of, size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.domain.transfers.name_filter import FilterRules, NamePattern
from traindeck.runtime.tasks import TaskScope, set_within
from traindeck.viewmodels.ports import Choose, Way

if TYPE_CHECKING:
    from traindeck.services.jobs.run_outputs import FetchedOutputs
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.jobs.runs import RunService
    from traindeck.services.transfers import Transfer

_AGAIN_S = 30.0
_NAMED = 8
_OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class FetchWish:
    """Which files are wanted, as somebody wrote it."""

    patterns: str = ""
    """Between commas or spaces; a minus before one leaves out what fits."""
    largest: str = ""
    until_over: bool = False
    """Again and again while the run goes on."""

    def filters(self) -> FilterRules:
        """InvalidInput names the pattern that is none."""
        rules = []
        for word in self.patterns.replace(",", " ").replace("，", " ").split():
            is_wanted, pattern = not word.startswith("-"), word.removeprefix("-")
            NamePattern(pattern, is_included=is_wanted)
            rules.append((is_wanted, pattern))
        return tuple(rules)

    def most_bytes(self) -> int:
        if not self.largest.strip():
            return 0
        found = bytes_of(self.largest)
        if found is None:
            raise InvalidInput(
                text("“{size}” is not a size.", size=self.largest.strip()), text("Enter a size such as 500MB or 2GB.")
            )
        return found


@dataclass(frozen=True, slots=True)
class FetchState:
    """How it stands with the outputs of one run."""

    folder: Path | None = None
    """Where they came to the last time."""
    words: Text | None = None
    """What is being done; None: nothing is."""
    share: float | None = None
    fetched: FetchedOutputs | None = None
    is_waiting: bool = False
    """For more of a run that goes on."""
    tensorboard: str = ""
    """Its address while it runs."""

    @property
    def is_busy(self) -> bool:
        return self.words is not None


class OutputFetches(QObject):
    """Goes on whichever run is looked at; in the list of transfers each can be paused as well."""

    changed = Signal(str)
    """Of the run with this ID."""
    page_wanted = Signal(str)
    """Show this address in the browser."""

    def __init__(self, service: RunService, watch: RunWatch, scope: TaskScope) -> None:
        super().__init__()
        self._service = service
        self._watch = watch
        self._scope = scope
        self._states: dict[str, FetchState] = {}
        self.wish = FetchWish()
        """The last one; the next begins with it."""

    def of(self, run_id: str) -> FetchState:
        return self._states.get(run_id) or FetchState()

    def fetch(self, run: Run, target: Path, wish: FetchWish, choose: Choose) -> None:
        """Bring what is wanted into a folder of this computer; what was edited there is asked about."""
        self.wish = wish

        async def fetch() -> None:
            self._become(run.id, words=text("Downloading the outputs…"), folder=target, fetched=None)
            try:
                await self._fetch(run, target, wish, choose)
            finally:
                self._become(run.id, words=None, share=None, is_waiting=False)

        self._scope.start(_task(run), fetch)

    def stop(self, run: Run) -> None:
        """What is on its way goes on in the list of transfers; no more is asked for."""
        self._scope.cancel(_task(run))

    def show_tensorboard(self, run: Run) -> None:
        """On the folder the outputs came to; once more shows its page again."""
        state = self.of(run.id)
        if state.tensorboard:
            self.page_wanted.emit(state.tensorboard)
        elif state.folder is not None:
            self._scope.start(_board(run), partial(self._tensorboard, run.id, state.folder))

    def end_tensorboard(self, run: Run) -> None:
        self._scope.cancel(_board(run))

    async def _fetch(self, run: Run, target: Path, wish: FetchWish, choose: Choose) -> None:
        over = asyncio.Event()

        def note(changed: Run) -> None:
            if changed.id == run.id and changed.state.is_over:
                over.set()

        with ExitStack() as heard:
            heard.enter_context(self._watch.changed.heard_by(note))
            heard.enter_context(self._service.transfers.changed.heard_by(partial(self._note_progress, run)))
            now = await self._service.records.existing(run.id)
            if wish.until_over and not now.state.is_over:
                waiting = text("Waiting for more outputs until the run ends…")
                while not over.is_set():
                    try:
                        await self._once(run, target, wish)
                    except NoBucket:
                        raise
                    except NotFound:
                        pass  # nothing is written yet
                    self._become(run.id, words=waiting, share=None, is_waiting=True)
                    await set_within(over, _AGAIN_S)
            fetched = await self._once(run, target, wish)
            if fetched.kept and await self._may_overwrite(fetched, target, choose):
                await self._once(run, target, wish, overwrite=True)

    async def _once(self, run: Run, target: Path, wish: FetchWish, *, overwrite: bool = False) -> FetchedOutputs:
        from traindeck.services.jobs.run_outputs import FetchRules

        rules = FetchRules(wish.filters(), wish.most_bytes(), overwrite)
        fetched = await self._service.outputs.fetch(run.id, target, rules)
        self._become(run.id, fetched=fetched)
        return fetched

    async def _may_overwrite(self, fetched: FetchedOutputs, target: Path, choose: Choose) -> bool:
        question = count_text(
            "Overwrite {count} file that was edited here or comes from elsewhere?",
            "Overwrite {count} files that were edited here or come from elsewhere?",
            len(fetched.kept),
        )
        facts = [Text("{name}", {"name": name}) for name in _names(fetched.kept, target)]
        if len(fetched.kept) > _NAMED:
            facts.append(text("… and {count} more", count=len(fetched.kept) - _NAMED))
        return await choose(question, facts, [Way(_OVERWRITE, text("Overwrite"), is_loss=True)]) == _OVERWRITE

    async def _tensorboard(self, run_id: str, folder: Path) -> None:
        from traindeck.services.desktop.tensorboard import tensorboard

        try:
            async with tensorboard(folder) as address:
                self._become(run_id, tensorboard=address)
                self.page_wanted.emit(address)
                await asyncio.Event().wait()
        finally:
            self._become(run_id, tensorboard="")

    def _note_progress(self, run: Run, row: Transfer) -> None:
        state = self.of(run.id)
        places = [channel.place.rstrip("/") for channel in run.filled_spec.outputs]
        if state.is_waiting or row.profile != run.profile or row.source.rstrip("/") not in places:
            return
        total = row.total_bytes
        share = row.done_bytes / total if total else None
        words = text("Downloading the outputs…")
        if total:
            words = text(
                "Downloading the outputs: {done} of {all}", done=size_words(row.done_bytes), all=size_words(total)
            )
        self._become(run.id, share=share, words=words if state.is_busy else None)

    def _become(self, run_id: str, **changes: object) -> None:
        state = replace(self.of(run_id), **changes)  # type: ignore[arg-type]
        if state != self.of(run_id):
            self._states[run_id] = state
            self.changed.emit(run_id)


def _names(kept: Sequence[Path], target: Path) -> list[str]:
    """Below the folder they came to."""
    return [str(path.relative_to(target) if path.is_relative_to(target) else path) for path in kept[:_NAMED]]


def _task(run: Run) -> str:
    return f"fetch the outputs of {run.id}"


def _board(run: Run) -> str:
    return f"TensorBoard of {run.id}"
