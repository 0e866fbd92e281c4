"""The foot of the form: the checks, what submitting does now, and the button."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QWidget

from traindeck.domain.texts import exact_words, say
from traindeck.ui.jobs.form.check_list import CheckList
from traindeck.ui.kit.cards import ElidedButton, ElidedLabel, push_button, theme_tool_buttons, tool_button
from traindeck.ui.kit.layouts import column_of, line, row_of
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.form.form_parts import FormParts


class SubmitBar(QWidget):
    """Always as high: nothing in it moves while somebody is about to press."""

    field_wanted = Signal(str)
    all_wanted = Signal()
    finding_wanted = Signal(object)

    def __init__(self, parts: FormParts, theme: Theme) -> None:
        super().__init__()
        self._parts = parts
        self.head = ElidedButton()
        set_role(self.head, "link")
        self.head.setToolTip(say("Show all checks"))
        self.again = tool_button("refresh", say("Check again"), parts.checks.look_again)
        self.checks = CheckList(theme)
        self.stage = ElidedLabel("", "dim")
        self.cancel = push_button(say("Cancel"))
        set_role(self.cancel, "link")
        self.submit = ElidedButton()
        self.submit.setMinimumHeight(ROW)
        set_role(self.submit, "primary")
        head = row_of((self.head, 1), self.again, margins=(HALF, 0, HALF, 0), spacing=HALF)
        told = row_of((self.stage, 1), self.cancel, margins=0, spacing=HALF)
        foot = column_of(told, self.submit, margins=(SPACE, 0, SPACE, SPACE), spacing=0)
        column_of(line(), head, self.checks, line(), foot, inside=self, margins=0, spacing=0)
        # As high while the button is not there; its breadth is for what is told.
        self.cancel.ensurePolished()
        self.stage.setMinimumHeight(self.cancel.sizeHint().height())
        self.head.clicked.connect(self.all_wanted)
        self.checks.all_wanted.connect(self.all_wanted)
        self.checks.field_wanted.connect(self.field_wanted)
        self.checks.fix_wanted.connect(parts.mend)
        self.submit.clicked.connect(self._on_submit)
        self.cancel.clicked.connect(parts.sending.cancel)
        self.checks.finding_wanted.connect(self.finding_wanted)
        self._is_sending = False
        self._focused: tuple[QWidget | None, ...] = ()
        parts.sending.asked.connect(self._on_asked)
        for part in (parts.form, parts.sending, parts.checks):
            part.changed.connect(self.show_state)
        parts.checks.changed.connect(self._show_head)
        self._show_head()
        self._theme = theme
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self.show_state()

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)

    def _show_head(self) -> None:
        checks = self._parts.checks.state
        self.head.setText(say(checks.head))
        oldest = checks.oldest
        age = say("The services were asked at {time}.", time=exact_words(oldest)) if oldest else ""
        self.head.setToolTip(" ".join(part for part in (say("Show all checks"), age) if part))

    def show_state(self) -> None:
        form, sending, checks = self._parts.form.state, self._parts.sending, self._parts.checks.state
        self.checks.show_checks(checks, form.touched)
        self.again.setEnabled(not checks.is_running and self._parts.form.wants_checks)
        state = sending.state
        self.stage.setText(say(state.stage or state.told or form.cost))
        set_role(self.stage, "warn" if state.stage is None and state.told is not None else "dim")
        self.cancel.setVisible(state.can_cancel)
        before = QApplication.focusWidget()
        self.submit.setEnabled(state.stage is None)
        if state.stage is not None and not self._is_sending:
            # A disabled button passes the focus on: only then is it to come back here.
            self._focused = (QApplication.focusWidget(),) if before is self.submit else ()
        self._is_sending = state.stage is not None
        self.submit.setText(say(sending.submit_words))

    def _on_asked(self) -> None:
        """The button takes the focus back only if it had it: what is typed elsewhere must not submit."""
        if QApplication.focusWidget() in self._focused:
            self.submit.setFocus()

    def _on_submit(self) -> None:
        if self._parts.sending.to_accept:
            self._parts.sending.submit_anyway()
        else:
            self._parts.sending.submit()
