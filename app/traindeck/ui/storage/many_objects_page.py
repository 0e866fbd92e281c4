"""Many objects: how much they are, and changing them all in the background."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QProgressBar, QPushButton, QWidget

from traindeck.domain.errors import AppError
from traindeck.domain.storage.buckets import BulkReport
from traindeck.domain.storage.object_facts import (
    CLASSES,
    FROZEN_CLASSES,
    HeadChange,
    RestoreSpeed,
    class_words,
    metadata_problem,
    tally_rows,
)
from traindeck.domain.storage.objects import count_words
from traindeck.domain.texts import Text, say, text
from traindeck.ui.kit.cards import Facts, card, plain
from traindeck.ui.kit.fields import ChoiceBox, Field, WheelGuard
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.rules import PairsCard
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.ui.storage.object_versions import RestoreCard
from traindeck.viewmodels.ports import Confirm, Tasks
from traindeck.viewmodels.storage.object_sheet import ManyObjects

_PAUSE_MS = 100
_UNCHANGED = ""
_FAILURES_LINES = 6


class ManySummaryPage(PropertyPage):
    """Counts what was chosen, down to the last folder."""

    icon = "info"
    is_form = False

    def __init__(self, many: ManyObjects) -> None:
        super().__init__()
        self.title = say("Summary")
        self._many = many
        self.facts = Facts()
        self.words = plain("dim")
        self.stop = QPushButton(say("Stop"))
        self.stop.setAutoDefault(False)
        self.stop.clicked.connect(many.stop_counting)
        column_of(
            card(say("All that was chosen, with everything below"), [self.facts]),
            self.words,
            (self.stop, 0, Qt.AlignmentFlag.AlignLeft),
            1,
            inside=self,
            margins=2 * SPACE,
            spacing=SPACE,
        )
        self._later = _soon(self, self.refresh)
        many.changed.connect(self._on_changed)
        self.destroyed.connect(many.stop_counting)
        self.refresh()

    async def load(self) -> None:
        self._many.count()

    def refresh(self) -> None:
        state = self._many.state
        if state.tally is not None:
            self.facts.show_facts(tally_rows(state.tally))
        words = say("Counting…") if state.is_counting else ""
        self.words.setText(state.count_trouble.sentence() if state.count_trouble else words)
        role = "error" if state.count_trouble else "dim"
        if self.words.property("role") != role:
            set_role(self.words, role)
        self.words.setVisible(bool(self.words.text()))
        self.stop.setVisible(state.is_counting)

    def _on_changed(self) -> None:
        if not self._later.isActive():
            self._later.start()


class BulkProgress(QWidget):
    """How far the work is, what failed, and a way to stop it."""

    def __init__(self, many: ManyObjects) -> None:
        super().__init__()
        self._many = many
        self.words = plain("")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(say("Progress"))
        self.stop = QPushButton(say("Stop"))
        self.copy = QPushButton(say("Copy the list"))
        self.failures = QPlainTextEdit()
        self.failures.setReadOnly(True)
        self.failures.setAccessibleName(say("What failed"))
        self.failures.setFixedHeight(_FAILURES_LINES * self.failures.fontMetrics().lineSpacing() + 2 * SPACE)
        for button in (self.stop, self.copy):
            button.setAutoDefault(False)
        buttons = row_of(self.stop, self.copy, 1, spacing=SPACE)
        column_of(self.words, self.bar, self.failures, buttons, inside=self, margins=0, spacing=SPACE)
        self._later = _soon(self, self.refresh)
        self.stop.clicked.connect(many.stop)
        self.copy.clicked.connect(self._copy)
        many.changed.connect(self._on_changed)
        self.refresh()

    def refresh(self) -> None:
        state = self._many.state
        report = state.report
        self.setVisible(report is not None or state.trouble is not None)
        if state.trouble is not None:
            self.words.setText(state.trouble.sentence())
        elif report is not None:
            ending = say(state.ending) if state.ending else ""
            self.words.setText(f"{ending} {_report_words(report)}".strip())
        role = "error" if state.trouble is not None else ""
        if self.words.property("role") != role:
            set_role(self.words, role)
        total = state.tally.objects if state.tally and not state.is_counting else 0
        self.bar.setVisible(state.is_changing)
        self.bar.setRange(0, total)
        self.bar.setValue(min(report.seen, total) if report else 0)
        self.stop.setVisible(state.is_changing)
        failed = report.failures if report else ()
        self.failures.setVisible(bool(failed))
        self.copy.setVisible(bool(failed))
        lines = "\n".join(_failure_words(str(path), error) for path, error in failed)
        if self.failures.toPlainText() != lines:
            self.failures.setPlainText(lines)

    def _on_changed(self) -> None:
        if not self._later.isActive():
            self._later.start()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.failures.toPlainText())


class ManyChangesPage(PropertyPage):
    """Says once what is to become of all of them."""

    icon = "form"
    is_form = False

    def __init__(self, many: ManyObjects, theme: Theme, scope: Tasks, confirm: Confirm) -> None:
        super().__init__()
        self.title = say("Change all")
        self._many = many
        self._scope = scope
        self._confirm = confirm
        self.classes = ChoiceBox()
        self._guard = WheelGuard(self)
        self._guard.watch(self.classes)
        choices = [(say("As they are"), _UNCHANGED), *((class_words(name), name) for name in CLASSES)]
        self.classes.offer(choices, _UNCHANGED, is_known=True, placeholder="")
        self.classes.setCurrentIndex(0)
        self.class_field = Field(say("Storage class"), self.classes)
        self.metadata = PairsCard(
            say("Metadata to add or replace"),
            say("Value"),
            say("What an object has of other names stays as it is."),
            metadata_problem,
            theme,
        )
        self.without = QLineEdit()
        self.without_field = Field(say("Names to take away, with commas between them"), self.without)
        self.apply = QPushButton(say("Change all…"))
        set_role(self.apply, "primary")
        self.apply.setAutoDefault(False)
        self.restoring = RestoreCard()
        self.restoring.state.setText(say("Those that are archived are restored, the others left alone."))
        self.progress = BulkProgress(many)
        layout = column_of(
            self.progress,
            card(say("Storage class"), [self.class_field]),
            self.metadata,
            card(say("Metadata to take away"), [self.without_field]),
            inside=self,
            margins=2 * SPACE,
            spacing=SPACE + SPACE // 2,
        )
        row = row_of(self.apply, 1)
        layout.addLayout(row)
        layout.addWidget(self.restoring)
        layout.addStretch(1)
        self.class_field.label.hide()
        self.classes.chosen.connect(self._on_edited)
        self.metadata.edited.connect(self._on_edited)
        self.without.textEdited.connect(self._on_edited)
        self.apply.clicked.connect(self._on_apply)
        self.restoring.wanted.connect(self._on_restore)
        many.changed.connect(self._on_many)
        many.is_seen = True
        self.destroyed.connect(partial(setattr, many, "is_seen", False))
        self._on_edited()

    def wanted(self) -> HeadChange:
        return HeadChange(
            metadata=self.metadata.values,
            without=frozenset(filter(None, (name.strip() for name in self.without.text().split(",")))),
            storage_class=str(self.classes.currentData() or ""),
        )

    def _on_edited(self) -> None:
        wanted = self.wanted()
        wrong = next(filter(None, (metadata_problem(name, "") for name in sorted(wanted.without))), None)
        self.without_field.show_error(say(wrong) if wrong else "")
        has_problem = self.metadata.problem is not None or wrong is not None
        is_frozen = wanted.storage_class in FROZEN_CLASSES
        self.class_field.show_note(
            say("They cannot be read any more until they are restored; taking them out early costs extra.")
            if is_frozen
            else ""
        )
        self.apply.setEnabled(not wanted.is_empty and not has_problem and not self._many.state.is_changing)

    def _on_many(self) -> None:
        is_changing = self._many.state.is_changing
        if self.restoring.isEnabled() == is_changing:
            self.restoring.setEnabled(not is_changing)
            self._on_edited()

    def _on_apply(self) -> None:
        wanted = self.wanted()

        async def ask() -> None:
            if await self._confirm(self._question(), text("Change all")):
                self._many.change(wanted)

        self._scope.start(f"change many {id(self)}", ask)

    def _on_restore(self, days: int, speed: RestoreSpeed) -> None:
        async def ask() -> None:
            question = text("Restore all that is archived among them? Each is paid for.")
            if await self._confirm(question, text("Restore")):
                self._many.restore(days, speed)

        self._scope.start(f"change many {id(self)}", ask)

    def _question(self) -> Text:
        tally = self._many.state.tally
        if tally is None or self._many.state.is_counting:
            return text("Change all that was chosen, with everything below?")
        return text("Change {count} objects?", count=count_words(tally.objects))


def _soon(owner: QObject, act: Callable[[], None]) -> QTimer:
    """Many changes in a row are shown once."""
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(_PAUSE_MS)
    timer.timeout.connect(act)
    return timer


def _failure_words(path: str, error: AppError) -> str:
    words = error.sentence()
    return words if path in words else f"{path}: {words}"


def _report_words(report: BulkReport) -> str:
    return say(
        "Changed: {changed}. As wanted already: {alone}. Failed: {failed}.",
        changed=count_words(report.changed),
        alone=count_words(report.left_alone),
        failed=count_words(report.failed),
    )
