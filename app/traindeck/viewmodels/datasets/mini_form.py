"""Making a small copy of a dataset: what is kept of it, shown before anything is written, and the making."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from traindeck.domain.datasets.choice import SampleShare
from traindeck.domain.datasets.places import DatasetFolder
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import ObjectPath, names_a_service
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import Stateful
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.storage.deleting import News

if TYPE_CHECKING:
    from traindeck.services.datasets.datasets import Datasets
    from traindeck.services.datasets.mini_plan import MiniPlan

_numbers = count(1)
_EVERY = 2000
"""Names between two words of how many there are: each is drawn."""


class MiniStage(Enum):
    ASKING = auto()
    LOOKING = auto()
    SHOWN = auto()
    MAKING = auto()
    DONE = auto()


@dataclass(frozen=True, slots=True)
class MiniChoice:
    """What the user says."""

    source: str = ""
    target: str = ""
    is_share: bool = False
    per_class: int = 20
    percent: int = 5
    seed: str = ""
    by_folder: bool = False


@dataclass(frozen=True, slots=True)
class MiniState:
    choice: MiniChoice
    stage: MiniStage = MiniStage.ASKING
    plan: MiniPlan | None = None
    counted: int = 0
    """Names while it looks, files while it copies on this computer."""
    trouble: AppError | None = None

    @property
    def is_busy(self) -> bool:
        return self.stage in (MiniStage.LOOKING, MiniStage.MAKING)

    @property
    def can_look(self) -> bool:
        return bool(self.choice.source.strip()) and not self.is_busy

    @property
    def can_make(self) -> bool:
        return self.stage is MiniStage.SHOWN and bool(self.choice.target.strip())


class MiniForm(Stateful):
    """One small copy; what is under way goes on when its dialog is closed."""

    state: MiniState

    def __init__(
        self, source: str, profile: str, datasets: Datasets, scope: TaskScope, tell: Callable[[News], object]
    ) -> None:
        super().__init__()
        self.state = MiniState(MiniChoice(source))
        self._profile = profile
        self._datasets = datasets
        self._scope = scope
        self._tell = tell
        self._name = f"small copy of a dataset, {next(_numbers)}"
        self._is_open = True
        self._moving = 0
        self._suggest()

    made = Signal()

    def choose(self, **changes: object) -> None:
        """Say what is wanted; what was shown for something else is forgotten."""
        if self.state.is_busy:
            return
        choice = replace(self.state.choice, **changes)  # type: ignore[arg-type]
        if choice == self.state.choice:
            return
        # Where it goes changes nothing of what it is.
        keeps_plan = replace(choice, target="") == replace(self.state.choice, target="")
        kept = self.state if keeps_plan and self.state.stage is MiniStage.SHOWN else MiniState(choice)
        was_suggested = self.state.choice.target in ("", _suggested(self.state.choice.source))
        self._become(choice=choice, stage=kept.stage, plan=kept.plan, trouble=None, counted=0)
        if "source" in changes and was_suggested:
            self._suggest()

    def look(self) -> None:
        """Find out what would be kept; nothing is written."""
        if self.state.can_look:
            self._become(stage=MiniStage.LOOKING, plan=None, trouble=None, counted=0)
            self._scope.start(self._name, self._look, Repeat.REPLACE)

    def make(self) -> None:
        """Write what was shown."""
        plan = self.state.plan
        if self.state.can_make and plan is not None:
            self._become(stage=MiniStage.MAKING, trouble=None, counted=0)
            self._scope.start(self._name, partial(self._make, plan), Repeat.REPLACE)

    def stop(self) -> None:
        """What was copied stays, and is gone on with when it is made again."""
        if self.state.is_busy:
            self._scope.cancel(self._name)
            if self._moving:  # it would go on by itself
                self._datasets.cancel(self._moving)
                self._moving = 0
            stage = MiniStage.SHOWN if self.state.stage is MiniStage.MAKING else MiniStage.ASKING
            self._become(stage=stage)

    def close(self) -> None:
        self._is_open = False
        if self.state.stage is MiniStage.LOOKING:
            self._scope.cancel(self._name)

    async def _look(self) -> None:
        from traindeck.services.datasets.datasets import refuse_inside
        from traindeck.services.datasets.mini_plan import MiniOptions

        choice = self.state.choice
        try:
            source = folder_of(choice.source)
            if choice.target.strip():
                refuse_inside(source, folder_of(choice.target))
            share = choice.percent / 100 if choice.is_share else 0.0
            wanted = SampleShare(None if choice.is_share else choice.per_class, share, choice.seed)
            options = MiniOptions(wanted, by_folder=choice.by_folder)
            plan = await self._datasets.plan(source, self._whose, options, self._seen)
        except AppError as error:
            self._become(stage=MiniStage.ASKING, trouble=error)
            return
        self._become(stage=MiniStage.SHOWN, plan=plan)

    async def _make(self, plan: MiniPlan) -> None:
        from traindeck.services.datasets.datasets import refuse_inside

        choice, datasets = self.state.choice, self._datasets
        try:
            source, target = folder_of(choice.source), folder_of(choice.target)
            refuse_inside(source, target)
            await datasets.check_target(plan, target, self._whose)
            await datasets.make(plan, source, target, self._whose, self._copied, self._moved)
        except AppError as error:
            self._become(stage=MiniStage.SHOWN, trouble=error)
            if not self._is_open:
                self._tell(News(error.title))
            return
        self._become(stage=MiniStage.DONE)
        self._tell(News(_done_words(plan, str(target)), None, self._topic(target)))
        self.made.emit()

    async def _moved(self, number: int) -> None:
        self._moving = number
        await self._datasets.moved(number)
        self._moving = 0

    def _topic(self, target: DatasetFolder) -> Topic:
        if isinstance(target, Path):
            return Topic(Subject.FILE, str(target))
        return Topic(Subject.PLACE, str(target), self._profile)

    def _whose(self) -> str:
        return self._profile

    def _seen(self, names: int) -> None:
        """Called in another thread."""
        if names % _EVERY == 0:
            self._datasets.planes.on_main(self._show_count, names)

    def _copied(self, files: int, _size_bytes: int) -> None:
        self._show_count(files)

    def _show_count(self, counted: int) -> None:
        if self.state.is_busy:
            self._become(counted=counted)

    def _suggest(self) -> None:
        self._become(choice=replace(self.state.choice, target=_suggested(self.state.choice.source)))


def _suggested(source: str) -> str:
    """Beside it; empty where nothing can be said of it yet."""
    from traindeck.services.datasets.datasets import beside

    try:
        return str(beside(folder_of(source)))
    except AppError:
        return ""


def folder_of(words: str) -> DatasetFolder:
    words = words.strip()
    if names_a_service(words):
        return ObjectPath.parse(words).as_folder()
    folder = Path(words).expanduser()
    if not words or not folder.is_absolute():
        raise InvalidInput(
            text("“{folder}” is not a full path.", folder=words),
            text("Select the folder, or enter its full path, or obs://bucket/folder/."),
        )
    return folder


def _done_words(plan: MiniPlan, target: str) -> Text:
    totals = plan.totals
    return count_text(
        "Created {target}: {kept} of {count} sample.", "Created {target}: {kept} of {count} samples.", totals.samples,
        target=target, kept=f"{totals.kept:,}",
    )  # fmt: skip
