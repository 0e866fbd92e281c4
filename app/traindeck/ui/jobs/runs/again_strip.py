"""The strip that counts the seconds before a job that is charged is submitted again."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QFrame, QMainWindow, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.layouts import label, row_of
from traindeck.ui.kit.overlays import StayAbove, is_covered
from traindeck.ui.kit.theme import SPACE, set_role
from traindeck.viewmodels.jobs.runs.run_again import RunAgain
from traindeck.viewmodels.jobs.runs.run_words import run_title


class AgainStrip(QFrame):
    """Lies over the window, so that nothing moves; Esc cancels wherever the keyboard is.

    Where a dialog or the palette covers the window and takes Esc, the countdown stops and asks.
    """

    def __init__(self, again: RunAgain, window: QMainWindow) -> None:
        super().__init__(window)
        self._again = again
        self._window = window
        set_role(self, "strip")
        self.words = label()
        self.resume = push_button(say("Run again"), again.resume, "primary")
        self.cancel = push_button(say("Cancel"), again.cancel)
        self.cancel.setToolTip(say("Esc"))
        row_of(
            self.words,
            self.resume,
            self.cancel,
            inside=self,
            margins=(2 * SPACE, SPACE, SPACE, SPACE),
            spacing=2 * SPACE,
        )
        self._escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), window)
        self._escape.activated.connect(again.cancel)
        self._escape.activatedAmbiguously.connect(again.cancel)
        again.changed.connect(self._show)
        window.installEventFilter(self)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._hold_if_covered)
        StayAbove(self)
        self._show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and event.type() == QEvent.Type.Resize:
            self._place()
        elif watched is self._window and event.type() == QEvent.Type.WindowBlocked:
            self._again.hold()  # before the dialog is shown
        return super().eventFilter(watched, event)

    def _show(self) -> None:
        countdown = self._again.countdown
        self._escape.setEnabled(countdown is not None)
        if countdown is not None and not countdown.is_held and is_covered(self._window):
            self._again.hold()
            return
        if countdown is not None:
            run, account, left = run_title(countdown.run), countdown.run.profile, countdown.seconds
            words = say("{run} is submitted again to {account} in {seconds} s.", run=run, account=account, seconds=left)
            if countdown.is_held:
                words = say(
                    "{run} was not submitted to {account}: the countdown was stopped.", run=run, account=account
                )
            self.words.setText(words)
            self.resume.setVisible(countdown.is_held)
            self.setAccessibleName(words)
            self._place()
            self.raise_()
        self.setVisible(countdown is not None)

    def _hold_if_covered(self, *_: QWidget | None) -> None:
        if self._again.countdown is not None and is_covered(self._window):
            self._again.hold()

    def _place(self) -> None:
        bar = self._window.statusBar()
        width = min(self.sizeHint().width(), self._window.width() - 2 * SPACE)
        self.resize(width, self.sizeHint().height())
        bottom = self._window.height() - bar.height() - SPACE
        self.move((self._window.width() - width) // 2, bottom - self.height())
