"""Tells the journal how transfers of this program end."""

from __future__ import annotations

from traindeck.domain.texts import text
from traindeck.runtime.tasks import Listeners
from traindeck.services.transfers import Transfer, TransferState
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic
from traindeck.viewmodels.transfers.transfer_list import TransferRow
from traindeck.viewmodels.transfers.transfer_words import way_words

_ENDS = {
    TransferState.DONE: (text("Transfer finished: {way}"), NewsKind.DONE, SystemNotice.TRANSFER_DONE),
    TransferState.PARTLY: (
        text("Transfer finished, but not all files were transferred: {way}"),
        NewsKind.FAILED,
        SystemNotice.TRANSFER_FAILED,
    ),
    TransferState.FAILED: (text("Transfer failed: {way}"), NewsKind.FAILED, SystemNotice.TRANSFER_FAILED),
    TransferState.CANCELLED: (text("Transfer canceled: {way}"), NewsKind.NOTE, None),
}


class TransferNews:
    """One that was over before is shown by the list, and is no news."""

    def __init__(self, changed: Listeners[Transfer], journal: Journal) -> None:
        self._journal = journal
        self._under_way: set[int] = set()
        self._moving: set[int] = set()
        self._stop_listening = changed.add(self._on_transfer)

    def close(self) -> None:
        self._stop_listening()

    def _on_transfer(self, transfer: Transfer) -> None:
        if transfer.state is TransferState.RUNNING:
            self._moving.add(transfer.id)
        if not transfer.state.is_over:
            self._under_way.add(transfer.id)
        elif transfer.id in self._under_way:
            has_moved = transfer.id in self._moving
            self._under_way.discard(transfer.id)
            self._moving.discard(transfer.id)
            # A plan that was thought better of.
            if has_moved or transfer.state is not TransferState.CANCELLED:
                self._tell(transfer, has_moved=has_moved)

    def _tell(self, transfer: Transfer, *, has_moved: bool) -> None:
        words, kind, notice = _ENDS[transfer.state]
        if transfer.state is TransferState.FAILED and not has_moved:
            notice = None  # who asked for the plan is looking at it
        self._journal.tell(
            kind,
            words.with_fields(way=way_words(TransferRow(transfer))),
            transfer.error.paragraph() if transfer.error else None,
            name=f"transfer {transfer.id}",
            topic=Topic(Subject.TRANSFER, str(transfer.id), transfer.profile),
            is_quiet=True,
            notice=notice,
        )
