"""A bucket to be made: its name is looked at while it is typed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.new_bucket import NewBucket, name_note, name_problem
from traindeck.domain.policies import Template
from traindeck.domain.texts import Text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import Opener


@dataclass(frozen=True, slots=True)
class NewBucketState:
    wanted: NewBucket = field(default_factory=partial(NewBucket, ""))
    region: str = ""
    storage_classes: tuple[str, ...] = ()
    problem: Text | None = None
    note: Text | None = None
    trouble: AppError | None = None
    is_busy: bool = False

    @property
    def can_be_made(self) -> bool:
        return not self.is_busy and not self.problem and bool(self.wanted.name)


class NewBucketForm(QObject):
    """One attempt; `made` names the bucket that is there now."""

    changed = Signal()
    made = Signal(str)

    def __init__(self, profile: str, connections: Opener, scope: TaskScope) -> None:
        super().__init__()
        self._profile = profile
        self._connections = connections
        self._scope = scope
        self._task = f"new bucket {id(self)}"
        self.state = NewBucketState()

    def start(self) -> None:
        """Look up what can be chosen."""
        self._scope.start(f"{self._task} choices", self._look)

    def name(self, typed: str) -> None:
        wanted = replace(self.state.wanted, name=typed.strip())
        problem = name_problem(wanted.name) if wanted.name else None
        self._become(replace(self.state, wanted=wanted, problem=problem, note=name_note(wanted.name), trouble=None))

    def choose_class(self, name: str) -> None:
        self._become(replace(self.state, wanted=replace(self.state.wanted, storage_class=name)))

    def choose_template(self, template: Template) -> None:
        self._become(replace(self.state, wanted=replace(self.state.wanted, template=template)))

    def submit(self) -> None:
        if self.state.can_be_made:
            self._become(replace(self.state, is_busy=True, trouble=None))
            # The attempt before has said its last word, but may not be over.
            self._scope.start(self._task, self._make, Repeat.REPLACE)

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self._scope.cancel(f"{self._task} choices")

    async def _look(self) -> None:
        try:
            access = (await self._connections.open(self._profile)).access
        except AppError as error:
            self._become(replace(self.state, trouble=error))
            return
        self._become(replace(self.state, region=access.region, storage_classes=access.storage_classes))

    async def _make(self) -> None:
        wanted = self.state.wanted
        try:
            await (await self._connections.open(self._profile)).access.create(wanted)
        except AppError as error:
            # Said in the dialog, where it can be put right.
            self._become(replace(self.state, trouble=error))
            return
        finally:
            self._become(replace(self.state, is_busy=False))
        self.made.emit(wanted.name)

    def _become(self, state: NewBucketState) -> None:
        self.state = state
        self.changed.emit()
