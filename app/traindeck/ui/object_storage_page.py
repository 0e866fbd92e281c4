"""In which storage class an object is, and how it becomes readable again."""

from __future__ import annotations

from functools import partial

from traindeck.domain.fact_words import class_words, restore_words
from traindeck.domain.object_facts import CLASSES, FROZEN_CLASSES, HeadChange, ObjectFacts, RestoreSpeed, Restoring
from traindeck.domain.texts import say
from traindeck.ui.acting_page import ActingPage
from traindeck.ui.cards import card
from traindeck.ui.form_fields import ChoiceBox, Field, WheelGuard
from traindeck.ui.restore_card import RestoreCard
from traindeck.viewmodels.object_sheet import ObjectSheet
from traindeck.viewmodels.ports import Tasks


class ObjectStoragePage(ActingPage):
    """The class is saved like any other field; restoring is asked for at once."""

    icon = "bucket"

    def __init__(self, sheet: ObjectSheet, scope: Tasks) -> None:
        super().__init__(scope)
        self.title = say("Storage")
        self._sheet = sheet
        self._facts: ObjectFacts | None = None
        self._wanted = ""
        self.classes = ChoiceBox()
        self.classes.chosen.connect(self._on_chosen)
        self._guard = WheelGuard(self)
        self._guard.watch(self.classes)
        self.field = Field(say("Storage class"), self.classes)
        self.restoring = RestoreCard()
        self.restoring.wanted.connect(self._restore)
        self.column.addWidget(card(say("Storage class"), [self.field]))
        self.column.addWidget(self.restoring)
        self.column.addWidget(self.outcome)
        self.column.addStretch(1)

    async def load(self) -> None:
        self._show(await self._sheet.facts())

    def has_changes(self) -> bool:
        return self._facts is not None and self._wanted != self._facts.storage_class

    async def save(self) -> bool:
        assert self._facts is not None
        self._show(await self._sheet.change(HeadChange(storage_class=self._wanted), self._facts))
        return True

    def _show(self, facts: ObjectFacts) -> None:
        self._facts = facts
        self._wanted = facts.storage_class
        offered = CLASSES if facts.storage_class in CLASSES else (facts.storage_class, *CLASSES)
        choices = [(class_words(name), name) for name in offered]
        self.classes.offer(choices, facts.storage_class, is_known=True, placeholder="")
        self.classes.setEnabled(not facts.is_frozen)
        self.field.label.hide()  # the card says it
        self.restoring.setVisible(facts.storage_class in FROZEN_CLASSES)
        self.restoring.state.setText(restore_words(facts))
        self._say_what_follows()

    def _on_chosen(self, name: str) -> None:
        self._wanted = name
        self._say_what_follows()
        self.edited.emit()

    def _say_what_follows(self) -> None:
        facts = self._facts
        assert facts is not None
        if facts.is_frozen:
            words = say("It must be restored before its class can be changed.")
        elif self._wanted == facts.storage_class:
            words = ""
        elif self._wanted in FROZEN_CLASSES:
            words = say("It cannot be read any more until it is restored; taking it out early costs extra.")
        elif self._wanted == "WARM":
            words = say("Keeping it costs less, reading it more; it is paid for 30 days at least.")
        else:
            words = ""
        self.field.show_note(words)

    def _restore(self, days: int, speed: RestoreSpeed) -> None:
        self.act(say("Asking…"), partial(self._restored, days, speed), self.restoring)

    async def _restored(self, days: int, speed: RestoreSpeed) -> str:
        done = await self._sheet.restore(days, speed)
        self._show(await self._sheet.facts())
        match done:
            case Restoring.BEGUN:
                return say("The service has begun to restore it. Reload this page to see how far it is.")
            case Restoring.EXTENDED:
                return say("It is restored already; the days were set anew.")
            case Restoring.GOES_ON:
                return say("It is being restored already.")
