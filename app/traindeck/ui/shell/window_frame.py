"""The window before anything is in it: what is in sight while the rooms are still being loaded."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt

from traindeck.domain.texts import say
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.main_window import MainWindow, Panel
from traindeck.ui.shell.menus import SPACER
from traindeck.viewmodels.shell.commands import Commands
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.preferences import WindowState

# The way to one's own account is always in sight.
_TOOLBAR = ("file.sample", "run.again", "run.stop", "run.log", SPACER, "view.palette", "account.connect")


def make_frame(theme: Theme, notices: Notices, layout: WindowState, request_quit: Callable[[], None]) -> MainWindow:
    """Menus, toolbar and docks where they were; each room provides what goes into its docks."""
    return MainWindow(
        theme=theme,
        commands=Commands(),
        notices=notices,
        state=layout,
        panels=_panels(),
        on_close_request=request_quit,
        toolbar=_TOOLBAR,
    )


def _panels() -> list[Panel]:
    left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
    bottom = Qt.DockWidgetArea.BottomDockWidgetArea
    return [
        Panel("buckets", say("Buckets"), left),
        Panel("runs", say("Runs"), left),
        Panel("log", say("Log"), bottom, raise_=True),
        Panel("transfers", say("Transfers"), bottom),
        Panel("job", say("Job"), right),
        Panel("preview", say("Preview"), right, is_hidden=True),
    ]
