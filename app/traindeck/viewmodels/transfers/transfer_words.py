"""How a transfer is put into words."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath
from typing import NamedTuple

from traindeck.domain.jobs.job import duration_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, exact_words, say, say_count, text
from traindeck.domain.transfers.orders import Kind, is_remote
from traindeck.domain.transfers.records import Action, Item, ItemState, TransferState, WaitsFor, name_there
from traindeck.viewmodels.ports import Tone
from traindeck.viewmodels.transfers.transfer_list import TransferListState, TransferRow

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


class _KindWords(NamedTuple):
    sign: str
    name: Text
    to_do: Text
    done: Text


_KINDS = {
    Kind.UPLOAD: _KindWords("↑", text("Upload"), text("To upload"), text("Uploaded")),
    Kind.DOWNLOAD: _KindWords("↓", text("Download"), text("To download"), text("Downloaded")),
    Kind.COPY: _KindWords("→", text("Copy in OBS"), text("To copy"), text("Copied")),
    Kind.PACK: _KindWords("▣", text("Pack into tar shards"), text("To pack"), text("Packed")),
    Kind.CHECK: _KindWords("=", text("Verify only, no transfer"), text("To verify"), text("Verified")),
    Kind.REMOVE: _KindWords("×", text("Delete"), text("To delete"), text("Deleted")),
    Kind.RESTORE: _KindWords("↺", text("Undelete objects"), text("To undelete"), text("Undeleted")),
}
# These do not pass by themselves: somebody has to do something.
_NEEDS_SOMEBODY = (WaitsFor.KEYS, WaitsFor.CLOCK, WaitsFor.DISK)
_STATES = {
    TransferState.QUEUED: text("Waiting"),
    TransferState.PLANNING: text("Scanning…"),
    TransferState.READY: text("Ready to start"),
    TransferState.CANCELLED: text("Canceled"),
}
_TELLING_SHARE = 0.01
_WAITING = {
    WaitsFor.NETWORK: text("Waiting for network"),
    WaitsFor.SERVICE: text("Waiting for the service"),
    WaitsFor.KEYS: text("Waiting for new keys"),
    WaitsFor.CLOCK: text("Computer clock is wrong"),
    WaitsFor.DISK: text("Waiting for disk space"),
    None: text("Waiting"),
}
_ITEM_TONES = {
    ItemState.QUEUED: Tone.QUIET,
    ItemState.WAITING: Tone.WAITING,
    ItemState.DONE: Tone.GOOD,
    ItemState.EQUAL: Tone.QUIET,
    ItemState.SKIPPED: Tone.DOUBTFUL,
    ItemState.FAILED: Tone.BAD,
    ItemState.DIFFERENT: Tone.BAD,
    ItemState.MISSING_HERE: Tone.BAD,
    ItemState.MISSING_THERE: Tone.BAD,
    ItemState.UNKNOWN: Tone.DOUBTFUL,
    ItemState.KEPT: Tone.QUIET,
}
UNCONFIRMED = "–"
_LEFT_OUT = {
    ItemState.WAITING: text("Waiting"),
    ItemState.EQUAL: text("Identical"),
    ItemState.SKIPPED: text("Skipped"),
    ItemState.KEPT: text("Kept"),
}
_NOT_DONE = {False: text("Transfer failed"), True: text("Could not be read")}
_FOUND = {
    ItemState.DIFFERENT: text("Different"),
    ItemState.MISSING_HERE: text("Missing at source"),
    ItemState.MISSING_THERE: text("Missing at destination"),
    ItemState.UNKNOWN: text("Cannot be checked"),
}


def transfer_tone(row: TransferRow) -> Tone:
    if row.transfer.waits_for in _NEEDS_SOMEBODY:
        return Tone.DOUBTFUL
    if row.transfer.error is not None and not row.transfer.state.is_over:
        return Tone.WAITING
    if row.transfer.kind is Kind.CHECK and row.transfer.differences and row.transfer.state.is_over:
        return Tone.BAD
    if row.transfer.unknown_files and row.transfer.state is TransferState.DONE:
        return Tone.DOUBTFUL  # what nobody could check is not good
    return _TONES[row.transfer.state]


def kind_sign(row: TransferRow) -> str:
    return _KINDS[row.transfer.kind].sign


def way_words(row: TransferRow) -> str:
    """From where to where; a deletion goes nowhere."""
    source = source_words(row)
    return f"{source} → {row.transfer.target}" if row.transfer.target else source


def source_words(row: TransferRow) -> str:
    """Of several that were chosen in one folder, the first and how many there are besides."""
    transfer = row.transfer
    if not transfer.chosen:
        return transfer.source
    source, name = transfer.source, transfer.chosen[0][0]
    first = f"{source.rstrip('/')}/{name}" if is_remote(source) else str(PurePath(source, name))
    if len(transfer.chosen) == 1:
        return first
    return say("{first} and {count} more", first=first, count=f"{len(transfer.chosen) - 1:,}")


def kind_words(row: TransferRow) -> str:
    if row.transfer.is_move:
        return say("Move")
    return say(_KINDS[row.transfer.kind].name)


def progress_words(row: TransferRow) -> str:
    """How far it is, what it waits for, or how it ended; a failure with its reason."""
    transfer = row.transfer
    error = transfer.error
    match transfer.state:
        case TransferState.RUNNING:
            share = _share_words(row)
            return say("{share}, trying again", share=share) if error else share
        case TransferState.PLANNING if error:
            return say("Trying again")
        case TransferState.PARTLY if transfer.differences:
            return say_count("{count} differs", "{count} differ", transfer.differences)
        case TransferState.FAILED | TransferState.PARTLY:
            return say("Failed: {reason}", reason=say(error.title)) if error else say("Transfer failed")
        case TransferState.WAITING:
            return say(_WAITING[transfer.waits_for])
        case TransferState.PAUSED:
            return say("Paused at {share}", share=f"{row.share:.0%}") if row.share else say("Paused")
        case TransferState.DONE:
            if transfer.is_verified:
                return f"✓ {say('Verified')}"
            if transfer.unknown_files:
                return say("Cannot be checked: {count}", count=f"{transfer.unknown_files:,}")
            return say("Done")
        case state:
            return say(_STATES[state])


def _share_words(row: TransferRow) -> str:
    """Bytes where a share would stand at nothing for minutes, or is not known."""
    if row.share is None or (row.share < _TELLING_SHARE and row.transfer.done_bytes):
        return size_words(row.transfer.done_bytes)
    return f"{row.share:.0%}"


def verified_words(row: TransferRow) -> str:
    """What is known of the contents of a transfer that is over; empty while it is not."""
    transfer = row.transfer
    moved = transfer.done_files + transfer.equal_files - transfer.removals
    if not transfer.state.is_over or moved <= 0:
        return ""
    if transfer.is_verified:
        return say_count(
            "✓ {count} file confirmed by OBS: size and checksum.",
            "✓ All {count} files confirmed by OBS: size and checksum.",
            moved,
        )
    unsure = moved - transfer.verified_files + transfer.unknown_files
    if unsure <= 0:
        return ""
    return say_count(
        "{count} file is not confirmed by size and checksum. Filter the list by “Not confirmed” to see it.",
        "{count} files are not confirmed by size and checksum. Filter the list by “Not confirmed” to see them.",
        unsure,
    )


def rate_words(row: TransferRow) -> str:
    """How fast, and how long still; empty when nothing moves."""
    if row.bytes_per_s is None:
        return ""
    rate = size_words(round(row.bytes_per_s))
    if row.seconds_left is None:
        return say("{rate}/s", rate=rate)
    return say("{rate}/s, {time} left", rate=rate, time=duration_words(row.seconds_left))


def reason_words(row: TransferRow) -> str:
    """All that is known about why it stands as it does: the reason, what to do, and when it tries again."""
    transfer = row.transfer
    parts = [progress_words(row)]
    if transfer.error is not None:
        parts = [transfer.error.sentence()]
        if not transfer.state.is_over:
            parts.insert(0, progress_words(row))
    if words := verified_words(row):
        parts.append(words)
    if words := next_try_words(row):
        parts.append(words)
    return "\n".join(parts)


def next_try_words(row: TransferRow) -> str:
    """When it tries again by itself, and how often it has; empty where it does not."""
    transfer = row.transfer
    if transfer.next_try is None:
        return ""
    moment = exact_words(transfer.next_try)[11:]
    if not transfer.tries:
        return say("Next attempt: {moment}", moment=moment)
    return say("Next attempt: {moment}; failed attempts: {count}", moment=moment, count=f"{transfer.tries:,}")


def summary_words(state: TransferListState) -> str:
    """How many are under way, and how fast; how many wait for a yes."""
    held = sum(row.transfer.state.is_on_hold for row in state.rows)
    active = state.live - held
    parts = []
    if active and state.bytes_per_s is not None:
        parts.append(say("{count} active, {rate}/s", count=active, rate=size_words(round(state.bytes_per_s))))
    elif active:
        parts.append(say("{count} active", count=active))
    if held:
        parts.append(say("{count} on hold", count=held))
    return " · ".join(parts) or say("All done.")


def trouble_words(state: TransferListState, chosen: Collection[int]) -> str:
    """Why the chosen one, else one under way, else the newest, does not get on; empty where all goes well."""

    def rank(row: TransferRow) -> tuple[bool, bool]:
        return row.id not in chosen, row.transfer.state.is_over

    for row in sorted(state.rows, key=rank):
        error = row.transfer.error
        if error is not None and (not all(rank(row)) or row is state.rows[0]):
            words = say("{what}: {reason}", what=source_words(row), reason=error.paragraph())
            return "  ".join(filter(None, (words.strip(), next_try_words(row))))
    return ""


def counts_words(row: TransferRow) -> str:
    """How many files stand where; only what there is, and failures first, for the end may not be seen."""
    transfer = row.transfer
    is_over, is_check = transfer.state.is_over, transfer.kind is Kind.CHECK
    # What is verified as a whole says so already.
    verified = transfer.verified_files if is_over and (is_check or not transfer.is_verified) else 0
    parts = [_counted(text("{count} failed"), transfer.failed_files)]
    if transfer.files and not is_over:
        parts.append(say("{done} of {all}", done=f"{transfer.done_files:,}", all=f"{transfer.files:,}"))
    elif not is_check:
        parts.append(_counted(text("{count} done"), transfer.done_files))
    parts += [
        say_count("{count} differs", "{count} differ", transfer.differences) if transfer.differences else "",
        _counted(text("{count} cannot be checked"), transfer.unknown_files),
        _counted(text("{count} verified"), verified),
        _counted(text("{count} skipped"), transfer.skipped_files),
        _counted(text("{count} kept"), transfer.kept_files),
        _counted(text("{count} kept at source"), transfer.copied_files if is_over else 0),
        _counted(text("{count} identical"), transfer.equal_files),
    ]
    return " · ".join(filter(None, parts))


def _counted(words: Text, count: int) -> str:
    return say(words.with_fields(count=f"{count:,}")) if count else ""


def plan_words(row: TransferRow) -> str:
    """What a plan would do, in one line."""
    transfer = row.transfer
    moves = transfer.files - transfer.removals - transfer.failed_files
    parts = [] if moves or transfer.removals else [say("No changes")]
    if moves:
        what, count = say(_KINDS[transfer.kind].to_do), f"{moves:,}"
        if transfer.total_bytes is None:
            parts.append(say("{what}: {count}", what=what, count=count))
        else:
            size = size_words(transfer.total_bytes)
            parts.append(say("{what}: {count}, {size}", what=what, count=count, size=size))
    if transfer.removals:
        parts.append(say("{what}: {count}", what=say("To delete"), count=f"{transfer.removals:,}"))
    parts += [
        _counted(text("cannot be transferred: {count}"), transfer.failed_files),
        _counted(text("skipped: {count}"), transfer.skipped_files),
        _counted(text("kept: {count}"), transfer.kept_files),
        _counted(text("identical: {count}"), transfer.equal_files),
    ]
    return " · ".join(filter(None, parts))


def item_tone(item: Item) -> Tone:
    if item.action is Action.REMOVE and item.state.is_open:
        return Tone.DOUBTFUL
    return _ITEM_TONES[item.state]


def item_words(item: Item, kind: Kind) -> str:
    """What became of one file."""
    if item.action is Action.LEAVE:
        return say("Moved") if item.state is ItemState.DONE else say("Copied, source kept")
    match item.state:
        case ItemState.QUEUED:
            is_removal = item.action is Action.REMOVE and kind is not Kind.RESTORE
            return say("To delete") if is_removal else say(_KINDS[kind].to_do)
        case ItemState.FAILED:
            return say("Not undeleted") if kind is Kind.RESTORE else say(_not_done(item, kind))
        case ItemState.DONE:
            pass
        case state:
            return say((_LEFT_OUT | _FOUND)[state])
    if item.action is Action.REMOVE and kind not in (Kind.REMOVE, Kind.RESTORE):
        return say("Deleted")
    return say(_KINDS[kind].done)


def _not_done(item: Item, kind: Kind) -> Text:
    return text("Not deleted") if item.action is Action.REMOVE else _NOT_DONE[kind is Kind.CHECK]


def confirmed_sign(item: Item) -> str:
    """A tick where size and checksum are confirmed, a dash where it is unknown, nothing where it is no question."""
    if item.is_verified:
        return "✓"
    is_question = item.state in (ItemState.DONE, ItemState.EQUAL, ItemState.UNKNOWN)
    return UNCONFIRMED if is_question and item.action is not Action.REMOVE else ""


def confirmed_words(item: Item) -> str:
    if confirmed_sign(item) == UNCONFIRMED:
        return say("Not confirmed: the MD5 was not reported or not checked.")
    return say("Size and checksum are confirmed.") if item.is_verified else ""


def result_names(kind: Kind) -> list[tuple[ItemState, str]]:
    """The ends that a file can come to, in the words of a list to choose from."""
    states = [(ItemState.DONE, say(_KINDS[kind].done))]
    if kind is Kind.CHECK:
        states += [(state, say(words)) for state, words in _FOUND.items()]
    else:
        states.append((ItemState.EQUAL, say("Identical")))
    return [*states, (ItemState.SKIPPED, say("Skipped")), (ItemState.FAILED, say(_NOT_DONE[kind is Kind.CHECK]))]


_BETWEEN = (Kind.UPLOAD, Kind.DOWNLOAD, Kind.CHECK)


def item_place(item: Item, row: TransferRow) -> str:
    name = item.name or row.transfer.source.rstrip("/").replace("\\", "/").rpartition("/")[2]
    there = name_there(item) if row.transfer.kind in _BETWEEN else ""
    return say("{name} (object: {other})", name=name, other=there) if there else name


def item_line(item: Item, row: TransferRow) -> str:
    """One line of text that a table program can take apart."""
    reason = item.error.sentence() if item.error else ""
    result = item_words(item, row.transfer.kind)
    cells = (result, confirmed_sign(item), item_place(item, row), size_words(item.size_bytes), reason)
    return "\t".join(" ".join(cell.split()) for cell in cells).rstrip()
