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
    verified_files: int = 0  # size and MD5 are confirmed, of those moved and of those found equal
    # What a check finds
    different_files: int = 0
    missing_here: int = 0
    missing_there: int = 0
    unknown_files: int = 0
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

    @property
    def differences(self) -> int:
        return self.different_files + self.missing_there + self.missing_here

    @property
    def is_verified(self) -> bool:
        """It is over, and of every file size and MD5 are confirmed."""
        confirmable = self.done_files + self.equal_files - self.removals
        is_whole = self.state is TransferState.DONE and not (self.skipped_files or self.unknown_files)
        return is_whole and 0 < confirmable == self.verified_files
