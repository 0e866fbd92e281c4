"""Where one is in OBS, to be read, typed and completed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit

from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.place_completion import PlaceCompletion


class AddressBar(QLineEdit):
    """Takes every spelling of a place; what it may become is offered while it is typed."""

    wanted = Signal(str)
    typed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._completion = PlaceCompletion(self)
        self.setAccessibleName(say("Address"))
        self.setPlaceholderText(say("obs://bucket/folder/, or paste an address"))
        self.returnPressed.connect(self._on_return)
        self._completion.typed.connect(self.typed)
        self._completion.chosen.connect(self.wanted)

    def show_place(self, place: ObjectPath) -> None:
        self._place = str(place)
        self.setText(self._place)
        self.setToolTip(self._place)

    def offer(self, places: list[str]) -> None:
        """Show these below, if something is still being typed."""
        self._completion.offer(places)

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

    def _on_return(self) -> None:
        self.wanted.emit(self.text())
