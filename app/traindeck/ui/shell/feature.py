"""How a room registers with the window: everything it brings, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from traindeck.domain.texts import Text, say
from traindeck.ui.kit.dialogs import CANCEL, AnswerButton, asked, window_in_sight
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.main_window import MainWindow, Make
from traindeck.viewmodels.ports import Loss
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.finding import PaletteEntry
from traindeck.viewmodels.shell.journal import Topic

if TYPE_CHECKING:  # questions are asked before anything of this needs to be loaded
    from traindeck.ui.storage.object_list import ObjectList
    from traindeck.viewmodels.ports import Tasks, Way

Subscriptions = Sequence[tuple[SignalInstance, Callable[..., None]]]


class Shell:
    """One window and the rooms in it: what they share, and how they ask the user."""

    def __init__(self, window: MainWindow, theme: Theme, tasks: Tasks, request_quit: Callable[[], None]) -> None:
        self.window = window
        self.commands = window.commands
        self.theme = theme
        self.tasks = tasks
        self.request_quit = request_quit
        self.is_open = True
        self._features: list[Feature] = []
        self._news: list[tuple[SignalInstance, Callable[..., None]]] = []
        window.tab_closed.connect(self._page_closed)

    def add(self, feature: Feature) -> None:
        """What it has for docks comes when they are in sight; its commands with those of all others."""
        self._features.append(feature)
        for signal, slot in feature.news():
            signal.connect(slot)
            self._news.append((signal, slot))
        for panel_id, make in feature.panels().items():
            self.window.provide(panel_id, make)

    def add_commands(self) -> None:
        """All in one go: the menus are built anew each time."""
        self.commands.add(*(command for feature in self._features for command in feature.commands()))

    def offers(self) -> Iterable[PaletteEntry]:
        """What the palette finds besides commands."""
        return (entry for feature in self._features for entry in feature.offers())

    def look_up(self, words: str, tell: Callable[[Iterable[PaletteEntry]], None]) -> None:
        """What these words find where there is too much to offer all of it."""
        for feature in self._features:
            feature.look_up(words, tell)

    def extend(self, view: ObjectList) -> None:
        """For each new list of objects, whatever the rooms have to add to it."""
        for feature in self._features:
            feature.extend(view)

    def show_dock(self, panel_id: str) -> None:
        """For work that may end after the window gave way to that of another language."""
        if self.is_open:
            self.window.show_dock(panel_id)

    def restore(self, page: object) -> bool:
        """Open a page that a window before this one showed."""
        return any(feature.restore(page) for feature in self._features)

    def jump(self, topic: Topic) -> None:
        """Show what a piece of news is about."""
        if self.is_open:
            any(feature.jump(topic) for feature in self._features)

    def shown_on(self, key: str) -> object:
        """What the page of this key shows, for `restore`."""
        return next((page for feature in self._features if (page := feature.shown_on(key)) is not None), key)

    def dispose(self) -> None:
        """Take the window down; the view-models go on."""
        self.is_open = False
        for key in self.window.open_tabs():
            self.window.close_tab(key)
        for signal, slot in self._news:
            signal.disconnect(slot)
        for feature in self._features:
            feature.dispose()
        # Each ends what it has under way; only taken away with the window, it would go on for a dialog that is gone.
        for dialog in self.window.findChildren(QDialog):
            dialog.done(QDialog.DialogCode.Rejected)
        self.window.hide()
        self.window.deleteLater()

    # questions

    async def confirm(self, question: Text, action: Text) -> bool:
        return await self.confirm_loss(Loss(question, (), action))

    async def choose(self, question: Text, facts: Sequence[Text], ways: Sequence[Way]) -> str:
        answers = [AnswerButton(way.id, say(way.action), _role_of(way)) for way in ways]
        answer = await asked(self._in_sight, say(question), "\n\n".join(say(fact) for fact in facts), *answers)
        return "" if answer == CANCEL else answer

    async def confirm_loss(self, loss: Loss) -> bool:
        answer = AnswerButton("yes", say(loss.action), "danger")
        facts = "\n\n".join(say(fact) for fact in loss.facts)
        typed = say(loss.typed) if loss.typed else ""
        return await asked(self._asking, say(loss.question), facts, answer, typed=typed) == answer.id

    @property
    def _in_sight(self) -> QWidget | None:
        """Work may ask after the window gave way to that of another language."""
        return self.window if self.is_open else window_in_sight()

    @property
    def _asking(self) -> QWidget | None:
        """Where a question belongs: over the window, or over the dialog beside it that is being used."""
        active = QApplication.activeWindow()
        window = self._in_sight
        is_beside = isinstance(active, QDialog) and not active.isModal() and active.parent() is window
        return active if is_beside and active is not None else window

    def _page_closed(self, key: str) -> None:
        for feature in self._features:
            feature.page_closed(key)


def _role_of(way: Way) -> str:
    return "danger" if way.is_loss else "primary" if way.is_advised else ""


class Feature:
    """What one room brings to a window; a room overrides what it has something for."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def panels(self) -> Mapping[str, Make]:
        """What goes into its docks, by their ids."""
        return {}

    def commands(self) -> Iterable[Command]:
        """For menus, toolbar, palette and shortcuts: each is declared here and nowhere else."""
        return ()

    def offers(self) -> Iterable[PaletteEntry]:
        """What the palette finds besides commands: asked each time it opens, so it must be at hand."""
        return ()

    def look_up(self, words: str, tell: Callable[[Iterable[PaletteEntry]], None]) -> None:
        """Tell what these words find and `offers` did not name."""

    def extend(self, view: ObjectList) -> None:
        """Add to a new list of objects."""

    def news(self) -> Subscriptions:
        """What view-models tell this window, for as long as it is there."""
        return ()

    def restore(self, page: object) -> bool:
        """Open this page if it is one of its own."""
        return False

    def jump(self, topic: Topic) -> bool:
        """Show this if it is one of its own."""
        return False

    def shown_on(self, key: str) -> object | None:
        """What its page of this key shows."""
        return None

    def page_closed(self, key: str) -> None:
        """The page of this key is about to be deleted."""

    def dispose(self) -> None:
        """The window goes."""
