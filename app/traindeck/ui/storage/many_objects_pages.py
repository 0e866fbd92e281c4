"""The pages of many objects at once: what they come to, and what is to become of all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QProgressBar, QWidget

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
from traindeck.domain.texts import Text, count_text, say, text
from traindeck.ui.kit.cards import Facts, card, plain, push_button, show_words
from traindeck.ui.kit.fields import ChoiceBox, Field, guard_wheel
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import Soon
from traindeck.ui.kit.rules import PairsCard
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.ui.storage.object_versions import RestoreCard
from traindeck.viewmodels.ports import Confirm, Tasks
from traindeck.viewmodels.storage.object_sheet import ManyObjects

_UNCHANGED = ""
_FAILURES_LINES = 6


class ManySummaryPage(PropertyPage):
    """Counts what was chosen, down to the last folder."""

    icon = "info"
    is_form = False

    def __init__(self, many: ManyObjects) -> None:
        super().__init__(say("Summary"))
        self._many = many
        self.facts = Facts()
        self.words = plain("dim")
        self.stop = push_button(say("Stop"), many.stop_counting)
        facts = card(say("Everything selected, including subfolders"), [self.facts])
        self.lay_out(facts, self.words, (self.stop, 0, Qt.AlignmentFlag.AlignLeft), 1, spacing=SPACE)
        many.changed.connect(Soon(self, self.refresh).ask)
        self.destroyed.connect(many.stop_counting)
        self.refresh()

    async def load(self) -> None:
        self._many.count()

    def refresh(self) -> None:
        state = self._many.state
        if state.tally is not None:
            self.facts.show_facts(tally_rows(state.tally))
        words = say("Counting…") if state.is_counting else ""
        show_words(self.words, state.count_trouble.sentence() if state.count_trouble else words)
        set_role(self.words, "error" if state.count_trouble else "dim")
        self.stop.setVisible(state.is_counting)


class BulkProgress(QWidget):
    """How far the work is, what failed, and a way to stop it."""

    def __init__(self, many: ManyObjects) -> None:
        super().__init__()
        self._many = many
        self.words = plain("")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(say("Progress"))
        self.stop = push_button(say("Stop"), many.stop)
        self.copy = push_button(say("Copy the list"), self._copy)
        self.failures = QPlainTextEdit()
        self.failures.setReadOnly(True)
        self.failures.setAccessibleName(say("Failures"))
        self.failures.setFixedHeight(_FAILURES_LINES * self.failures.fontMetrics().lineSpacing() + 2 * SPACE)
        buttons = row_of(self.stop, self.copy, 1, spacing=SPACE)
        column_of(self.words, self.bar, self.failures, buttons, inside=self, margins=0, spacing=SPACE)
        many.changed.connect(Soon(self, self.refresh).ask)
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
        set_role(self.words, "error" if state.trouble is not None else "")
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

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.failures.toPlainText())


class ManyChangesPage(PropertyPage):
    """Says once what is to become of all of them."""

    icon = "form"
    is_form = False

    def __init__(self, many: ManyObjects, theme: Theme, scope: Tasks, confirm: Confirm) -> None:
        super().__init__(say("Change all"))
        self._many = many
        self._scope = scope
        self._confirm = confirm
        self.classes = ChoiceBox()
        guard_wheel(self.classes)
        choices = [(say("Unchanged"), _UNCHANGED), *((class_words(name), name) for name in CLASSES)]
        self.classes.offer(choices, _UNCHANGED)
        self.classes.setCurrentIndex(0)
        self.class_field = Field(say("Storage class"), self.classes)
        hint = say("Other metadata of the objects is kept.")
        self.metadata = PairsCard(say("Metadata to add or replace"), say("Value"), hint, metadata_problem, theme)
        self.without = QLineEdit()
        self.without_field = Field(say("Names to remove, separated by commas"), self.without)
        self.apply = push_button(say("Change all…"), self._on_apply, "primary")
        self.restoring = RestoreCard()
        self.restoring.state.setText(say("Archived objects are restored, others are kept unchanged."))
        self.progress = BulkProgress(many)
        self.lay_out(
            self.progress,
            card(say("Storage class"), [self.class_field]),
            self.metadata,
            card(say("Metadata to remove"), [self.without_field]),
            row_of(self.apply, 1),
            self.restoring,
            1,
        )
        self.class_field.label.hide()
        self.classes.chosen.connect(self._on_edited)
        self.metadata.edited.connect(self._on_edited)
        self.without.textEdited.connect(self._on_edited)
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
        frozen = say("They cannot be read until they are restored. Early deletion is charged extra.")
        self.class_field.show_note(frozen if wanted.storage_class in FROZEN_CLASSES else "")
        self.apply.setEnabled(not wanted.is_empty and not has_problem and not self._many.state.is_changing)

    def _on_many(self) -> None:
        is_changing = self._many.state.is_changing
        if self.restoring.isEnabled() == is_changing:
            self.restoring.setEnabled(not is_changing)
            self._on_edited()

    def _on_apply(self) -> None:
        tally = self._many.state.tally
        question = text("Change everything selected, including subfolders?")
        if tally is not None and not self._many.state.is_counting:
            question = count_text("Change {count} object?", "Change {count} objects?", tally.objects)
        self._ask(question, text("Change all"), partial(self._many.change, self.wanted()))

    def _on_restore(self, days: int, speed: RestoreSpeed) -> None:
        question = text("Restore all archived objects among them? Each is charged.")
        self._ask(question, text("Restore"), partial(self._many.restore, days, speed))

    def _ask(self, question: Text, action: Text, act: Callable[[], None]) -> None:
        async def ask() -> None:
            if await self._confirm(question, action):
                act()

        self._scope.start(f"change many {id(self)}", ask)


def _failure_words(path: str, error: AppError) -> str:
    words = error.sentence()
    return words if path in words else say("{where}: {problem}", where=path, problem=words)


def _report_words(report: BulkReport) -> str:
    return say(
        "Changed: {changed}. Unchanged: {alone}. Failed: {failed}.",
        changed=count_words(report.changed),
        alone=count_words(report.left_alone),
        failed=count_words(report.failed),
    )
