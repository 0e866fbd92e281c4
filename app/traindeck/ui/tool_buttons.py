"""Buttons that are only an icon; what they do is in the tool tip, and for screen readers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QToolButton, QWidget

from traindeck.ui.theme import Theme

_DRAWN = "drawn"


def tool_button(icon: str, words: str, act: Callable[[], None] | None = None) -> QToolButton:
    button = QToolButton()
    button.setToolTip(words)
    button.setAccessibleName(words)
    button.setProperty(_DRAWN, icon)
    if act is not None:
        button.clicked.connect(act)
    return button


def dress_tool_buttons(inside: QWidget, theme: Theme) -> None:
    """Draw their icons in the colours of the theme; again whenever it is another one."""
    for button in inside.findChildren(QToolButton):
        if icon := button.property(_DRAWN):
            button.setIcon(theme.icon(str(icon)))
