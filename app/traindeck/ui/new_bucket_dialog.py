"""Making a bucket: name, region, storage class, and who gets in."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.policies import Template
from traindeck.domain.texts import say
from traindeck.ui.access_words import class_name, template_meaning, template_name
from traindeck.ui.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.new_bucket import NewBucketForm
from traindeck.viewmodels.status import region_words

_WIDTH = 520
_TEMPLATES = (Template.PRIVATE, Template.PUBLIC_READ, Template.PUBLIC_READ_LIST, Template.PUBLIC_READ_WRITE)


class NewBucketDialog(QDialog):
    """Binds a NewBucketForm; it closes when the bucket is there."""

    def __init__(self, form: NewBucketForm, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._form = form
        self._theme = theme
        self.setWindowTitle(say("New bucket"))
        self.setMinimumWidth(_WIDTH)
        self.name, self.problem, self.note = QLineEdit(), QLabel(), QLabel()
        self.region, self.classes, self.access = QLabel(), QComboBox(), QComboBox()
        self.meaning, self.error = QLabel(), QLabel()
        self.create_button = QPushButton(say("Create bucket"))
        self.buttons = QDialogButtonBox()
        self._column = QVBoxLayout(self)
        self._lay_out()
        self.name.textEdited.connect(form.name)
        self.classes.activated.connect(self._on_class)
        self.access.activated.connect(self._on_access)
        self.create_button.clicked.connect(form.submit)
        self.buttons.rejected.connect(self.reject)
        self.finished.connect(form.stop)
        form.changed.connect(self._refresh)
        form.made.connect(self.accept)
        form.start()
        self._refresh()
        self.name.setFocus()

    def _lay_out(self) -> None:
        self.name.setPlaceholderText(say("For example my-team-data"))
        for template in _TEMPLATES:
            self.access.addItem(template_name(template), template)
        for label, role in (
            (self.problem, "error"),
            (self.note, "small"),
            (self.meaning, "small"),
            (self.error, "error"),
        ):
            label.setWordWrap(True)
            set_role(label, role)
        layout = QFormLayout()
        layout.setHorizontalSpacing(2 * SPACE)
        layout.setVerticalSpacing(SPACE)
        layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        layout.addRow(_buddy(say("&Name"), self.name), _stacked(self.name, self.problem, self.note))
        layout.addRow(say("Region"), self.region)
        layout.addRow(_buddy(say("&Storage class"), self.classes), self.classes)
        layout.addRow(_buddy(say("Who &gets in"), self.access), _stacked(self.access, self.meaning))
        set_role(self.create_button, "primary")
        self.create_button.setDefault(True)
        self.buttons.addButton(self.create_button, QDialogButtonBox.ButtonRole.ActionRole)
        self.buttons.addButton(say("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        self._column.setContentsMargins(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        self._column.setSpacing(SPACE + HALF)
        self._column.addLayout(layout)
        self._column.addWidget(self.error)
        self._column.addWidget(self.buttons)

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            height = self._column.totalHeightForWidth(self.width())
            if height != self.height():
                self.setMinimumHeight(height)
                self.resize(self.width(), height)
        return handled

    def _on_class(self, at: int) -> None:
        self._form.choose_class(str(self.classes.itemData(at)))

    def _on_access(self, at: int) -> None:
        self._form.choose_template(Template(self.access.itemData(at)))

    def _refresh(self) -> None:
        state = self._form.state
        self.region.setText(_region_words(state.region) if state.region else say("Loading…"))
        if self.classes.count() != len(state.storage_classes):
            self.classes.clear()
            for name in state.storage_classes:
                self.classes.addItem(class_name(name), name)
        self.classes.setEnabled(self.classes.count() > 1)
        self.problem.setText(say(state.problem) if state.problem else "")
        self.problem.setVisible(state.problem is not None)
        self.name.setAccessibleDescription(self.problem.text())
        role = "invalid" if state.problem else ""
        if (self.name.property("role") or "") != role:
            set_role(self.name, role)
        free = say("The name must be free in the whole cloud, and cannot be changed later.")
        self.note.setText(f"{say(state.note)} {free}" if state.note else free)
        is_public = state.wanted.template is not Template.PRIVATE
        self.meaning.setText(template_meaning(state.wanted.template))
        if self.meaning.property("role") != ("warn" if is_public else "small"):
            set_role(self.meaning, "warn" if is_public else "small")
        self.error.setText(state.trouble.sentence() if state.trouble else "")
        self.error.setVisible(state.trouble is not None)
        self.create_button.setEnabled(state.can_be_made)
        busy, rest = say("Creating…"), say("Create public bucket") if is_public else say("Create bucket")
        self.create_button.setText(busy if state.is_busy else rest)


def _region_words(region: str) -> str:
    words = region_words(region)
    return words if words == region else f"{words}  ({region})"


def _buddy(title: str, field: QWidget) -> QLabel:
    label = QLabel(title)
    label.setBuddy(field)
    field.setAccessibleName(title.replace("&", ""))
    return label


def _stacked(*widgets: QWidget) -> QWidget:
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(HALF)
    for widget in widgets:
        layout.addWidget(widget)
    return box
