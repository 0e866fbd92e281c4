"""Which program this is, and on which terms."""

from __future__ import annotations

from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from traindeck import __version__
from traindeck.domain.texts import say
from traindeck.ui.theme import SPACE, Theme, set_role


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
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        buttons = QDialogButtonBox()
        buttons.addButton(say("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE)
        layout.setSpacing(2 * SPACE)
        layout.addLayout(row)
        layout.addWidget(buttons)
