"""Moving files between this computer and object storage."""

from traindeck.domain.transfers import TransferState
from traindeck.services.transfers.desk import Transfers
from traindeck.services.transfers.rows import Transfer

__all__ = ["Transfer", "TransferState", "Transfers"]
