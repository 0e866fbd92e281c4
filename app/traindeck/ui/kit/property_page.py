"""A page of properties, and what stands in its place while it is read or when it cannot be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from traindeck.domain.errors import AppError, NotOffered
from traindeck.domain.storage.bucket_settings import MOST_DAYS
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import plain
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Tasks

_MARK = QSize(20, 20)


class PropertyPage(QWidget):
    """One page: filled when it is first seen, saved when the user says so.

    `load` and `save` raise an AppError for what the user can understand; the frame shows it and offers another try.
    """

    edited = Signal()
    """What the page holds, or whether it may be saved, is different now."""

    title: str = ""
    icon: str = "form"
    is_form: bool = True
    """False: there is nothing on it to save."""

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
        self.retry = QPushButton(say("Try again"))
        self.retry.setAutoDefault(False)
        self.mark, self.title, self.hint, self.detail = QLabel(), QLabel(), QLabel(), QLabel()
        self._wait, self._words = _centred(self._reading()), _centred(self._trouble())
        self._room: QWidget | None = None
        for widget in (self._wait, self._words):
            self.addWidget(widget)
        theme.changed.connect(self._paint)

    @staticmethod
    def _reading() -> list[QWidget]:
        words = QLabel(say("Loading…"))
        words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        set_role(words, "dim")
        bar = QProgressBar()
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setFixedWidth(20 * SPACE)
        bar.setAccessibleName(words.text())
        return [words, bar]

    def _trouble(self) -> list[QWidget]:
        set_role(self.title, "heading")
        set_role(self.hint, "dim")
        set_role(self.detail, "small")
        for label in (self.title, self.hint, self.detail):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return [self.mark, self.title, self.hint, self.detail, self.retry]

    def become(self, state: PageState, error: AppError | None = None) -> None:
        self.state = state
        if state is PageState.TROUBLE and error is not None:
            self._error = error
            for label, words in ((self.title, say(error.title)), (self.hint, say(error.hint))):
                label.setText(words)
                label.setVisible(bool(words))
            # What the service does not have is no failure: nothing to look into, nothing to try again.
            is_failure = not isinstance(error, NotOffered)
            self.detail.setText(error.detail)
            self.detail.setVisible(bool(error.detail) and is_failure)
            self.retry.setVisible(is_failure)
            self._paint()
        self.page.setEnabled(state is not PageState.SAVING)
        if state in (PageState.NEW, PageState.LOADING):
            self.setCurrentWidget(self._wait)
        elif state is PageState.TROUBLE:
            self.setCurrentWidget(self._words)
        else:
            self.setCurrentWidget(self._built())

    def _built(self) -> QWidget:
        """The page comes in when it is first seen: styling all of them at once would take too long."""
        if self._room is None:
            self._room = _scrolled(self.page)
            self.addWidget(self._room)
        return self._room

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


def _centred(widgets: Sequence[QWidget]) -> QWidget:
    box = QWidget()
    layout = column_of(1, inside=box, margins=(4 * SPACE, 2 * SPACE, 4 * SPACE, 2 * SPACE), spacing=SPACE)
    for widget in widgets:
        align = Qt.AlignmentFlag(0) if isinstance(widget, QLabel) else Qt.AlignmentFlag.AlignHCenter
        layout.addWidget(widget, 0, align)
        if isinstance(widget, QLabel):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
    layout.addStretch(2)
    return box


def _scrolled(page: QWidget) -> QWidget:
    scroll = QScrollArea()
    scroll.setWidget(page)
    scroll.setWidgetResizable(True)
    scroll.setFrameShape(QFrame.Shape.NoFrame)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    return scroll


_WORDS = 30 * SPACE
"""One below the other, the numbers stand in a column."""


def page_column(page: QWidget) -> QVBoxLayout:
    return column_of(inside=page, margins=2 * SPACE, spacing=SPACE + HALF)


def help_label(words: str, role: str = "dim") -> QLabel:
    """A sentence that can be copied."""
    label = sentence(words, role)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def sentence(words: str, role: str) -> QLabel:
    """As wide as there is room, and as high as it needs to be."""
    label = QLabel(words)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    set_role(label, role)
    return label


def one_line(words: str, role: str) -> QLabel:
    label = QLabel(words)
    set_role(label, role)
    return label


def button_row(*acts: tuple[QPushButton, Callable[[], None]]) -> QWidget:
    """Return in a field presses none of them."""
    line = QWidget()
    for button, act in acts:
        button.setAutoDefault(False)
        button.clicked.connect(act)
    row_of(*(button for button, _ in acts), 1, inside=line, margins=0, spacing=SPACE)
    return line


def number_box(low: int, high: int, name: str = "") -> QSpinBox:
    box = QSpinBox()
    box.setRange(low, high)
    if name:
        box.setAccessibleName(name)
    # The style sheet's padding does not reach the words inside.
    box.lineEdit().setTextMargins(HALF, 0, 0, 0)
    return box


class Days(QWidget):
    """“Do it after … days”, or not at all."""

    edited = Signal()

    def __init__(self, words: str, usual: int) -> None:
        super().__init__()
        self.wanted = QCheckBox(words)
        self.wanted.setMinimumWidth(_WORDS)
        self.number = number_box(1, MOST_DAYS, say("{what}: days", what=words))
        self.number.setValue(usual)
        self.number.setFixedWidth(10 * SPACE)
        self._unit = QLabel(say("days"))
        row_of(self.wanted, self.number, self._unit, 1, inside=self, margins=0, spacing=SPACE)
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
        self._unit.setEnabled(self.wanted.isChecked())


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
        self.column = column_of(inside=self, margins=2 * SPACE, spacing=SPACE + SPACE // 2)

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
