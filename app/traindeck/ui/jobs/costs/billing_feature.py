"""The tab with what is charged now, what the month came to, and the prices."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtWidgets import QWidget

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import say, text
from traindeck.ui.jobs.costs.billing_view import BillingView
from traindeck.ui.kit.dialogs import asked_line
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.viewmodels.jobs.costs.billing_page import BillingPage, BillingPlaces
from traindeck.viewmodels.rooms import BillingRoom
from traindeck.viewmodels.shell.commands import Command

BILLING = "billing"


class BillingFeature(Feature):
    """One tab, opened from the line below the window as well."""

    def __init__(self, shell: Shell, room: BillingRoom) -> None:
        super().__init__(shell)
        self._room = room
        self._page: BillingPage | None = None

    def commands(self) -> Iterable[Command]:
        return [
            Command("run.billing", say("Costs of acti&ve jobs"), self.open, menu="run", group=7, icon="clock"),
        ]

    def open(self) -> None:
        self.shell.window.open_tab(BILLING, say("Costs"), self._view).setFocus()
        self.shell.window.give_page_room()

    def restore(self, page: object) -> bool:
        if page == BILLING:
            self.open()
        return page == BILLING

    def page_closed(self, key: str) -> None:
        if key == BILLING and self._page is not None:
            self._page.close()
            self._page = None

    def _view(self) -> QWidget:
        page = self._page = self._room.page()
        view = BillingView(page, self.shell.theme, self.shell)
        view.places_chosen.connect(self._keep_places)
        view.add_wanted.connect(lambda: self.shell.tasks.start("add a price", self._add))
        page.open()
        return view

    def _keep_places(self, places: BillingPlaces) -> None:
        self._room.keep_places(places)

    async def _add(self) -> None:
        page = self._page
        if page is None:
            return
        name = await asked_line(
            self.shell.window,
            say("Add a specification"),
            say("Its ID, as the job form lists it. Then enter its price in the table."),
            say("Add"),
            "",
            _check_id,
        )
        if name is not None:
            page.add_row(name.strip())


def _check_id(words: str) -> None:
    if not words.strip() or any(sign.isspace() for sign in words.strip()):
        raise InvalidInput(text("“{id}” is not the ID of a specification.", id=words), text("Enter it without spaces."))
