"""The job form as a panel."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QWidget,
)

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.jobs.choices import Choices, Flavor
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import say, say_count
from traindeck.ui.jobs.check_list import CheckList
from traindeck.ui.jobs.place_notes_view import PlaceNotesView
from traindeck.ui.kit.cards import ElidedLabel, theme_tool_buttons, tool_button
from traindeck.ui.kit.dialogs import choose_folder, choose_job_file
from traindeck.ui.kit.fields import (
    ChoiceBox,
    Field,
    Fold,
    PairTable,
    PlaceCompletion,
    Prepare,
    WheelGuard,
    with_places,
)
from traindeck.ui.kit.layouts import column_of, label, line, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.object_drag import carried_in, local_paths
from traindeck.viewmodels.jobs.form_values import LABELS, ROW_FIELDS
from traindeck.viewmodels.jobs.job_form import FormState, JobForm
from traindeck.viewmodels.jobs.place_notes import PlaceNotes
from traindeck.viewmodels.storage.moving import Carried

_STOP_AFTER = ("1h", "4h", "12h", "1d", "none")
_MOST_NODES = 1000
_ON_ONE_LINE = (
    "name", "code_folder", "boot", "log_to", "target", "engine", "engine_version", "flavor", "stop_after", "nodes",
    "description", "image", "pool",
)  # fmt: skip
_MORE = ("nodes", "environment", "description", "image", "pool")
_USUAL = JobSpec()


class JobFormView(QWidget):
    """Shows JobForm; Ctrl+Enter submits from anywhere in it."""

    def __init__(self, form: JobForm, places: PlaceNotes, theme: Theme) -> None:
        super().__init__()
        self._form = form
        self._places = places
        self._theme = theme
        widths = [self.fontMetrics().horizontalAdvance(str(LABELS[name])) for name in _ON_ONE_LINE]
        self._label_width = max(widths) + HALF
        self._is_more_needed = False
        self.notes: dict[str, PlaceNotesView] = {}
        self._guard = WheelGuard(self)
        self.fields: dict[str, Field] = {}
        self._texts: dict[str, QLineEdit] = {}
        self._tables: dict[str, PairTable] = {}
        self.setAcceptDrops(True)

        self.new_button = QPushButton(say("New"))
        self.open_button = QPushButton(say("Open…"))
        self.save_button = QPushButton(say("Save…"))
        buttons = (self.new_button, self.open_button, self.save_button)
        for button in buttons:
            set_role(button, "flat")
        self.file = sentence("", "dim")
        self.file.setWordWrap(False)
        head = row_of((self.file, 1), *buttons, margins=(SPACE, HALF, SPACE, HALF), spacing=HALF)
        self.origin = ElidedLabel("", "warn")  # one line: it grows while something is typed below
        self.origin.setContentsMargins(SPACE, HALF, SPACE, HALF)

        self.scroll_area = QScrollArea()
        self.scroll_area.setWidgetResizable(True)
        self.scroll_area.setFrameShape(QFrame.Shape.NoFrame)
        self.scroll_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroll_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)

        self.checks = CheckList(theme)
        self.stage = ElidedLabel("", "dim")
        self.submit = QPushButton()
        self.submit.setToolTip(say("Submit this job (Ctrl+Enter)"))
        set_role(self.submit, "primary")
        # From the outside in: whatever is put into another parent later is styled once more, with all that is in it.
        layout = column_of(head, line(), self.origin, (self.scroll_area, 1), line(), inside=self, margins=0, spacing=0)
        page = QWidget()
        set_role(page, "page")
        self.scroll_area.setWidget(page)
        self.column = column_of(inside=page, margins=(SPACE + HALF, SPACE, SPACE + HALF, SPACE), spacing=SPACE)
        self._build_main()
        self._build_more()
        self.column.addStretch(1)
        layout.addWidget(self.checks)
        layout.addWidget(line())
        layout.addLayout(column_of(self.stage, self.submit, margins=SPACE, spacing=HALF))

        self.new_button.clicked.connect(form.new)
        self.open_button.clicked.connect(self.choose_file)
        self.save_button.clicked.connect(self.choose_save)
        self.submit.clicked.connect(form.submit)
        self.checks.field_wanted.connect(self.go_to_field)
        self.setFocusProxy(self._texts["name"])
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        form.changed.connect(self._on_changed)
        form.refused.connect(self.go_to_field)
        places.changed.connect(self._on_places)
        self._on_changed()
        self._on_places()

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)

    def sizeHint(self) -> QSize:
        return QSize(46 * SPACE, 80 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(34 * SPACE, 30 * SPACE)

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

    def keyPressEvent(self, event: QKeyEvent) -> None:
        wanted = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if wanted and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._form.submit()
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
        if carried is not None:
            event.setAccepted(self._take_objects(event.position().toPoint(), carried))
        elif dropped is not None:
            event.accept()
            self._form.take_dropped(dropped)
        else:
            return
        event.setDropAction(Qt.DropAction.CopyAction)

    def _takes_objects(self, place: QPoint) -> str | None:
        """The field under the mouse, if the address of an object or a folder may stand there."""
        for name in ("log_to", "inputs", "outputs"):
            editor = self.fields[name].editor
            if editor.isVisible() and editor.rect().contains(editor.mapFrom(self, place)):
                return name
        return None

    def _take_objects(self, place: QPoint, carried: Carried) -> bool:
        name = self._takes_objects(place)
        if name is None:
            return False
        if name in self._texts:
            path = carried.paths[0]
            self._form.set_field(name, str(path if path.is_folder else path.parent))
            return True
        table = self._tables[name]
        first = table.rowAt(table.viewport().mapFrom(self, place).y())
        self._form.set_rows(name, with_places(table.pairs.rows, first, carried.paths))
        return True

    def _build_main(self) -> None:
        self._add_text("name", say("e.g. digits"))
        self._head(say("Code"))
        browse = tool_button("folder", say("Select the code directory"), self.choose_code_folder)
        browse.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._add_text("code_folder", say("Drop a folder here"), browse)
        self.boot = self._editable("boot", say("e.g. train.py"))
        self.boot.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._add("boot", self.boot)
        self._add_table("parameters", self._theme, say("Value"))
        self._head(say("Data"))
        place = say("OBS path")
        self._add_table("inputs", self._theme, place, self._completes)
        self._add_table("outputs", self._theme, place, self._completes)
        self._add_text("log_to", "obs://bucket/log/{run}/")
        self._completes(self._texts["log_to"])
        for name in ("inputs", "outputs", "log_to"):
            self.notes[name] = PlaceNotesView(self._places.take)
            self.fields[name].add_below(self.notes[name])
        self._build_machine()

    def _build_machine(self) -> None:
        self._head(say("Machine"))
        self.profile = self._choice("target", self._form.choose_profile)
        self.engine = self._choice("engine", partial(self._form.set_field, "engine"))
        self.version = self._choice("engine_version", partial(self._form.set_field, "engine_version"))
        self.flavor = self._choice("flavor", partial(self._form.set_field, "flavor"))
        self.fields["engine_version"].remedy_wanted.connect(self._form.take_nearest_engine)
        self.fields["flavor"].remedy_wanted.connect(self._form.take_nearest_flavor)
        self.offer = sentence("", "warn")
        self.offer_again = QPushButton(say("Try again"))
        set_role(self.offer_again, "link")
        self.offer_again.clicked.connect(self._form.load_offer)
        self.column.addWidget(self.offer)
        self.column.addWidget(self.offer_again, 0, Qt.AlignmentFlag.AlignLeft)
        self.stop_after = self._editable("stop_after", say("4h, 2d or none"), *_STOP_AFTER)
        self._add("stop_after", self.stop_after)
        self._guard.watch(self.boot, self.stop_after)

    def _build_more(self) -> None:
        self.more = Fold(say("More"))
        self.column.addWidget(self.more)
        main, self.column = self.column, self.more.column
        self.nodes = QSpinBox()
        self.nodes.setRange(1, _MOST_NODES)
        self.nodes.lineEdit().setTextMargins(HALF, 0, 0, 0)
        self.nodes.valueChanged.connect(partial(self._form.set_field, "nodes"))
        self._guard.watch(self.nodes)
        self._add("nodes", self.nodes)
        self._add_table("environment", self._theme, say("Value"))
        self._add_text("description", "")
        self._add_text("image", say("Only for a custom image"))
        self._add_text("pool", say("Only for a dedicated pool"))
        self.column = main

    def _head(self, words: str) -> None:
        self.column.addWidget(label(words, "strong"))

    def _choice(self, name: str, chosen: Callable[[str], None]) -> ChoiceBox:
        box = ChoiceBox()
        self._add(name, box)
        box.chosen.connect(chosen)
        self._guard.watch(box)
        return box

    def _add(self, name: str, editor: QWidget, *beside: QWidget) -> None:
        width = 0 if isinstance(editor, PairTable) else self._label_width
        field = self.fields[name] = Field(str(LABELS[name]), editor, *beside, label_width=width)
        self.column.addWidget(field)

    def _add_text(self, name: str, placeholder: str, *beside: QWidget) -> None:
        edit = QLineEdit()
        self._bind(name, edit, placeholder)
        self._add(name, edit, *beside)

    def _bind(self, name: str, edit: QLineEdit, placeholder: str) -> None:
        edit.setPlaceholderText(placeholder)
        edit.setAcceptDrops(False)  # a dropped folder is for the form, not for the text
        edit.textEdited.connect(partial(self._form.set_field, name))
        self._texts[name] = edit

    def _completes(self, line: QLineEdit) -> None:
        """A place is typed here: offer what it may become, and spell it our way in the end."""
        completion = PlaceCompletion(line)
        completion.typed.connect(self._places.complete)
        completion.chosen.connect(partial(_write, line))
        self._places.completed.connect(completion.offer)
        line.editingFinished.connect(self._form.settle_places)

    def _add_table(self, name: str, theme: Theme, value_title: str, prepare: Prepare | None = None) -> None:
        table = PairTable(theme, str(LABELS[name]), value_title, prepare)
        table.rows_edited.connect(partial(self._form.set_rows, name))
        table.pasted.connect(partial(self._form.paste_rows, name))
        self._tables[name] = table
        self._add(name, table)

    def _editable(self, name: str, placeholder: str, *choices: str) -> QComboBox:
        box = QComboBox()
        box.setEditable(True)
        box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        box.addItems(choices)
        edit = box.lineEdit()
        assert edit is not None
        self._bind(name, edit, placeholder)
        box.textActivated.connect(partial(self._form.set_field, name))
        return box

    def _on_changed(self) -> None:
        state = self._form.state
        spec = state.spec
        for name, edit in self._texts.items():
            value = str(getattr(spec, name))
            if edit.text() != value:
                edit.setText(value)
        is_whole = not spec.code_folder or str(state.code_place) == spec.code_folder
        self.fields["code_folder"].show_note("" if is_whole else _parted(state.code_place))
        self._show_choices(state)
        if self.nodes.value() != spec.nodes:
            self.nodes.setValue(spec.nodes)
        self._show_errors(state)
        self._show_more(state)
        self._show_head(state)
        self.submit.setEnabled(state.stage is None)
        self.submit.setText(say(state.submit_words))
        self.stage.setText(say(state.stage or state.cost))

    def _on_places(self) -> None:
        for name, view in self.notes.items():
            view.show_notes(self._places.of(name))

    def _show_choices(self, state: FormState) -> None:
        spec = state.spec
        offer, trouble = state.offer or Choices((), ()), state.offer_trouble
        known = state.offer is not None
        wait = say("Loading…") if state.profile and not known and trouble is None else say("Select…")
        self.profile.offer(
            [(_profile_words(profile), profile.name) for profile in state.profiles],
            state.profile,
            is_known=True,
            placeholder=say("Select…"),
        )
        names = list(dict.fromkeys(engine.name for engine in offer.engines))
        self.engine.offer([(name, name) for name in names], spec.engine, is_known=known, placeholder=wait)
        versions = [(engine.version, engine.version) for engine in offer.engines if engine.name == spec.engine]
        self.version.offer(versions, spec.engine_version, is_known=known, placeholder=wait)
        flavors = [(_flavor_words(flavor), flavor.id) for flavor in offer.flavors]
        self.flavor.offer(flavors, spec.flavor, is_known=known, placeholder=wait)
        words = state.offer_words
        self.offer.setText(say(words) if words is not None else "")
        self.offer.setVisible(words is not None)
        self.offer_again.setVisible(words is not None)
        shown = [self.boot.itemText(number) for number in range(self.boot.count())]
        if shown != list(state.boot_files):
            self.boot.clear()
            self.boot.addItems(state.boot_files)
            self.boot.setEditText(spec.boot)

    def _show_errors(self, state: FormState) -> None:
        errors, changed = state.errors, {change.field for change in state.changes}
        for name, field in self.fields.items():
            words = [say(errors[name])] if name in errors else []
            if name in ROW_FIELDS:
                of_rows = {key.partition(":")[2]: text for key, text in errors.items() if key.startswith(f"{name}:")}
                words += [f"{row or '–'}: {say(text)}" for row, text in of_rows.items()]
                self._tables[name].pairs.show(state.rows[name], of_rows)
            field.mark_wrong("\n".join(words))
            field.show_changed(name in changed)
        self.checks.show_checks(state.checks, state.touched)
        engine, flavor = state.nearest_engine, state.nearest_flavor
        self.fields["engine_version"].show_remedy(say("Use {name}", name=engine.version) if engine else "")
        self.fields["flavor"].show_remedy(say("Use {name}", name=_flavor_words(flavor)) if flavor else "")

    def _show_head(self, state: FormState) -> None:
        name = state.file.name if state.file else say("Not saved as a file")
        self.file.setText(name + (" •" if state.is_dirty else ""))
        self.file.setToolTip(str(state.file or ""))
        self.origin.setVisible(state.origin is not None)
        if state.origin is None:
            return
        number = state.origin.number
        changes = "; ".join(f"{one.name}: {one.before} → {one.after}" for one in state.changes)
        words = say("Like run {number}, except {changes}.", number=number, changes=changes)
        same = say("The same as run {number}. Change something, then submit.", number=number)
        self.origin.setText(words if changes else same)

    def _show_more(self, state: FormState) -> None:
        """Opened once when something in it needs to be seen; whoever shuts it keeps it shut."""
        is_filled = any(getattr(state.spec, name) != getattr(_USUAL, name) for name in _MORE)
        is_needed = is_filled or any(name.partition(":")[0] in _MORE for name in state.errors)
        if is_needed and not self._is_more_needed:
            self.more.unfold(True)
        self._is_more_needed = is_needed

    def go_to_field(self, name: str) -> None:
        """The one that is to be mended; `name` may have a row behind a colon."""
        field = self.fields.get(name.partition(":")[0])
        if field is None:
            return
        if self.more.isAncestorOf(field):
            self.more.unfold(True)
        field.editor.setFocus()
        self.scroll_area.ensureWidgetVisible(field)


def _write(line: QLineEdit, words: str) -> None:
    """As if it had been typed."""
    line.setText(words)
    line.setModified(True)
    line.textEdited.emit(words)


def _parted(place: Path) -> str:
    """Lines may end behind each folder."""
    return str(place).replace(os.sep, f"{os.sep}\u200b")


def _dropped(event: QDropEvent) -> Path | None:
    """The one file or folder that was dropped; what it is, the disk must say, and the window does not wait for it."""
    paths = local_paths(event.mimeData().urls())
    return paths[0] if len(paths) == 1 else None


def _profile_words(profile: Profile) -> str:
    if profile.is_lab:
        return say("The Lab (this computer, free)")
    return f"{profile.name} ({profile.region})"


def _flavor_words(flavor: Flavor) -> str:
    parts = [flavor.kind, flavor.accelerator]
    if flavor.cores:
        parts.append(say_count("{count} core", "{count} cores", flavor.cores))
    parts.append(flavor.memory)
    return " · ".join([flavor.id, *(part for part in parts if part)])
