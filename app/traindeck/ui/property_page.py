"""A page of properties, and what stands in its place while it is read or when it cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.errors import AppError, NotOffered
from traindeck.domain.texts import say
from traindeck.ui.theme import SPACE, Theme, set_role

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
            self.setCurrentWidget(self._furnished())

    def _furnished(self) -> QWidget:
        """The page comes in when it is first seen: dressing all of them at once would take too long."""
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
    layout = QVBoxLayout(box)
    layout.setContentsMargins(4 * SPACE, 2 * SPACE, 4 * SPACE, 2 * SPACE)
    layout.setSpacing(SPACE)
    layout.addStretch(1)
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
