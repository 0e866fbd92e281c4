"""A page of properties, and what stands in its place while it is read or when it cannot be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QLabel,
    QProgressBar,
    QSpinBox,
    QStackedWidget,
    QWidget,
)
from shiboken6 import isValid

from traindeck.domain.errors import AppError, NotOffered
from traindeck.domain.storage.bucket_settings import MOST_DAYS
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import plain, push_button, show_words
from traindeck.ui.kit.layouts import LayoutItem, column_of, label, row_of, scrolling
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Tasks

_MARK = QSize(20, 20)
_PAUSE_MS = 100


class PropertyPage(QWidget):
    """One page: filled when it is first seen, saved when the user says so.

    `load` and `save` raise an AppError for what the user can understand; the frame shows it and offers another try.
    """

    edited = Signal()
    """What the page holds, or whether it may be saved, is different now."""

    icon: str = "form"
    is_form: bool = True
    """False: there is nothing on it to save."""

    def __init__(self, title: str = "") -> None:
        super().__init__()
        self.title = title

    def lay_out(self, *parts: LayoutItem, spacing: int = SPACE + HALF) -> None:
        column_of(*parts, inside=self, margins=2 * SPACE, spacing=spacing)

    async def load(self) -> None:
        """Read what the service has and show it; called again by “Reload”."""

    def has_changes(self) -> bool:
        return False

    def problem(self) -> str:
        """What has to be put right before this can be saved; it stands beside the button."""
        return ""

    def leave(self) -> None:
        """The dialog goes: end what the page started by itself."""

    async def save(self) -> bool:
        """Keep what was changed; False: the user was asked and thought better of it."""
        return True


class PageState(Enum):
    NEW = auto()
    LOADING = auto()
    SHOWN = auto()
    SAVING = auto()
    TROUBLE = auto()


class PagePlace(QStackedWidget):
    """A page, and what stands in its place while it is read or when it cannot be."""

    def __init__(self, page: PropertyPage, theme: Theme) -> None:
        super().__init__()
        self.page = page
        self.state = PageState.NEW
        self.said = ""
        self.is_error = False
        self._theme = theme
        self._error: AppError | None = None
        self.retry = push_button(say("Try again"))
        self.mark = QLabel()
        self.title, self.hint, self.detail = (help_label("", role) for role in ("heading", "dim", "small"))
        words, bar = label(say("Loading…"), "dim"), QProgressBar()
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setFixedWidth(20 * SPACE)
        bar.setAccessibleName(words.text())
        self._wait = _centred(words, bar)
        self._words = _centred(self.mark, self.title, self.hint, self.detail, self.retry)
        self._room: QWidget | None = None
        self.addWidget(self._wait)
        self.addWidget(self._words)
        theme.changed.connect(self._paint)

    def become(self, state: PageState, error: AppError | None = None) -> None:
        self.state = state
        if state is PageState.TROUBLE and error is not None:
            self._error = error
            show_words(self.title, say(error.title))
            show_words(self.hint, say(error.hint))
            # What the service does not have is no failure: nothing to look into, nothing to try again.
            is_failure = not isinstance(error, NotOffered)
            show_words(self.detail, error.detail if is_failure else "")
            self.retry.setVisible(is_failure)
            self._paint()
        self.page.setEnabled(state is not PageState.SAVING)
        if state in (PageState.NEW, PageState.LOADING):
            self.setCurrentWidget(self._wait)
        elif state is PageState.TROUBLE:
            self.setCurrentWidget(self._words)
        else:
            # It comes in when it is first seen: styling all pages at once would take too long.
            if self._room is None:
                self._room = scrolling(self.page)
                self.addWidget(self._room)
            self.setCurrentWidget(self._room)

    def leave(self) -> None:
        self.page.leave()
        if self._room is None:
            self.page.deleteLater()  # it was never seen, and nobody else takes it away

    def tell(self, words: str, *, is_error: bool = False) -> None:
        self.said, self.is_error = words, is_error

    def _paint(self) -> None:
        if self._error is not None:
            is_failure = not isinstance(self._error, NotOffered)
            icon = self._theme.icon("error", "bad") if is_failure else self._theme.icon("info", "dim")
            self.mark.setPixmap(icon.pixmap(_MARK))


def _centred(*widgets: QWidget) -> QWidget:
    box = QWidget()
    layout = column_of(1, inside=box, margins=(4 * SPACE, 2 * SPACE, 4 * SPACE, 2 * SPACE), spacing=SPACE)
    for widget in widgets:
        align = Qt.AlignmentFlag(0) if isinstance(widget, QLabel) else Qt.AlignmentFlag.AlignHCenter
        layout.addWidget(widget, 0, align)
        if isinstance(widget, QLabel):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
    layout.addStretch(2)
    return box


_WORDS = 30 * SPACE
"""One below the other, the numbers stand in a column."""


def help_label(words: str, role: str = "dim") -> QLabel:
    """A sentence that can be copied."""
    return label(words, role, wraps=True, copies=True)


def sentence(words: str, role: str) -> QLabel:
    """As wide as there is room, and as high as it needs to be."""
    return label(words, role, wraps=True)


def one_line(words: str, role: str) -> QLabel:
    return label(words, role)


def boxed_row(*parts: LayoutItem) -> QWidget:
    """What stands beside one another, as one widget of a card."""
    line = QWidget()
    row_of(*parts, inside=line, margins=0, spacing=SPACE)
    return line


def number_box(low: int, high: int, name: str = "") -> QSpinBox:
    box = QSpinBox()
    box.setRange(low, high)
    if name:
        box.setAccessibleName(name)
    # The style sheet's padding does not reach the words inside.
    box.lineEdit().setTextMargins(HALF, 0, 0, 0)
    return box


class Soon(QTimer):
    """Many changes in a row are shown once."""

    def __init__(self, owner: QObject, act: Callable[[], None]) -> None:
        super().__init__(owner, singleShot=True, interval=_PAUSE_MS)
        self.timeout.connect(act)

    def ask(self) -> None:
        if not self.isActive():
            self.start()


class Days(QWidget):
    """“Do it after … days”, or not at all."""

    edited = Signal()

    def __init__(self, words: str, usual: int) -> None:
        super().__init__()
        self.wanted = QCheckBox(words)
        self.wanted.setMinimumWidth(_WORDS)
        self.number = number_box(1, MOST_DAYS, words)
        self.number.setValue(usual)
        self.number.setFixedWidth(10 * SPACE)
        row_of(self.wanted, self.number, 1, inside=self, margins=0, spacing=SPACE)
        self._follow()
        self.wanted.toggled.connect(self._follow)
        self.wanted.clicked.connect(self.edited)
        self.number.valueChanged.connect(self.edited)

    def value(self) -> int | None:
        return self.number.value() if self.wanted.isChecked() else None

    def show_value(self, days: int | None) -> None:
        self.blockSignals(True)
        self.wanted.setChecked(days is not None)
        if days is not None:
            self.number.setValue(days)
        self.blockSignals(False)

    def _follow(self) -> None:
        self.number.setEnabled(self.wanted.isChecked())


Act = Callable[[], Awaitable[str]]
"""Its answer is what there is to say at the end; empty: nothing."""


class ActingPage(PropertyPage):
    """Runs one thing at a time; the page waits, the window does not."""

    def __init__(self, title: str, scope: Tasks) -> None:
        super().__init__(title)
        self._scope = scope
        self._name = f"page {id(self)}"
        self.destroyed.connect(partial(scope.cancel, self._name))
        self.outcome = plain("small")
        self.outcome.hide()

    def act(self, busy: str, work: Act, *guarded: QWidget) -> None:
        """`guarded` cannot be used until it is done."""
        self._scope.start(self._name, partial(self._acting, busy, work, guarded))

    def rested(self) -> None:
        """What was guarded may be used again, where it makes sense."""

    def say_outcome(self, words: str, *, is_error: bool = False) -> None:
        set_role(self.outcome, "error" if is_error else "small")
        show_words(self.outcome, words)

    def copy_words(self, words: str) -> None:
        QGuiApplication.clipboard().setText(words)
        self.say_outcome(say("Copied."))

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
