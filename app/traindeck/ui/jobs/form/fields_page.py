"""The fields of the job form, in their sections: built from the one description of all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.jobs.form.form_field import FieldKind, FormField, FormSection
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.start_kinds import NEEDED, StartKind
from traindeck.domain.scripts.arguments import ScriptArgument
from traindeck.domain.texts import beginning, moment_words, say
from traindeck.ui.jobs.form.choice_picker import ChoicePicker
from traindeck.ui.jobs.form.field_editors import (
    LineEditor,
    OpenEditor,
    SwitchEditor,
    ValueEditor,
    focus_guarded,
    table_editor,
    value_editor,
)
from traindeck.ui.jobs.form.row_notes_view import RowNotesView
from traindeck.ui.jobs.form.script_parameters_view import ScriptParametersView
from traindeck.ui.kit.cards import ElidedButton, push_button, tool_button
from traindeck.ui.kit.fields import ChoiceBox, Field, Fold, PlaceCompletion, WheelGuard
from traindeck.ui.kit.layouts import column_of, label
from traindeck.ui.kit.pair_table import PairTable, RowAdvice, with_places
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.form_state import FormState
from traindeck.viewmodels.jobs.form.form_values import ROW_FIELDS
from traindeck.viewmodels.jobs.form.script_parameters import FIELD as PARAMETERS
from traindeck.viewmodels.jobs.form.script_parameters import argument_words
from traindeck.viewmodels.storage.moving import Carried

_STOP_AFTER = ("1h", "4h", "12h", "1d", "none")
_SECTIONS = (
    FormSection.JOB, FormSection.CODE, FormSection.PARAMETERS, FormSection.DATA, FormSection.ENGINE,
    FormSection.MACHINE, FormSection.NOTIFICATIONS, FormSection.OTHER,
)  # fmt: skip
"""In the order in which most fill them in."""
_PLACES = ("inputs", "outputs", "log_to")
_EVER_NEEDED = frozenset(name for names in NEEDED.values() for name in names)
_USUAL = JobSpec()


def _is_folded(field: FormField) -> bool:
    return field.is_under_more and field.name not in _EVER_NEEDED


class FieldsPage(QWidget):
    """Every field there is; what does not count where the job is started so is not shown."""

    code_wanted = Signal()
    """Somebody wants to see what goes along."""
    folder_wanted = Signal()

    def __init__(self, parts: FormParts, theme: Theme) -> None:
        super().__init__()
        set_role(self, "page")
        self._parts = parts
        self._form = parts.form
        self._theme = theme
        self._guard = WheelGuard(self)
        self.fields: dict[str, Field] = {}
        self.notes: dict[str, RowNotesView] = {}
        self._values: dict[str, ValueEditor] = {}
        self._tables: dict[str, PairTable] = {}
        self._heads: list[tuple[QLabel, list[str]]] = []
        self._chosen_of: tuple[object, ...] = ()
        self._said: tuple[object, ...] = ()
        self._shown_as: tuple[object, ...] = ()
        self._locked_as: tuple[object, ...] = ()
        self._is_more_needed = self._opens_itself = False
        self._to_build = [
            (section, fields) for section in _SECTIONS if (fields := [one for one in _in(section) if _is_folded(one)])
        ]
        self._building = QTimer(self, interval=0)
        self._building.timeout.connect(self._build_next)
        self._is_main = True
        flat = [field.label for field in FIELDS if field.name not in ROW_FIELDS and not _is_folded(field)]
        words = [*map(say, flat), say("Start with")]
        self._label_width = max(map(self.fontMetrics().horizontalAdvance, words)) + HALF
        self.column = column_of(inside=self, margins=(SPACE + HALF, SPACE, SPACE + HALF, SPACE), spacing=SPACE)
        self._build_offer()
        for section in _SECTIONS:
            self._build_section(section, [one for one in _in(section) if not _is_folded(one)])
        self.column.addWidget(self.offer)
        self.column.addWidget(self.offer_again, 0, Qt.AlignmentFlag.AlignLeft)
        self.more = Fold(say("More"))
        self.more.button.toggled.connect(self._on_more)
        self.column.addWidget(self.more)
        self._is_main = False
        self.column.addStretch(1)
        self.setFocusProxy(self.fields["name"].editor)
        parts.places.changed.connect(self._on_places)
        parts.code.changed.connect(self._on_code)
        parts.script.changed.connect(self._on_script)
        self._on_places()

    # building

    def _build_offer(self) -> None:
        self.offer = sentence("", "warn")
        self.offer_again = push_button(say("Try again"))
        set_role(self.offer_again, "link")
        self.offer_again.clicked.connect(self._form.refresh_offer)

    def _build_section(self, section: FormSection, fields: Iterable[FormField]) -> None:
        fields = list(fields)
        if not fields:
            return
        is_said_below = len(fields) == 1 and say(fields[0].label) == say(section.words)
        if (section is not FormSection.JOB or not self._is_main) and not is_said_below:
            head = label(say(section.words), "strong")
            self._heads.append((head, [field.name for field in fields]))
            self.column.addWidget(head)
        if section is FormSection.CODE and self._is_main:
            self._build_start()
        for field in fields:
            self._build_field(field)

    def _build_start(self) -> None:
        self.start = ChoiceBox()
        self.start.chosen.connect(lambda kind: self._form.choose_start(StartKind(kind)))
        self._guard.watch(self.start)
        words = say("How the job is started; only the fields that count there are shown")
        self.start_field = Field(say("Start with"), self.start, label_width=self._label_width, explanation=words)
        self.start.setToolTip(words)
        self.column.addWidget(self.start_field)

    def _build_field(self, field: FormField) -> None:
        special: dict[str, Callable[[FormField], None]] = {
            "target": self._build_target,
            "code_folder": self._build_code_folder,
            "boot": self._build_boot,
            "engine": self._build_engine,
            "engine_version": self._build_version,
            "flavor": self._build_flavor,
            "stop_after": self._build_stop,
        }
        if field.name in special:
            special[field.name](field)
        elif field.name in ROW_FIELDS:
            self._build_table(field)
        else:
            self._build_value(field, value_editor(field))
        if field.name in _PLACES:
            notes = self.notes[field.name] = RowNotesView(self._parts.places.take)
            self.fields[field.name].add_below(notes)

    def _build_value(self, field: FormField, editor: ValueEditor, *beside: QWidget) -> None:
        self._values[field.name] = editor
        editor.edited.connect(partial(self._form.set_field, field.name))
        if field.name == "log_to" and isinstance(editor, LineEditor):
            self._completes(editor)
        self._add(field, editor, *beside)

    def _build_table(self, field: FormField) -> None:
        table = table_editor(field, self._theme, self._completes)
        table.rows_edited.connect(partial(self._form.set_rows, field.name))
        table.pasted.connect(partial(self._form.paste_rows, field.name))
        self._tables[field.name] = table
        if field.kind is FieldKind.PARAMETERS:
            table.setToolTip(say("Paste a=1;b=2, a command line or JSON here"))
        self._add(field, table)
        if field.kind is FieldKind.PARAMETERS:
            self._build_script_parameters(field)

    def _build_script_parameters(self, field: FormField) -> None:
        notes = self.notes[field.name] = RowNotesView(self._parts.script.take)
        self.script = ScriptParametersView(self._theme)
        self.script.wanted.connect(self._add_parameter)
        self.fields[field.name].add_below(self.script)
        self.fields[field.name].add_below(notes)

    def _build_target(self, field: FormField) -> None:
        self.profile = self._box(field, self._form.choose_profile)

    def _build_code_folder(self, field: FormField) -> None:
        browse = tool_button("folder", say("Select the code directory"), self.folder_wanted)
        browse.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        editor = LineEditor(field, is_known_by_end=True)
        editor.setPlaceholderText(say("Drop a folder here"))
        self._build_value(field, editor, browse)
        self.code = ElidedButton()
        set_role(self.code, "link")
        self.code.hide()
        self.code.clicked.connect(self.code_wanted)
        self.fields[field.name].add_below(self.code)

    def _build_boot(self, field: FormField) -> None:
        self.boot = OpenEditor(say("e.g. {example}", example=field.example_words))
        self._build_value(field, self.boot)

    def _build_stop(self, field: FormField) -> None:
        self.stop_after = OpenEditor(say("4h, 2d or none"), *_STOP_AFTER)
        self._build_value(field, self.stop_after)

    def _build_engine(self, field: FormField) -> None:
        self.engine = self._box(field, partial(self._form.set_field, "engine"))

    def _build_version(self, field: FormField) -> None:
        self.version = self._picker(
            field, self._parts.choices.look_up(self._parts.choices.versions), self._parts.choices.take_version
        )
        self.fields[field.name].remedy_wanted.connect(self._form.take_nearest_engine)

    def _build_flavor(self, field: FormField) -> None:
        self.flavor = self._picker(
            field, self._parts.choices.look_up(self._parts.choices.flavors), partial(self._form.set_field, "flavor")
        )
        self.fields[field.name].remedy_wanted.connect(self._form.take_nearest_flavor)

    def _box(self, field: FormField, chosen: Callable[[str], None]) -> ChoiceBox:
        box = ChoiceBox()
        box.chosen.connect(chosen)
        self._add(field, box)
        return box

    def _picker(self, field: FormField, rows: Callable[..., list], chosen: Callable[[str], None]) -> ChoicePicker:  # type: ignore[type-arg]
        box = ChoicePicker(rows, self._theme, say(field.label))
        box.chosen.connect(chosen)
        box.refresh_wanted.connect(self._form.refresh_offer)
        self._add(field, box)
        return box

    def _add(self, field: FormField, editor: QWidget, *beside: QWidget) -> None:
        words, explanation = say(field.label), say(field.help)
        # What is called by more words than most has them above it.
        is_long = self.fontMetrics().horizontalAdvance(words) > self._label_width
        width = 0 if isinstance(editor, PairTable) or is_long else self._label_width
        made = self.fields[field.name] = Field(words, editor, *beside, label_width=width, explanation=explanation)
        if is_long and isinstance(editor, SwitchEditor):
            made.label.hide()  # a box says beside itself what it is for
            editor.setText(words)
        if not editor.toolTip():
            example = editor.placeholderText() if isinstance(editor, LineEditor) else ""
            editor.setToolTip("\n".join(part for part in (explanation, example) if part))
        if focus_guarded(editor):
            self._guard.watch(editor)
        self.column.addWidget(made)

    def _completes(self, line: QLineEdit) -> None:
        """A place is typed here: offer what it may become, and spell it our way in the end."""
        completion = PlaceCompletion(line)
        completion.typed.connect(self._parts.places.complete)
        completion.chosen.connect(partial(_write, line))
        self._parts.places.completed.connect(completion.offer)
        line.editingFinished.connect(self._form.settle_places)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._to_build:
            self._building.start()

    def _build_next(self) -> None:
        """What is folded away is built while nobody waits for it, a section at a time."""
        if not self._to_build:
            self._building.stop()
            self.show_state()
            self._on_places()
            return
        section, fields = self._to_build.pop(0)
        main, self.column = self.column, self.more.column
        self._build_section(section, fields)
        self.column = main

    def _on_more(self, wanted: bool) -> None:
        """Now somebody waits, unless it opened by itself."""
        if wanted and not self._opens_itself:
            self._build_all()

    def _build_all(self) -> None:
        while self._to_build:
            self._build_next()
            if not self._to_build:
                self._build_next()

    # showing

    def show_state(self) -> None:
        state = self._form.state
        spec = state.spec
        for name, editor in self._values.items():
            editor.show_value(getattr(spec, name))
        is_whole = not spec.code_folder or str(state.code_place) == spec.code_folder
        self.fields["code_folder"].show_note("" if is_whole else _parted(state.code_place))
        self.boot.offer(state.boot_files, spec.boot)
        self.start.offer([(say(kind.words), kind.value) for kind in StartKind], state.kind.value)
        if (is_shown := (state.kind, len(self.fields))) != self._shown_as:
            self._shown_as = is_shown
            self._show_fields(state)
        self._show_errors(state)
        if (locked := (state.template, state.locked, len(self.fields))) != self._locked_as:
            self._locked_as = locked
            self._show_locks(state)
        self._show_more(state)

    def _show_fields(self, state: FormState) -> None:
        shown = {name for name in self.fields if state.shows(name)}
        for name, field in self.fields.items():
            field.setVisible(name in shown)
        for head, names in self._heads:
            head.setVisible(not shown.isdisjoint(names))

    def _show_errors(self, state: FormState) -> None:
        errors, changed = state.errors, {change.field for change in state.changes}
        said = (errors, state.changes, state.rows, state.nearest_engine, state.nearest_flavor, len(self.fields))
        if said == self._said:
            return
        self._said = said
        for name, field in self.fields.items():
            words = [say(errors[name])] if name in errors else []
            if name in self._tables:
                of_rows = {key.partition(":")[2]: text for key, text in errors.items() if key.startswith(f"{name}:")}
                words += [f"{row or '–'}: {say(text)}" for row, text in of_rows.items()]
                others = frozenset(change.name for change in state.changes if change.field == name)
                self._tables[name].pairs.show(state.rows[name], of_rows, others)
            field.mark_wrong("\n".join(words))
            field.show_changed(name in changed)
        engine, flavor = state.nearest_engine, state.nearest_flavor
        self.fields["engine_version"].show_remedy(say("Use {name}", name=engine.version) if engine else "")
        self.fields["flavor"].show_remedy(
            say("Use {name}", name=self._parts.choices.flavor_words(flavor.id)) if flavor else ""
        )

    def _show_locks(self, state: FormState) -> None:
        words = say("Locked by the template “{name}”", name=state.template)
        for name, field in self.fields.items():
            field.lock(words if name in state.locked else "")

    def _show_more(self, state: FormState) -> None:
        """Opened once when something in it needs to be seen; whoever shuts it keeps it shut."""
        folded = [field.name for field in FIELDS if _is_folded(field) and state.shows(field.name)]
        is_filled = any(getattr(state.spec, name) != getattr(_USUAL, name) for name in folded)
        is_needed = is_filled or any(name.partition(":")[0] in folded for name in state.errors)
        if is_needed and not self._is_more_needed:
            self._is_more_needed = self._opens_itself = True
            self.more.unfold(True)
            self._opens_itself = False
        self._is_more_needed = is_needed

    def show_choices(self) -> None:
        state, choices = self._form.state, self._parts.choices
        spec, trouble, is_known = state.spec, state.offer_trouble, state.offer is not None
        chosen = (spec.engine, spec.engine_version, spec.flavor, spec.nodes, spec.target)
        shown = (state.offer, state.offer_is_old, trouble, state.profile, state.profiles, state.prices, chosen)
        if shown == self._chosen_of:
            return  # a letter typed elsewhere; hundreds of lines are not looked through for it
        self._chosen_of = shown
        wait = say("Loading…") if state.profile and not is_known and trouble is None else say("Select…")
        certain = is_known and not state.offer_is_old
        self.profile.offer(
            [(_profile_words(profile), profile.name) for profile in state.profiles],
            state.profile,
            is_known=True,
            placeholder=say("Select…"),
        )
        self.engine.offer([(name, name) for name in choices.engines()], spec.engine, is_known=certain, placeholder=wait)
        self.version.offer_rows(
            choices.versions(),
            spec.engine_version,
            forms=choices.version_forms(spec.engine_version),
            is_known=certain,
            placeholder=wait,
        )
        self.flavor.offer_rows(
            choices.flavors(),
            spec.flavor,
            forms=choices.flavor_forms(spec.flavor),
            is_known=certain,
            placeholder=wait,
        )
        age = say("As of {time}", time=moment_words(choices.taken)) if choices.taken is not None else ""
        unknowns = say(choices.unknowns) if choices.unknowns is not None else ""
        self.version.show_age(age)
        self.flavor.show_age(" ".join(part for part in (age, unknowns) if part))
        words = trouble.sentence() if trouble else ""
        if trouble is not None and choices.taken is not None:
            words = say("{trouble} The lists are those of {time}.", trouble=words, time=moment_words(choices.taken))
        self.offer.setText(words)
        self.offer.setVisible(trouble is not None)
        self.offer_again.setVisible(trouble is not None)

    def _on_code(self) -> None:
        summary = self._parts.code.summary
        self.code.setText(say(summary) if summary is not None else "")
        set_role(self.code, "link-bad" if self._parts.code.is_wrong else "link")
        self.code.setVisible(summary is not None)

    def _on_places(self) -> None:
        for name, view in self.notes.items():
            view.show_notes(self._parts.places.of(name))

    def _on_script(self) -> None:
        script = self._parts.script
        offers, found = script.offers(), script.state.found
        self.script.show_offers(script.state.boot, offers, is_whole=found is None or found.is_whole)
        notes = script.notes()
        self.notes[PARAMETERS].show_notes(script.below())
        arguments = [offer.argument for offer in offers]
        self._tables[PARAMETERS].pairs.advise(
            RowAdvice(
                tuple(offer.argument.name for offer in offers if not offer.is_set),
                {name: argument_words(one) for one in arguments for name in one.names},
                {name: one.values for one in arguments for name in one.names if one.values},
                {note.row: say(note.mark or note.words) for note in notes},
            )
        )

    def _add_parameter(self, argument: ScriptArgument) -> None:
        """Into the table, or to the row that it has."""
        self._parts.script.add(argument)
        self._tables[PARAMETERS].setFocus()
        self.go_to_row(PARAMETERS, argument.name)

    # where things are

    def field_at(self, name: str) -> Field | None:
        """Unfolded if it was not; `name` may have a row behind a colon."""
        bare = name.partition(":")[0]
        if bare not in self.fields:
            self._build_all()
        field = self.fields.get(bare)
        if field is not None and self.more.isAncestorOf(field):
            self.more.unfold(True)
        return field

    def place_at(self, widget: QWidget, point: QPoint) -> str | None:
        """The field at a point of `widget`, if the address of an object or a folder may stand there."""
        for name in _PLACES:
            field = self.fields.get(name)
            if field is not None and field.editor.isVisible():
                editor = field.editor
                if editor.rect().contains(editor.mapFrom(widget, point)):
                    return name
        return None

    def take_objects(self, name: str, widget: QWidget, point: QPoint, carried: Carried) -> None:
        if name not in self._tables:
            path = carried.paths[0]
            self._form.set_field(name, str(path if path.is_folder else path.parent))
            return
        table = self._tables[name]
        first = table.rowAt(table.viewport().mapFrom(widget, point).y())
        self._form.set_rows(name, with_places(table.pairs.rows, first, carried.paths))

    def go_to_row(self, name: str, row: str) -> None:
        """The row of a table that is meant, ready to be typed over."""
        table = self._tables.get(name)
        if table is None:
            return
        place = next((number for number, one in enumerate(table.pairs.rows) if one[0].strip() == row), None)
        if place is not None:
            table.setCurrentIndex(table.pairs.index(place, 1))


def _in(section: FormSection) -> list[FormField]:
    return [field for field in FIELDS if field.section is section]


def _write(line: QLineEdit, words: str) -> None:
    """As if it had been typed."""
    line.setText(words)
    line.setModified(True)
    line.textEdited.emit(words)


def _parted(place: Path) -> str:
    """Lines may end behind each folder."""
    return beginning(str(place)).replace(os.sep, f"{os.sep}\u200b")


def _profile_words(profile: Profile) -> str:
    if profile.is_lab:
        return say("The Lab (this computer)")
    return f"{profile.name} ({profile.region})"
