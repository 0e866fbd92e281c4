"""A page of help, to be read beside the window."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QTextBrowser, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.layouts import column_of, fit_on_screen
from traindeck.ui.kit.theme import SPACE


class HelpDialog(QDialog):
    def __init__(self, title: str, markdown: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        fit_on_screen(self, 96 * SPACE, 90 * SPACE)
        self.page = QTextBrowser()
        self.page.setAccessibleName(title)
        self.page.setOpenExternalLinks(True)
        self.page.document().setDocumentMargin(2 * SPACE)
        self.page.setMarkdown(markdown)
        buttons, self.close_button = closing(self, say("Close"))
        column_of((self.page, 1), buttons, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.page.setFocus()
