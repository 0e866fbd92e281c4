"""What became of each file of a transfer, a page at a time: there may be a million of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.transfers import DIFFERENCES, Item, ItemState
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import Transferring

PAGE = 500

ALL = tuple(ItemState)
PROBLEMS = (ItemState.FAILED, *DIFFERENCES, ItemState.UNKNOWN, ItemState.SKIPPED, ItemState.WAITING)
# Whether these are verified is a question.
ENDED_WELL = (ItemState.DONE, ItemState.EQUAL, ItemState.UNKNOWN)

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class FilesState:
    """What is said beside the rows."""

    states: tuple[ItemState, ...] = ALL
    is_verified: bool | None = None
    is_reading: bool = False
    has_more: bool = True
    trouble: AppError | None = None


class TransferFiles(QObject):
    """The files in the order of their names; `rows` grows by pages."""

    changed = Signal()
    emptied = Signal()
    """The rows begin anew."""
    grew = Signal(int)
    """Rows came; the number is that of the first."""

    def __init__(self, transfers: Transferring, transfer_id: int, scope: TaskScope) -> None:
        super().__init__()
        self._transfers = transfers
        self._transfer_id = transfer_id
        self._scope = scope
        self._name = f"files of transfer {transfer_id}, {next(_numbers)}"
        self.rows: list[Item] = []
        self.state = FilesState()

    def show(self, states: Sequence[ItemState], is_verified: bool | None = None) -> None:
        """Only files that stand so, from the first on."""
        self._begin(tuple(states), is_verified)

    def reload(self) -> None:
        self._begin(self.state.states, self.state.is_verified)

    def more(self) -> None:
        """The page after the last that is there."""
        if self.state.has_more and not self.state.is_reading:
            self._start(replace(self.state, is_reading=True, trouble=None))

    def close(self) -> None:
        self._scope.cancel(self._name)

    def _begin(self, states: tuple[ItemState, ...], is_verified: bool | None) -> None:
        self.rows = []
        self.emptied.emit()
        self._start(FilesState(states, is_verified, is_reading=True))

    def _start(self, state: FilesState) -> None:
        self._become(state)
        self._scope.start(self._name, partial(self._read, state), Repeat.REPLACE)

    async def _read(self, wanted: FilesState) -> None:
        after = self.rows[-1].key if self.rows else ""
        try:
            page = await self._transfers.items(
                self._transfer_id, wanted.states, is_verified=wanted.is_verified, after=after, most=PAGE
            )
        except AppError as error:
            self._become(replace(wanted, is_reading=False, has_more=False, trouble=error))
            return
        first = len(self.rows)
        self.rows += page
        if page:
            self.grew.emit(first)
        self._become(replace(wanted, is_reading=False, has_more=len(page) == PAGE))

    def _become(self, state: FilesState) -> None:
        self.state = state
        self.changed.emit()
