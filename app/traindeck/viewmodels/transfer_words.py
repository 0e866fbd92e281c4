"""How a transfer is put into words."""

from __future__ import annotations

from traindeck.domain.jobs import duration_words
from traindeck.domain.objects import size_words
from traindeck.domain.texts import say
from traindeck.domain.transfers import Kind, TransferState
from traindeck.viewmodels.run_words import Tone
from traindeck.viewmodels.transfer_list import TransferRow

_TONES = {
    TransferState.QUEUED: Tone.WAITING,
    TransferState.PLANNING: Tone.RUNNING,
    TransferState.READY: Tone.WAITING,
    TransferState.RUNNING: Tone.RUNNING,
    TransferState.WAITING: Tone.WAITING,
    TransferState.PAUSED: Tone.QUIET,
    TransferState.DONE: Tone.GOOD,
    TransferState.PARTLY: Tone.BAD,
    TransferState.FAILED: Tone.BAD,
    TransferState.CANCELLED: Tone.QUIET,
}
_SIGNS = {Kind.UPLOAD: "↑", Kind.DOWNLOAD: "↓", Kind.COPY: "→"}


def transfer_tone(row: TransferRow) -> Tone:
    return _TONES[row.transfer.state]


def kind_sign(row: TransferRow) -> str:
    return _SIGNS[row.transfer.kind]


def kind_words(row: TransferRow) -> str:
    match row.transfer.kind:
        case Kind.UPLOAD:
            return say("Upload")
        case Kind.DOWNLOAD:
            return say("Download")
        case Kind.COPY:
            return say("Copy in the service")


def progress_words(row: TransferRow) -> str:
    """How far it is, what it waits for, or how it ended; a failure with its reason."""
    transfer = row.transfer
    error = transfer.error
    match transfer.state:
        case TransferState.RUNNING:
            return size_words(transfer.done_bytes) if row.share is None else f"{row.share:.0%}"
        case TransferState.FAILED | TransferState.PARTLY:
            return say(error.title) if error else say("Transfer failed")
        case TransferState.WAITING:
            return say("Waiting: {reason}", reason=say(error.title)) if error else say("Waiting")
        case TransferState.QUEUED:
            return say("Waiting")
        case TransferState.PLANNING:
            return say("Looking what there is")
        case TransferState.READY:
            return say("Ready to begin")
        case TransferState.PAUSED:
            return say("Paused")
        case TransferState.CANCELLED:
            return say("Cancelled")
        case TransferState.DONE:
            return say("Done")


def rate_words(row: TransferRow) -> str:
    """How fast, and how long still; empty when nothing moves."""
    if row.bytes_per_s is None:
        return ""
    rate = size_words(round(row.bytes_per_s))
    if row.seconds_left is None:
        return say("{rate}/s", rate=rate)
    return say("{rate}/s, {time} left", rate=rate, time=duration_words(row.seconds_left))
