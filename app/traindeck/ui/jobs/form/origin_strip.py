"""What the form is like: the run it was filled from with what differs, or the template it began with."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QButtonGroup, QRadioButton, QWidget

from traindeck.domain.texts import say, say_list
from traindeck.ui.kit.cards import ElidedLabel, push_button
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.theme import HALF, SPACE
from traindeck.viewmodels.jobs.form.form_parts import FormParts


class OriginStrip(QWidget):
    """One line of what differs, one of the code; as high as before while something is typed below."""

    def __init__(self, parts: FormParts) -> None:
        super().__init__()
        self._parts = parts
        self.words = ElidedLabel("", "warn")
        self.then = QRadioButton(say("as then"))
        self.now = QRadioButton(say("current", "code"))
        self._which = QButtonGroup(self)
        for button in (self.then, self.now):
            self._which.addButton(button)
        self.differs = ElidedLabel("", "dim")
        self.view = push_button(say("View"), parts.earlier.show_difference, "link")
        self.unlock = push_button(say("Unlock"), parts.form.unlock, "link")
        self.code = QWidget()
        row_of(
            label(say("Code"), "dim"), self.then, self.now, (self.differs, 1), self.view,
            inside=self.code, margins=0, spacing=SPACE,
        )  # fmt: skip
        top = row_of((self.words, 1), self.unlock, margins=0, spacing=SPACE)
        column_of(top, self.code, inside=self, margins=(SPACE, HALF, SPACE, HALF), spacing=HALF)
        self.then.clicked.connect(lambda: parts.earlier.choose(True))
        self.now.clicked.connect(lambda: parts.earlier.choose(False))
        parts.form.changed.connect(self.show_state)
        parts.earlier.changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        form, earlier = self._parts.form.state, self._parts.earlier.state
        self._show(self, form.origin is not None or bool(form.template))
        self._show(self.unlock, bool(form.locked))
        has_then = earlier.frozen is not None
        self._show(self.code, has_then or earlier.trouble is not None)
        if form.origin is not None:
            self.words.setText(self._like_run(form.origin.number))
        elif form.template:
            self.words.setText(self._like_template())
        (self.then if earlier.is_then else self.now).setChecked(True)
        self.then.setEnabled(has_then)
        self.now.setEnabled(earlier.trouble is None or not has_then)
        words = earlier.words
        self.differs.setText(say("({words})", words=say(words)) if words is not None else say("Comparing…"))
        self._show(self.view, earlier.changes is not None and bool(earlier.changes.files))

    def _show(self, part: QWidget, wanted: bool) -> None:
        """What goes from under the keyboard leaves it in the form: Qt would give it to another panel."""
        form, focused = self.parentWidget(), QApplication.focusWidget()
        has_it = focused is not None and (part is focused or part.isAncestorOf(focused))
        if has_it and not wanted and form is not None:
            form.setFocus()
        part.setVisible(wanted)

    def _like_run(self, number: int) -> str:
        changes = self._parts.form.state.changes
        if not changes:
            return say("Same as run {number}", number=number)
        listed = say_list(f"{one.name} {one.before} → {one.after}" for one in changes)
        return say("Same as run {number} except {changes}", number=number, changes=listed)

    def _like_template(self) -> str:
        state = self._parts.form.state
        words = say("Template “{name}”", name=state.template)
        if not state.locked:
            return words
        return f"{words} · {say('{count} locked', count=f'{len(state.locked):,}')}"
