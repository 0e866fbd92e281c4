"""What is known of a bucket, and the settings it has one of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from traindeck.ui.kit.dialogs import agreed
from traindeck.ui.kit.fields import ChoiceBox, Field, guard_wheel
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import help_label
from traindeck.viewmodels.storage.buckets import BucketService


class BucketGeneralPage(PropertyPage):
    """Each part that could not be found out says so, and cannot be changed."""

    icon = "bucket"

    def __init__(self, service: BucketService) -> None:
        super().__init__(say("General"))
        self._service = service
        self._open: set[str] = set()
        self._known = BucketFacts(service.bucket, "")
        self.facts = Facts()
        self.storage_class, self.versioning, self.quota = ChoiceBox(), ChoiceBox(), QLineEdit()
        self.quota.setPlaceholderText(say("no limit; e.g. 500 GB"))
        self.fields = {
            "storage_class": Field(say("Storage class of new objects"), self.storage_class),
            "versioning": Field(say("Versioning"), self.versioning),
            "quota_bytes": Field(say("Quota: maximum size of the bucket"), self.quota),
        }
        guard_wheel(self.storage_class, self.versioning)
        note = help_label(say("OBS updates the number and size of objects periodically."), "small")
        self.lay_out(
            card(say("Basic information"), [self.facts]), card(say("Settings"), [*self.fields.values()]), note, 1
        )
        self.storage_class.chosen.connect(self._on_edited)
        self.versioning.chosen.connect(self._on_edited)
        self.quota.textEdited.connect(self._on_edited)

    async def load(self) -> None:
        self._show(await self._service.ask(lambda settings, bucket: settings.facts(bucket)))

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
        self._open = {name for name in self.fields if name not in facts.unknown}
        for name, field in self.fields.items():
            field.editor.setEnabled(name in self._open)
            why = facts.unknown.get(name)
            field.show_note(say("Cannot be changed here. {reason}", reason=say(why)) if why else "")
        self._say()

    def _on_edited(self, _: str) -> None:
        self._say()
        self.edited.emit()

    def _say(self) -> None:
        """What the choice means, before it is saved."""
        self.fields["quota_bytes"].show_error(self.problem())
        changed = self._changed()
        for name, field in self.fields.items():
            if name in self._open:
                field.show_note(self._consequence(name, changed[name]) if name in changed else "")

    def _consequence(self, name: str, wanted: Any) -> str:
        if name == "storage_class":
            return say("Existing objects keep their class.")
        if name == "versioning":
            if wanted is Versioning.ENABLED:
                return say("Once enabled, it can only be suspended. Previous versions take up storage and are charged.")
            return say("Existing versions are kept. Later changes create none.")
        used = self._known.size_bytes
        if wanted and used is not None and wanted < used:
            return say("The bucket already contains {size}, so nothing more could be added.", size=size_words(used))
        return ""

    def _wanted(self) -> dict[str, Any]:
        """What each field says; a quota that is None is no size."""
        words, chosen = self.quota.text().strip(), str(self.versioning.currentData() or "")
        quota = self._known.quota_bytes
        if words != _quota(quota):
            found = bytes_of(words) if words else 0
            quota = found if found is not None and found <= MOST_QUOTA_BYTES else None
        return {
            "storage_class": str(self.storage_class.currentData() or ""),
            "versioning": next((state for state in Versioning if _id_of(state) == chosen), None),
            "quota_bytes": quota,
        }

    def _changed(self) -> dict[str, Any]:
        wanted = {name: value for name, value in self._wanted().items() if name in self._open}
        return {name: value for name, value in wanted.items() if value != getattr(self._known, name)}

    def has_changes(self) -> bool:
        return bool(self._changed())

    def problem(self) -> str:
        is_wrong = "quota_bytes" in self._open and self._wanted()["quota_bytes"] is None
        return say("Enter a size such as 500 GB or 1.5 TB, or leave empty for no limit.") if is_wrong else ""

    async def save(self) -> bool:
        changed = self._changed()
        if changed.get("versioning") is Versioning.ENABLED and not await self._is_meant():
            return False
        # One after the other: what was taken stays taken when the next is refused.
        for name, value in changed.items():
            await self._keep(name, value)
            self._known = replace(self._known, **{name: value})
        self._show(self._known)
        return True

    async def _keep(self, name: str, value: Any) -> None:
        if name == "storage_class":
            await self._service.ask(lambda settings, bucket: settings.set_storage_class(bucket, value))
        elif name == "versioning":
            on = value is Versioning.ENABLED
            await self._service.ask(lambda settings, bucket: settings.set_versioning(bucket, enabled=on))
        else:
            await self._service.ask(lambda settings, bucket: settings.set_quota(bucket, value))

    async def _is_meant(self) -> bool:
        if self._known.versioning is not Versioning.NEVER:
            return True
        hint = say("It can only be suspended afterwards. Previous versions take up storage and are charged.")
        return await agreed(self.window(), say("Enable versioning?"), hint, say("Enable"), "primary")


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
    encryption = facts.encryption or say("only if requested")
    rows = [
        (say("OBS path"), f"obs://{facts.name}/"),
        (say("Endpoint"), facts.endpoint),
        (say("Region"), facts.region or say("unknown")),
        (say("Created"), moment_words(facts.created) if facts.created else say("unknown")),
        (say("Objects"), say("unknown") if facts.objects is None else count_words(facts.objects)),
        (say("Size"), say("unknown") if facts.size_bytes is None else size_in_full(facts.size_bytes)),
        (say("Encryption"), say("unknown") if facts.encryption is None else encryption),
        (say("OBS version"), facts.obs_version),
        (say("Availability zones"), facts.zones),
    ]
    return [(name, value) for name, value in rows if value]
