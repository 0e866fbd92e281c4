"""The list of objects that the commands of the window mean, and what they need of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from shiboken6 import isValid

from traindeck.domain.texts import Text, text
from traindeck.ui.kit.context_menu import context_menu
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.shell.commands import Command, Commands
from traindeck.viewmodels.shell.contexts import BUCKET, FILE, FOLDER

LIST, ROWS = "storage", "objects"
"""The scopes of keys: a whole list with its fields and buttons, and its rows alone."""
_NO_LIST = text("Open a bucket first.")


@dataclass(frozen=True, slots=True)
class Need:
    """What must be so in the list, and the words for where it is not."""

    fits: Callable[[ObjectList], bool]
    words: Text


def _is_one(view: ObjectList) -> bool:
    return view.count_chosen() == 1


def _is_file(view: ObjectList) -> bool:
    return view.context() == FILE


def _is_folder(view: ObjectList) -> bool:
    return view.context() in (FOLDER, BUCKET)


PLACE = Need(lambda view: view.place is not None, text("Select a bucket or a folder first."))
SOME = Need(lambda view: bool(view.count_chosen()), text("Select an object or a folder first."))
ANY = Need(lambda view: view.has_chosen(), text("Select a bucket, a folder or an object first."))
ONE = Need(_is_one, text("Select one object or folder first."))
ONE_FILE = Need(_is_file, text("Select one object first."))
ONE_FOLDER = Need(_is_folder, text("Select one folder first."))
TAB = Need(lambda view: isinstance(view, BrowserView), text("Open the bucket in a tab first."))


ListAct = Callable[[ObjectList], object]


class ActiveList(QObject):
    """The tab of a bucket or the tree of all of them: what was used last and is in sight."""

    changed = Signal()
    """It is another one, or something else is selected in it."""

    def __init__(self, commands: Commands, theme: Theme) -> None:
        super().__init__()
        self._commands = commands
        self._theme = theme
        self._views: list[ObjectList] = []  # what was used last stands last
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus)

    def add(self, view: ObjectList) -> None:
        self._views.append(view)

        def forget() -> None:
            self._views = [other for other in self._views if other is not view]
            if isValid(self):  # the program may be ending
                self.changed.emit()

        view.destroyed.connect(forget)
        view.came.connect(partial(self._use, view))
        view.chosen_changed.connect(self.changed)
        view.menu_wanted.connect(partial(self._show_menu, view))

    @property
    def current(self) -> ObjectList | None:
        return next((view for view in reversed(self._views) if view.isVisible()), None)

    def menu(self, view: ObjectList) -> QMenu:
        """What can be done with what is selected in it."""
        self._use(view)
        return context_menu(self._commands, view.context(), self._theme, view)

    # commands

    def command(self, command_id: str, title: str, act: ListAct, need: Need, group: int, **more: Any) -> Command:
        """One that acts on the list in use; in the menu Storage, unless it is said otherwise."""

        def run() -> None:
            if (view := self.current) is not None:
                act(view)

        def enabled() -> bool:
            return (view := self.current) is not None and need.fits(view)

        def needs() -> Text:
            return _NO_LIST if self.current is None else need.words

        return Command(command_id, title, run, enabled, menu="storage", group=group, needs=needs, **more)

    def tab_command(
        self,
        command_id: str,
        title: str,
        act: Callable[[BrowserView], object],
        group: int,
        need: Need = TAB,
        **more: Any,
    ) -> Command:
        """One that only the tab of a bucket can do."""

        def run(view: ObjectList) -> None:
            if isinstance(view, BrowserView):
                act(view)

        def fits(view: ObjectList) -> bool:
            return isinstance(view, BrowserView) and need.fits(view)

        return self.command(command_id, title, run, Need(fits, need.words), group, **more)

    # inside

    def _use(self, view: ObjectList) -> None:
        if self._views and self._views[-1] is not view:
            self._views = [*(other for other in self._views if other is not view), view]
            self.changed.emit()

    def _on_focus(self, _: QWidget | None, now: QWidget | None) -> None:
        while now is not None and not isinstance(now, ObjectList):
            now = now.parentWidget()
        if now is not None and now in self._views:
            self._use(now)

    def _show_menu(self, view: ObjectList, place: QPoint) -> None:
        self.menu(view).popup(place)
