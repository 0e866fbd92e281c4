"""Who may reach a bucket, as a page of its settings: in words, by template, as JSON, and by grant."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from traindeck.domain.storage.access import Acl, Exposure, Grant, Grantees, Permission
from traindeck.domain.storage.buckets import StorageClass
from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import card
from traindeck.ui.kit.dialogs import AnswerButton, asked
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import KeyedView, plain_table
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.ui.storage.policy_editor import PolicyEditor
from traindeck.viewmodels.ports import Loss
from traindeck.viewmodels.storage.bucket_access import BucketAccess


def template_name(template: Template) -> str:
    return {
        Template.PRIVATE: say("Private"),
        Template.PUBLIC_READ: say("Public read"),
        Template.PUBLIC_READ_WRITE: say("Public read and write"),
        Template.PUBLIC_READ_LIST: say("Public read and list"),
        Template.PUBLIC_READ_WRITE_DELETE: say("Public read, write and delete"),
    }[template]


def template_meaning(template: Template) -> str:
    return {
        Template.PRIVATE: say("Only your account gets in, and who you give it to."),
        Template.PUBLIC_READ: say("Anybody who knows a name can read that object; nobody sees the list."),
        Template.PUBLIC_READ_WRITE: say("Anybody can list, read, upload and overwrite. Never for training data."),
        Template.PUBLIC_READ_LIST: say("Anybody can see the list and read every object."),
        Template.PUBLIC_READ_WRITE_DELETE: say("Anybody can do everything with the objects, deleting included."),
    }[template]


def class_name(name: str) -> str:
    known = {
        StorageClass.STANDARD.value: say("Standard: for what is read often"),
        StorageClass.WARM.value: say("Warm: cheaper to keep, dearer to read, 30 days at least"),
        StorageClass.COLD.value: say("Cold: cheapest; takes hours to be read again, 90 days at least"),
    }
    return known.get(name, name)


def permission_name(permission: Permission, *, of_object: bool = False) -> str:
    words = {
        Permission.READ: say("Read it") if of_object else say("List names"),
        Permission.WRITE: say("Upload and delete"),
        Permission.READ_ACP: say("See the grants"),
        Permission.WRITE_ACP: say("Change the grants"),
        Permission.FULL_CONTROL: say("All of these"),
    }[permission]
    return f"{words} ({permission})"


def grantee_name(grant: Grant, owner: str) -> str:
    if grant.kind is Grantees.ACCOUNT and grant.account == owner:
        return say("The owner ({account})", account=grant.account)
    return grantees_name(grant.kind) if not grant.account else grant.account


def grantees_name(kind: Grantees) -> str:
    return {
        Grantees.ACCOUNT: say("One account"),
        Grantees.EVERYONE: say("Everybody, without signing in"),
        Grantees.AUTHENTICATED: say("Everybody who has any account there"),
        Grantees.LOG_DELIVERY: say("The service that writes logs"),
        Grantees.UNKNOWN: say("Somebody who cannot be told from here"),
    }[kind]


_MOST_SHOWN = 6


class _Rows(KeyedView, QTableWidget):
    delete_wanted = Signal()

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {Qt.Key.Key_Delete: self.delete_wanted, Qt.Key.Key_Backspace: self.delete_wanted}


class GrantsTable(QWidget):
    """Shows a list of grants; what the user wants of it are signals."""

    add_wanted = Signal(object)
    remove_wanted = Signal(object)

    def __init__(self, theme: Theme, *, of_object: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._of_object = of_object
        self._acl: Acl | None = None
        self.rows = _Rows(0, 3)
        plain_table(self.rows, say("Grants"))
        self.rows.setHorizontalHeaderLabels([say("Who"), say("May"), say("Also its objects")])
        self.rows.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.rows.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.rows.horizontalHeader().setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        self.who, self.account, self.may = QComboBox(), QLineEdit(), QComboBox()
        self.who.setAccessibleName(say("Who"))
        self.account.setAccessibleName(say("Account id"))
        self.account.setPlaceholderText(say("Account id"))
        self.may.setAccessibleName(say("May"))
        self.delivered = QCheckBox(say("also its &objects"))
        self.add = QPushButton(say("&Add"))
        self.remove = QPushButton(say("&Remove"))
        for button in (self.add, self.remove):
            button.setAutoDefault(False)
        self.problem = sentence("", "error")
        self.problem.hide()
        for permission in Permission:
            if permission is not Permission.WRITE or not of_object:  # that is a matter of the bucket
                self.may.addItem(permission_name(permission, of_object=of_object), permission)
        whom = row_of(self.who, (self.account, 1), spacing=HALF)
        what = row_of(self.may, self.delivered, 1, self.add, self.remove, spacing=HALF)
        column_of(self.rows, whom, what, self.problem, inside=self, margins=0, spacing=SPACE)
        self.who.currentIndexChanged.connect(self._on_who)
        self.account.textEdited.connect(self._clear)
        self.account.returnPressed.connect(self._add)
        self.add.clicked.connect(self._add)
        self.remove.clicked.connect(self._remove)
        self.rows.delete_wanted.connect(self._remove)
        self.rows.itemSelectionChanged.connect(self._on_selected)
        theme.changed.connect(self._paint)
        self._on_who()
        self._on_selected()

    def offer(self, grantees: tuple[Grantees, ...], *, can_deliver: bool) -> None:
        """Whom a grant may be for here."""
        if [self.who.itemData(at) for at in range(self.who.count())] != list(grantees):
            self.who.clear()
            for kind in grantees:
                self.who.addItem(grantees_name(kind), kind)
        self.delivered.setVisible(can_deliver)
        self.rows.setColumnHidden(2, not can_deliver)

    def show_acl(self, acl: Acl) -> None:
        if acl == self._acl:
            return
        self._acl = acl
        self.rows.setRowCount(len(acl.grants))
        for row, grant in enumerate(acl.grants):
            words = (
                grantee_name(grant, acl.owner),
                permission_name(grant.permission, of_object=self._of_object),
                say("Yes") if grant.delivered else "",
            )
            for column, word in enumerate(words):
                item = QTableWidgetItem(word)
                item.setToolTip(word)
                self.rows.setItem(row, column, item)
        shown = min(max(len(acl.grants), 2), _MOST_SHOWN)
        self.rows.setFixedHeight(self.rows.horizontalHeader().sizeHint().height() + shown * ROW + 2)
        self.show_problem("")
        self._paint()
        self._on_selected()

    def show_problem(self, words: str) -> None:
        self.problem.setText(words)
        self.problem.setVisible(bool(words))

    def chosen(self) -> list[Grant]:
        grants = self._acl.grants if self._acl else ()
        return [grants[row] for row in sorted({index.row() for index in self.rows.selectedIndexes()})]

    def _paint(self) -> None:
        for row, grant in enumerate(self._acl.grants if self._acl else ()):
            icon = self._theme.icon("globe", "warn") if grant.is_public else self._theme.icon("account", "dim")
            if (item := self.rows.item(row, 0)) is not None:
                item.setIcon(icon)

    def _on_who(self, *_: object) -> None:
        is_account = self.who.currentData() == Grantees.ACCOUNT
        self.account.setEnabled(is_account)
        if not is_account:
            self.account.clear()
        self._clear()

    def _clear(self, *_: object) -> None:
        self.show_problem("")

    def _on_selected(self) -> None:
        acl = self._acl
        self.remove.setEnabled(acl is not None and any(not acl.is_of_owner(grant) for grant in self.chosen()))

    def _add(self) -> None:
        kind, permission = self.who.currentData(), self.may.currentData()
        delivered = self.delivered.isVisibleTo(self) and self.delivered.isChecked()
        self.add_wanted.emit(
            Grant(Grantees(kind), Permission(permission), self.account.text().strip(), delivered=delivered)
        )

    def _remove(self) -> None:
        self.remove_wanted.emit(self.chosen())


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
        answer = AnswerButton("yes", say(loss.action), "danger")
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
        state = row_of((self.mark, 0, Qt.AlignmentFlag.AlignTop), spacing=SPACE)
        words = column_of(self.now, self.then, spacing=HALF)
        state.addLayout(words, 1)
        layout = column_of(state, self._choices(), inside=self, margins=2 * SPACE, spacing=SPACE + HALF)
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
        foot = row_of(self.discard, 1)
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
