"""Where one is in OBS, to be read, typed and completed."""

from __future__ import annotations

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QCompleter, QLineEdit, QListView

from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.theme import set_role


class AddressBar(QLineEdit):
    """Takes every spelling of a place; what it may become is offered while it is typed."""

    wanted = Signal(str)
    typed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._offers = QStringListModel(self)
        self._completer = QCompleter(self._offers, self)
        # What is offered is spelled as we spell it, whatever way it was typed.
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setMaxVisibleItems(12)
        popup = QListView()
        set_role(popup, "completion")
        self._completer.setPopup(popup)
        self.setCompleter(self._completer)
        self.setAccessibleName(say("Address"))
        self.setPlaceholderText(say("obs://bucket/folder/, or paste an address"))
        self.textEdited.connect(self._on_edited)
        self.returnPressed.connect(self._on_return)
        self._completer.activated.connect(self._on_chosen)

    def show_place(self, place: ObjectPath) -> None:
        self._place = str(place)
        self.setText(self._place)
        self.setToolTip(self._place)

    def offer(self, places: list[str]) -> None:
        """Show these below, if something is still being typed."""
        self._offers.setStringList(places)
        if places and self.hasFocus() and self.isModified():
            self._completer.complete()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.ShortcutFocusReason):
            self.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.setText(self._place)
            self.selectAll()
        else:
            super().keyPressEvent(event)

    def _on_edited(self, words: str) -> None:
        self.typed.emit(words)

    def _on_return(self) -> None:
        self.wanted.emit(self.text())

    def _on_chosen(self, place: str) -> None:
        self.wanted.emit(place)
