"""The strip that counts the seconds before a job that is charged is submitted again."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QMainWindow

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.layouts import label, row_of
from traindeck.ui.kit.overlays import StayAbove
from traindeck.ui.kit.theme import SPACE, set_role
from traindeck.viewmodels.jobs.runs.run_again import RunAgain
from traindeck.viewmodels.jobs.runs.run_words import run_title


class AgainStrip(QFrame):
    """Lies over the window, so that nothing moves; Esc cancels wherever the keyboard is."""

    def __init__(self, again: RunAgain, window: QMainWindow) -> None:
        super().__init__(window)
        self._again = again
        self._window = window
        set_role(self, "strip")
        self.words = label()
        self.cancel = push_button(say("Cancel"), again.cancel)
        self.cancel.setToolTip(say("Esc"))
        row_of(self.words, self.cancel, inside=self, margins=(2 * SPACE, SPACE, SPACE, SPACE), spacing=2 * SPACE)
        self._escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), window)
        self._escape.activated.connect(again.cancel)
        self._escape.activatedAmbiguously.connect(again.cancel)
        again.changed.connect(self._show)
        window.installEventFilter(self)
        StayAbove(self)
        self._show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._window:
            self._place()
        return super().eventFilter(watched, event)

    def _show(self) -> None:
        countdown = self._again.countdown
        self._escape.setEnabled(countdown is not None)
        if countdown is not None:
            run, account, left = run_title(countdown.run), countdown.run.profile, countdown.seconds
            words = say("{run} is submitted again to {account} in {seconds} s.", run=run, account=account, seconds=left)
            self.words.setText(words)
            self.setAccessibleName(words)
            self._place()
            self.raise_()
        self.setVisible(countdown is not None)

    def _place(self) -> None:
        bar = self._window.statusBar()
        width = min(self.sizeHint().width(), self._window.width() - 2 * SPACE)
        self.resize(width, self.sizeHint().height())
        bottom = self._window.height() - bar.height() - SPACE
        self.move((self._window.width() - width) // 2, bottom - self.height())
