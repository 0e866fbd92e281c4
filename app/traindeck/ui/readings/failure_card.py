"""Why a run failed: what happened, the line that shows it, the likely cause, and what can be done at once."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QSizePolicy

from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.failure_rules import ActionOffer, FailureAction
from traindeck.domain.readings.failures import Failure, RunReading
from traindeck.domain.texts import printable, say, text
from traindeck.ui.kit.cards import ElidedButton, plain, push_button, show_words
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.theme import SPACE, set_role

_MOST_BUTTONS = 2
Mend = Callable[[Run, ActionOffer], None]


class FailureCard(QFrame):
    """Nothing to see where nothing failed."""

    line_wanted = Signal(str, int)
    """Of this worker, the line that begins at this byte."""

    def __init__(self, act: Mend) -> None:
        super().__init__()
        self._act = act
        self._run: Run | None = None
        self._reading: RunReading | None = None
        set_role(self, "card")
        self.title, self.cause, self.todo = label("", "error", wraps=True, copies=True), plain(""), plain("")
        self.proof = ElidedButton()
        self.proof.setCursor(Qt.CursorShape.PointingHandCursor)
        self.proof.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        set_role(self.proof, "link")
        self.proof.clicked.connect(self._show_line)
        self.said = plain("mono")
        self.buttons = [push_button("") for _ in range(_MOST_BUTTONS)]
        for place, button in enumerate(self.buttons):
            button.clicked.connect(lambda _=False, at=place: self._press(at))
        self.copy = push_button(say("Copy details"), self._copy, tip=say("Copy what is known of the failure"))
        margins = (2 * SPACE, SPACE, 2 * SPACE, SPACE)
        row = row_of(*self.buttons, self.copy, 1, margins=0, spacing=SPACE)
        column_of(
            self.title, self.proof, self.said, self.cause, self.todo, row, inside=self, margins=margins, spacing=SPACE
        )
        self.hide()

    @property
    def failure(self) -> Failure | None:
        return self._reading.failure if self._reading is not None else None

    def show_reading(self, run: Run, reading: RunReading | None) -> None:
        self._run, self._reading = run, reading
        failure = self.failure
        self.setVisible(failure is not None)
        if failure is None or reading is None:
            return
        self.title.setText(str(failure.title))
        words = printable(failure.proof_words)
        if failure.proof is not None:
            number = "?" if failure.proof.number is None else f"{failure.proof.number:,}"
            show_words(self.proof, say("Line {number}: {words}", number=number, words=words))
            self.proof.setAccessibleDescription(say("Show this line in the log"))
        self.proof.setVisible(failure.proof is not None)
        show_words(self.said, self._other_words(failure, words))
        show_words(self.cause, str(failure.cause))
        show_words(self.todo, str(failure.todo))
        offers = failure.actions[:_MOST_BUTTONS]
        for button, offer in zip(self.buttons, [*offers, None, None], strict=False):
            show_words(button, "" if offer is None else offer_words(offer))

    def _other_words(self, failure: Failure, words: str) -> str:
        """What the service said, or the traceback that no rule knows."""
        if failure.proof is None:
            return words
        return "" if failure.is_known else "\n".join(map(printable, failure.traceback))

    def _show_line(self) -> None:
        failure, reading = self.failure, self._reading
        if failure is not None and failure.proof is not None and reading is not None:
            self.line_wanted.emit(reading.worker, failure.proof.offset)

    def _press(self, place: int) -> None:
        failure = self.failure
        if self._run is not None and failure is not None and place < len(failure.actions):
            self._act(self._run, failure.actions[place])

    def _copy(self) -> None:
        failure = self.failure
        if failure is None:
            return
        parts = [str(failure.title), failure.proof_words, str(failure.cause), str(failure.todo), failure.last_event]
        words = [*(part for part in parts if part), "", *failure.traceback]
        QGuiApplication.clipboard().setText("\n".join(map(printable, words)))


_FIELDS = {"code": "code_folder"}
_WORDS = {
    FailureAction.RUN_AGAIN: text("Run again"),
    FailureAction.SHOW_CODE: text("Show the code"),
    FailureAction.SHOW_ACCOUNT: text("Check the account"),
    FailureAction.SHOW_LAB: text("Show the Lab"),
    FailureAction.SHOW_BILLING: text("Show active jobs"),
}


def form_field(offer: ActionOffer) -> str:
    """The field of the form that is to be changed."""
    return _FIELDS.get(offer.field, offer.field)


def offer_words(offer: ActionOffer) -> str:
    """What is written on its button."""
    if offer.action is FailureAction.EDIT:
        field = BY_NAME.get(form_field(offer))
        if field is None:
            return say("Edit and run again")
        return say("Change {field}", field=say(field.label))
    return say(_WORDS[offer.action])
