"""Looking at a dataset: how far it is, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.datasets.places import DatasetFolder
from traindeck.domain.errors import AppError
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.datasets.mini_form import folder_of
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:
    from traindeck.domain.datasets.report import DatasetReport
    from traindeck.services.datasets.datasets import Datasets
    from traindeck.services.datasets.looking import DatasetLook, Stage

_numbers = count(1)
_EVERY_NAMES, _EVERY_FILES = 2000, 20


class LookStage(Enum):
    NAMES = auto()
    CLASSES = auto()
    CONTENTS = auto()
    DONE = auto()


@dataclass(frozen=True, slots=True)
class LookState:
    stage: LookStage = LookStage.NAMES
    done: int = 0
    total: int = 0
    report: DatasetReport | None = None
    trouble: AppError | None = None
    has_contents: bool = False
    """Files are read too."""

    @property
    def is_busy(self) -> bool:
        return self.stage is not LookStage.DONE


class DatasetReportPage(Stateful):
    """What a tab shows of one place; of a bucket, contents are read only when somebody asks for that."""

    state: LookState

    def __init__(self, place: str, profile: str, datasets: Datasets, scope: TaskScope) -> None:
        super().__init__()
        self.place = place
        self.folder: DatasetFolder = folder_of(place)
        self.profile = profile
        self.state = LookState(LookStage.DONE)
        self._datasets = datasets
        self._scope = scope
        self._name = f"look at a dataset, {next(_numbers)}"
        self._look: DatasetLook | None = None

    @property
    def is_local(self) -> bool:
        return isinstance(self.folder, Path)

    def look(self, *, contents: bool) -> None:
        """Anew; what was found before stays in sight until there is something newer."""
        self._become(stage=LookStage.NAMES, done=0, total=0, trouble=None, has_contents=contents)
        self._scope.start(self._name, partial(self._run, contents), Repeat.REPLACE)

    def stop(self) -> None:
        """With what is known by then: names must be counted to their end, or nothing is known."""
        if self.state.stage is LookStage.CONTENTS and self._look is not None:
            self._look.stop()
        elif self.state.is_busy:
            self.close()
            self._become(stage=LookStage.DONE)

    def close(self) -> None:
        self._scope.cancel(self._name)

    async def _run(self, contents: bool) -> None:
        self._look = self._datasets.look(self.folder, lambda: self.profile, self._at, contents=contents)
        try:
            report = await self._look.report(str(self.folder))
        except AppError as error:
            self._become(stage=LookStage.DONE, trouble=error)
            return
        finally:
            self._look = None
        self._become(stage=LookStage.DONE, report=report)

    def _at(self, stage: Stage, done: int, total: int) -> None:
        """Called in other threads, too."""
        every = _EVERY_FILES if stage.name == LookStage.CONTENTS.name else _EVERY_NAMES
        if done % every == 0 or done == 1:
            self._datasets.planes.on_main(self._show, (LookStage[stage.name], done, total))

    def _show(self, at: tuple[LookStage, int, int]) -> None:
        if self.state.is_busy and self._look is not None:
            self._become(stage=at[0], done=at[1], total=at[2])
