"""Moving files between this computer and object storage."""

from traindeck.domain.transfers.records import TransferState
from traindeck.services.transfers.ledger import Transfer
from traindeck.services.transfers.service import Transfers

__all__ = ["Transfer", "TransferState", "Transfers"]
