"""What it takes to restore an archived object: for how long, how fast, and the button."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSpinBox, QVBoxLayout, QWidget

from traindeck.domain.object_facts import RESTORE_DAYS, RestoreSpeed
from traindeck.domain.texts import say
from traindeck.ui.cards import card, plain
from traindeck.ui.form_fields import ChoiceBox, WheelGuard
from traindeck.ui.theme import SPACE

_USUAL_DAYS = 7


class RestoreCard(QWidget):
    """`wanted` comes with days and speed."""

    wanted = Signal(int, RestoreSpeed)

    def __init__(self) -> None:
        super().__init__()
        self.state = plain("")
        self.days = QSpinBox()
        self.days.setRange(RESTORE_DAYS.start, RESTORE_DAYS.stop - 1)
        self.days.setValue(_USUAL_DAYS)
        self.days.setAccessibleName(say("Days it can be read"))
        self.speed = ChoiceBox()
        self.speed.setAccessibleName(say("Speed"))
        self.speed.offer(
            (
                (say("Standard: some hours"), str(RestoreSpeed.STANDARD)),
                (say("Expedited: minutes, at a higher price"), str(RestoreSpeed.EXPEDITED)),
            ),
            str(RestoreSpeed.STANDARD),
            is_known=True,
            placeholder="",
        )
        self.button = QPushButton(say("Restore"))
        self.button.setAutoDefault(False)
        self.button.clicked.connect(self._on_clicked)
        self._guard = WheelGuard(self)
        self._guard.watch(self.days, self.speed)
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(SPACE)
        days = QLabel(say("Days"))
        days.setBuddy(self.days)
        for widget in (days, self.days):
            line.addWidget(widget)
        line.addWidget(self.speed, 1)
        line.addWidget(self.button)
        note = plain("small")
        note.setText(say("A copy that can be read is kept and paid for so many days; the object stays archived."))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(card(say("Restore"), [self.state, row, note]))

    def _on_clicked(self) -> None:
        self.wanted.emit(self.days.value(), RestoreSpeed(str(self.speed.currentData())))
