"""The first page: what this is, and the two ways to begin."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.ui.accounts.profile_dialog import TakesFile
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role

_WIDTH = 680
_NARROW = 520  # below, the cards stand under each other


class WelcomePage(TakesFile, QScrollArea):
    """Asks for the sample or for an account; a credentials.csv can be dropped on it."""

    sample_wanted = Signal()
    account_wanted = Signal()
    credentials_dropped = Signal(Path)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setWidgetResizable(True)
        self.setAcceptDrops(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sample = QPushButton(say("Run the &sample"))
        self.account = QPushButton(say("&Connect your account"))
        self._pictures: list[tuple[QLabel, str]] = []
        self._mark = QLabel()
        self._cards = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._build()
        self.sample.clicked.connect(self.sample_wanted)
        self.account.clicked.connect(self.account_wanted)
        theme.changed.connect(self._paint)
        self._paint()

    def _build(self) -> None:
        set_role(self.sample, "primary")
        page = QWidget()
        set_role(page, "page")
        outer = QHBoxLayout(page)
        outer.setContentsMargins(3 * SPACE, 4 * SPACE, 3 * SPACE, 3 * SPACE)
        column = QWidget()
        column.setMaximumWidth(_WIDTH)
        layout = column_of(self._head(), inside=column, margins=0, spacing=2 * SPACE)
        cards = self._cards
        cards.setSpacing(2 * SPACE)
        cards.addWidget(
            self._card(
                "flask",
                say("Try it now, without an account"),
                say(
                    "The Lab is a small cloud on this computer. The sample trains a digit reader there "
                    "in half a minute and costs nothing."
                ),
                self.sample,
            ),
            1,
        )
        cards.addWidget(
            self._card(
                "cloud",
                say("Use your own account"),
                say("Paste your access key, or drop credentials.csv here. The keys go into the system's keyring."),
                self.account,
            ),
            1,
        )
        layout.addLayout(cards)
        layout.addWidget(self._keys())
        layout.addStretch(1)
        outer.addStretch(1)
        outer.addWidget(column, 20)
        outer.addStretch(1)
        self.setWidget(page)
        self.setFocusProxy(self.sample)

    def _head(self) -> QHBoxLayout:
        title = sentence(say("Train in the cloud, as easily as here"), "title")
        words = QLabel(
            say("Choose the code, the engine and the data, submit, watch the log, and run it again with one key.")
        )
        words.setWordWrap(True)
        set_role(words, "dim")
        head = row_of((self._mark, 0, Qt.AlignmentFlag.AlignTop), spacing=2 * SPACE)
        beside = column_of(title, words, spacing=HALF)
        head.addLayout(beside, 1)
        return head

    def _card(self, icon: str, title: str, words: str, button: QPushButton) -> QFrame:
        card = QFrame()
        set_role(card, "card")
        picture, heading, text = QLabel(), QLabel(title), QLabel(words)
        self._pictures.append((picture, icon))
        set_role(heading, "heading")
        set_role(text, "dim")
        for label in (heading, text):
            label.setWordWrap(True)
        column_of(
            picture,
            heading,
            text,
            1,
            (button, 0, Qt.AlignmentFlag.AlignLeft),
            inside=card,
            margins=2 * SPACE,
            spacing=SPACE,
        )
        return card

    def _keys(self) -> QWidget:
        box = QWidget()
        grid = QGridLayout(box)
        grid.setContentsMargins(0, SPACE, 0, 0)
        grid.setHorizontalSpacing(2 * SPACE)
        grid.setVerticalSpacing(SPACE)
        rows = (
            ("Ctrl+K", say("every command, by its name")),
            ("R", say("run the selected job again, just as it was")),
            ("Ctrl+1 … 5", say("go to buckets, runs, log, transfers, form")),
        )
        for row, (keys, words) in enumerate(rows):
            shown = keys if "…" in keys else QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
            key, what = QLabel(shown), QLabel(words)
            set_role(key, "chip")
            key.setAlignment(Qt.AlignmentFlag.AlignCenter)
            set_role(what, "dim")
            what.setWordWrap(True)
            grid.addWidget(key, row, 0)
            grid.addWidget(what, row, 1)
        grid.setColumnStretch(1, 1)
        return box

    def _paint(self) -> None:
        self._mark.setPixmap(self._theme.program_icon().pixmap(48, 48))
        for picture, name in self._pictures:
            picture.setPixmap(self._theme.icon(name, "link").pixmap(24, 24))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.viewport().width() < _NARROW
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._cards.direction() != direction:
            self._cards.setDirection(direction)

    def take_file(self, file: Path) -> None:
        self.credentials_dropped.emit(file)
