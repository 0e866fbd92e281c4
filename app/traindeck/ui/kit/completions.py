"""What is offered below a line that is typed into."""

from __future__ import annotations

from PySide6.QtWidgets import QListView

from traindeck.ui.kit.theme import set_role


def completion_popup() -> QListView:
    """The line above it keeps the keyboard."""
    popup = QListView()
    set_role(popup, "completion")
    return popup
