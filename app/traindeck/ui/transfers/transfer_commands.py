"""What can be done with the chosen transfers: declared once, for menus, the palette and the panel itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from traindeck.domain.texts import Text, say, text
from traindeck.domain.transfers.orders import is_remote
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.transfers.transfer_list import TransferAction, TransferList, TransferRow

_SCOPE = "transfer"
"""No dock of this name: the rows act on their keys by themselves, and a blank still presses a button beside them."""
_NONE = text("Select a transfer first.")
_SEVERAL = text("Select one transfer first.")
_OTHER_STATE = text("The state of this transfer does not allow it.")
_IN_MENU = 9  # behind what is done with objects
_IS_GONE = text("This transfer has no target to show.")

COMMAND_OF = {
    TransferAction.BEGIN: "transfer.begin",
    TransferAction.PAUSE: "transfer.pause",
    TransferAction.RESUME: "transfer.resume",
    TransferAction.RETRY: "transfer.retry",
    TransferAction.VERIFY: "transfer.verify",
    TransferAction.MOVE_FIRST: "transfer.first",
    TransferAction.CANCEL: "transfer.cancel",
    TransferAction.REMOVE: "transfer.remove",
}


def transfer_commands(
    transfers: TransferList,
    confirm: Confirm,
    show_files: Callable[[TransferRow], object],
    jump: Callable[[Topic], object],
) -> list[Command]:
    """`show_files` shows what became of each file of one; `jump` leads to where it went."""

    def only() -> TransferRow | None:
        return transfers.row(transfers.chosen[0]) if len(transfers.chosen) == 1 else None

    def with_one(use: Callable[[TransferRow], object]) -> None:
        if (row := only()) is not None:
            use(row)

    def do(asked: TransferAction) -> None:
        if asked is TransferAction.BEGIN:
            transfers.begin(transfers.chosen, confirm)
        else:
            # Nothing is lost with one that is canceled: “Try again” takes it up where it was.
            transfers.do(asked, transfers.chosen)

    def has_one() -> bool:
        return only() is not None

    def target() -> Topic | None:
        row = only()
        return None if row is None else target_of(row)

    def has_target() -> bool:
        return target() is not None

    def show_target() -> None:
        if (topic := target()) is not None:
            jump(topic)

    def fits(asked: TransferAction) -> bool:
        return bool(transfers.fitting(asked, transfers.chosen))

    def for_one(otherwise: Text = _SEVERAL) -> Text:
        return _NONE if not transfers.chosen else _SEVERAL if len(transfers.chosen) > 1 else otherwise

    def for_state() -> Text:
        return _OTHER_STATE if transfers.chosen else _NONE

    def act(asked: TransferAction, title: str, group: int, keys: str = "") -> Command:
        able = partial(fits, asked)
        return in_menu(COMMAND_OF[asked], title, partial(do, asked), able, keys, group, needs=for_state)

    def in_menu(command_id: str, title: str, run: Any, enabled: Any, keys: str, group: int, **more: Any) -> Command:
        return Command(
            command_id, title, run, enabled, keys, "storage", _IN_MENU + group,
            submenu=say("&Transfers"), scope=_SCOPE, **more,
        )  # fmt: skip

    files, no_target = partial(with_one, show_files), partial(for_one, _IS_GONE)
    return [
        in_menu("transfer.files", say("Show the files"), files, has_one, "Return", 0, needs=for_one),
        in_menu("transfer.target", say("Show the target"), show_target, has_target, "", 0, needs=no_target),
        act(TransferAction.BEGIN, say("Start the planned transfer"), 1),
        act(TransferAction.PAUSE, say("Pause"), 1, "Space"),
        act(TransferAction.RESUME, say("Resume"), 1),
        act(TransferAction.RETRY, say("Try again"), 1),
        act(TransferAction.VERIFY, say("Verify again"), 1),
        act(TransferAction.MOVE_FIRST, say("Move to the front of the queue"), 1),
        act(TransferAction.CANCEL, say("Cancel transfer"), 2, "Del"),
        act(TransferAction.REMOVE, say("Remove from the list"), 2),
        in_menu("transfer.clear", say("Clear finished"), transfers.clear_finished, transfers.has_finished, "", 2),
    ]


def target_of(row: TransferRow) -> Topic | None:
    """Where it went: a place in a bucket, or a folder of this computer."""
    transfer = row.transfer
    if not transfer.target:
        return None
    if is_remote(transfer.target):
        return Topic(Subject.PLACE, transfer.target, transfer.profile)
    is_folder = transfer.chosen or transfer.source.endswith("/")
    # Never the file itself: the system would open it, and it may be a program.
    return Topic(Subject.FILE, transfer.target if is_folder else str(Path(transfer.target).parent))
