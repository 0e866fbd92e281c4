"""The commands that belong to the frame itself: tabs, docks, palette, language, theme, about."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from traindeck import __version__
from traindeck.domain.texts import CHINESE, ENGLISH, say
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.ui.shell.main_window import MainWindow
from traindeck.ui.shell.shortcut_sheet import ShortcutSheet
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.preferences import DARK, LIGHT, SYSTEM, Preferences

PALETTE = "view.palette"


def frame_commands(
    window: MainWindow, preferences: Preferences, quit_program: Callable[[], None], about: Callable[[], None]
) -> list[Command]:
    """To be added to the window's commands once it exists; `view` menu first, then `file` and `help`."""
    return [
        *_view(window),
        *_docks(window),
        *_looks(preferences),
        Command(
            "view.close_tab",
            say("&Close tab"),
            window.close_current_tab,
            enabled=lambda: bool(window.current_tab()),
            shortcut="Ctrl+W",
            menu="file",
            group=90,
        ),
        Command("file.quit", say("&Quit"), quit_program, shortcut="Ctrl+Q", menu="file", group=99),
        Command("help.shortcuts", say("&Keyboard shortcuts"), partial(_open_sheet, window), shortcut="F1", menu="help"),
        Command("help.about", say("&About TrainDeck"), about, menu="help", group=99),
    ]


def _view(window: MainWindow) -> list[Command]:
    return [
        Command(
            PALETTE,
            say("Co&mmands…"),
            partial(_open_palette, window),
            shortcut="Ctrl+K",
            menu="view",
            group=0,
            icon="search",
        ),
        Command("view.reset_layout", say("&Reset layout"), window.reset_layout, menu="view", group=2),
        Command(
            "view.full_screen",
            say("&Full screen"),
            partial(_toggle_full_screen, window),
            shortcut=QKeySequence(QKeySequence.StandardKey.FullScreen).toString() or "F11",
            checked=window.isFullScreen,
            menu="view",
            group=2,
        ),
    ]


def _docks(window: MainWindow) -> list[Command]:
    commands = []
    for number, (panel_id, title) in enumerate(window.dock_titles().items(), start=1):
        commands.append(
            Command(
                f"view.dock.{panel_id}",
                say("Show {panel}", panel=title),
                partial(window.toggle_dock, panel_id),
                checked=partial(window.is_dock_shown, panel_id),
                menu="view",
                group=1,
            )
        )
        commands.append(
            Command(
                f"view.go.{panel_id}",
                title,
                partial(window.show_dock, panel_id),
                shortcut=f"Ctrl+{number}" if number < 10 else "",
                menu="view",
                group=1,
                submenu=say("&Go to"),
            )
        )
    return sorted(commands, key=lambda command: bool(command.submenu))


def _looks(preferences: Preferences) -> list[Command]:
    themes = ((SYSTEM, say("&As the system")), (LIGHT, say("&Light")), (DARK, say("&Dark")))
    # Each language is named in itself: who cannot read the present one finds the way back.
    languages = ((ENGLISH, "&English"), (CHINESE, "简体中文(&C)"))
    chosen_theme = [
        Command(
            f"view.theme.{name or 'system'}",
            title,
            partial(preferences.choose_theme, name),
            checked=partial(_is_theme, preferences, name),
            menu="view",
            group=3,
            submenu=say("&Theme"),
        )
        for name, title in themes
    ]
    chosen_language = [
        Command(
            f"view.language.{name}",
            title,
            partial(preferences.choose_language, name),
            checked=partial(_is_language, preferences, name),
            menu="view",
            group=3,
            submenu=say("&Language"),
        )
        for name, title in languages
    ]
    return [*chosen_theme, *chosen_language]


def _is_theme(preferences: Preferences, name: str) -> bool:
    return preferences.theme == name


def _is_language(preferences: Preferences, name: str) -> bool:
    return preferences.language == name


def _open_palette(window: MainWindow) -> None:
    CommandPalette(window.commands_in_front(), window.theme, window).open()


def _open_sheet(window: MainWindow) -> None:
    ShortcutSheet(window.commands_in_front(), window).open()


def _toggle_full_screen(window: MainWindow) -> None:
    if window.isFullScreen():
        window.showNormal()
    else:
        window.showFullScreen()


class About(QDialog):
    """Name, version, licence."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(say("About TrainDeck"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        mark, name = QLabel(), QLabel("TrainDeck")
        mark.setPixmap(theme.program_icon().pixmap(64, 64))
        set_role(name, "title")
        version = QLabel(say("Version {version} with Qt {qt}", version=__version__, qt=qVersion()))
        licence = QLabel(say("Free software under the Apache License 2.0."))
        for label in (version, licence):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_role(licence, "dim")
        words = QVBoxLayout()
        for label in (name, version, licence):
            words.addWidget(label)
        row = row_of((mark, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=2 * SPACE)
        buttons = QDialogButtonBox()
        buttons.addButton(say("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.rejected.connect(self.reject)
        column_of(row, buttons, inside=self, margins=(3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE), spacing=2 * SPACE)
