"""What was just done, said at the bottom of the window for a while, with Undo or Show."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QCursor, QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QMainWindow, QSizePolicy, QVBoxLayout, QWidget
from shiboken6 import isValid

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import push_button, show_words, theme_tool_buttons, tool_button
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.overlays import StayAbove
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.shell.journal import Happening, NewsKind, Topic
from traindeck.viewmodels.shell.notices import Notices

SHOWN_MS = 6000
_PER_LETTER_MS = 40
_WIDTH, _LEAST = 520, 320
_FOOT = ROW + 2 * SPACE
_MARKS = {NewsKind.DONE: ("check", "good"), NewsKind.FAILED: ("error", "bad"), NewsKind.NOTE: ("info", "link")}

Jump = Callable[[Topic], None]


class Toast(QFrame):
    """One piece of news. A failure that is nowhere else stays until somebody takes it away; all else goes by itself."""

    def __init__(self, happening: Happening, notices: Notices, theme: Theme, jump: Jump, parent: QWidget) -> None:
        super().__init__(parent)
        self.happening = happening
        self._notices = notices
        self._theme = theme
        self._picture = QLabel()
        self.title, self.hint = label("", wraps=True), label("", "dim", wraps=True)
        self.detail = label(happening.detail, "small", wraps=True, copies=True)
        self.details = push_button(say("Details"), role="flat")
        self.details.setCheckable(True)
        self.details.toggled.connect(self.detail.setVisible)
        self.undo = push_button(say("Undo"), self._undo)
        self.retry = push_button(say("Try again"), self._retry)
        self.look = push_button(say("Look at the dataset"), self._look)
        self.show_it = push_button(say("Show"), lambda: self._jump(jump))
        self.close_it = tool_button("close", say("Dismiss this message"), self._dismiss)
        buttons = (self.details, self.undo, self.retry, self.look, self.show_it, self.close_it)
        for button in buttons:
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # the mouse leaves the keyboard where it is
        middle = Qt.AlignmentFlag.AlignVCenter
        words = QWidget()
        words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        column_of(self.title, self.hint, self.detail, inside=words, margins=0, spacing=2)
        row_of(
            (self._picture, 0, middle),
            (words, 1, middle),
            *((button, 0, middle) for button in buttons),
            inside=self,
            margins=(SPACE + HALF, SPACE, SPACE, SPACE),
            spacing=SPACE,
        )
        # Only now that they have their places: shown before, each is a window of its own, which takes the keyboard.
        self.detail.hide()
        self.details.setVisible(bool(happening.detail) and happening.kind is NewsKind.FAILED)
        self.undo.setVisible(happening.undo is not None)
        self.retry.setVisible(happening.retry is not None)
        self.look.setVisible(happening.look is not None)
        self.show_it.setVisible(happening.topic is not None)
        self.title.setText(say(happening.title))
        show_words(self.hint, say(happening.hint))
        self.setAccessibleName(f"{self.title.text()} {self.hint.text()}".strip())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._leave)
        self.paint()

    def begin(self) -> None:
        """Count its time, and let it be read aloud."""
        if not self.happening.stays:
            self._timer.start(SHOWN_MS + _PER_LETTER_MS * len(self.accessibleName()))
        announcement = QAccessibleAnnouncementEvent(self, self.accessibleName())
        is_urgent = self.happening.kind is NewsKind.FAILED
        politeness = QAccessible.AnnouncementPoliteness
        announcement.setPoliteness(politeness.Assertive if is_urgent else politeness.Polite)
        QAccessible.updateAccessibility(announcement)

    def paint(self) -> None:
        icon, color = _MARKS[self.happening.kind]
        set_role(self, "toast-bad" if self.happening.kind is NewsKind.FAILED else "toast")
        self._picture.setPixmap(self._theme.icon(icon, color).pixmap(18, 18))
        theme_tool_buttons(self, self._theme)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._dismiss()
        else:
            super().keyPressEvent(event)

    @property
    def has_focus(self) -> bool:
        focused = self.window().focusWidget()
        return focused is not None and self.isAncestorOf(focused)

    def _leave(self) -> None:
        """Not from under somebody who is about to use it, nor where nobody sees it."""
        # Where the mouse really is: Qt's own `underMouse` stays true of one that moved away below it.
        is_under_mouse = self.rect().contains(self.mapFromGlobal(QCursor.pos()))
        if is_under_mouse or self.has_focus or not self.window().isActiveWindow():
            self._timer.start(SHOWN_MS)
        else:
            self._dismiss()

    def _undo(self) -> None:
        self._notices.journal.undo(self.happening.number)
        self._dismiss()  # also where it cannot be taken back any more

    def _retry(self) -> None:
        self._dismiss()
        if self.happening.retry is not None:
            self.happening.retry()

    def _look(self) -> None:
        self._dismiss()
        if self.happening.look is not None:
            self.happening.look()

    def _jump(self, jump: Jump) -> None:
        self._dismiss()
        if self.happening.topic is not None:
            jump(self.happening.topic)

    def _dismiss(self) -> None:
        self._notices.dismiss(self.happening.number)


class Toasts(QWidget):
    """Over the content at the bottom of `window`, the newest lowest; never takes the keyboard by itself."""

    def __init__(self, notices: Notices, theme: Theme, jump: Jump, window: QMainWindow, above: QWidget) -> None:
        """`above`: what it leaves in sight below itself, as the status bar."""
        super().__init__(window)
        self.setObjectName("toasts")
        self._notices = notices
        self._theme = theme
        self._jump = jump
        self._window = window
        self._above = above
        self._shown: list[Toast] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE)
        self._was_focused: QWidget | None = None
        self.hide()
        window.installEventFilter(self)
        StayAbove(self)
        # Several at once are put up in one go.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._refresh)
        notices.toasts_changed.connect(self._soon.start)
        theme.changed.connect(self._paint)
        self._refresh()

    @property
    def shown(self) -> list[Toast]:
        """The oldest first."""
        return list(self._shown)

    def take_focus(self) -> None:
        """The keyboard into the newest one; Escape gives it back."""
        if self.shown:
            self._was_focused = self._window.focusWidget()
            self.shown[-1].close_it.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._place()
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return handled

    def _refresh(self) -> None:
        wanted = {happening.number for happening in self._notices.toasts}
        there = {toast.happening.number for toast in self.shown}
        for toast in self.shown:
            if toast.happening.number not in wanted:
                self._take_away(toast)
        for happening in self._notices.toasts:
            if happening.number not in there:
                toast = Toast(happening, self._notices, self._theme, self._jump, self)
                self._shown.append(toast)
                self._column.addWidget(toast)
                toast.begin()
        self.setVisible(bool(wanted))
        self._place()

    def _take_away(self, toast: Toast) -> None:
        had_focus = toast.has_focus
        self._shown.remove(toast)
        self._column.removeWidget(toast)
        toast.hide()
        toast.deleteLater()
        if had_focus and self._was_focused is not None and isValid(self._was_focused):
            self._was_focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def _paint(self) -> None:
        for toast in self.shown:
            toast.paint()

    def _place(self) -> None:
        window = self._window
        if not self._shown:
            return
        left, room = self._middle()
        width = min(_WIDTH, window.width() - 2 * SPACE, max(_LEAST, room - 2 * SPACE))
        height = self._column.totalHeightForWidth(width)
        # What stands at the foot of a dock can be read and pressed all the same.
        below = _FOOT + (self._above.height() if self._above.isVisibleTo(window) else 0)
        left = max(SPACE, min(left + (room - width) // 2, window.width() - width - SPACE))
        self.setGeometry(left, window.height() - below - height, width, height)
        self.raise_()

    def _middle(self) -> tuple[int, int]:
        """Where that begins which has nothing at its foot that is about to be pressed, and how wide it is."""
        window, middle = self._window, self._window.centralWidget()
        if middle is not None and middle.isVisibleTo(window):
            return middle.x(), middle.width()
        return 0, window.width()
