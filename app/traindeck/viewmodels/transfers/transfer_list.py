"""The list of transfers: how fast each goes, and what may be done to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from itertools import count

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.texts import Text, count_text, text
from traindeck.domain.transfers.orders import Kind
from traindeck.domain.transfers.records import DIFFERENCES, Item, ItemState
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.transfers import Transfer, Transfers, TransferState
from traindeck.services.transfers.engine import TransferEngine
from traindeck.viewmodels.ports import Confirm

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

    def __init__(self, transfers: Transfers, transfer_id: int, scope: TaskScope) -> None:
        super().__init__()
        self._transfers = transfers
        self._transfer_id = transfer_id
        self._scope = scope
        self._name = f"files of transfer {transfer_id}, {next(_numbers)}"
        self.rows: list[Item] = []
        self.state = FilesState()

    def show(self, states: Sequence[ItemState], is_verified: bool | None = None) -> None:
        """Only files that stand so, from the first on."""
        self.rows = []
        self.emptied.emit()
        self._start(FilesState(tuple(states), is_verified, is_reading=True))

    def reload(self) -> None:
        self.show(self.state.states, self.state.is_verified)

    def more(self) -> None:
        """The page after the last that is there."""
        if self.state.has_more and not self.state.is_reading:
            self._start(replace(self.state, is_reading=True, trouble=None))

    def close(self) -> None:
        self._scope.cancel(self._name)

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


BEAT_MS = 100
_RATE_OVER_S = 3.0
_UNDER_WAY = frozenset(
    {TransferState.QUEUED, TransferState.PLANNING, TransferState.RUNNING, TransferState.WAITING, TransferState.PAUSED}
)


class TransferAction(Enum):
    """What may be done to transfers."""

    BEGIN = auto()
    PAUSE = auto()
    RESUME = auto()
    RETRY = auto()
    VERIFY = auto()
    MOVE_FIRST = auto()
    CANCEL = auto()
    REMOVE = auto()


_FITTING = {
    TransferAction.BEGIN: frozenset({TransferState.READY}),
    TransferAction.PAUSE: _UNDER_WAY - {TransferState.PAUSED},
    # What waits need not wait any longer when somebody says so.
    TransferAction.RESUME: frozenset({TransferState.PAUSED, TransferState.WAITING}),
    TransferAction.RETRY: frozenset({TransferState.PARTLY, TransferState.FAILED, TransferState.CANCELLED}),
    TransferAction.VERIFY: frozenset({TransferState.DONE, TransferState.PARTLY}),
    TransferAction.MOVE_FIRST: _UNDER_WAY,
    TransferAction.CANCEL: _UNDER_WAY | {TransferState.READY},
    TransferAction.REMOVE: frozenset(state for state in TransferState if state.is_over),
}

_ACTS = {
    TransferAction.PAUSE: TransferEngine.pause,
    TransferAction.RESUME: TransferEngine.resume,
    TransferAction.RETRY: TransferEngine.retry,
    TransferAction.VERIFY: TransferEngine.verify,
    TransferAction.MOVE_FIRST: TransferEngine.move_first,
    TransferAction.CANCEL: TransferEngine.cancel,
}


@dataclass(frozen=True, slots=True)
class TransferRow:
    transfer: Transfer
    bytes_per_s: float | None = None

    @property
    def id(self) -> int:
        return self.transfer.id

    @property
    def share(self) -> float | None:
        """Done of all, 0 to 1; None while the whole is not known."""
        total = self.transfer.total_bytes
        if self.transfer.state is TransferState.DONE:
            return 1.0
        if total is None:
            return None
        if not total and self.transfer.files:  # nothing but removals
            return min(1.0, self.transfer.done_files / self.transfer.files)
        return min(1.0, self.transfer.done_bytes / total) if total else 0.0

    @property
    def seconds_left(self) -> float | None:
        total = self.transfer.total_bytes
        if total is None or not self.bytes_per_s or self.transfer.state is not TransferState.RUNNING:
            return None
        return (total - self.transfer.done_bytes) / self.bytes_per_s


@dataclass(frozen=True, slots=True)
class TransferListState:
    rows: tuple[TransferRow, ...] = ()

    @property
    def live(self) -> int:
        return sum(not row.transfer.state.is_over for row in self.rows)

    @property
    def bytes_per_s(self) -> float | None:
        rates = [row.bytes_per_s for row in self.rows if row.bytes_per_s is not None]
        return sum(rates) if rates else None


class TransferList(QObject):
    """Looks at the transfers once a beat, however often they move."""

    changed = Signal()

    def __init__(
        self,
        transfers: Transfers,
        scope: TaskScope,
        clock: Callable[[], float] = time.monotonic,
        *,
        rate_limit: int = 0,
        keep_rate: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`keep_rate` is told of a limit that is to hold at the next start, too."""
        super().__init__()
        self.rate_limit = rate_limit
        self._keep_rate = keep_rate
        self._transfers = transfers
        self._scope = scope
        self._clock = clock
        self._marks: dict[int, list[tuple[float, int]]] = {}
        self.state = TransferListState()
        self.chosen: tuple[int, ...] = ()
        """What the commands act on."""
        self._beat = QTimer(self, singleShot=True, interval=BEAT_MS)
        self._beat.timeout.connect(self.look)
        self._stop_listening = transfers.changed.add(self._on_news)
        if rate_limit:
            transfers.set_rate(rate_limit)
        self.look()

    def close(self) -> None:
        self._stop_listening()
        self._beat.stop()

    def row(self, transfer_id: int) -> TransferRow | None:
        return next((row for row in self.state.rows if row.id == transfer_id), None)

    def fitting(self, asked: TransferAction, ids: Iterable[int]) -> list[int]:
        """Those of `ids` that it can be done to."""
        wanted = set(ids)
        if asked is TransferAction.MOVE_FIRST and self.state.live < 2:
            return []
        rows = [row.transfer for row in self.state.rows if row.id in wanted]
        if asked is TransferAction.VERIFY:
            # What was moved or removed has no other side any more; files that were packed never had one.
            rows = [row for row in rows if row.target and not row.is_move and row.kind is not Kind.PACK]
        return [row.id for row in rows if row.state in _FITTING[asked]]

    def do(self, asked: TransferAction, ids: Iterable[int]) -> None:
        """At once, to all of `ids` that it fits."""
        # The newest is above: moved one by one, the oldest of them comes to be the first of all.
        fitting = self.fitting(asked, ids)
        if asked is TransferAction.REMOVE:
            self._transfers.forget(fitting)
            self.look()
            return
        for number in fitting:
            if asked is TransferAction.BEGIN:
                self._transfers.confirm(number)
            else:
                self._transfers.ask(_ACTS[asked], number)

    def begin(self, ids: Iterable[int], confirm: Confirm) -> None:
        """Do what was planned; files are removed only after a question."""
        chosen = self.fitting(TransferAction.BEGIN, ids)
        removals = sum(row.transfer.removals for row in self.state.rows if row.id in chosen)
        act = partial(self.do, TransferAction.BEGIN, chosen)
        if removals:
            self.ask_to_remove(removals, confirm, act)
        else:
            act()

    def ask_to_remove(self, count: int, confirm: Confirm, act: Callable[[], None]) -> None:
        """Act only where the user means to remove so many files."""
        question = count_text("This deletes {count} file. Start?", "This deletes {count} files. Start?", count)
        self._ask("ask before files are removed", question, text("Start"), confirm, act)

    def _ask(self, name: str, question: Text, action: Text, confirm: Confirm, act: Callable[[], None]) -> None:
        async def ask() -> None:
            if await confirm(question, action):
                act()

        self._scope.start(name, ask)

    def limit_rate(self, bytes_per_s: int) -> None:
        """For all of them together; 0 is no limit."""
        self.rate_limit = bytes_per_s
        self._transfers.set_rate(bytes_per_s)
        self._keep_rate(bytes_per_s)
        self.changed.emit()

    def files(self, transfer_id: int) -> TransferFiles:
        """What became of each file of it."""
        return TransferFiles(self._transfers, transfer_id, self._scope)

    def has_finished(self) -> bool:
        return self.state.live < len(self.state.rows)

    def clear_finished(self) -> None:
        self.do(TransferAction.REMOVE, [row.id for row in self.state.rows])

    def look(self) -> None:
        rows = tuple(TransferRow(transfer, self._rate(transfer)) for transfer in self._transfers.rows())
        known = {row.id for row in rows}
        self._marks = {key: marks for key, marks in self._marks.items() if key in known}
        if rows != self.state.rows:
            self.state = TransferListState(rows)
            self.changed.emit()

    def _on_news(self, _: Transfer) -> None:
        if not self._beat.isActive():
            self._beat.start()

    def _rate(self, transfer: Transfer) -> float | None:
        """Over the last seconds, so that it neither jumps nor remembers the start for ever."""
        if transfer.state is not TransferState.RUNNING:
            self._marks.pop(transfer.id, None)
            return None
        now = self._clock()
        marks = self._marks.setdefault(transfer.id, [])
        marks.append((now, transfer.done_bytes))
        while len(marks) > 2 and marks[1][0] < now - _RATE_OVER_S:
            del marks[0]
        (begun, bytes_then), (_, bytes_now) = marks[0], marks[-1]
        return (bytes_now - bytes_then) / (now - begun) if now > begun else None
