"""What is known of a bucket, and the settings it has one of each."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QLineEdit

from traindeck.domain.storage.bucket_settings import (
    MOST_QUOTA_BYTES,
    STORAGE_CLASSES,
    VERSIONING,
    BucketFacts,
    Versioning,
)
from traindeck.domain.storage.object_facts import class_words, size_in_full
from traindeck.domain.storage.objects import bytes_of, count_words, size_words
from traindeck.domain.texts import moment_words, say
from traindeck.ui.kit.cards import Facts, card
from traindeck.ui.kit.dialogs import AnswerButton, asked
from traindeck.ui.kit.fields import ChoiceBox, Field, WheelGuard
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import help_label, page_column
from traindeck.viewmodels.storage.bucket_settings import BucketService


class BucketGeneralPage(PropertyPage):
    """Each part that could not be found out says so, and cannot be changed."""

    icon = "bucket"

    def __init__(self, service: BucketService) -> None:
        super().__init__()
        self.title = say("General")
        self._service = service
        self._open: set[str] = set()
        self._known = BucketFacts(service.bucket, "")
        self.facts = Facts()
        self.storage_class, self.versioning, self.quota = ChoiceBox(), ChoiceBox(), QLineEdit()
        self.quota.setPlaceholderText(say("no limit; for example 500 GB"))
        self.class_field = Field(say("Storage class of new objects"), self.storage_class)
        self.versioning_field = Field(say("Versioning"), self.versioning)
        self.quota_field = Field(say("Quota: how much the bucket may hold"), self.quota)
        self._fields = {
            "storage_class": self.class_field,
            "versioning": self.versioning_field,
            "quota_bytes": self.quota_field,
        }
        self._guard = WheelGuard()
        self._guard.watch(self.storage_class, self.versioning)
        column = page_column(self)
        column.addWidget(card(say("Facts"), [self.facts]))
        column.addWidget(card(say("Settings"), [self.class_field, self.versioning_field, self.quota_field]))
        column.addWidget(
            help_label(say("Number and size of objects are counted by the service now and then."), "small")
        )
        column.addStretch(1)
        self.storage_class.chosen.connect(self._on_edited)
        self.versioning.chosen.connect(self._on_edited)
        self.quota.textEdited.connect(self._on_edited)

    async def load(self) -> None:
        self._show(await self._service.facts())

    def _show(self, facts: BucketFacts) -> None:
        self._known = facts
        self.facts.show_facts(_rows(facts))
        classes = [(class_words(name), name) for name in STORAGE_CLASSES]
        self.storage_class.offer(classes, facts.storage_class, is_known=False, placeholder=say("unknown"))
        value = "" if facts.versioning is None else _id_of(facts.versioning)
        choices = [(say(VERSIONING[state]), _id_of(state)) for state in _reachable(facts.versioning)]
        self.versioning.offer(choices, value, is_known=False, placeholder=say("unknown"))
        self.quota.setText(_quota(facts.quota_bytes))
        # What could not be read must not be set: nobody would know what is lost by it.
        self._open = {name for name in self._fields if name not in facts.unknown}
        for name, field in self._fields.items():
            field.editor.setEnabled(name in self._open)
            why = facts.unknown.get(name)
            field.show_note(say("Cannot be changed here. {reason}", reason=say(why)) if why else "")
        self._say()

    def _on_edited(self, _: str) -> None:
        self._say()
        self.edited.emit()

    def _say(self) -> None:
        """What the choice means, before it is saved."""
        self.quota_field.show_error(self.problem())
        changed = self._changed()
        for name, field in self._fields.items():
            if name in self._open:
                field.show_note(self._consequence(name) if name in changed else "")

    def _consequence(self, name: str) -> str:
        if name == "storage_class":
            return say("Objects that are there keep their class.")
        if name == "versioning":
            if self._wanted_versioning() is Versioning.ENABLED:
                return say("Once on it can only be suspended. Older versions count for the size and the bill.")
            return say("Versions that are there stay; what changes from now on leaves none behind.")
        wanted, used = self._wanted_quota(), self._known.size_bytes
        if wanted and used is not None and wanted < used:
            return say("The bucket holds {size} already: nothing more could be added.", size=size_words(used))
        return ""

    def _wanted_class(self) -> str:
        return str(self.storage_class.currentData() or "")

    def _wanted_versioning(self) -> Versioning | None:
        chosen = str(self.versioning.currentData() or "")
        return next((state for state in Versioning if _id_of(state) == chosen), None)

    def _wanted_quota(self) -> int | None:
        """None: what is typed is no size."""
        words = self.quota.text().strip()
        if words == _quota(self._known.quota_bytes):
            return self._known.quota_bytes
        found = bytes_of(words) if words else 0
        return found if found is not None and found <= MOST_QUOTA_BYTES else None

    def _changed(self) -> set[str]:
        different = {
            "storage_class": self._wanted_class() != self._known.storage_class,
            "versioning": self._wanted_versioning() is not self._known.versioning,
            "quota_bytes": self._wanted_quota() != self._known.quota_bytes,
        }
        return {name for name in self._open if different[name]}

    def has_changes(self) -> bool:
        return bool(self._changed())

    def problem(self) -> str:
        is_wrong = "quota_bytes" in self._open and self._wanted_quota() is None
        return say("A quota is a size such as 500 GB or 1.5 TB, or empty for no limit.") if is_wrong else ""

    async def save(self) -> bool:
        changed, wanted, quota = self._changed(), self._wanted_versioning(), self._wanted_quota()
        if "versioning" in changed and wanted is Versioning.ENABLED and not await self._is_meant():
            return False
        # One after the other: what was taken stays taken when the next is refused.
        if "storage_class" in changed:
            await self._service.set_storage_class(self._wanted_class())
            self._known = replace(self._known, storage_class=self._wanted_class())
        if "versioning" in changed and wanted is not None:
            await self._service.set_versioning(wanted)
            self._known = replace(self._known, versioning=wanted)
        if "quota_bytes" in changed and quota is not None:
            await self._service.set_quota(quota)
            self._known = replace(self._known, quota_bytes=quota)
        self._show(self._known)
        return True

    async def _is_meant(self) -> bool:
        if self._known.versioning is not Versioning.NEVER:
            return True
        answer = AnswerButton("on", say("Switch on"), "primary")
        hint = say("It cannot be switched off again, only suspended. Older versions count for the size and the bill.")
        return await asked(self.window(), say("Switch on versioning?"), hint, answer) == answer.id


def _id_of(state: Versioning) -> str:
    return state.value or "never"


def _reachable(now: Versioning | None) -> list[Versioning]:
    if now is Versioning.NEVER:
        return [Versioning.NEVER, Versioning.ENABLED]
    return [Versioning.ENABLED, Versioning.SUSPENDED]


def _quota(quota_bytes: int | None) -> str:
    """So that reading it again gives the same number."""
    if not quota_bytes:
        return ""
    units = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"))
    factor, unit = next((pair for pair in units if quota_bytes % pair[0] == 0), (1, "B"))
    return f"{quota_bytes // factor} {unit}"


def _rows(facts: BucketFacts) -> list[tuple[str, str]]:
    encryption = facts.encryption or say("only where asked for")
    rows = [
        (say("Address"), f"obs://{facts.name}/"),
        (say("Endpoint"), facts.endpoint),
        (say("Region"), facts.region or say("unknown")),
        (say("Created"), moment_words(facts.created) if facts.created else say("unknown")),
        (say("Objects"), say("unknown") if facts.objects is None else count_words(facts.objects)),
        (say("Size"), say("unknown") if facts.size_bytes is None else size_in_full(facts.size_bytes)),
        (say("Encryption"), say("unknown") if facts.encryption is None else encryption),
        (say("OBS version"), facts.obs_version),
        (say("Zones"), facts.zones),
    ]
    return [(name, value) for name, value in rows if value]
