"""What belongs to the window itself: its own commands, the status bar, the page of welcome, about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import Qt, QTimer, QUrl, qVersion
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QLabel, QWidget

from traindeck import __version__
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import CHINESE, ENGLISH, say, text
from traindeck.ui.kit.columns import columns_with_focus, show_columns_menu
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.edits import Edit
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.theme import SPACE, Theme
from traindeck.ui.shell.arrangement_commands import ArrangementCommands, full_screen_keys
from traindeck.ui.shell.bars import StatusBar
from traindeck.ui.shell.command_palette import CommandPalette, shows_palette
from traindeck.ui.shell.edit_commands import edit_commands
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.main_window import MainWindow
from traindeck.ui.shell.menus import menu_titles
from traindeck.ui.shell.toasts import Toasts
from traindeck.viewmodels.jobs.runs.sample_run import SampleRun
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.finding import Finder, LookUp, PaletteEntry, PaletteOffer, command_entries
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.preferences import DARK, LIGHT, SYSTEM, Preferences
from traindeck.viewmodels.shell.status import Status

WELCOME = "welcome"
_in_view = partial(Command, menu="view")


class FrameFeature(Feature):
    """The page of welcome leads to the rooms: what its buttons do is theirs."""

    def __init__(
        self,
        shell: Shell,
        preferences: Preferences,
        status: Status,
        notices: Notices,
        sample: SampleRun,
        connect: Callable[..., None],
        lab: Callable[[], None],
        billing: Callable[[], None],
    ) -> None:
        super().__init__(shell)
        self._journal = notices.journal
        self._preferences = preferences
        self._sample = sample
        self._connect = connect
        self._arrangements = ArrangementCommands(shell.window, shell.tasks)
        bar = StatusBar(status, shell.window)
        bar.lab.clicked.connect(lab)
        bar.billing.clicked.connect(billing)
        shell.window.setStatusBar(bar)
        self.toasts = Toasts(notices, shell.theme, shell.jump, shell.window, bar)

    def news(self) -> Subscriptions:
        return [
            (self._journal.undo_changed, self.shell.commands.refresh),
            (self._sample.submitted, self._close_welcome),
            (self.shell.window.notice_bar.jump_wanted, self.shell.jump),
        ]

    def commands(self) -> Iterable[Command]:
        return [
            *edit_commands(Edit(self._journal.undo_last, self._can_undo)),
            _in_view(
                "view.messages",
                say("Go to the newest &message"),
                self.toasts.take_focus,
                self._has_toast,
                "F8",
                group=1,
                needs=text("There is no message."),
            ),
            Command("help.welcome", say("&Welcome page"), self.open_welcome, menu="help"),
            *self._arrangements.all(),
            *frame_commands(
                self.shell.window, self._preferences, self.shell.request_quit, self.shell.offers, self.shell.look_up
            ),
        ]

    def jump(self, topic: Topic) -> bool:
        if topic.subject is Subject.FILE:
            QDesktopServices.openUrl(QUrl.fromLocalFile(topic.name))
        return topic.subject is Subject.FILE

    def offers(self) -> Iterable[PaletteEntry]:
        """The tabs that are open."""
        window = self.shell.window
        for key in window.open_tabs():
            title, act = window.tab_title(key), partial(window.open_tab, key, "", QWidget)
            yield PaletteEntry(f"tab.{key}", title, act, say("Open tab"), "window")

    def _can_undo(self) -> bool:
        return self._journal.last_undoable is not None

    def _has_toast(self) -> bool:
        return bool(self.toasts.shown)

    def open_welcome(self) -> None:
        self.shell.window.open_tab(WELCOME, say("Welcome"), self._welcome)
        self.shell.window.give_page_keys()

    def _close_welcome(self, _: Run) -> None:
        """It has done what it is for; the page of the run takes over its keys first."""
        window = self.shell.window
        QTimer.singleShot(0, window, partial(window.close_tab, WELCOME))

    def restore(self, page: object) -> bool:
        if page == WELCOME:
            self.open_welcome()
        return page == WELCOME

    def _welcome(self) -> QWidget:
        from traindeck.ui.shell.welcome_page import WelcomePage  # for those who have no run

        return WelcomePage(self.shell.theme, self._sample, self._connect)


def _nothing_more(_: str, __: Callable[[Iterable[PaletteEntry]], None]) -> None:
    """All there is was offered."""


def frame_commands(
    window: MainWindow,
    preferences: Preferences,
    quit_program: Callable[[], None],
    offer: PaletteOffer = tuple,
    look_up: LookUp = _nothing_more,
) -> list[Command]:
    """To be added to the window's commands once it exists; `offer` and `look_up` are what else the palette finds."""

    def open_palette() -> None:
        entries = [*command_entries(window.commands, menu_titles()), *offer()]
        recent = preferences.recent
        CommandPalette(Finder(entries, recent.ids), recent, window.theme, shows_palette(window), look_up).open()

    def open_sheet() -> None:
        from traindeck.ui.shell.shortcut_sheet import ShortcutSheet  # when it is asked for

        ShortcutSheet(window.commands, window).open()

    def open_about() -> None:
        About(window.theme, window).open()

    def toggle_full_screen() -> None:
        if window.isFullScreen():
            window.showNormal()
        else:
            window.showFullScreen()

    def close_tab() -> None:
        window.close_tab(window.current_tab())

    def has_tab() -> bool:
        return bool(window.current_tab())

    def close_others() -> None:
        window.tabs.close_others(window.current_tab())

    def has_others() -> bool:
        return len(window.open_tabs()) > 1

    return [
        _in_view("view.palette", say("Co&mmands…"), open_palette, shortcut="Ctrl+K", icon="search"),
        _in_view(
            "view.full_screen",
            say("&Full screen"),
            toggle_full_screen,
            checked=window.isFullScreen,
            shortcut=full_screen_keys(),
            group=2,
        ),
        _in_view(
            "view.columns",
            say("Co&lumns…"),
            show_columns_menu,
            _has_columns,
            group=2,
            needs=text("Go to a table first."),
        ),
        *_docks(window),
        *_looks(preferences),
        Command("view.close_tab", say("&Close tab"), close_tab, has_tab, "Ctrl+W", menu="file", group=90),
        Command("view.close_others", say("Close &others"), close_others, has_others, menu="file", group=90),
        Command("file.quit", say("&Quit"), quit_program, shortcut="Ctrl+Q", menu="file", group=99),
        Command("help.shortcuts", say("&Keyboard shortcuts"), open_sheet, shortcut="F1", menu="help"),
        Command("help.about", say("&About TrainDeck"), open_about, menu="help", group=99),
    ]


def _has_columns() -> bool:
    return columns_with_focus() is not None


def _docks(window: MainWindow) -> Iterable[Command]:
    for panel_id, title in window.dock_titles().items():
        toggle, is_shown = partial(window.toggle_dock, panel_id), partial(window.is_dock_shown, panel_id)
        yield _in_view(f"view.dock.{panel_id}", say("Show {panel}", panel=title), toggle, checked=is_shown, group=1)
    for number, (panel_id, title) in enumerate(window.dock_titles().items(), start=1):
        show, keys = partial(window.show_dock, panel_id), f"Ctrl+{number}"
        yield _in_view(f"view.go.{panel_id}", title, show, shortcut=keys, group=1, submenu=say("&Go to"))


def _looks(preferences: Preferences) -> list[Command]:
    themes = {SYSTEM: say("&As the system"), LIGHT: say("&Light"), DARK: say("&Dark")}
    # Each language is named in itself: who cannot read the present one finds the way back.
    languages = {ENGLISH: "&English", CHINESE: "简体中文(&C)"}

    def is_chosen(what: str, name: str) -> bool:
        return bool(getattr(preferences, what) == name)

    return [
        _in_view(
            f"view.{what}.{name or 'system'}",
            title,
            partial(choose, name),
            checked=partial(is_chosen, what, name),
            group=3,
            submenu=submenu,
        )
        for what, submenu, choose, titles in (
            ("theme", say("&Theme"), preferences.choose_theme, themes),
            ("language", say("&Language"), preferences.choose_language, languages),
        )
        for name, title in titles.items()
    ]


class About(QDialog):
    """Name, version, licence."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(say("About TrainDeck"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        mark = QLabel()
        mark.setPixmap(theme.program_icon().pixmap(64, 64))
        words = column_of(
            label("TrainDeck", "title"),
            label(say("Version {version} with Qt {qt}", version=__version__, qt=qVersion()), copies=True),
            label(say("Free software under the Apache License 2.0."), "dim", copies=True),
        )
        row = row_of((mark, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=2 * SPACE)
        buttons, _ = closing(self, say("Close"))
        column_of(row, buttons, inside=self, margins=DIALOG_MARGINS, spacing=2 * SPACE)
