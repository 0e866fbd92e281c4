"""Pages of one object: what is known of it, its metadata and grants, and links to it for a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QWidget

from traindeck.domain.errors import AppError, NoRight, NotOffered
from traindeck.domain.storage.access import Acl, Grant, Grantees, Permission, grant_problem
from traindeck.domain.storage.object_facts import (
    CONTENT_TYPE,
    KNOWN_NAMES,
    OUR_NAMES,
    STANDARD_HEADERS,
    HeadChange,
    ObjectFacts,
    fact_rows,
    header_problem,
    header_title,
    metadata_bytes,
    metadata_problem,
    public_words,
    tag_problem,
)
from traindeck.domain.storage.objects import ObjectVersion, as_written
from traindeck.domain.texts import Text, moment_words, say, say_count, text
from traindeck.ui.kit.cards import Facts, card, plain, push_button, show_words
from traindeck.ui.kit.fields import ChoiceBox, Field, guard_wheel
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import ActingPage, boxed_row
from traindeck.ui.kit.rules import PairsCard
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.ui.storage.access_page import GrantsTable, show_mark
from traindeck.viewmodels.ports import Confirm, Tasks
from traindeck.viewmodels.storage.object_sheet import ObjectSheet


class ObjectGeneralPage(ActingPage):
    """Shows the head of the object, and whether anybody may read it."""

    icon = "info"
    is_form = False

    def __init__(self, sheet: ObjectSheet, scope: Tasks) -> None:
        super().__init__(say("General"), scope)
        self._sheet = sheet
        self._copied: dict[str, str] = {}
        self.name, self.facts = Facts(), Facts()
        self.copy_address = push_button(say("Copy OBS path"), partial(self._copy, "address"))
        self.copy_md5 = push_button(say("Copy MD5"), partial(self._copy, "md5"))
        self.copy_all = push_button(say("Copy all"), partial(self._copy, "all"))
        self.lay_out(
            card(say("Object"), [self.name]),
            card(say("Returned by the service"), [self.facts]),
            boxed_row(self.copy_address, self.copy_md5, self.copy_all, 1),
            self.outcome,
            1,
        )

    async def load(self) -> None:
        facts = await self._sheet.facts()
        known = fact_rows(facts, await self._sheet.ask(lambda objects, path: objects.is_public(path)))
        path = facts.path
        named = [(say("Name"), path.name), (say("Folder"), str(path.parent)), (say("Bucket"), path.bucket)]
        self.name.show_facts(named)
        self.facts.show_facts(known)
        lines = (
            say("{label}: {value}", label=name, value=value) for name, value in [(say("OBS path"), str(path)), *known]
        )
        self._copied = {"address": str(path), "md5": facts.md5, "all": "\n".join(lines)}
        self.copy_md5.setVisible(bool(facts.md5))

    def _copy(self, what: str) -> None:
        self.copy_words(self._copied[what])


_EXAMPLES = {
    CONTENT_TYPE: "text/plain; charset=utf-8",
    "cache-control": "max-age=3600",
    "content-disposition": "attachment; filename*=UTF-8''%E6%95%B0%E6%8D%AE.csv",
    "content-encoding": "gzip",
    "content-language": "zh-CN",
    "expires": "Wed, 31 Dec 2031 00:00:00 GMT",
}


class ObjectMetadataPage(PropertyPage):
    """Saves only what was changed, and only if nobody else has changed the object meanwhile."""

    icon = "form"

    def __init__(self, sheet: ObjectSheet, theme: Theme) -> None:
        super().__init__(say("Metadata"))
        self._sheet = sheet
        self._facts: ObjectFacts | None = None
        self._kept_tags: dict[str, str] | None = None
        self.fields: dict[str, Field] = {}
        self.lines: dict[str, QLineEdit] = {}
        fields = QWidget()
        column = column_of(inside=fields, margins=0, spacing=SPACE)
        for name in (CONTENT_TYPE, *STANDARD_HEADERS):
            line = QLineEdit()
            line.setPlaceholderText(say("e.g. {example}", example=_EXAMPLES[name]))
            line.textEdited.connect(self._on_edited)
            self.lines[name] = line
            self.fields[name] = Field(header_title(name), line)
            column.addWidget(self.fields[name])
        self.metadata = PairsCard(say("Metadata"), say("Value"), "", self._check_metadata, theme)
        limits = say("Up to 10; a name has up to 128 characters, a value 256.")
        self.tags = PairsCard(say("Tags"), say("Value"), limits, tag_problem, theme)
        self.ours = Facts()
        self.ours_card = card(say("Written by TrainDeck and similar programs"), [self.ours])
        for edited in (self.metadata, self.tags):
            edited.edited.connect(self._on_edited)
        self.lay_out(card(say("HTTP headers of the object"), [fields]), self.metadata, self.ours_card, self.tags, 1)

    async def load(self) -> None:
        facts = await self._sheet.facts()
        tags: dict[str, str] | None
        try:
            tags = await self._sheet.ask(lambda objects, path: objects.tags(path))
        except (NotOffered, NoRight):
            tags = None  # the rest can be edited all the same
        self._show(facts, tags)

    def has_changes(self) -> bool:
        return self._facts is not None and (not self._change().is_empty or self._are_tags_changed())

    def problem(self) -> str:
        found: list[Text | None] = [self._problem_of(name) for name in self.lines]
        found += [self.metadata.problem, self.tags.problem, self._size_problem()]
        return next((say(problem) for problem in found if problem is not None), "")

    async def save(self) -> bool:
        assert self._facts is not None
        change = self._change()
        facts, tags = self._facts, self._kept_tags
        if not change.is_empty:
            seen = facts
            facts = await self._sheet.change(lambda objects, path: objects.change(path, change, seen))
            self._facts = facts
        if self._are_tags_changed():
            tags = self.tags.values
            try:
                await self._sheet.change(lambda objects, path: objects.set_tags(path, tags))
            except AppError:
                self._show_head(facts)  # that part is kept already
                raise
        self._show(await self._sheet.facts(), tags)
        return True

    def _show(self, facts: ObjectFacts, tags: dict[str, str] | None) -> None:
        self._kept_tags = tags
        self.tags.setVisible(tags is not None)
        self.tags.show_values(tags or {})
        self._show_head(facts)

    def _show_head(self, facts: ObjectFacts) -> None:
        self._facts = facts
        for name, line in self.lines.items():
            line.setText(facts.content_type if name == CONTENT_TYPE else facts.headers.get(name, ""))
            line.setCursorPosition(0)
        self.metadata.show_values(self._own(facts))
        ours = sorted((name, value) for name, value in facts.metadata.items() if name in KNOWN_NAMES)
        self.ours.show_facts(ours)
        self.ours_card.setVisible(bool(ours))
        self._on_typed()

    def _on_edited(self) -> None:
        self._on_typed()
        self.edited.emit()

    def _on_typed(self) -> None:
        for name, field in self.fields.items():
            problem = self._problem_of(name)
            field.show_error(say(problem) if problem else "")
        note = say(
            "{count} of {most} bytes. Names can contain a–z, 0–9, dot, hyphen and underscore. Anyone "
            "who can read the object sees them.",
            count=f"{self._bytes():,}",
            most=f"{self._sheet.most_metadata_bytes:,}",
        )
        self.metadata.note.setText(note)

    def _own(self, facts: ObjectFacts) -> dict[str, str]:
        return {name: value for name, value in facts.metadata.items() if name not in KNOWN_NAMES}

    def _change(self) -> HeadChange:
        facts = self._facts
        assert facts is not None
        typed = {name: line.text().strip() for name, line in self.lines.items()}
        content_type = typed.pop(CONTENT_TYPE)
        own, wanted = self._own(facts), self.metadata.values
        return HeadChange(
            content_type=content_type if content_type != facts.content_type else None,
            headers={name: value for name, value in typed.items() if value != facts.headers.get(name, "")},
            metadata={name: value for name, value in wanted.items() if own.get(name) != value},
            without=frozenset(own.keys() - wanted.keys()),
        )

    def _are_tags_changed(self) -> bool:
        return self._kept_tags is not None and self.tags.values != self._kept_tags

    def _problem_of(self, name: str) -> Text | None:
        typed = self.lines[name].text().strip()
        is_as_it_was = self._facts is not None and name == CONTENT_TYPE and typed == self._facts.content_type
        return None if is_as_it_was else header_problem(name, typed)

    def _check_metadata(self, name: str, value: str) -> Text | None:
        if name in OUR_NAMES:
            return text("“{name}” is written by TrainDeck and belongs to the content.", name=name)
        return metadata_problem(name, value)

    def _bytes(self) -> int:
        if self._facts is None:
            return 0
        kept = {name: value for name, value in self._facts.written.items() if name in KNOWN_NAMES}
        return metadata_bytes(kept | {name: as_written(value) for name, value in self.metadata.values.items()})

    def _size_problem(self) -> Text | None:
        most = self._sheet.most_metadata_bytes
        if self._bytes() <= most:
            return None
        return text("The metadata is larger than {most} bytes.", most=f"{most:,}")


_EVERYBODY = Grant(Grantees.EVERYONE, Permission.READ)


class ObjectAccessPage(PropertyPage):
    """Edits a draft of the grants; making the object public is asked about."""

    icon = "lock"

    def __init__(self, sheet: ObjectSheet, theme: Theme, confirm: Confirm) -> None:
        super().__init__(say("Access"))
        self._sheet = sheet
        self._theme = theme
        self._confirm = confirm
        self._kept: Acl | None = None
        self._draft: Acl | None = None
        self._is_public: bool | None = None
        self.mark, self.now = QLabel(), plain("strong")
        self.private = push_button(say("Remove public access"), self._make_private)
        self.public = push_button(say("Make public"), self._make_public)
        self.grants = GrantsTable(theme, of_object=True)
        self.warning = plain("warn")
        note = say("The bucket policy takes precedence: it can allow or deny access whatever is set here.")
        buttons = boxed_row(self.public, self.private, 1)
        self.lay_out(
            card(say("Now"), [boxed_row((self.mark, 0, Qt.AlignmentFlag.AlignTop), (self.now, 1))]),
            card(say("Grants of this object (ACL)"), [self.grants, buttons, self.warning, plain("small", note)]),
            1,
        )
        self.grants.add_wanted.connect(self._add)
        self.grants.remove_wanted.connect(self._remove)
        theme.changed.connect(self._paint)

    async def load(self) -> None:
        self.grants.offer(await self._sheet.grantees(), can_deliver=False)
        await self._read()

    def has_changes(self) -> bool:
        return self._kept is not None and self._draft is not None and not self._kept.is_same(self._draft)

    async def save(self) -> bool:
        assert self._kept is not None and self._draft is not None
        if self._becomes_public() and not await self._confirm(
            text("Let anyone on the internet read “{place}”?", place=str(self._sheet.path)), text("Make public")
        ):
            return False
        draft = self._draft
        await self._sheet.ask_access(lambda access, path: access.set_acl(path, draft))
        await self._read()
        return True

    async def _read(self) -> None:
        acl = await self._sheet.ask_access(lambda access, path: access.acl(path))
        is_public = await self._sheet.ask(lambda objects, path: objects.is_public(path))
        self._kept, self._is_public = acl, is_public
        self.now.setText(public_words(is_public))
        self._paint()
        self._become(acl)

    def _become(self, acl: Acl) -> None:
        self._draft = acl
        self.grants.show_acl(acl)
        self.grants.setEnabled(acl.is_readable)
        self.public.setEnabled(acl.is_readable and _EVERYBODY not in acl.grants)
        self.private.setEnabled(acl.is_readable and bool(acl.public_grants))
        words = say("After saving, anyone can read it without keys.") if self._becomes_public() else ""
        if not acl.is_readable:
            words = say("Some of these grants are not recognized. Change them in the console.")
        show_words(self.warning, words)
        self.edited.emit()

    def _becomes_public(self) -> bool:
        return bool(self._draft and self._kept and set(self._draft.public_grants) - set(self._kept.public_grants))

    def _make_public(self) -> None:
        if self._draft is not None:
            self._become(replace(self._draft, grants=(*self._draft.grants, _EVERYBODY)))

    def _make_private(self) -> None:
        if self._draft is not None:
            self._become(self._draft.without_public())

    def _add(self, grant: Grant) -> None:
        assert self._draft is not None
        problem = grant_problem(grant, self._draft.grants)
        if problem is None:
            self._become(replace(self._draft, grants=(*self._draft.grants, grant)))
        self.grants.answer(problem)

    def _remove(self, gone: list[Grant]) -> None:
        assert self._draft is not None
        kept = tuple(one for one in self._draft.grants if one not in gone or self._draft.is_of_owner(one))
        self._become(replace(self._draft, grants=kept))

    def _paint(self) -> None:
        show_mark(self.mark, self._theme, self._is_public, "info")
        set_role(self.now, "warn" if self._is_public else "strong")


READ, WRITE = "GET", "PUT"
_MINUTES = (5, 15, 60, 12 * 60, 24 * 60, 3 * 24 * 60, 7 * 24 * 60)
_USUAL_MINUTES = 60
_CURRENT = ""
_LINES = 5


class LinkPage(ActingPage):
    """The link is shown when it was asked for, and forgotten when the page is left."""

    icon = "key"
    is_form = False

    def __init__(self, sheet: ObjectSheet, theme: Theme, scope: Tasks) -> None:
        super().__init__(say("Link"), scope)
        self._sheet = sheet
        self.purpose, self.lasts, self.version = ChoiceBox(), ChoiceBox(), ChoiceBox()
        guard_wheel(self.purpose, self.lasts, self.version)
        self.purpose.offer(((say("Read the object"), READ), (say("Write the object (upload)"), WRITE)), READ)
        lasts = [(_lasting_words(minutes), str(minutes)) for minutes in _MINUTES]
        self.lasts.offer(lasts, str(_USUAL_MINUTES))
        self.version_field = Field(say("Version"), self.version)
        self.make = push_button(say("Create link"), self._make, "primary")
        self.made = QWidget()
        self.shown = QPlainTextEdit()
        self.shown.setReadOnly(True)
        self.shown.setFont(theme.mono_font())
        self.shown.setAccessibleName(say("Link"))
        self.shown.setFixedHeight(_LINES * self.shown.fontMetrics().lineSpacing() + 2 * SPACE)
        self.copy = push_button(say("Copy"), self._copy)
        self.warning = plain("")
        copy = (self.copy, 0, Qt.AlignmentFlag.AlignLeft)
        column_of(self.shown, self.warning, copy, inside=self.made, margins=0, spacing=SPACE)
        purpose, lasting = Field(say("Purpose"), self.purpose), Field(say("Valid for"), self.lasts)
        fields = [purpose, lasting, self.version_field, self.make]
        self.lay_out(card(say("Temporary link"), fields), self.made, self.outcome, 1)
        for box in (self.purpose, self.lasts, self.version):
            box.chosen.connect(self._on_chosen)
        self.forget()

    async def load(self) -> None:
        self.forget()
        try:
            versions = await self._sheet.ask(lambda objects, path: objects.versions(path))
        except AppError:
            versions = []  # the link to the object itself needs none
        self._offer(versions)

    def forget(self) -> None:
        """Nobody who looks at the page later finds the link."""
        self.shown.clear()
        self.made.hide()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous():  # not for a window that was only made small
            self.forget()
            self.say_outcome("")

    def _offer(self, versions: Sequence[ObjectVersion]) -> None:
        choices = [(say("The object at that time"), _CURRENT)]
        choices += [
            (f"{moment_words(one.modified) if one.modified else ''} {one.version}".strip(), one.version)
            for one in versions
            if not one.is_marker and one.version
        ]
        self.version.clear()
        self.version.offer(choices, _CURRENT)
        self.version.setCurrentIndex(0)
        self._on_chosen()

    def _on_chosen(self) -> None:
        self.forget()
        self.say_outcome("")
        is_reading = self.purpose.currentData() == READ
        self.version_field.setVisible(is_reading and self.version.count() > 2)

    def _make(self) -> None:
        self.act(say("Creating…"), self._made, self.make)

    async def _made(self) -> str:
        method = str(self.purpose.currentData())
        version = str(self.version.currentData() or "") if self.version_field.isVisible() else ""
        lasts = timedelta(minutes=int(self.lasts.currentData()))
        link = await self._sheet.ask(lambda objects, path: objects.link(path, lasts, method=method, version=version))
        if not self.isVisible():
            return ""
        until = moment_words(link.until)
        warning = say("Anyone who has this link can read the object until {moment}, without keys.", moment=until)
        if link.method != READ:
            warning = say(
                "Anyone who has this link can replace the object until {moment}, without keys. It is used without a "
                "content type, for example: curl -T FILE LINK",
                moment=until,
            )
        if link.ends_with_token:
            warning += " " + say("These keys are temporary. If they expire first, so does the link.")
        warning += " " + say("It cannot be revoked and is not stored.")
        self.warning.setText(warning)
        self.shown.setPlainText(link.address)
        self.made.show()
        return ""

    def _copy(self) -> None:
        self.copy_words(self.shown.toPlainText())


def _lasting_words(minutes: int) -> str:
    if minutes < 60:
        return say_count("{count} minute", "{count} minutes", minutes)
    if minutes < 24 * 60:
        return say_count("{count} hour", "{count} hours", minutes // 60)
    days = minutes // (24 * 60)
    return say_count("{count} day", "{count} days", days)
