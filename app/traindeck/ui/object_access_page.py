"""Who may read one object: whether anybody can, and the list of its own grants."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from traindeck.domain.fact_words import public_words
from traindeck.domain.grants import Acl, Grant, Grantees, Permission, grant_problem
from traindeck.domain.texts import say, text
from traindeck.ui.cards import card, plain
from traindeck.ui.grants_table import GrantsTable
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.object_sheet import ObjectSheet
from traindeck.viewmodels.ports import Confirm

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
        row = QHBoxLayout(state)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE)
        row.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.now, 1)
        buttons = QWidget()
        line = QHBoxLayout(buttons)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(SPACE)
        for button, act in ((self.public, self._make_public), (self.private, self._make_private)):
            button.setAutoDefault(False)
            button.clicked.connect(act)
            line.addWidget(button)
        line.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(SPACE + HALF)
        layout.addWidget(card(say("Now"), [state]))
        layout.addWidget(card(say("Grants of this object (ACL)"), [self.grants, buttons, self.warning, note]))
        layout.addStretch(1)
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
