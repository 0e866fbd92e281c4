"""A list of a preview with what is known of the file above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QLabel, QLineEdit, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from traindeck.domain.previews import Fact
from traindeck.domain.texts import say
from traindeck.ui.preview_lists import ListColumn, ListModel, ListTable, Row
from traindeck.ui.theme import HALF, SPACE, set_role

_FACTS_HEIGHT = 14 * SPACE
_LONG_LIST = 8


class ListPane(QWidget, Generic[Row]):
    """What is known of a file, a list of what is in it, and a field to narrow that."""

    def __init__(self, columns: Sequence[ListColumn[Row]], name: str) -> None:
        super().__init__()
        self.model = ListModel(columns)
        self.table = ListTable(self.model, name)
        self.facts = QWidget()
        set_role(self.facts, "page")
        self.facts.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._form = QFormLayout(self.facts)
        self._form.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self._form.setVerticalSpacing(2)
        self._form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        self._about = QScrollArea()
        self._about.setWidget(self.facts)
        self._about.setWidgetResizable(True)
        self.search = QLineEdit()
        self.search.setPlaceholderText(say("Filter by name"))
        self.search.setAccessibleName(say("Filter by name"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self.model.narrow)
        self.sample = QPlainTextEdit()
        self.sample.setReadOnly(True)
        self.sample.setTabChangesFocus(True)
        self.sample.setAccessibleName(say("First values"))
        set_role(self.sample, "log")
        self._heading = QLabel(say("First values"))
        self._heading.setContentsMargins(SPACE, SPACE, SPACE, HALF)
        set_role(self._heading, "dim")
        field = QVBoxLayout()
        field.setContentsMargins(SPACE, HALF, SPACE, HALF)
        field.addWidget(self.search)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._about)
        layout.addLayout(field)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._heading)
        layout.addWidget(self.sample, 1)
        layout.addStretch(0)

    def begin(self, facts: tuple[Fact, ...], sample: str = "") -> None:
        while self._form.rowCount():
            self._form.removeRow(0)
        for fact in facts:
            label, value = QLabel(str(fact.label)), QLabel(str(fact.value))
            for one in (label, value):
                one.setTextFormat(Qt.TextFormat.PlainText)
                one.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            value.setWordWrap(True)
            set_role(label, "dim")
            self._form.addRow(label, value)
        self._about.setVisible(bool(facts))
        self._about.setFixedHeight(min(_FACTS_HEIGHT, self._form.totalSizeHint().height() + 2))
        self.search.clear()
        self.sample.setPlainText(sample)
        for widget in (self._heading, self.sample):
            widget.setVisible(bool(sample))
        self.model.clear()
        self.table.unsort()

    def add(self, rows: Sequence[Row], *, is_one: bool = False) -> None:
        """`is_one`: the facts say all there is to say."""
        self.model.add(rows)
        self.table.setVisible(not is_one)
        self.search.setVisible(self.model.count > _LONG_LIST)
