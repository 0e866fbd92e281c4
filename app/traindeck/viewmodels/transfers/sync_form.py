"""Making a folder here and one in a bucket alike: what is wanted, what it would change, and the yes to it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import count
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import CompareBy, Kind, Links, Order, Rules
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.transfers import Transfers
from traindeck.viewmodels.transfers.transfer_list import TransferRow

_numbers = count(1)


class PlanStage(Enum):
    """How far a plan is."""

    ASKING = auto()
    LOOKING = auto()
    SHOWN = auto()


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """What the user says; `ignore` is a rule a line."""

    folder: str = ""
    goes_up: bool = True
    compare: CompareBy = CompareBy.SIZE_AND_TIME
    delete: bool = False
    max_delete: int = 1000
    ignore: str = ""
    links: Links = Links.SKIP


@dataclass(frozen=True, slots=True)
class SyncState:
    options: SyncOptions
    stage: PlanStage = PlanStage.ASKING
    plan: TransferRow | None = None
    trouble: AppError | None = None

    @property
    def can_look(self) -> bool:
        return bool(self.options.folder.strip()) and self.stage is not PlanStage.LOOKING

    @property
    def can_begin(self) -> bool:
        if self.stage is not PlanStage.SHOWN or self.plan is None:
            return False
        return self.plan.transfer.files > self.plan.transfer.failed_files


class SyncForm(QObject):
    """One plan at a time: other options drop it."""

    changed = Signal()
    begun = Signal(int)

    def __init__(self, profile: str, place: ObjectPath, planner: Transfers, scope: TaskScope) -> None:
        super().__init__()
        self.place = place.as_folder()
        self.state = SyncState(SyncOptions(links=planner.usual.links))
        self._profile = profile
        self._planner = planner
        self._scope = scope
        self._name = f"plan a sync, {next(_numbers)}"

    def choose(self, **options: object) -> None:
        """Say what is wanted; a plan for something else is dropped."""
        changed = replace(self.state.options, **options)  # type: ignore[arg-type]
        if changed != self.state.options:
            self._drop()
            self._become(SyncState(changed))

    def again(self) -> SyncForm:
        """The same options, with nothing planned."""
        fresh = SyncForm(self._profile, self.place, self._planner, self._scope)
        fresh.state = SyncState(self.state.options)
        return fresh

    def look(self) -> None:
        """Find out what would change; nothing moves."""
        if self.state.can_look:
            self._drop()
            self._become(SyncState(self.state.options, PlanStage.LOOKING))
            self._scope.start(self._name, self._look, Repeat.REPLACE)

    def begin(self) -> None:
        """Do what was shown."""
        plan = self.state.plan
        if self.state.can_begin and plan is not None:
            self._planner.confirm(plan.id)
            self._become(SyncState(self.state.options))
            self.begun.emit(plan.id)

    def close(self) -> None:
        """What was planned and not begun is forgotten."""
        self._scope.cancel(self._name)
        self._drop()

    async def _look(self) -> None:
        options = self.state.options
        try:
            row = await self._planner.planned(self._order(options), is_preview=True)
        except AppError as error:
            self._become(SyncState(options, trouble=error))
            return
        self._become(SyncState(options, PlanStage.SHOWN, TransferRow(row)))

    def _order(self, options: SyncOptions) -> Order:
        folder = Path(options.folder.strip()).expanduser()
        if not folder.is_absolute():
            raise InvalidInput(
                text("“{folder}” is not a full path.", folder=options.folder.strip()),
                text("Select the folder, or enter its full path."),
            )
        here, there = os.path.normpath(folder), str(self.place)
        kind, source, target = (Kind.UPLOAD, here, there) if options.goes_up else (Kind.DOWNLOAD, there, here)
        rules = Rules(
            compare=options.compare,
            ignore=tuple(filter(None, map(str.strip, options.ignore.splitlines()))),
            has_ignore_files=True,
            delete=options.delete,
            links=options.links,
            max_delete=options.max_delete,
            keep_times=options.compare is CompareBy.SIZE_AND_TIME,
        )
        return Order(kind, self._profile, source, target, rules)

    def _drop(self) -> None:
        if self.state.plan is not None:
            plan = self.state.plan.id
            self._become(replace(self.state, stage=PlanStage.ASKING, plan=None))
            self._scope.start(f"drop plan {plan}", lambda: self._planner.drop(plan))

    def _become(self, state: SyncState) -> None:
        if state != self.state:
            self.state = state
            self.changed.emit()
