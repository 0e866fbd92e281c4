"""How a transfer is put into words."""

from __future__ import annotations

from traindeck.domain.jobs import duration_words
from traindeck.domain.objects import size_words
from traindeck.domain.texts import Text, say, text
from traindeck.domain.transfers import Action, Item, ItemState, Kind, TransferState, WaitsFor
from traindeck.viewmodels.run_words import Tone, moment_words
from traindeck.viewmodels.transfer_list import TransferRow

_TONES = {
    TransferState.QUEUED: Tone.WAITING,
    TransferState.PLANNING: Tone.RUNNING,
    TransferState.READY: Tone.WAITING,
    TransferState.RUNNING: Tone.RUNNING,
    TransferState.WAITING: Tone.WAITING,
    TransferState.PAUSED: Tone.QUIET,
    TransferState.DONE: Tone.GOOD,
    TransferState.PARTLY: Tone.DOUBTFUL,
    TransferState.FAILED: Tone.BAD,
    TransferState.CANCELLED: Tone.QUIET,
}
_SIGNS = {Kind.UPLOAD: "↑", Kind.DOWNLOAD: "↓", Kind.COPY: "→", Kind.PACK: "▣"}
# These do not pass by themselves: somebody has to do something.
_NEEDS_SOMEBODY = (WaitsFor.KEYS, WaitsFor.CLOCK, WaitsFor.DISK)
_MOVED = {
    Kind.UPLOAD: text("Uploaded"),
    Kind.DOWNLOAD: text("Downloaded"),
    Kind.COPY: text("Copied"),
    Kind.PACK: text("Packed"),
}
_TO_MOVE = {
    Kind.UPLOAD: text("To upload"),
    Kind.DOWNLOAD: text("To download"),
    Kind.COPY: text("To copy"),
    Kind.PACK: text("To pack"),
}
_ITEM_TONES = {
    ItemState.QUEUED: Tone.QUIET,
    ItemState.WAITING: Tone.WAITING,
    ItemState.DONE: Tone.GOOD,
    ItemState.EQUAL: Tone.QUIET,
    ItemState.SKIPPED: Tone.DOUBTFUL,
    ItemState.FAILED: Tone.BAD,
}


def transfer_tone(row: TransferRow) -> Tone:
    if row.transfer.waits_for in _NEEDS_SOMEBODY:
        return Tone.DOUBTFUL
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
        case Kind.PACK:
            return say("Pack into tar shards")


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
            return say(waiting_words(transfer.waits_for))
        case TransferState.QUEUED:
            return say("Waiting")
        case TransferState.PLANNING:
            return say("Looking what there is")
        case TransferState.READY:
            return say("Ready to begin")
        case TransferState.PAUSED:
            return say("Paused at {share}", share=f"{row.share:.0%}") if row.share else say("Paused")
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


def waiting_words(waits_for: WaitsFor | None) -> Text:
    match waits_for:
        case WaitsFor.NETWORK:
            return text("Waits for the network")
        case WaitsFor.SERVICE:
            return text("Waits for the service")
        case WaitsFor.KEYS:
            return text("Waits for new keys")
        case WaitsFor.CLOCK:
            return text("Waits for the clock")
        case WaitsFor.DISK:
            return text("Waits for disk space")
        case None:
            return text("Waiting")


def reason_words(row: TransferRow) -> str:
    """All that is known about why it stands as it does: the reason, what to do, and when it tries again."""
    transfer = row.transfer
    parts = [progress_words(row)]
    if transfer.error is not None:
        parts = [transfer.error.sentence()]
        if transfer.waits_for is not None:
            parts.insert(0, progress_words(row))
    if transfer.next_try is not None:
        parts.append(say("Next try: {moment}", moment=moment_words(transfer.next_try)[11:]))
    return "\n".join(parts)


def counts_words(row: TransferRow) -> str:
    """How many files stand where; only what there is, and failures first, for the end may not be seen."""
    transfer = row.transfer
    parts = []
    if transfer.failed_files:
        parts.append(say("{count} failed", count=f"{transfer.failed_files:,}"))
    if transfer.files and not transfer.state.is_over:
        parts.append(say("{done} of {all}", done=f"{transfer.done_files:,}", all=f"{transfer.files:,}"))
    elif transfer.done_files:
        parts.append(say("{count} done", count=f"{transfer.done_files:,}"))
    if transfer.skipped_files:
        parts.append(say("{count} skipped", count=f"{transfer.skipped_files:,}"))
    if transfer.equal_files:
        parts.append(say("{count} equal", count=f"{transfer.equal_files:,}"))
    return " · ".join(parts)


def plan_words(row: TransferRow) -> str:
    """What a plan would do, in one line."""
    transfer = row.transfer
    moves = transfer.files - transfer.removals - transfer.failed_files
    parts = []
    if moves:
        words = f"{say(_TO_MOVE[transfer.kind])}: {moves:,}"
        size = size_words(transfer.total_bytes) if transfer.total_bytes is not None else ""
        parts.append(f"{words}, {size}" if size else words)
    if transfer.removals:
        parts.append(f"{say('To remove')}: {transfer.removals:,}")
    if transfer.failed_files:
        parts.append(say("cannot be moved: {count}", count=f"{transfer.failed_files:,}"))
    if transfer.skipped_files:
        parts.append(say("left out: {count}", count=f"{transfer.skipped_files:,}"))
    if transfer.equal_files:
        parts.append(say("equal: {count}", count=f"{transfer.equal_files:,}"))
    if not moves and not transfer.removals:
        parts.insert(0, say("Nothing would change"))
    return " · ".join(parts)


def item_tone(item: Item) -> Tone:
    if item.action is Action.REMOVE and item.state.is_open:
        return Tone.DOUBTFUL
    return _ITEM_TONES[item.state]


def item_words(item: Item, kind: Kind) -> str:
    """What became of one file."""
    match item.state:
        case ItemState.QUEUED:
            return say("To remove") if item.action is Action.REMOVE else say(_TO_MOVE[kind])
        case ItemState.WAITING:
            return say("Waiting")
        case ItemState.EQUAL:
            return say("Equal")
        case ItemState.SKIPPED:
            return say("Skipped")
        case ItemState.FAILED:
            return say("Not moved")
        case ItemState.DONE:
            pass
    if item.action is Action.REMOVE:
        return say("Removed")
    return say(_MOVED[kind])


def result_names(kind: Kind) -> list[tuple[ItemState, str]]:
    """The ends that a file can come to, in the words of a list to choose from."""
    return [
        (ItemState.DONE, say(_MOVED[kind])),
        (ItemState.EQUAL, say("Equal")),
        (ItemState.SKIPPED, say("Skipped")),
        (ItemState.FAILED, say("Not moved")),
    ]


def item_place(item: Item, row: TransferRow) -> str:
    return item.name or row.transfer.source.rstrip("/").replace("\\", "/").rpartition("/")[2]


def item_line(item: Item, row: TransferRow) -> str:
    """One line of text that a table program can take apart."""
    reason = item.error.sentence() if item.error else ""
    cells = (item_words(item, row.transfer.kind), item_place(item, row), size_words(item.size_bytes), reason)
    return "\t".join(" ".join(cell.split()) for cell in cells).rstrip()
