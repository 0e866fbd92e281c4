"""Asks for a new bucket: its name, its class, and who gets in."""

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
    QWidget,
)

from traindeck.domain.storage.buckets import StorageClass
from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import say, text
from traindeck.ui.kit.cards import show_words
from traindeck.ui.kit.fields import label_of
from traindeck.ui.kit.layouts import column_of, level
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.access_page import TEMPLATES
from traindeck.viewmodels.shell.status import region_words
from traindeck.viewmodels.storage.buckets import NewBucketForm

_WIDTH = 520
_TEMPLATES = (Template.PRIVATE, Template.PUBLIC_READ, Template.PUBLIC_READ_LIST, Template.PUBLIC_READ_WRITE)
_CLASSES = {
    StorageClass.STANDARD.value: text("Standard: for data that is read often"),
    StorageClass.WARM.value: text(
        "Infrequent Access: lower storage cost, higher read cost; charged for at least 30 days"
    ),
    StorageClass.COLD.value: text("Archive: lowest storage cost; restoring takes hours; charged for at least 90 days"),
}


class NewBucketDialog(QDialog):
    """Binds a NewBucketForm; it closes when the bucket is there."""

    def __init__(self, form: NewBucketForm, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._form = form
        self._theme = theme
        self.setWindowTitle(say("New bucket"))
        self.setMinimumWidth(_WIDTH)
        self.name, self.problem, self.note = QLineEdit(), sentence("", "error"), sentence("", "small")
        self.region, self.classes, self.access = QLabel(), QComboBox(), QComboBox()
        self.meaning, self.error = sentence("", "small"), sentence("", "error")
        self.create_button = QPushButton(say("Create bucket"))
        self.buttons = QDialogButtonBox()
        self.name.setPlaceholderText(say("e.g. my-team-data"))
        for template in _TEMPLATES:
            self.access.addItem(say(TEMPLATES[template][0]), template)
        layout = QFormLayout()
        layout.setHorizontalSpacing(2 * SPACE)
        layout.setVerticalSpacing(SPACE)
        layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        named, opened = _stacked(self.name, self.problem, self.note), _stacked(self.access, self.meaning)
        layout.addRow(label_of(say("&Name"), self.name), named)
        layout.addRow(say("Region"), self.region)
        layout.addRow(label_of(say("&Storage class"), self.classes), self.classes)
        layout.addRow(label_of(say("&Access"), self.access), opened)
        level(layout, named, self.name)
        level(layout, self.classes)
        level(layout, opened, self.access)
        set_role(self.create_button, "primary")
        self.create_button.setDefault(True)
        self.buttons.addButton(self.create_button, QDialogButtonBox.ButtonRole.ActionRole)
        self.buttons.addButton(say("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        margins = (3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        self._column = column_of(layout, self.error, self.buttons, inside=self, margins=margins, spacing=SPACE + HALF)
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
        region = region_words(state.region) or say("Loading…")
        self.region.setText(f"{region}  ({state.region})" if state.region and region != state.region else region)
        if self.classes.count() != len(state.storage_classes):
            self.classes.clear()
            for name in state.storage_classes:
                self.classes.addItem(say(_CLASSES[name]) if name in _CLASSES else name, name)
        self.classes.setEnabled(self.classes.count() > 1)
        show_words(self.problem, say(state.problem) if state.problem else "")
        self.name.setAccessibleDescription(self.problem.text())
        set_role(self.name, "invalid" if state.problem else "")
        free = say("The name must be unique in the whole cloud and cannot be changed later.")
        self.note.setText(f"{say(state.note)} {free}" if state.note else free)
        is_public = state.wanted.template is not Template.PRIVATE
        self.meaning.setText(say(TEMPLATES[state.wanted.template][1]))
        set_role(self.meaning, "warn" if is_public else "small")
        show_words(self.error, state.trouble.sentence() if state.trouble else "")
        self.create_button.setEnabled(state.can_be_made)
        busy, rest = say("Creating…"), say("Create public bucket") if is_public else say("Create bucket")
        self.create_button.setText(busy if state.is_busy else rest)


def _stacked(*widgets: QWidget) -> QWidget:
    box = QWidget()
    column_of(*widgets, inside=box, margins=0, spacing=HALF)
    return box
