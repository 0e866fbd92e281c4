"""The status bar: profile, live jobs and price, transfers, age of the last answer."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QStatusBar, QToolButton, QWidget

from traindeck.domain.texts import say
from traindeck.ui.theme import set_role
from traindeck.viewmodels.status import Status


class StatusBar(QStatusBar):
    """Words from Status, nothing of its own."""

    lab_wanted = Signal()

    def __init__(self, status: Status, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._status = status
        self.profile = self._label("status.profile", say("Account and region in use"))
        self.lab = QToolButton(self)
        self.lab.setObjectName("status.lab")
        self.lab.setToolTip(say("Show the Lab: its state, its folder, what it holds"))
        self.lab.setAccessibleDescription(self.lab.toolTip())
        self.lab.clicked.connect(self.lab_wanted)
        self.live = self._label("status.live", say("Jobs that run or wait now"))
        self.price = self._label("status.price", say("What the live jobs cost per hour"))
        self.rate = self._label("status.rate", say("Transfers under way"))
        self.answer = self._label("status.answer", say("How old the newest answer of the service is"))
        self.addWidget(self.profile)
        self.addWidget(self.lab)
        for label in (self.rate, self.live, self.price, self.answer):
            self.addPermanentWidget(label)
        status.changed.connect(self._refresh)
        self._refresh()

    def _label(self, name: str, purpose: str) -> QLabel:
        label = QLabel(self)
        label.setObjectName(name)
        label.setToolTip(purpose)
        label.setAccessibleDescription(purpose)
        return label

    def _refresh(self) -> None:
        status = self._status
        profile = status.state.profile
        is_lab = profile is not None and profile.is_lab
        place = self.lab if is_lab else self.profile
        place.setText(status.profile_words())
        self.profile.setVisible(not is_lab)
        self.lab.setVisible(is_lab)
        self.live.setText(status.live_words())
        self.price.setText(status.price_words())
        self.rate.setText(status.rate_words())
        self.answer.setText(status.answer_words())
        self.answer.setVisible(bool(self.answer.text()))
        trouble = status.state.trouble
        role = "warn" if trouble else ""
        if self.answer.property("role") != role:
            set_role(self.answer, role)
        self.answer.setToolTip(trouble.sentence() if trouble else say("How old the newest answer of the service is"))
