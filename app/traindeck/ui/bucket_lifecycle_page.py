"""What happens to objects as they grow old: a list of rules, and the chosen one to change."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QWidget

from traindeck.domain.bucket_settings import COLD, WARM
from traindeck.domain.errors import AppError, KeysRefused
from traindeck.domain.lifecycle import MOST_RULES, LifecycleRule, LifecycleSetting, mistakes
from traindeck.domain.texts import say
from traindeck.ui.cards import card
from traindeck.ui.dialogs import Answer, asked
from traindeck.ui.form_fields import Field, WheelGuard
from traindeck.ui.page_parts import Days, one_line, page_column, told
from traindeck.ui.rules_page import RulesPage
from traindeck.ui.theme import SPACE, Theme, set_role
from traindeck.viewmodels.bucket_settings import BucketDesk
from traindeck.viewmodels.bucket_words import deleting_words, lifecycle_line

_MOST_COUNTED = 5


class BucketLifecyclePage(RulesPage[LifecycleRule]):
    """A rule that says more than the form can is shown and left alone."""

    icon = "clock"

    def __init__(self, desk: BucketDesk, theme: Theme) -> None:
        empty = say("No rules: objects stay until somebody deletes them.")
        super().__init__(theme, say("Lifecycle rules"), empty, MOST_RULES)
        self.title = say("Lifecycle")
        self._desk = desk
        self._kept = LifecycleSetting()
        self._dates_wrong: set[int] = set()
        self.is_enabled = QCheckBox(say("In force"))
        self.name, self.prefix = QLineEdit(), QLineEdit()
        self.name.setPlaceholderText(say("the service finds one"))
        self.prefix.setPlaceholderText(say("empty: all objects; for example logs/"))
        self.expire = Days(say("Delete after"), 30)
        self.on_date, self.date = QCheckBox(say("Delete on")), QLineEdit()
        self.date.setPlaceholderText("2030-12-31")
        self.date.setAccessibleName(say("Date of deleting"))
        self.date.setFixedWidth(16 * SPACE)
        self.on_date.setMinimumWidth(self.expire.wanted.minimumWidth())
        self.warm, self.cold = Days(say("Move to WARM after"), 30), Days(say("Move to COLD after"), 90)
        self.old_expire = Days(say("Delete old versions after"), 30)
        self.old_warm = Days(say("Move old versions to WARM after"), 30)
        self.old_cold = Days(say("Move old versions to COLD after"), 90)
        self.abort = Days(say("End unfinished uploads after"), 7)
        self._days = (self.warm, self.cold, self.expire, self.old_warm, self.old_cold, self.old_expire, self.abort)
        self.locked = told("")
        self._form = QWidget()
        self._guard = WheelGuard()
        self._guard.watch(*(days.number for days in self._days))
        self.lay_out(say("The service looks once a day; what a rule deletes cannot be brought back."), self._card())
        self._connect()

    def _card(self) -> QWidget:
        dated = QWidget()
        row = QHBoxLayout(dated)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE)
        row.addWidget(self.on_date)
        row.addWidget(self.date)
        row.addWidget(one_line(say("at midnight UTC"), "dim"))
        row.addStretch(1)
        column = page_column(self._form)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE)
        column.addWidget(self.is_enabled)
        column.addWidget(Field(say("Name"), self.name))
        column.addWidget(Field(say("Objects whose names begin with"), self.prefix))
        for heading, widgets in (
            (say("Objects, counted from their last change"), (self.warm, self.cold, self.expire, dated)),
            (say("Old versions, counted from their replacement"), (self.old_warm, self.old_cold, self.old_expire)),
            (say("Uploads"), (self.abort,)),
        ):
            column.addWidget(one_line(heading, "strong"))
            for widget in widgets:
                column.addWidget(widget)
        return card(say("Chosen rule"), [self.locked, self._form, self.others, self.wrong])

    def _connect(self) -> None:
        for line in (self.name, self.prefix, self.date):
            line.textEdited.connect(self.on_typed)
        for box in (self.is_enabled, self.on_date):
            box.clicked.connect(self.on_typed)
        for days in self._days:
            days.edited.connect(self.on_typed)

    async def load(self) -> None:
        self._show(await self._desk.lifecycle())

    def _show(self, setting: LifecycleSetting, row: int = 0) -> None:
        self._kept = setting
        self._dates_wrong.clear()
        self.show_all(setting.rules, row)

    def line(self, rule: LifecycleRule) -> str:
        return lifecycle_line(rule)

    def mistakes(self) -> dict[int, str]:
        found = {at: say(wrong) for at, wrong in mistakes(self._rules, self._kept.rules).items()}
        return found | dict.fromkeys(self._dates_wrong, say("Write the date as 2030-12-31."))

    def fresh(self) -> LifecycleRule:
        self.name.setFocus()
        is_tidied = any(rule.abort_days is not None for rule in self._rules)
        return LifecycleRule(abort_days=None if is_tidied else 7)

    def fill(self, rule: LifecycleRule) -> None:
        self._form.setVisible(not rule.is_locked)
        self.locked.setVisible(rule.is_locked)
        self.locked.setText(
            say(
                "This rule says more than a form can show ({names}). It stays as it is; change it where it was made.",
                names=", ".join(rule.others),
            )
        )
        self.is_enabled.setChecked(rule.is_enabled)
        self.name.setText(rule.id)
        self.prefix.setText(rule.prefix)
        self.on_date.setChecked(rule.expire_date is not None)
        self.date.setText(rule.expire_date.isoformat() if rule.expire_date else "")
        moves, old_moves = dict(rule.moves), dict(rule.old_moves)
        values = (moves.get(WARM), moves.get(COLD), rule.expire_days, old_moves.get(WARM), old_moves.get(COLD))
        for days, value in zip(self._days, (*values, rule.old_expire_days, rule.abort_days), strict=True):
            days.show_value(value)

    def say_more(self, rule: LifecycleRule) -> None:
        if rule.is_locked:
            self.others.hide()  # said already
        self.date.setEnabled(self.on_date.isChecked())
        is_bad = self.rules.row in self._dates_wrong
        if (self.date.property("role") == "invalid") != is_bad:
            set_role(self.date, "invalid" if is_bad else "")

    def read(self, before: LifecycleRule) -> LifecycleRule:
        return replace(
            before,
            id=self.name.text().strip(),
            prefix=self.prefix.text(),
            is_enabled=self.is_enabled.isChecked(),
            expire_days=self.expire.value(),
            expire_date=self._date(before.expire_date),
            moves=_moves(self.warm, self.cold),
            old_expire_days=self.old_expire.value(),
            old_moves=_moves(self.old_warm, self.old_cold),
            abort_days=self.abort.value(),
        )

    def _date(self, before: date | None) -> date | None:
        self._dates_wrong.discard(self.rules.row)
        if not self.on_date.isChecked():
            return None
        try:
            return date.fromisoformat(self.date.text().strip())
        except ValueError:
            self._dates_wrong.add(self.rules.row)
            return before

    def forget(self, row: int) -> None:
        self._dates_wrong = {at - (at > row) for at in self._dates_wrong if at != row}

    def has_changes(self) -> bool:
        return tuple(self._rules) != self._kept.rules or bool(self._dates_wrong)

    async def save(self) -> bool:
        new = [rule for rule in self._rules if rule.deletes and not rule.is_locked and rule not in self._kept.rules]
        if new and not await self._is_meant(new):
            return False
        self._show(await self._desk.set_lifecycle(tuple(self._rules), self._kept.seen), self.rules.row)
        return True

    async def _is_meant(self, rules: list[LifecycleRule]) -> bool:
        facts = [await self._about(rule) for rule in rules[:_MOST_COUNTED]]
        facts += [lifecycle_line(rule) for rule in rules[_MOST_COUNTED:]]
        answer = Answer("save", say("Save rules that delete"), "danger")
        hint = "\n\n".join([*facts, say("What is deleted cannot be brought back.")])
        return await asked(self.window(), say("These rules delete objects by themselves."), hint, answer) == answer.id

    async def _about(self, rule: LifecycleRule) -> str:
        """What the rule is about now; where nobody may list, at least what it says."""
        if rule.expire_days is None and rule.expire_date is None:
            return deleting_words(rule, None)
        try:
            return deleting_words(rule, await self._desk.matching(rule))
        except KeysRefused:
            raise
        except AppError:
            return deleting_words(rule, None) + "\n" + say("How many objects that are could not be found out.")


def _moves(warm: Days, cold: Days) -> tuple[tuple[str, int], ...]:
    found = [(name, days) for name, days in ((WARM, warm.value()), (COLD, cold.value())) if days is not None]
    return tuple(sorted(found, key=lambda move: move[1]))
