"""What is known of one object: everything can be selected and copied."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from traindeck.domain.fact_words import fact_rows
from traindeck.domain.object_facts import ObjectFacts
from traindeck.domain.texts import say
from traindeck.ui.acting_page import ActingPage
from traindeck.ui.cards import Facts, card
from traindeck.ui.theme import SPACE
from traindeck.viewmodels.object_sheet import ObjectSheet
from traindeck.viewmodels.ports import Tasks


class ObjectGeneralPage(ActingPage):
    """Shows the head of the object, and whether anybody may read it."""

    icon = "info"
    is_form = False

    def __init__(self, sheet: ObjectSheet, scope: Tasks) -> None:
        super().__init__(scope)
        self.title = say("General")
        self._sheet = sheet
        self._rows: list[tuple[str, str]] = []
        self._md5 = ""
        self.name, self.facts = Facts(), Facts()
        self.copy_address = QPushButton(say("Copy address"))
        self.copy_md5 = QPushButton(say("Copy MD5"))
        self.copy_all = QPushButton(say("Copy all"))
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE)
        for button, act in (
            (self.copy_address, self._copy_address),
            (self.copy_md5, self._copy_md5),
            (self.copy_all, self._copy_all),
        ):
            button.setAutoDefault(False)
            button.clicked.connect(act)
            row.addWidget(button)
        row.addStretch(1)
        self.column.addWidget(card(say("Object"), [self.name]))
        self.column.addWidget(card(say("What the service says"), [self.facts]))
        self.column.addWidget(buttons)
        self.column.addWidget(self.outcome)
        self.column.addStretch(1)

    async def load(self) -> None:
        facts = await self._sheet.facts()
        is_public = await self._sheet.is_public()
        self._show(facts, is_public)

    def _show(self, facts: ObjectFacts, is_public: bool | None) -> None:
        path = facts.path
        named = [
            (say("Name"), path.name),
            (say("Folder"), str(path.parent)),
            (say("Bucket"), path.bucket),
        ]
        known = fact_rows(facts, is_public)
        self.name.show_facts(named)
        self.facts.show_facts(known)
        self._rows = [(say("Address"), str(path)), *known]
        self._md5 = facts.md5
        self.copy_md5.setVisible(bool(facts.md5))

    def _copy_address(self) -> None:
        self._copy(str(self._sheet.path))

    def _copy_md5(self) -> None:
        self._copy(self._md5)

    def _copy_all(self) -> None:
        self._copy("\n".join(f"{name}: {value}" for name, value in self._rows))

    def _copy(self, words: str) -> None:
        QGuiApplication.clipboard().setText(words)
        self.say_outcome(say("Copied."))
