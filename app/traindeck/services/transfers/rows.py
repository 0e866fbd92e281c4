"""A transfer under way as it is shown: what was counted, what stands in its way."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.transfers.records import ItemState, Totals, TransferState, WaitsFor
from traindeck.services.transfers.ledger import Transfer

if TYPE_CHECKING:
    from traindeck.services.transfers.active import ActiveTransfer


def transfer_row(
    active: ActiveTransfer,
    totals: Totals,
    *,
    state: TransferState,
    trouble: AppError | None,
    waits: WaitsFor | None,
    tries: int,
    next_try: datetime | None,
) -> Transfer:
    record, files = active.record, totals.files
    is_known = record.is_planned and not active.is_planning
    return Transfer(
        id=active.id,
        kind=active.kind,
        source=record.order.source,
        target=record.order.target,
        state=state,
        profile=record.order.profile,
        chosen=record.order.rules.chosen,
        root=record.root,
        total_bytes=totals.moving_bytes if is_known else None,
        done_bytes=max(0, active.done_bytes),
        files=totals.moving_files if is_known else 0,
        done_files=files[ItemState.DONE] + (0 if record.state.is_over else totals.copied_files),
        equal_files=files[ItemState.EQUAL],
        skipped_files=files[ItemState.SKIPPED],
        failed_files=files[ItemState.FAILED],
        verified_files=totals.verified,
        different_files=files[ItemState.DIFFERENT],
        missing_there=files[ItemState.MISSING_THERE],
        missing_here=files[ItemState.MISSING_HERE],
        unknown_files=files[ItemState.UNKNOWN],
        removals=totals.removals,
        removal_bytes=totals.removal_bytes,
        is_move=active.is_move,
        copied_files=totals.copied_files,
        kept_files=files[ItemState.KEPT],
        replaced_files=totals.replaced,
        replacing_bytes=totals.replacing_bytes,
        small_files=totals.small_files,
        error=record.error or trouble,
        waits_for=waits,
        tries=tries,
        next_try=next_try,
        started=record.started,
        ended=record.ended,
    )
