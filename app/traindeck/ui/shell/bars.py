"""The banner under the menus, and the status bar."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QSizePolicy, QStatusBar, QToolButton, QWidget

from traindeck.domain.texts import Text, say, text
from traindeck.ui.kit.cards import ElidedLabel, push_button, show_words
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.shell.journal import Answer
from traindeck.viewmodels.shell.notices import Condition, Notices
from traindeck.viewmodels.shell.status import Status

_BILLING = text("Show all jobs that are charged, with their cost")


class NoticeBar(QFrame):
    """Shows the condition that matters most, as wide as the window, with what mends it, or answers what it asks."""

    needed = Signal(bool)
    """Whether there is anything to show."""
    jump_wanted = Signal(object)
    """The Topic of what is shown."""

    def __init__(self, notices: Notices, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice_bar")
        self._notices = notices
        self._theme = theme
        self._shown: Condition | None = None
        self._picture = QLabel()
        self.title, self.hint, self.detail = (label("", role, wraps=True) for role in ("strong", "", "small"))
        for words in (self.title, self.hint, self.detail):
            words.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.more = label("", "small")
        self.mending = push_button("", self._mend)
        self.show_it = push_button(say("Show"), self._jump)
        self.answers = QWidget()
        self._answers = row_of(inside=self.answers, margins=0, spacing=SPACE)
        self._offered: list[QPushButton] = []
        self.details = push_button(say("Details"), role="flat")
        self.details.setCheckable(True)
        self.details.toggled.connect(self.detail.setVisible)
        self.details.toggled.connect(self._fit)
        for button in (self.mending, self.show_it, self.details):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # the mouse leaves the keyboard where it is
        top = Qt.AlignmentFlag.AlignTop
        self._row = row_of(
            (self._picture, 0, top),
            (column_of(self.title, self.hint, self.detail, spacing=2), 1),
            *((widget, 0, top) for widget in (self.more, self.details, self.mending, self.answers, self.show_it)),
            inside=self,
            margins=(SPACE + HALF, SPACE, SPACE, SPACE),
            spacing=SPACE,
        )
        notices.changed.connect(self.refresh)
        theme.changed.connect(self._paint)
        self.refresh()

    def refresh(self) -> None:
        condition, before = self._notices.current, self._shown
        self._shown = condition
        if condition is None:
            self.needed.emit(False)
            return
        if before is None or before.name != condition.name:
            self.details.setChecked(False)
            self.detail.setVisible(False)
        title, hint = say(condition.title), say(condition.hint)
        self.title.setText(title)
        show_words(self.hint, hint)
        self.detail.setText(condition.detail)
        self.details.setVisible(bool(condition.detail))
        self.mending.setVisible(condition.mending is not None)
        if condition.mending is not None:
            self.mending.setText(say(condition.mending.words))
        self.show_it.setVisible(condition.topic is not None and bool(condition.answers))
        if before is None or before.answers != condition.answers:
            self._offer(condition.answers)
        others = len(self._notices.conditions) - 1
        show_words(self.more, say("{count} more", count=others) if others else "")
        self.more.setToolTip("\n".join(say(one.title) for one in self._notices.conditions[1:]))
        self.setAccessibleName(f"{title} {hint}")
        self._paint()
        self._fit()
        self.needed.emit(True)

    def _offer(self, answers: tuple[Answer, ...]) -> None:
        for button in self._offered:
            button.hide()
            button.deleteLater()
        self._offered = [push_button(say(answer.words), answer.act) for answer in answers]
        for button in self._offered:
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._answers.addWidget(button)
        self.answers.setVisible(bool(answers))

    def _jump(self) -> None:
        if self._shown is not None and self._shown.topic is not None:
            self.jump_wanted.emit(self._shown.topic)

    def _mend(self) -> None:
        if self._shown is not None and self._shown.mending is not None:
            self._shown.mending.act()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        # Placed for the height before: the words below the first line would stay out of sight.
        self._row.invalidate()
        self._row.activate()

    def _fit(self, *_: object) -> None:
        """As high as the wrapped words; a toolbar does not ask for that by itself."""
        # What the layout worked out while the bar was hidden, or had no words yet, it would keep.
        self._row.invalidate()
        self._row.activate()
        # Before it is in sight it has no width of its own. As high as in that it would push the docks together, and
        # they stay so when it becomes lower.
        width = self.width() if self.isVisible() else self.window().width() - 2 * SPACE
        self.setFixedHeight(max(1, self._row.totalHeightForWidth(width)))

    def _paint(self) -> None:
        if self._shown is None:
            return
        is_error = self._shown.is_error
        set_role(self, "notice-bad" if is_error else "notice-info")
        icon = self._theme.icon("error", "bad") if is_error else self._theme.icon("info", "link")
        self._picture.setPixmap(icon.pixmap(20, 20))


class StatusBar(QStatusBar):
    """Words from Status, nothing of its own."""

    def __init__(self, status: Status, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._status = status
        self.profile = self._label("status.profile", say("Account and region in use"))
        self.lab = self._button("status.lab", say("Show the Lab: its state, folder and contents"))
        self.billing = self._button("status.billing", _BILLING)
        self.busy = ElidedLabel()
        self.busy.setObjectName("status.busy")
        self.rate = self._label("status.rate", say("Active transfers"))
        self.answer = self._label("status.answer", say("Time since the last response of the service"))
        self.addWidget(self.profile)
        self.addWidget(self.lab)
        self.addWidget(self.busy, 1)
        for words in (self.rate, self.billing, self.answer):
            self.addPermanentWidget(words)
        status.changed.connect(self._refresh)
        self._refresh()

    def _button(self, name: str, purpose: Text | str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setToolTip(say(purpose) if isinstance(purpose, Text) else purpose)
        button.setAccessibleDescription(button.toolTip())
        return button

    def _label(self, name: str, purpose: str) -> QLabel:
        words = QLabel(self)
        words.setObjectName(name)
        words.setToolTip(purpose)
        words.setAccessibleDescription(purpose)
        return words

    def _refresh(self) -> None:
        status = self._status
        profile = status.state.profile
        is_lab = profile is not None and profile.is_lab
        place = self.lab if is_lab else self.profile
        place.setText(status.profile_words())
        self.profile.setVisible(not is_lab)
        self.lab.setVisible(is_lab)
        self.billing.setText(f"{status.live_words()} · {status.price_words()}")
        tip = "\n".join(words for words in (status.longest_words(), say(_BILLING)) if words)
        self.billing.setToolTip(tip)
        self.billing.setAccessibleDescription(tip)
        self.busy.setText(status.under_way_words())
        self.rate.setText(status.rate_words())
        show_words(self.answer, status.answer_words())
        trouble = status.state.trouble
        set_role(self.answer, "warn" if trouble else "")
        self.answer.setToolTip(trouble.sentence() if trouble else say("Time since the last response of the service"))
