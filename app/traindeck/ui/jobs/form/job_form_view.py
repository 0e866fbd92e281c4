"""The job form as a panel."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QFrame, QScrollArea, QSizePolicy, QStackedWidget, QWidget

from traindeck.domain.texts import say, text
from traindeck.ui.jobs.form.checks_dialog import ChecksDialog
from traindeck.ui.jobs.form.code_tree_dialog import CodeTreeDialog
from traindeck.ui.jobs.form.fields_page import FieldsPage
from traindeck.ui.jobs.form.findings_dialog import FindingsDialog
from traindeck.ui.jobs.form.form_text_view import FormTextView
from traindeck.ui.jobs.form.origin_strip import OriginStrip
from traindeck.ui.jobs.form.submit_bar import SubmitBar
from traindeck.ui.kit.cards import ElidedLabel, push_button, theme_tool_buttons
from traindeck.ui.kit.dialogs import choose_folder, choose_job_file
from traindeck.ui.kit.fields import Field
from traindeck.ui.kit.layouts import column_of, line, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.object_drag import carried_in, local_paths
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.ports import Confirm, Tasks


class JobFormView(QWidget):
    """Shows the form as fields or as text; Ctrl+Enter submits from anywhere in it."""

    def __init__(self, parts: FormParts, theme: Theme, confirm: Confirm, tasks: Tasks) -> None:
        super().__init__()
        self._parts = parts
        self._form = parts.form
        self._theme = theme
        self._confirm = confirm
        self._tasks = tasks
        self.setAcceptDrops(True)

        self.new_button = push_button(say("New"))
        self.open_button = push_button(say("Open…"))
        self.save_button = push_button(say("Save…"))
        self.text_button = push_button(say("Text"))
        self.text_button.setCheckable(True)
        self.text_button.setToolTip(say("Edit the form as the text of a job file"))
        buttons = (self.new_button, self.open_button, self.save_button, self.text_button)
        for button in buttons:
            set_role(button, "flat")
        self.file = ElidedLabel("", "dim")
        head = row_of((self.file, 1), *buttons, margins=(SPACE, HALF, SPACE, HALF), spacing=0)
        self.origin = OriginStrip(parts)
        self.scroll_area = QScrollArea()
        self.scroll_area.setWidgetResizable(True)
        self.scroll_area.setFrameShape(QFrame.Shape.NoFrame)
        self.scroll_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroll_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.pages = QStackedWidget()
        # Where there is too little room for all, the fields have less of it before the checks have.
        self.pages.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.pages.setMinimumHeight(9 * SPACE)
        self.bar = SubmitBar(parts, theme)
        # From the outside in: whatever is put into another parent later is styled once more, with all that is in it.
        column_of(head, line(), self.origin, (self.pages, 1), self.bar, inside=self, margins=0, spacing=0)
        self.pages.addWidget(self.scroll_area)
        self._page: FieldsPage | None = None
        self.text: FormTextView | None = None

        self.new_button.clicked.connect(self._form.new)
        self.open_button.clicked.connect(self.choose_file)
        self.save_button.clicked.connect(self.choose_save)
        self.text_button.clicked.connect(self._on_text_wanted)
        self.bar.field_wanted.connect(self.go_to_field)
        self.bar.all_wanted.connect(self.show_checks)
        self.bar.finding_wanted.connect(self.show_findings)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        parts.sending.refused.connect(self.go_to_field)
        parts.written.refused.connect(self.go_to_field)
        parts.written.changed.connect(self._on_written)

    def finish(self) -> None:
        """The fields are most of the work: in a turn of their own, at the latest when somebody looks at them."""
        if self._page is not None:
            return
        page = self._page = FieldsPage(self._parts, self._theme)
        self.scroll_area.setWidget(page)
        self._apply_theme()
        page.folder_wanted.connect(self.choose_code_folder)
        page.code_wanted.connect(self.show_code)
        self.setFocusProxy(page)
        self._form.changed.connect(self._on_changed)
        self._form.replacing.connect(self._show_top)
        self._on_changed()
        self._on_written()

    def _show_top(self) -> None:
        """Another job is read from its beginning."""
        self.scroll_area.verticalScrollBar().setValue(0)

    @property
    def page(self) -> FieldsPage:
        self.finish()
        assert self._page is not None
        return self._page

    @property
    def fields(self) -> dict[str, Field]:
        return self.page.fields

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)

    def sizeHint(self) -> QSize:
        return QSize(46 * SPACE, 80 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(34 * SPACE, 30 * SPACE)

    def showEvent(self, event: QShowEvent) -> None:
        self.finish()
        super().showEvent(event)
        self._parts.watch(id(self), is_seen=True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._parts.watch(id(self), is_seen=False)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            # Whoever was elsewhere may have edited the code.
            self._parts.code.look()
            self._parts.earlier.look()

    # what is opened from here

    def choose_file(self) -> None:
        form = self._form
        title, start = say("Open a job file"), form.state.file_place
        choose_job_file(self, title, lambda paths: form.open_file(paths[0]), start, to_save=False)

    def choose_save(self) -> None:
        form = self._form
        title, start = say("Save the job file"), form.state.file_place
        choose_job_file(self, title, lambda paths: form.save_file(paths[0]), start, to_save=True)

    def choose_code_folder(self) -> None:
        form = self._form
        title, start = say("Select the code directory"), form.state.code_place
        choose_folder(self, title, lambda paths: form.choose_code_folder(paths[0]), start)

    def show_code(self) -> None:
        self._open(CodeTreeDialog(self._parts.code, self._theme, self.window()))

    def show_checks(self) -> None:
        dialog = ChecksDialog(self._parts, self._theme, self.window())
        dialog.list.field_wanted.connect(partial(self._leave_for, dialog))
        dialog.list.finding_wanted.connect(self.show_findings)
        self._open(dialog)

    def show_findings(self, wanted: tuple[str, str, int | None] | None = None) -> None:
        """All that is wrong with the scripts, this one in sight."""
        self._open(FindingsDialog(self._parts.findings, self._theme, self.window()))
        if wanted is not None:
            self._parts.findings.find(*wanted)

    def _open(self, dialog: QDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _leave_for(self, dialog: QDialog, field: str) -> None:
        dialog.accept()
        self.go_to_field(field)

    # as text

    def _on_text_wanted(self, wanted: bool) -> None:
        if wanted:
            self._parts.written.open()
        elif not self._parts.written.close():
            self._tasks.start("ask about the text", self._ask_to_discard)
        self._on_written()

    async def _ask_to_discard(self) -> None:
        question = text("Discard what was typed into the text since it could last be read?")
        if await self._confirm(question, text("Discard")):
            self._parts.written.discard()

    def _on_written(self) -> None:
        is_open = self._parts.written.state.is_open
        self.text_button.setChecked(is_open)
        if is_open and self.text is None:
            self.text = FormTextView(self._parts.written, self._theme)
            self.pages.addWidget(self.text)
        shown = self.text if is_open and self.text is not None else self.scroll_area
        if self.pages.currentWidget() is not shown:
            had_focus = self.isAncestorOf(self.window().focusWidget() or self)
            self.pages.setCurrentWidget(shown)
            self.setFocusProxy(self.page if shown is self.scroll_area else shown)
            if had_focus:
                self.setFocus()

    # keys and drops

    def keyPressEvent(self, event: QKeyEvent) -> None:
        wanted = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if wanted and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._parts.sending.submit()
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        place = _dropped(event)
        if place is not None:
            self._form.look_at_dragged(place)
        if place is not None or carried_in(event.mimeData()) is not None:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.setDropAction(Qt.DropAction.CopyAction)
        if carried_in(event.mimeData()) is None:
            dropped = _dropped(event)
            event.setAccepted(dropped is not None and self._form.may_take(dropped))
        else:
            event.setAccepted(self._takes_objects(event.position().toPoint()) is not None)

    def dropEvent(self, event: QDropEvent) -> None:
        carried, dropped = carried_in(event.mimeData()), _dropped(event)
        place = event.position().toPoint()
        if carried is not None:
            name = self._takes_objects(place)
            event.setAccepted(name is not None)
            if name is not None:
                self.page.take_objects(name, self, place, carried)
        elif dropped is not None:
            event.accept()
            self._form.take_dropped(dropped)
        else:
            return
        event.setDropAction(Qt.DropAction.CopyAction)

    def _takes_objects(self, place: QPoint) -> str | None:
        return None if self._parts.written.state.is_open else self.page.place_at(self, place)

    # showing

    def _on_changed(self) -> None:
        state = self._form.state
        self.page.show_state()
        self.page.show_choices()
        name = state.file.name if state.file else say("Not saved as a file")
        self.file.setText(name + (" •" if state.is_dirty else ""))
        self.save_button.setToolTip(str(state.file or ""))

    def go_to_field(self, name: str) -> None:
        """The one that is to be mended; `name` may have a row behind a colon."""
        bare, _, row = name.partition(":")
        written = self._parts.written
        if written.state.is_open:
            mark = next((one for one in written.state.marks if one.line is not None), None)
            if self.text is not None and mark is not None and mark.line is not None:
                self.text.text.go_to_line(mark.line)
                return
            if not written.close():
                return
        if (field := self.page.field_at(bare)) is None:
            return
        if not field.isVisibleTo(self.page):
            field = self.page.start_field  # it counts only where the job is started in another way
        field.editor.setFocus()
        if row:
            self.page.go_to_row(bare, row)
        self.scroll_area.ensureWidgetVisible(field)


def _dropped(event: QDropEvent) -> Path | None:
    """The one file or folder that was dropped; what it is, the disk must say, and the window does not wait for it."""
    paths = local_paths(event.mimeData().urls())
    return paths[0] if len(paths) == 1 else None
