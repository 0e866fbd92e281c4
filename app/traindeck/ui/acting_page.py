"""A page of properties with buttons that do something at once, and say on the page how it went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import isValid

from traindeck.domain.errors import AppError
from traindeck.ui.cards import plain
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.theme import SPACE, set_role
from traindeck.viewmodels.ports import Tasks

Act = Callable[[], Awaitable[str]]
"""Its answer is what there is to say at the end; empty: nothing."""


class ActingPage(PropertyPage):
    """Runs one thing at a time; the page waits, the window does not."""

    def __init__(self, scope: Tasks) -> None:
        super().__init__()
        self._scope = scope
        self._name = f"page {id(self)}"
        self.destroyed.connect(partial(scope.cancel, self._name))
        self.outcome = plain("small")
        self.outcome.hide()
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        self.column.setSpacing(SPACE + SPACE // 2)

    def act(self, busy: str, work: Act, *guarded: QWidget) -> None:
        """`guarded` cannot be used until it is done."""
        self._scope.start(self._name, partial(self._acting, busy, work, guarded))

    def rested(self) -> None:
        """What was guarded may be used again, where it makes sense."""

    def say_outcome(self, words: str, *, is_error: bool = False) -> None:
        set_role(self.outcome, "error" if is_error else "small")
        self.outcome.setText(words)
        self.outcome.setVisible(bool(words))

    async def _acting(self, busy: str, work: Act, guarded: tuple[QWidget, ...]) -> None:
        self.say_outcome(busy)
        for widget in guarded:
            widget.setEnabled(False)
        words, is_error = "", False
        try:
            words = await work()
        except AppError as error:
            words, is_error = error.sentence(), True
        finally:
            if isValid(self):
                for widget in guarded:
                    widget.setEnabled(True)
                self.rested()
                self.say_outcome(words, is_error=is_error)
