"""The list of transfers, with how fast each goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.services.transfers import Transfer, TransferState
from traindeck.viewmodels.ports import Transferring

BEAT_MS = 100
_RATE_OVER_S = 3.0


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

    def __init__(self, transfers: Transferring, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._transfers = transfers
        self._clock = clock
        self._marks: dict[int, list[tuple[float, int]]] = {}
        self.state = TransferListState()
        self._beat = QTimer(self, singleShot=True, interval=BEAT_MS)
        self._beat.timeout.connect(self.look)
        self._stop_listening = transfers.changed.add(self._on_news)
        self.look()

    def close(self) -> None:
        self._stop_listening()
        self._beat.stop()

    def cancel(self, transfer_id: int) -> None:
        self._transfers.cancel(transfer_id)

    def clear_finished(self) -> None:
        self._transfers.clear_finished()
        self.look()

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
