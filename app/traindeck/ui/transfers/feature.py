"""The room of transfers: what is on its way, and the two commands that compare folders first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from traindeck.domain.texts import say
from traindeck.domain.transfers.orders import Order
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.ui.shell.main_window import Make
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.folder_commands import add_verify
from traindeck.ui.storage.object_list import ObjectList
from traindeck.ui.transfers.sync_dialog import SyncDialog
from traindeck.ui.transfers.transfer_view import TransferView
from traindeck.viewmodels.rooms import TransfersRoom
from traindeck.viewmodels.shell.commands import CONTEXT, Command
from traindeck.viewmodels.transfers.sync_form import SyncForm


class TransfersFeature(Feature):
    """Its dock is brought to the front by what begins here."""

    def __init__(self, shell: Shell, room: TransfersRoom) -> None:
        super().__init__(shell)
        self._room = room

    def panels(self) -> Mapping[str, Make]:
        return {"transfers": lambda: TransferView(self._room.list, self.shell.theme, self.shell.confirm)}

    def extend(self, view: ObjectList) -> None:
        if not isinstance(view, BrowserView):
            return

        def sync() -> None:
            self.open_sync(self._room.sync(view.profile, view.place))

        view.commands.add(Command("object.sync", say("Synchronize this folder…"), sync, menu=CONTEXT, group=1))
        add_verify(view, self._begin)

    def open_sync(self, form: SyncForm) -> None:
        SyncDialog(form, self._room.list, self.shell.theme, self.shell.confirm, self.shell.window).show()

    def _begin(self, order: Order) -> None:
        begin = partial(self._room.transfers.begin, order)
        self.shell.tasks.start(f"verify {order.source} {order.target}", begin)
        self.shell.show_dock("transfers")
