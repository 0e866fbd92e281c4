"""All checks of the form with all that is said of them."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QWidget

from traindeck.domain.texts import exact_words, say
from traindeck.ui.jobs.form.check_list import CheckList
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.layouts import column_of, fit_on_screen
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import SPACE, Theme
from traindeck.viewmodels.jobs.form.form_parts import FormParts


class ChecksDialog(QDialog):
    """Stays as true as the form: what is mended there is mended here."""

    def __init__(self, parts: FormParts, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._parts = parts
        self.setWindowTitle(say("Checks"))
        fit_on_screen(self, 84 * SPACE, 70 * SPACE)
        self.head = sentence("", "heading")
        self.age = sentence("", "dim")
        self.list = CheckList(theme, is_whole=True)
        self.again = push_button(say("Check again"), parts.checks.look_again)
        buttons, self.close_button = closing(self, say("Close"), self.again)
        column_of(self.head, self.age, (self.list, 1), buttons, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.list.fix_wanted.connect(parts.mend)
        parts.checks.changed.connect(self._show)
        self._show()
        self.list.setFocus()

    def _show(self) -> None:
        state = self._parts.checks.state
        self.head.setText(say(state.head))
        oldest = state.oldest
        self.age.setText(say("The services were asked at {time}.", time=exact_words(oldest)) if oldest else "")
        self.list.show_checks(state, frozenset({"*"}))
        self.again.setEnabled(not state.is_running)
