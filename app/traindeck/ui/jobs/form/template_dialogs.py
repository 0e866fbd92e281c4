"""Keeping the form as a template, and beginning with one."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidgetItem, QWidget

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.form.job_template import check_template_name
from traindeck.domain.texts import say, text
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import RowList
from traindeck.ui.kit.theme import SPACE
from traindeck.viewmodels.jobs.form.form_templates import FormTemplates
from traindeck.viewmodels.ports import Confirm, Tasks

_NAME_ROLE = Qt.ItemDataRole.UserRole


class SaveTemplateDialog(QDialog):
    """A name, and which fields are not to be changed by accident."""

    def __init__(self, templates: FormTemplates, name: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._templates = templates
        self.setWindowTitle(say("Save as template"))
        fit_on_screen(self, 60 * SPACE, 60 * SPACE)
        heading = sentence(say("Save the form as a template"), "heading")
        words = label(say("Name of the template"))
        self.name = QLineEdit(name)
        self.name.setAccessibleName(words.text())
        words.setBuddy(self.name)
        self.trouble = sentence("", "error")
        self.trouble.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.trouble.setAlignment(Qt.AlignmentFlag.AlignTop)
        lockable = templates.lockable()
        words_of_list = say("Locked in forms made from it; one click unlocks them")
        self.locked = sentence(words_of_list if lockable else say("No field is filled in that could be locked."), "")
        self.fields = RowList()
        self.fields.setAccessibleName(say("Locked fields"))
        self.fields.setVisible(bool(lockable))
        for field in lockable:
            item = QListWidgetItem(say(field.label), self.fields)
            item.setData(_NAME_ROLE, field.name)
            item.setToolTip(say(field.help))
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsSelectable)
            is_locked = field.name in templates.locked
            item.setCheckState(Qt.CheckState.Checked if is_locked else Qt.CheckState.Unchecked)
        self.save = push_button(say("Save"), self._save, "primary")
        self.save.setDefault(True)
        buttons, _ = closing(self, say("Cancel"), self.save)
        self.locked.setAlignment(Qt.AlignmentFlag.AlignTop)
        parts = (heading, words, self.name, self.trouble, (self.locked, not lockable), (self.fields, 1), buttons)
        column_of(*parts, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.name.textChanged.connect(self._on_typed)
        templates.changed.connect(self._on_typed)
        self._on_typed()
        self.name.setFocus()
        self.name.selectAll()

    def _on_typed(self) -> None:
        name = self.name.text()
        trouble = ""
        try:
            check_template_name(name)
        except AppError as error:
            trouble = error.sentence() if name else ""
            self.save.setEnabled(False)
        else:
            self.save.setEnabled(True)
            if name in self._templates.state.names:
                trouble = say("The template “{name}” will be replaced.", name=name)
        self.trouble.setText(trouble)

    def _save(self) -> None:
        items = (self.fields.item(row) for row in range(self.fields.count()))
        locked = (item.data(_NAME_ROLE) for item in items if item.checkState() == Qt.CheckState.Checked)
        self._templates.save(self.name.text(), frozenset(map(str, locked)))
        self.accept()


class TemplatesDialog(QDialog):
    """All templates: begin with one, or delete it."""

    def __init__(self, templates: FormTemplates, confirm: Confirm, tasks: Tasks, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._templates = templates
        self._confirm = confirm
        self._tasks = tasks
        self.setWindowTitle(say("New from template"))
        fit_on_screen(self, 52 * SPACE, 48 * SPACE)
        heading = sentence(say("New job from a template"), "heading")
        self.list = RowList()
        self.list.setAccessibleName(say("Templates"))
        self.none = sentence(say("There is no template yet: fill in the form and select “Save as template…”."), "dim")
        self.none.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.none.hide()
        self.use = push_button(say("Use"), self._use, "primary")
        self.use.setDefault(True)
        self.delete = push_button(say("Delete…"), self._delete, "danger")
        buttons, _ = closing(self, say("Cancel"), self.use, self.delete)
        parts = (heading, (self.list, 1), (self.none, 1), buttons)
        column_of(*parts, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.list.itemActivated.connect(self._use)
        self.list.currentRowChanged.connect(self._on_current)
        templates.changed.connect(self._show)
        self._show()
        templates.refresh()

    def _show(self) -> None:
        row, state = self.list.currentRow(), self._templates.state
        self.list.clear()
        self.list.addItems(list(state.names))
        self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))
        has_none = state.is_known and not state.names
        self.none.setVisible(has_none)
        self.list.setVisible(not has_none)
        self._on_current()

    def _on_current(self, *_: int) -> None:
        for button in (self.use, self.delete):
            button.setEnabled(self.list.currentItem() is not None)

    def _use(self, *_: object) -> None:
        if (item := self.list.currentItem()) is not None:
            self._templates.begin_with(item.text())
            self.accept()

    def _delete(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        name = item.text()

        async def ask() -> None:
            if await self._confirm(text("Delete the template “{name}”?", name=name), text("Delete")):
                self._templates.remove(name)

        self._tasks.start("ask about a template", ask)
