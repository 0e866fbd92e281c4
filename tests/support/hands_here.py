"""Hands for a window in the process of the test."""

from __future__ import annotations

from typing import Any

from end_to_end.hands import Hands
from traindeck.ui.shell.main_window import MainWindow


class HandsHere(Hands):
    """Real keys and clicks, given to the top-level window."""

    def __init__(self, window: MainWindow) -> None:
        nobody: Any = None
        super().__init__(nobody)
        self._window = window

    @property
    def window(self) -> MainWindow:
        return self._window
