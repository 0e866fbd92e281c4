"""The line under the address that says that a typed place is not there, and leads to the nearest ones."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from traindeck.domain.texts import say
from traindeck.ui.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.missing_place import MissingPlace


class MissingBar(QWidget):
    """Shows a MissingPlace; None hides it."""

    wanted = Signal(str)
    """One of the nearest was chosen."""
    create_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.shown: MissingPlace | None = None
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.RichText)
        self.words.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.words.linkActivated.connect(self.wanted)
        self.create_button = QPushButton()
        self.create_button.clicked.connect(self.create_wanted)
        set_role(self.create_button, "flat")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(SPACE, HALF, SPACE, 0)
        layout.setSpacing(SPACE)
        layout.addWidget(self.words, 1)
        layout.addWidget(self.create_button, 0, Qt.AlignmentFlag.AlignTop)
        theme.changed.connect(self._paint)
        self.show_missing(None)

    def show_missing(self, missing: MissingPlace | None) -> None:
        self.shown = missing
        self.setVisible(missing is not None)
        self._paint()

    def _paint(self) -> None:
        missing = self.shown
        if missing is None:
            return
        place = str(missing.path)
        if missing.has_bucket:
            words = say("There is nothing at {place}.", place=place)
            self.create_button.setText(say("Create this folder"))
        else:
            words = say("There is no bucket “{name}” here.", name=missing.path.bucket)
            self.create_button.setText(say("Create this bucket"))
        words = escape(words)
        if missing.alike:
            color = self._theme.color("link").name()
            links = ", ".join(
                f'<a style="color:{color}" href="{escape(str(path), quote=True)}">{escape(str(path))}</a>'
                for path in missing.alike
            )
            # Put in last: a translation may stand anywhere around it.
            words += " " + escape(say("Did you mean {places}?", places="\0")).replace("\0", links)
        self.words.setText(words)
