"""The bar under the menus that says what went wrong, and the status bar."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QStatusBar,
    QToolButton,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.shell.notices import Notice, Notices
from traindeck.viewmodels.shell.status import Status


class NoticeBar(QFrame):
    """Shows the most important notice, as wide as the window."""

    needed = Signal(bool)
    """Whether there is anything to show."""

    def __init__(self, notices: Notices, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice_bar")
        self._notices = notices
        self._theme = theme
        self._shown: Notice | None = None
        self._picture = QLabel()
        self.title = QLabel()
        self.hint = QLabel()
        self.detail = QLabel()
        self.more = QLabel()
        self.retry = QPushButton(say("Try again"))
        self.details = QPushButton(say("Details"))
        self.dismiss = QToolButton()
        self._row = QHBoxLayout(self)
        self._build()
        notices.changed.connect(self._refresh)
        theme.changed.connect(self._paint)
        self._refresh()

    def _build(self) -> None:
        for label in (self.title, self.hint, self.detail):
            label.setWordWrap(True)
            label.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        set_role(self.title, "strong")
        set_role(self.detail, "small")
        set_role(self.more, "small")
        set_role(self.details, "flat")
        self.details.setCheckable(True)
        self.dismiss.setToolTip(say("Dismiss"))
        self.dismiss.setAccessibleName(say("Dismiss this message"))
        self.retry.clicked.connect(self._on_retry)
        self.details.toggled.connect(self.detail.setVisible)
        self.details.toggled.connect(self._fit)
        self.dismiss.clicked.connect(self._on_dismiss)
        words = column_of(self.title, self.hint, self.detail, spacing=2)
        layout = self._row
        layout.setContentsMargins(SPACE + HALF, SPACE, SPACE, SPACE)
        layout.setSpacing(SPACE)
        layout.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        for widget in (self.more, self.details, self.retry, self.dismiss):
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignTop)

    def _refresh(self) -> None:
        notice = self._notices.current
        if notice is None:
            self._shown = None
            self.needed.emit(False)
            return
        if self._shown is None or self._shown.number != notice.number:
            self.details.setChecked(False)
            self.detail.setVisible(False)
        self._shown = notice
        title, hint = say(notice.title), say(notice.hint)
        if notice.times > 1:
            title = say("{title} ({times} times)", title=title, times=notice.times)
        self.title.setText(title)
        self.hint.setText(hint)
        self.hint.setVisible(bool(hint))
        self.detail.setText(notice.detail)
        self.details.setVisible(bool(notice.detail))
        self.retry.setVisible(notice.retry is not None)
        self.retry.setText(say(notice.retry_words) if notice.retry_words else say("Try again"))
        others = len(self._notices.all) - 1
        self.more.setText(say("{count} more", count=others) if others else "")
        self.more.setVisible(bool(others))
        self.setAccessibleName(f"{title} {hint}")
        self._paint()
        self._fit()
        self.needed.emit(True)

    @property
    def is_needed(self) -> bool:
        return self._shown is not None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        # The layout sleeps through this when it was worked out while the bar was hidden.
        self._row.invalidate()
        self._row.activate()

    def _fit(self, *_: object) -> None:
        """As high as the wrapped words; a toolbar does not ask for that by itself."""
        self.setFixedHeight(max(1, self._row.totalHeightForWidth(self.width())))

    def _paint(self) -> None:
        if self._shown is None:
            return
        is_error = self._shown.is_error
        set_role(self, "notice-bad" if is_error else "notice-info")
        icon = self._theme.icon("error", "bad") if is_error else self._theme.icon("info", "link")
        self._picture.setPixmap(icon.pixmap(20, 20))
        self.dismiss.setIcon(self._theme.icon("close"))

    def _on_retry(self) -> None:
        if self._shown is not None:
            self._notices.retry(self._shown.number)

    def _on_dismiss(self) -> None:
        if self._shown is not None:
            self._notices.dismiss(self._shown.number)


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
