"""How a transfer is put into words."""

from __future__ import annotations

from traindeck.domain.jobs import duration_words
from traindeck.domain.objects import size_words
from traindeck.domain.texts import say
from traindeck.services.transfers import TransferState
from traindeck.viewmodels.run_words import Tone
from traindeck.viewmodels.transfer_list import TransferRow

_TONES = {
    TransferState.WAITING: Tone.WAITING,
    TransferState.RUNNING: Tone.RUNNING,
    TransferState.DONE: Tone.GOOD,
    TransferState.FAILED: Tone.BAD,
    TransferState.CANCELLED: Tone.QUIET,
}


def transfer_tone(row: TransferRow) -> Tone:
    return _TONES[row.transfer.state]


def progress_words(row: TransferRow) -> str:
    """How far it is, or how it ended; a failure with its reason."""
    state, error = row.transfer.state, row.transfer.error
    if state is TransferState.FAILED:
        return say(error.title) if error else say("Transfer failed")
    if state is TransferState.RUNNING:
        return size_words(row.transfer.done_bytes) if row.share is None else f"{row.share:.0%}"
    if state is TransferState.DONE:
        return say("Done")
    return say("Cancelled") if state is TransferState.CANCELLED else say("Waiting")


def rate_words(row: TransferRow) -> str:
    """How fast, and how long still; empty when nothing moves."""
    if row.bytes_per_s is None:
        return ""
    rate = size_words(round(row.bytes_per_s))
    if row.seconds_left is None:
        return say("{rate}/s", rate=rate)
    return say("{rate}/s, {time} left", rate=rate, time=duration_words(row.seconds_left))
