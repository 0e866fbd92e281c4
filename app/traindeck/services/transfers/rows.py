"""A transfer as it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from traindeck.domain.errors import AppError
from traindeck.domain.transfers import Kind, TransferState, WaitsFor


@dataclass(frozen=True, slots=True)
class Transfer:
    """One row of the list: a file or a whole folder on its way. `total_bytes` is None until all of it is known."""

    id: int
    kind: Kind
    source: str
    target: str
    state: TransferState = TransferState.RUNNING
    profile: str = ""
    root: str = ""  # the local file or folder, once it is known
    total_bytes: int | None = None
    done_bytes: int = 0
    files: int = 0
    done_files: int = 0
    equal_files: int = 0
    skipped_files: int = 0
    failed_files: int = 0
    removals: int = 0
    removal_bytes: int = 0
    is_move: bool = False
    copied_files: int = 0  # of a move: at the target, and still at the source
    small_files: int = 0
    error: AppError | None = None
    waits_for: WaitsFor | None = None
    next_try: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
