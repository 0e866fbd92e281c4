"""The room of transfers: what is on its way, and the two commands that compare folders first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from shiboken6 import isValid

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Order
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.ui.shell.main_window import Make
from traindeck.ui.storage.active_list import ActiveList
from traindeck.ui.storage.folder_commands import sync_command, verify_command
from traindeck.ui.transfers.transfer_commands import transfer_commands
from traindeck.ui.transfers.transfer_view import TransferView
from traindeck.viewmodels.rooms import TransfersRoom
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.transfers.sync_form import SyncForm
from traindeck.viewmodels.transfers.transfer_list import TransferRow

if TYPE_CHECKING:
    from traindeck.ui.transfers.sync_dialog import SyncDialog


class TransfersFeature(Feature):
    """Its dock is brought to the front by what begins here."""

    def __init__(self, shell: Shell, room: TransfersRoom, active: ActiveList) -> None:
        super().__init__(shell)
        self._room = room
        self._active = active
        self._syncs: list[SyncDialog] = []
        self._acts = transfer_commands(room.list, shell.confirm, self._show_files, shell.jump)

    def panels(self) -> Mapping[str, Make]:
        return {"transfers": lambda: TransferView(self._room.list, self.shell.theme, self._acts)}

    def commands(self) -> Iterable[Command]:
        def sync(profile: str, place: ObjectPath) -> None:
            self.open_sync(self._room.sync(profile, place))

        return [sync_command(self._active, sync), verify_command(self._active, self._begin), *self._acts]

    def jump(self, topic: Topic) -> bool:
        if topic.subject is Subject.TRANSFER:
            self.shell.show_dock("transfers")
            view = self.shell.window.panel("transfers")
            if isinstance(view, TransferView) and topic.name.isdecimal():
                view.select(int(topic.name))
        return topic.subject is Subject.TRANSFER

    def _show_files(self, row: TransferRow) -> None:
        from traindeck.ui.transfers.transfer_files_dialog import TransferFilesDialog  # when it is asked for

        TransferFilesDialog(self._room.list, row, self.shell.theme, self.shell.window).show()

    def open_sync(self, form: SyncForm) -> None:
        from traindeck.ui.transfers.sync_dialog import SyncDialog  # when it is asked for

        dialog = SyncDialog(form, self._room.list, self.shell.theme, self.shell.confirm, self.shell.window)
        self._syncs.append(dialog)
        dialog.show()

    def open_syncs(self) -> tuple[SyncForm, ...]:
        """What is typed in dialogs that are open, for the window that takes the place of this one."""
        self._syncs = [dialog for dialog in self._syncs if isValid(dialog) and dialog.isVisible()]
        return tuple(dialog.form.again() for dialog in self._syncs)

    def _begin(self, order: Order) -> None:
        begin = partial(self._room.transfers.begin, order)
        self.shell.tasks.start(f"verify {order.source} {order.target}", begin)
        self.shell.show_dock("transfers")
