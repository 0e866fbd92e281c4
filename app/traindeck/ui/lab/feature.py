"""The room of the Lab: its page, and what it means when it was emptied."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtWidgets import QWidget

from traindeck.domain.texts import say
from traindeck.ui.lab.lab_page_view import LabPageView
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.viewmodels.lab.lab_page import LabPage
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.journal import Subject, Topic

_PAGE = "lab"


class LabFeature(Feature):
    """`emptied` is told when nothing of its buckets and jobs may stay in sight."""

    def __init__(self, shell: Shell, lab: LabPage, emptied: Callable[[], None]) -> None:
        super().__init__(shell)
        self._lab = lab
        self._emptied = emptied

    def news(self) -> Subscriptions:
        return [(self._lab.emptied, self._emptied)]

    def commands(self) -> Iterable[Command]:
        return [Command("account.lab", say("The &Lab…"), self.open, menu="account", group=3, icon="flask")]

    def open(self) -> None:
        self.shell.window.open_tab(_PAGE, say("The Lab"), self._page)
        self.shell.window.give_page_keys()

    def restore(self, page: object) -> bool:
        if page == _PAGE:
            self.open()
        return page == _PAGE

    def jump(self, topic: Topic) -> bool:
        if topic.subject is Subject.LAB:
            self.open()
        return topic.subject is Subject.LAB

    def _page(self) -> QWidget:
        return LabPageView(self._lab, self.shell.theme, self.shell.confirm_loss)
