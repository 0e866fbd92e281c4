"""What the main window must know of a panel to put it into a dock."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True, slots=True)
class Panel:
    """One widget with its place; `id` is English and stable, because saved layouts name it."""

    id: str
    title: str
    area: Qt.DockWidgetArea
    widget: QWidget
    raise_: bool = False
    is_hidden: bool = False
    """Not there until somebody asks for it."""

    @property
    def dock_name(self) -> str:
        return f"dock.{self.id}"
