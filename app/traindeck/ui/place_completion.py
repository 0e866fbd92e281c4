"""A list below what is being typed, with the places it may become."""

from __future__ import annotations

from PySide6.QtCore import QObject, QStringListModel, Signal
from PySide6.QtWidgets import QCompleter, QLineEdit, QListView

from traindeck.ui.theme import set_role

_MOST_SHOWN = 12


class PlaceCompletion(QObject):
    """Belongs to its line; who offers decides what fits, whatever way it is spelled."""

    typed = Signal(str)
    chosen = Signal(str)

    def __init__(self, line: QLineEdit) -> None:
        super().__init__(line)
        self._line = line
        self._offers = QStringListModel(self)
        self._completer = QCompleter(self._offers, self)
        # What is offered is spelled as we spell it, whatever way it was typed.
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setMaxVisibleItems(_MOST_SHOWN)
        popup = QListView()
        set_role(popup, "completion")
        self._completer.setPopup(popup)
        line.setCompleter(self._completer)
        line.textEdited.connect(self.typed)
        self._completer.activated.connect(self.chosen)

    def offer(self, places: list[str]) -> None:
        """Show these, if something is still being typed."""
        self._offers.setStringList(places)
        if places and self._line.hasFocus() and self._line.isModified():
            self._completer.complete()
