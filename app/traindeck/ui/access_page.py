"""Who may reach a bucket, as a page of its settings: in words, by template, as JSON, and by grant."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QButtonGroup, QGridLayout, QHBoxLayout, QLabel, QMenu, QPushButton, QVBoxLayout, QWidget

from traindeck.domain.access import Exposure
from traindeck.domain.grants import Grant
from traindeck.domain.policies import Template
from traindeck.domain.texts import say
from traindeck.ui.access_words import template_meaning, template_name
from traindeck.ui.cards import card
from traindeck.ui.dialogs import Answer, asked
from traindeck.ui.grants_table import GrantsTable
from traindeck.ui.policy_editor import PolicyEditor
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.bucket_access import BucketAccess
from traindeck.viewmodels.ports import Loss

_MAIN = (Template.PRIVATE, Template.PUBLIC_READ, Template.PUBLIC_READ_WRITE)
_OTHERS = (Template.PUBLIC_READ_LIST, Template.PUBLIC_READ_WRITE_DELETE)
_MARK = QSize(20, 20)


class AccessPage(PropertyPage):
    """Binds BucketAccess."""

    icon = "lock"

    def __init__(self, model: BucketAccess, theme: Theme) -> None:
        super().__init__()
        self.title = say("Access")
        self._model = model
        self._theme = theme
        self.mark, self.now, self.then = QLabel(), QLabel(), QLabel()
        self.templates: dict[Template, QPushButton] = {}
        self.others = QPushButton(say("Older forms"))
        self.editor = PolicyEditor(theme)
        self.policy_trouble = QLabel()
        self.grants = GrantsTable(theme)
        self.grants_trouble = QLabel()
        self.discard = QPushButton(say("Discard changes"))
        self._lay_out()
        self.editor.edited.connect(model.type_policy)
        self.editor.format_wanted.connect(model.lay_out)
        self.grants.add_wanted.connect(self._add_grant)
        self.grants.remove_wanted.connect(model.remove_grants)
        self.discard.clicked.connect(model.discard)
        model.changed.connect(self._on_changed)
        theme.changed.connect(self._paint)

    # what the frame asks

    async def load(self) -> None:
        await self._model.load()
        access = self._model.access
        if access is not None:
            self.grants.offer(access.grantees, can_deliver=access.can_deliver)

    def has_changes(self) -> bool:
        return self._model.state.has_changes

    def problem(self) -> str:
        errors = self._model.state.errors if self._model.state.changes_policy else ()
        return say(errors[0].sentence) if errors else ""

    async def save(self) -> bool:
        return await self._model.save(self._confirmed)

    async def _confirmed(self, loss: Loss) -> bool:
        answer = Answer("yes", say(loss.action), "danger")
        facts = "\n\n".join(say(fact) for fact in loss.facts)
        return await asked(self, say(loss.question), facts, answer) == answer.id

    # inside

    def _lay_out(self) -> None:
        for label in (self.now, self.then, self.policy_trouble, self.grants_trouble):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_role(self.now, "strong")
        set_role(self.then, "warn")
        for label in (self.policy_trouble, self.grants_trouble):
            set_role(label, "dim")
        state = QHBoxLayout()
        state.setSpacing(SPACE)
        state.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        words = QVBoxLayout()
        words.setSpacing(HALF)
        words.addWidget(self.now)
        words.addWidget(self.then)
        state.addLayout(words, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(SPACE + HALF)
        layout.addLayout(state)
        layout.addWidget(self._choices())
        note = QLabel(
            say("Objects that were made public one by one stay so; their own grants are in their properties.")
        )
        soon = QLabel(say("It may take up to five minutes until a change of the policy holds everywhere."))
        for label in (soon, note):
            label.setWordWrap(True)
            set_role(label, "small")
        layout.addWidget(card(say("Policy"), [self.policy_trouble, self.editor, soon]))
        layout.addWidget(card(say("Grants (ACL)"), [self.grants_trouble, self.grants, note]))
        self.discard.setAutoDefault(False)  # else Return in a field would press it
        foot = QHBoxLayout()
        foot.addWidget(self.discard)
        foot.addStretch(1)
        layout.addLayout(foot)
        layout.addStretch(1)

    def _choices(self) -> QWidget:
        box = QWidget()
        grid = QGridLayout(box)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE + HALF)
        grid.setVerticalSpacing(HALF)
        group = QButtonGroup(self)
        group.setExclusive(False)  # none of them is chosen where the policy is somebody's own
        for column, template in enumerate(_MAIN):
            button = QPushButton(template_name(template))
            button.setCheckable(True)
            button.setAutoDefault(False)
            button.setAccessibleDescription(template_meaning(template))
            button.clicked.connect(partial(self._choose, template))
            group.addButton(button)
            meaning = QLabel(template_meaning(template))
            meaning.setWordWrap(True)
            meaning.setAlignment(Qt.AlignmentFlag.AlignTop)
            set_role(meaning, "small")
            grid.addWidget(button, 0, column)
            grid.addWidget(meaning, 1, column)
            grid.setColumnStretch(column, 1)
            self.templates[template] = button
        menu = QMenu(self)
        for template in _OTHERS:
            action = QAction(template_name(template), menu)
            action.setToolTip(template_meaning(template))
            action.triggered.connect(partial(self._choose, template))
            menu.addAction(action)
        menu.setToolTipsVisible(True)
        self.others.setMenu(menu)
        self.others.setAutoDefault(False)
        self.others.setToolTip(say("Templates as the console had them before: they also let everybody see the list."))
        grid.addWidget(self.others, 0, len(_MAIN))
        return box

    def _choose(self, template: Template, *_: object) -> None:
        self._model.choose(template)
        self._on_changed()  # where it was chosen already, the button has to stay down

    def _add_grant(self, grant: Grant) -> None:
        problem = self._model.add_grant(grant)
        self.grants.show_problem(say(problem) if problem else "")
        if problem is None:
            self.grants.account.clear()

    def _on_changed(self) -> None:
        state = self._model.state
        self.now.setText(_state_words(state.now))
        expected = self._model.expected
        is_other = state.has_changes and not state.errors and expected != state.now
        self.then.setText(say("When this is saved: {words}", words=say(expected.sentence)) if is_other else "")
        self.then.setVisible(is_other)
        can_write = state.policy is not None
        for template, button in self.templates.items():
            button.setChecked(can_write and state.template is template)
            button.setEnabled(can_write)
        self.others.setEnabled(can_write)
        self.editor.setVisible(can_write)
        self.editor.show_policy(state.draft, state.findings)
        self.policy_trouble.setVisible(state.policy_trouble is not None)
        self.policy_trouble.setText(state.policy_trouble.sentence() if state.policy_trouble else "")
        self.grants.setVisible(state.grants is not None)
        if state.grants is not None:
            self.grants.show_acl(state.grants)
        self.grants_trouble.setVisible(state.acl_trouble is not None)
        self.grants_trouble.setText(state.acl_trouble.sentence() if state.acl_trouble else "")
        self.discard.setVisible(state.has_changes)
        self._paint()
        self.edited.emit()

    def _paint(self) -> None:
        known = self._model.state.now
        name, color = "unknown", "dim"
        if known.is_public is not None:
            name, color = ("globe", "warn") if known.is_public else ("lock", "good")
        self.mark.setPixmap(self._theme.icon(name, color).pixmap(_MARK))


def _state_words(known: Exposure) -> str:
    words = say(known.sentence)
    if known.template is not None and known.is_public:
        return say("{sentence} (template “{name}”)", sentence=words, name=template_name(known.template))
    return words
