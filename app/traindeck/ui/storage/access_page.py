"""Who may reach a bucket, as a page of its settings: in words, by template, as JSON, and by grant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QRect, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QAction, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidgetItem,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QTextEdit,
    QWidget,
)

from traindeck.domain.storage.access import Acl, Exposure, Grant, Grantees, Permission
from traindeck.domain.storage.json_places import offset_of
from traindeck.domain.storage.policies import Template
from traindeck.domain.storage.policy_checks import Finding
from traindeck.domain.texts import Text, say, text
from traindeck.ui.kit.cards import card, push_button, show_words
from traindeck.ui.kit.dialogs import agreed
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import help_label, sentence
from traindeck.ui.kit.tables import KeyedView, RowList, plain_table
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Loss
from traindeck.viewmodels.storage.bucket_access import BucketAccess

TEMPLATES: dict[Template, tuple[Text, Text]] = {
    Template.PRIVATE: (text("Private"), text("Only your account, and those you grant access, have access.")),
    Template.PUBLIC_READ: (
        text("Public read"),
        text("Anyone who knows its name can read an object, but not list objects."),
    ),
    Template.PUBLIC_READ_WRITE: (
        text("Public read and write"),
        text("Anyone can list, read, upload and overwrite. Not suitable for training data."),
    ),
    Template.PUBLIC_READ_LIST: (text("Public read and list"), text("Anyone can list and read every object.")),
    Template.PUBLIC_READ_WRITE_DELETE: (
        text("Public read, write and delete"),
        text("Anyone can do everything with the objects, including delete them."),
    ),
}
"""The name of each, and what it means."""
_PERMISSIONS = {
    Permission.READ: text("List names"),
    Permission.WRITE: text("Upload and delete"),
    Permission.READ_ACP: text("View grants"),
    Permission.WRITE_ACP: text("Change the grants"),
    Permission.FULL_CONTROL: text("All of these"),
}
_GRANTEES = {
    Grantees.ACCOUNT: text("One account"),
    Grantees.EVERYONE: text("Everyone, without signing in"),
    Grantees.AUTHENTICATED: text("All registered users"),
    Grantees.LOG_DELIVERY: text("Log delivery service"),
    Grantees.UNKNOWN: text("Unknown grantee"),
}
_MOST_SHOWN = 6
_MARK = QSize(20, 20)
_EDITOR_HEIGHT = 22 * SPACE
_MOST_FINDINGS = 4
# What icon and scroll bar take of the width.
_BESIDE_FINDING = 7 * SPACE
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s",]+|\S')


def show_mark(mark: QLabel, theme: Theme, is_public: bool | None, unknown: str) -> None:
    """Open or closed, as a picture; `unknown` is the icon where nobody knows."""
    name, color = ("globe", "warn") if is_public else ("lock", "good")
    if is_public is None:
        name, color = unknown, "dim"
    mark.setPixmap(theme.icon(name, color).pixmap(_MARK))


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
        self.rows.setHorizontalHeaderLabels([say("Grantee"), say("Permission"), say("Applies to objects")])
        header, fitting = self.rows.horizontalHeader(), QHeaderView.ResizeMode.ResizeToContents
        for column, mode in enumerate((QHeaderView.ResizeMode.Stretch, fitting, fitting)):
            header.setSectionResizeMode(column, mode)
        self.who, self.account, self.may = QComboBox(), QLineEdit(), QComboBox()
        self.who.setAccessibleName(say("Grantee"))
        self.account.setAccessibleName(say("Account ID"))
        self.account.setPlaceholderText(say("Account ID"))
        self.may.setAccessibleName(say("Permission"))
        self.delivered = QCheckBox(say("Apply to &objects"))
        self.add = push_button(say("&Add"), self._add)
        self.remove = push_button(say("&Remove"), self._remove)
        self.problem = sentence("", "error")
        self.problem.hide()
        for permission in Permission:
            if permission is not Permission.WRITE or not of_object:  # that is a matter of the bucket
                self.may.addItem(self._permission_words(permission), permission)
        whom = row_of(self.who, (self.account, 1), spacing=HALF)
        what = row_of(self.may, self.delivered, 1, self.add, self.remove, spacing=HALF)
        column_of(self.rows, whom, what, self.problem, inside=self, margins=0, spacing=SPACE)
        self.who.currentIndexChanged.connect(self._on_who)
        self.account.textEdited.connect(self.problem.hide)
        self.account.returnPressed.connect(self._add)
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
                self.who.addItem(say(_GRANTEES[kind]), kind)
        self.delivered.setVisible(can_deliver)
        self.rows.setColumnHidden(2, not can_deliver)

    def show_acl(self, acl: Acl) -> None:
        if acl == self._acl:
            return
        self._acl = acl
        self.rows.setRowCount(len(acl.grants))
        for row, grant in enumerate(acl.grants):
            words = (
                _grantee_words(grant, acl.owner),
                self._permission_words(grant.permission),
                say("Yes") if grant.delivered else "",
            )
            for column, word in enumerate(words):
                item = QTableWidgetItem(word)
                item.setToolTip(word)
                self.rows.setItem(row, column, item)
        shown = min(max(len(acl.grants), 2), _MOST_SHOWN)
        self.rows.setFixedHeight(self.rows.horizontalHeader().sizeHint().height() + shown * ROW + 2)
        self.problem.hide()
        self._paint()
        self._on_selected()

    def answer(self, problem: Text | None) -> None:
        """To what was to be added; None: it was."""
        show_words(self.problem, say(problem) if problem else "")
        if problem is None:
            self.account.clear()

    def _permission_words(self, permission: Permission) -> str:
        is_reading = self._of_object and permission is Permission.READ
        words = say("Read it") if is_reading else say(_PERMISSIONS[permission])
        return say("{permission} ({name})", permission=words, name=permission)

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
        self.problem.hide()

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


def _grantee_words(grant: Grant, owner: str) -> str:
    if grant.kind is Grantees.ACCOUNT and grant.account == owner:
        return say("The owner ({account})", account=grant.account)
    return grant.account or say(_GRANTEES[grant.kind])


class PolicyEditor(QWidget):
    """What is wrong is underlined; choosing a finding goes to its place."""

    edited = Signal(str)
    format_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._findings: tuple[Finding, ...] = ()
        self.text = QPlainTextEdit()
        self.text.setFont(theme.mono_font())
        self.text.setAccessibleName(say("Policy as JSON"))
        self.text.setPlaceholderText(say("No policy. Select a template, or paste a policy."))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.text.setMinimumHeight(_EDITOR_HEIGHT)
        self.place = QLabel()
        set_role(self.place, "small")
        self.format = push_button(say("&Format"), self.format_wanted)
        self.format.setToolTip(say("Indent the JSON"))
        self.found = RowList()
        self.found.setAccessibleName(say("What was found in the policy"))
        self.found.setWordWrap(True)
        self.found.setTextElideMode(Qt.TextElideMode.ElideNone)
        self.found.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.found.setIconSize(QSize(2 * SPACE, 2 * SPACE))
        self.found.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        foot = row_of((self.place, 1), self.format, margins=0)
        column_of(self.text, foot, self.found, inside=self, margins=0, spacing=HALF)
        self.text.textChanged.connect(self._on_typed)
        self.text.cursorPositionChanged.connect(self._on_moved)
        self.found.itemClicked.connect(self._on_chosen)
        self.found.itemActivated.connect(self._on_chosen)
        theme.changed.connect(self._paint)
        self._on_moved()

    def show_policy(self, policy: str, findings: Sequence[Finding]) -> None:
        if self.text.toPlainText() != policy:
            self.text.setPlainText(policy)
        self.format.setEnabled(bool(policy.strip()))
        if tuple(findings) != self._findings:
            self._findings = tuple(findings)
            self.found.clear()
            for finding in self._findings:
                self.found.addItem(QListWidgetItem(say(finding.sentence)))
        self._paint()
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as what it shows: a list does not follow lines that wrap by itself."""
        room = QRect(0, 0, max(self.width() - _BESIDE_FINDING, 1), 10_000)
        heights = []
        for row in range(self.found.count()):
            item = self.found.item(row)
            words = self.found.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, item.text())
            heights.append(words.height() + SPACE)
            item.setSizeHint(QSize(1, heights[-1]))
        self.found.setVisible(bool(heights))
        height = sum(heights[:_MOST_FINDINGS]) + HALF
        if heights and self.found.height() != height:
            self.found.setFixedHeight(height)

    def _paint(self) -> None:
        for row, finding in enumerate(self._findings):
            icon = self._theme.icon("error", "bad") if finding.is_error else self._theme.icon("warning", "warn")
            self.found.item(row).setIcon(icon)
        content = self.text.toPlainText()
        marks = []
        for finding in self._findings:
            if finding.place is None:
                continue
            start = offset_of(content, finding.place)
            token = _TOKEN.match(content, start)
            # At the end of a line it is what stands before it.
            first, last = token.span() if token else (max(start - 1, 0), start)
            mark = QTextEdit.ExtraSelection()
            mark.cursor = self._cursor_at(content, first)
            mark.cursor.setPosition(self._position(content, last), QTextCursor.MoveMode.KeepAnchor)
            mark.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            mark.format.setUnderlineColor(self._theme.color("bad" if finding.is_error else "warn"))
            marks.append(mark)
        self.text.setExtraSelections(marks)

    def _cursor_at(self, content: str, offset: int) -> QTextCursor:
        cursor = self.text.textCursor()
        cursor.setPosition(self._position(content, offset))
        return cursor

    def _position(self, content: str, offset: int) -> int:
        """Qt counts a sign beyond the basic plane as two."""
        counted = len(content[:offset].encode("utf-16-le", "surrogatepass")) // 2
        return min(counted, self.text.document().characterCount() - 1)

    def _on_typed(self) -> None:
        self.edited.emit(self.text.toPlainText())

    def _on_moved(self) -> None:
        cursor = self.text.textCursor()
        words = say("Line {line}, column {column}", line=cursor.blockNumber() + 1, column=cursor.positionInBlock() + 1)
        self.place.setText(words)

    def _on_chosen(self, item: QListWidgetItem) -> None:
        place = self._findings[self.found.row(item)].place
        if place is not None:
            content = self.text.toPlainText()
            self.text.setTextCursor(self._cursor_at(content, offset_of(content, place)))
            self.text.setFocus(Qt.FocusReason.OtherFocusReason)


_MAIN = (Template.PRIVATE, Template.PUBLIC_READ, Template.PUBLIC_READ_WRITE)
_OTHERS = (Template.PUBLIC_READ_LIST, Template.PUBLIC_READ_WRITE_DELETE)


class AccessPage(PropertyPage):
    """Binds BucketAccess."""

    icon = "lock"

    def __init__(self, model: BucketAccess, theme: Theme) -> None:
        super().__init__(say("Access"))
        self._model = model
        self._theme = theme
        self.mark, self.now, self.then = QLabel(), help_label("", "strong"), help_label("", "warn")
        self.templates: dict[Template, QPushButton] = {}
        self.others = push_button(say("Legacy templates"))
        self.editor = PolicyEditor(theme)
        self.policy_trouble, self.grants_trouble = help_label(""), help_label("")
        self.grants = GrantsTable(theme)
        self.discard = push_button(say("Discard changes"), model.discard)
        soon = say("A change of the policy can take up to five minutes to take effect.")
        note = say("Objects that were made public individually remain public. Their grants are in their properties.")
        words = column_of(self.now, self.then, spacing=HALF)
        self.lay_out(
            row_of((self.mark, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=SPACE),
            self._choices(),
            card(say("Policy"), [self.policy_trouble, self.editor, sentence(soon, "small")]),
            card(say("Grants (ACL)"), [self.grants_trouble, self.grants, sentence(note, "small")]),
            row_of(self.discard, 1),
            1,
        )
        self.editor.edited.connect(model.type_policy)
        self.editor.format_wanted.connect(model.lay_out)
        self.grants.add_wanted.connect(self._add_grant)
        self.grants.remove_wanted.connect(model.remove_grants)
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
        facts = "\n\n".join(say(fact) for fact in loss.facts)
        return await agreed(self, say(loss.question), facts, say(loss.action))

    # inside

    def _choices(self) -> QWidget:
        box = QWidget()
        grid = QGridLayout(box)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE + HALF)
        grid.setVerticalSpacing(HALF)
        group = QButtonGroup(self)
        group.setExclusive(False)  # none of them is chosen where the policy is somebody's own
        for column, template in enumerate(_MAIN):
            name, meaning = (say(words) for words in TEMPLATES[template])
            button = push_button(name, partial(self._choose, template))
            button.setCheckable(True)
            button.setAccessibleDescription(meaning)
            group.addButton(button)
            hint = sentence(meaning, "small")
            hint.setAlignment(Qt.AlignmentFlag.AlignTop)
            grid.addWidget(button, 0, column)
            grid.addWidget(hint, 1, column)
            grid.setColumnStretch(column, 1)
            self.templates[template] = button
        menu = QMenu(self)
        for template in _OTHERS:
            name, meaning = (say(words) for words in TEMPLATES[template])
            action = QAction(name, menu)
            action.setToolTip(meaning)
            action.triggered.connect(partial(self._choose, template))
            menu.addAction(action)
        menu.setToolTipsVisible(True)
        self.others.setMenu(menu)
        self.others.setToolTip(say("Former templates of the console, which also let everyone list objects."))
        grid.addWidget(self.others, 0, len(_MAIN))
        return box

    def _choose(self, template: Template, *_: object) -> None:
        self._model.choose(template)
        self._on_changed()  # where it was chosen already, the button has to stay down

    def _add_grant(self, grant: Grant) -> None:
        self.grants.answer(self._model.add_grant(grant))

    def _on_changed(self) -> None:
        state = self._model.state
        self.now.setText(_state_words(state.now))
        expected = self._model.expected
        is_other = state.has_changes and not state.errors and expected != state.now
        show_words(self.then, say("When this is saved: {words}", words=say(expected.sentence)) if is_other else "")
        can_write = state.policy is not None
        for template, button in self.templates.items():
            button.setChecked(can_write and state.template is template)
            button.setEnabled(can_write)
        self.others.setEnabled(can_write)
        self.editor.setVisible(can_write)
        self.editor.show_policy(state.draft, state.findings)
        show_words(self.policy_trouble, state.policy_trouble.sentence() if state.policy_trouble else "")
        self.grants.setVisible(state.grants is not None)
        if state.grants is not None:
            self.grants.show_acl(state.grants)
        show_words(self.grants_trouble, state.acl_trouble.sentence() if state.acl_trouble else "")
        self.discard.setVisible(state.has_changes)
        self._paint()
        self.edited.emit()

    def _paint(self) -> None:
        show_mark(self.mark, self._theme, self._model.state.now.is_public, "unknown")


def _state_words(known: Exposure) -> str:
    words = say(known.sentence)
    if known.template is not None and known.is_public:
        return say("{sentence} (template “{name}”)", sentence=words, name=say(TEMPLATES[known.template][0]))
    return words
