"""The first page: what this is, and the two ways to begin."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
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
from traindeck.ui.accounts.profile_dialog import FileDrop
from traindeck.ui.kit.cards import push_button, show_words
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.runs.sample_run import SampleRun

_WIDTH = 680
_NARROW = 520  # below, the cards stand under each other
_LOW, _LOWEST = 420, 300  # below, what is not needed to begin makes room for the buttons


class WelcomePage(QScrollArea):
    """Asks for the sample or for an account; a credentials.csv can be dropped on it."""

    def __init__(self, theme: Theme, sample: SampleRun, connect: Callable[..., None]) -> None:
        super().__init__()
        self._theme = theme
        self.setWidgetResizable(True)
        FileDrop(self.viewport(), connect)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._run = sample
        self.sample = push_button(say("Run the &sample"), sample.start, "primary")
        self.account = push_button(say("&Connect your account"), lambda: connect())
        self._pictures: list[tuple[QLabel, str]] = []
        self._mark = QLabel()
        self._asides: list[QWidget] = []
        self._words: list[QWidget] = []
        self._cards = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self.stage = sentence("", "small")
        self._build()
        sample.changed.connect(self._on_sample)
        self._on_sample()
        theme.changed.connect(self._paint)
        self._paint()

    def _build(self) -> None:
        self._page = page = QWidget()
        column = QWidget()
        set_role(page, "page")
        self._room = row_of(1, (column, 20), 1, inside=page)
        column.setMaximumWidth(_WIDTH)
        lab = say(
            "The Lab is a cloud simulator on this computer. The sample trains a digit classifier "
            "there in half a minute, free of charge."
        )
        own = say("Paste your access key, or drop credentials.csv here. The keys are stored in the system keyring.")
        self._cards.setSpacing(2 * SPACE)
        self._cards.addWidget(
            self._card("flask", say("Try it now, without an account"), lab, self.sample, self.stage), 1
        )
        self._cards.addWidget(self._card("cloud", say("Use your own account"), own, self.account), 1)
        column_of(self._head(), self._cards, self._keys(), 1, inside=column, margins=0, spacing=2 * SPACE)
        self.setWidget(page)
        self.setFocusProxy(self.sample)

    def _head(self) -> QHBoxLayout:
        title = sentence(say("Train in the cloud, as easily as here"), "title")
        words = say("Select code, engine and data, submit, watch the log, and run it again with one key.")
        more = sentence(words, "dim")
        self._asides += (self._mark, more)
        beside = column_of(title, more, spacing=HALF)
        return row_of((self._mark, 0, Qt.AlignmentFlag.AlignTop), (beside, 1), spacing=2 * SPACE)

    def _card(self, icon: str, title: str, words: str, act: QPushButton, *above: QWidget) -> QFrame:
        """The buttons of both cards stand on one line, whatever is said above them."""
        card = QFrame()
        set_role(card, "card")
        picture = QLabel()
        self._pictures.append((picture, icon))
        more = sentence(words, "dim")
        self._asides.append(picture)
        self._words.append(more)
        words_above = (picture, sentence(title, "heading"), more)
        button = (act, 0, Qt.AlignmentFlag.AlignLeft)
        column_of(*words_above, 1, *above, button, inside=card, margins=2 * SPACE, spacing=SPACE)
        return card

    def _keys(self) -> QWidget:
        box = QWidget()
        grid = QGridLayout(box)
        grid.setContentsMargins(0, SPACE, 0, 0)
        grid.setHorizontalSpacing(2 * SPACE)
        grid.setVerticalSpacing(SPACE)
        rows = (
            ("Ctrl+K", say("find any command by name")),
            ("R", say("run the selected job again, unchanged")),
            ("Ctrl+1 … 7", say("go to runs, buckets, log, transfers, events, job, charts")),
        )
        for row, (keys, words) in enumerate(rows):
            key = label(keys if "…" in keys else keys_words(keys), "chip")
            key.setAlignment(Qt.AlignmentFlag.AlignCenter)
            grid.addWidget(key, row, 0)
            grid.addWidget(sentence(words, "dim"), row, 1)
        grid.setColumnStretch(1, 1)
        return box

    def _paint(self) -> None:
        self._mark.setPixmap(self._theme.program_icon().pixmap(48, 48))
        for picture, name in self._pictures:
            picture.setPixmap(self._theme.icon(name, "link").pixmap(24, 24))

    def _on_sample(self) -> None:
        stage = self._run.stage
        if stage is not None and self.sample.hasFocus():
            self._page.setFocus()  # else Qt gives it to whatever comes next, anywhere in the window
        self.sample.setEnabled(stage is None)
        show_words(self.stage, str(stage or ""))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.viewport().width() < _NARROW
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._cards.direction() != direction:
            self._cards.setDirection(direction)
        height = self.viewport().height()
        is_low = height < _LOW
        side = SPACE if is_low else 3 * SPACE
        self._room.setContentsMargins(side, SPACE if is_low else 4 * SPACE, side, side)
        for widget in self._asides:
            widget.setVisible(not is_low)
        for widget in self._words:
            widget.setVisible(height >= _LOWEST)
