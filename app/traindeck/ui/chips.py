"""A state as a word on a coloured ground."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from traindeck.domain.jobs import Run
from traindeck.ui.theme import set_role
from traindeck.viewmodels.run_words import Tone, state_words, tone_of

_ROLES = {
    Tone.WAITING: "chip-info",
    Tone.RUNNING: "chip-info",
    Tone.GOOD: "chip-good",
    Tone.BAD: "chip-bad",
    Tone.DOUBTFUL: "chip-warn",
    Tone.QUIET: "chip",
}


class StateChip(QLabel):
    """How a run stands."""

    def show_run(self, run: Run) -> None:
        role = _ROLES[tone_of(run)]
        if self.property("role") != role:
            set_role(self, role)
        self.setText(state_words(run))
