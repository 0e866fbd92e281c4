"""What is known of one object: everything can be selected and copied."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from traindeck.domain.errors import AppError, NoRight, NotOffered
from traindeck.domain.storage.access import Acl, Grant, Grantees, Permission, grant_problem
from traindeck.domain.storage.object_facts import (
    CONTENT_TYPE,
    KNOWN_NAMES,
    OUR_NAMES,
    STANDARD_HEADERS,
    HeadChange,
    ObjectFacts,
    as_written,
    fact_rows,
    header_problem,
    header_title,
    metadata_bytes,
    metadata_problem,
    public_words,
    tag_problem,
)
from traindeck.domain.texts import Text, say, text
from traindeck.ui.kit.cards import Facts, card, plain
from traindeck.ui.kit.fields import Field
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import ActingPage, button_row
from traindeck.ui.kit.rules import PairsCard
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.access_page import GrantsTable
from traindeck.viewmodels.ports import Confirm, Tasks
from traindeck.viewmodels.storage.object_sheet import ObjectSheet


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
        buttons = button_row(
            (self.copy_address, self._copy_address), (self.copy_md5, self._copy_md5), (self.copy_all, self._copy_all)
        )
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
        super().__init__()
        self.title = say("Metadata")
        self._sheet = sheet
        self._facts: ObjectFacts | None = None
        self._kept_tags: dict[str, str] | None = None
        self.fields: dict[str, Field] = {}
        self.lines: dict[str, QLineEdit] = {}
        fields = QWidget()
        column = column_of(inside=fields, margins=0, spacing=SPACE)
        for name in (CONTENT_TYPE, *STANDARD_HEADERS):
            line = QLineEdit()
            line.setPlaceholderText(say("for example {example}", example=_EXAMPLES[name]))
            line.textEdited.connect(self._on_edited)
            self.lines[name] = line
            self.fields[name] = Field(header_title(name), line)
            column.addWidget(self.fields[name])
        self.metadata = PairsCard(say("Metadata"), say("Value"), "", self._check_metadata, theme)
        limits = say("Up to 10; a name has up to 128 characters, a value 256.")
        self.tags = PairsCard(say("Tags"), say("Value"), limits, tag_problem, theme)
        self.ours = Facts()
        self.ours_card = card(say("Written by TrainDeck and its like"), [self.ours])
        for edited in (self.metadata, self.tags):
            edited.edited.connect(self._on_edited)
        column_of(
            card(say("Sent with the object"), [fields]),
            self.metadata,
            self.ours_card,
            self.tags,
            1,
            inside=self,
            margins=2 * SPACE,
            spacing=SPACE + SPACE // 2,
        )

    async def load(self) -> None:
        facts = await self._sheet.facts()
        tags: dict[str, str] | None
        try:
            tags = await self._sheet.tags()
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
            facts = await self._sheet.change(change, facts)
            self._facts = facts
        if self._are_tags_changed():
            tags = self.tags.values
            try:
                await self._sheet.set_tags(tags)
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
        self.metadata.note.setText(
            say(
                "{count} of {most} bytes. Names have a–z, 0–9, dot, hyphen and underscore; whoever may read the object "
                "sees them.",
                count=f"{self._bytes():,}",
                most=f"{self._sheet.most_metadata_bytes:,}",
            )
        )

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
_MARK = QSize(20, 20)


class ObjectAccessPage(PropertyPage):
    """Edits a draft of the grants; making the object public is asked about."""

    icon = "lock"

    def __init__(self, sheet: ObjectSheet, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self.title = say("Access")
        self._sheet = sheet
        self._theme = theme
        self._confirm = confirm
        self._kept: Acl | None = None
        self._draft: Acl | None = None
        self._is_public: bool | None = None
        self.mark, self.now = QLabel(), plain("strong")
        self.private = QPushButton(say("Take public grants away"))
        self.public = QPushButton(say("Let everybody read it"))
        self.grants = GrantsTable(theme, of_object=True)
        self.warning = plain("warn")
        note = plain("small")
        note.setText(
            say("The policy of the bucket decides first: it may open or close an object whatever stands here.")
        )
        state = QWidget()
        row_of((self.mark, 0, Qt.AlignmentFlag.AlignTop), (self.now, 1), inside=state, margins=0, spacing=SPACE)
        buttons = button_row((self.public, self._make_public), (self.private, self._make_private))
        column_of(
            card(say("Now"), [state]),
            card(say("Grants of this object (ACL)"), [self.grants, buttons, self.warning, note]),
            1,
            inside=self,
            margins=2 * SPACE,
            spacing=SPACE + HALF,
        )
        self.grants.add_wanted.connect(self._add)
        self.grants.remove_wanted.connect(self._remove)
        theme.changed.connect(self._paint)

    async def load(self) -> None:
        offer = await self._sheet.grantees()
        acl = await self._sheet.acl()
        is_public = await self._sheet.is_public()
        self.grants.offer(offer, can_deliver=False)
        self._show(acl, is_public)

    def has_changes(self) -> bool:
        return self._kept is not None and self._draft is not None and not self._kept.is_same(self._draft)

    async def save(self) -> bool:
        assert self._kept is not None and self._draft is not None
        if self._becomes_public() and not await self._confirm(
            text("Let anybody on the internet read “{place}”?", place=str(self._sheet.path)), text("Make public")
        ):
            return False
        await self._sheet.set_acl(self._draft)
        self._show(await self._sheet.acl(), await self._sheet.is_public())
        return True

    def _show(self, acl: Acl, is_public: bool | None) -> None:
        self._kept = acl
        self._is_public = is_public
        self.now.setText(public_words(is_public))
        self._paint()
        self._become(acl)

    def _become(self, acl: Acl) -> None:
        self._draft = acl
        self.grants.show_acl(acl)
        self.grants.setEnabled(acl.is_readable)
        self.public.setEnabled(acl.is_readable and _EVERYBODY not in acl.grants)
        self.private.setEnabled(acl.is_readable and bool(acl.public_grants))
        words = say("When this is saved anybody can read it, without keys.") if self._becomes_public() else ""
        if not acl.is_readable:
            words = say("Some of these grants are written in a way that is not known here; change them in the console.")
        self.warning.setText(words)
        self.warning.setVisible(bool(words))
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
            self.grants.account.clear()
        self.grants.show_problem(say(problem) if problem else "")

    def _remove(self, gone: list[Grant]) -> None:
        assert self._draft is not None
        kept = tuple(one for one in self._draft.grants if one not in gone or self._draft.is_of_owner(one))
        self._become(replace(self._draft, grants=kept))

    def _paint(self) -> None:
        name, color = "info", "dim"
        if self._is_public is not None:
            name, color = ("globe", "warn") if self._is_public else ("lock", "good")
        self.mark.setPixmap(self._theme.icon(name, color).pixmap(_MARK))
        role = "warn" if self._is_public else "strong"
        if self.now.property("role") != role:
            set_role(self.now, role)
