"""The grants of a bucket as a table, with a line to add one."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.grants import Acl, Grant, Grantees, Permission
from traindeck.domain.texts import say
from traindeck.ui.access_words import grantee_name, grantees_name, permission_name
from traindeck.ui.theme import HALF, ROW, SPACE, Theme, set_role

_MOST_SHOWN = 6


class _Rows(QTableWidget):
    delete_wanted = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_wanted.emit()
        else:
            super().keyPressEvent(event)


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
        self.rows.setAccessibleName(say("Grants"))
        self.rows.setHorizontalHeaderLabels([say("Who"), say("May"), say("Also its objects")])
        self.rows.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.rows.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.rows.setShowGrid(False)
        self.rows.setWordWrap(False)
        self.rows.setTabKeyNavigation(False)
        self.rows.verticalHeader().hide()
        self.rows.verticalHeader().setDefaultSectionSize(ROW)
        self.rows.horizontalHeader().setHighlightSections(False)
        self.rows.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
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
        self.problem = QLabel()
        self.problem.setWordWrap(True)
        set_role(self.problem, "error")
        self.problem.hide()
        for permission in Permission:
            if permission is not Permission.WRITE or not of_object:  # that is a matter of the bucket
                self.may.addItem(permission_name(permission, of_object=of_object), permission)
        whom, what = QHBoxLayout(), QHBoxLayout()
        for line in (whom, what):
            line.setSpacing(HALF)
        whom.addWidget(self.who)
        whom.addWidget(self.account, 1)
        what.addWidget(self.may)
        what.addWidget(self.delivered)
        what.addStretch(1)
        what.addWidget(self.add)
        what.addWidget(self.remove)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE)
        layout.addWidget(self.rows)
        layout.addLayout(whom)
        layout.addLayout(what)
        layout.addWidget(self.problem)
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
