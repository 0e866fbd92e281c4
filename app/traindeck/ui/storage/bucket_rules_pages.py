"""What happens to objects as they grow old: a list of rules, and the chosen one to change."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from PySide6.QtWidgets import QCheckBox, QLineEdit, QPlainTextEdit, QWidget

from traindeck.domain.errors import AppError, KeysRefused
from traindeck.domain.jobs.form.parameter_text import rows_in
from traindeck.domain.storage.bucket_settings import (
    COLD,
    CORS_METHODS,
    MOST_CORS_RULES,
    MOST_RULES,
    OBS_TAGS,
    OPENS_TO_ALL,
    WARM,
    CorsRule,
    CorsSetting,
    LifecycleRule,
    LifecycleSetting,
    TagLimits,
    TagSetting,
    cors_line,
    cors_mistake,
    cors_opens_to_all,
    lifecycle_line,
    mistakes,
    tag_mistakes,
)
from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.cards import card, show_words
from traindeck.ui.kit.dialogs import agreed
from traindeck.ui.kit.fields import Field, guard_wheel
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.pair_table import PairTable
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import Days, boxed_row, help_label, number_box, one_line
from traindeck.ui.kit.rules import RulesPage
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.jobs.form.form_values import merged
from traindeck.viewmodels.ports import Rows
from traindeck.viewmodels.storage.buckets import BucketService, deleting_words

_MOST_COUNTED = 5


class BucketLifecyclePage(RulesPage[LifecycleRule]):
    """A rule that says more than the form can is shown and left alone."""

    icon = "clock"

    def __init__(self, service: BucketService, theme: Theme) -> None:
        empty = say("No rules. Objects are kept until they are deleted.")
        super().__init__(say("Lifecycle"), theme, say("Lifecycle rules"), empty, MOST_RULES, lifecycle_line)
        self._service = service
        self._kept = LifecycleSetting()
        self._dates_wrong: set[int] = set()
        self.is_enabled = QCheckBox(say("Enabled"))
        self.name, self.prefix = QLineEdit(), QLineEdit()
        self.name.setPlaceholderText(say("Generated if empty"))
        self.prefix.setPlaceholderText(say("leave empty for all objects; e.g. logs/"))
        self.expire = Days(say("Delete after (days)"), 30)
        self.on_date, self.date = QCheckBox(say("Delete on (date)")), QLineEdit()
        self.date.setPlaceholderText("2030-12-31")
        self.date.setAccessibleName(say("Date of deleting"))
        self.date.setFixedWidth(16 * SPACE)
        self.on_date.setMinimumWidth(self.expire.wanted.minimumWidth())
        self.warm, self.cold = (
            Days(say("Transition to Infrequent Access after (days)"), 30),
            Days(say("Transition to Archive after (days)"), 90),
        )
        self.old_expire = Days(say("Delete previous versions after (days)"), 30)
        self.old_warm = Days(say("Transition previous versions to Infrequent Access after (days)"), 30)
        self.old_cold = Days(say("Transition previous versions to Archive after (days)"), 90)
        self.abort = Days(say("Delete fragments after (days)"), 7)
        self._days = (self.warm, self.cold, self.expire, self.old_warm, self.old_cold, self.old_expire, self.abort)
        self.locked = help_label("")
        self._form = QWidget()
        guard_wheel(*(days.number for days in self._days))
        self.lay_out_rules(
            say("Rules are applied once a day. Objects deleted by a rule cannot be undeleted."), self._card()
        )
        self.follow(*(line.textEdited for line in (self.name, self.prefix, self.date)))
        self.follow(self.is_enabled.clicked, self.on_date.clicked, *(days.edited for days in self._days))

    def _card(self) -> QWidget:
        dated = boxed_row(self.on_date, self.date, one_line(say("at midnight UTC"), "dim"), 1)
        name, prefix = Field(say("Name"), self.name), Field(say("Name prefix"), self.prefix)
        column = column_of(self.is_enabled, name, prefix, inside=self._form, margins=0, spacing=SPACE)
        for heading, widgets in (
            (say("Current versions, from their last change"), (self.warm, self.cold, self.expire, dated)),
            (say("Previous versions, from their replacement"), (self.old_warm, self.old_cold, self.old_expire)),
            (say("Uploads"), (self.abort,)),
        ):
            column.addWidget(one_line(heading, "strong"))
            for widget in widgets:
                column.addWidget(widget)
        return card(say("Selected rule"), [self.locked, self._form, self.others, self.wrong])

    async def load(self) -> None:
        self._show(await self._service.ask(lambda settings, bucket: settings.lifecycle(bucket)))

    def _show(self, setting: LifecycleSetting, row: int = 0) -> None:
        self._kept = setting
        self._dates_wrong.clear()
        self.show_all(setting.rules, row)

    def mistakes(self) -> dict[int, str]:
        found = {at: say(wrong) for at, wrong in mistakes(self._rules, self._kept.rules).items()}
        return found | dict.fromkeys(self._dates_wrong, say("Enter the date as 2030-12-31."))

    def fresh(self) -> LifecycleRule:
        self.name.setFocus()
        is_tidied = any(rule.abort_days is not None for rule in self._rules)
        return LifecycleRule(abort_days=None if is_tidied else 7)

    def fill(self, rule: LifecycleRule) -> None:
        self._form.setVisible(not rule.is_locked)
        self.locked.setVisible(rule.is_locked)
        self.locked.setText(
            say(
                "This rule has settings that are not shown here ({names}). It is kept unchanged; edit it "
                "where it was created.",
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
        set_role(self.date, "invalid" if self.rules.row in self._dates_wrong else "")

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
        rules, seen = tuple(self._rules), self._kept.seen
        kept = await self._service.ask(lambda settings, bucket: settings.set_lifecycle(bucket, rules, seen))
        self._show(kept, self.rules.row)
        return True

    async def _is_meant(self, rules: list[LifecycleRule]) -> bool:
        facts = [await self._about(rule) for rule in rules[:_MOST_COUNTED]]
        facts += [lifecycle_line(rule) for rule in rules[_MOST_COUNTED:]]
        hint = "\n\n".join([*facts, say("Deleted objects cannot be undeleted.")])
        question, action = say("These rules delete objects by themselves."), say("Save rules that delete objects")
        return await agreed(self.window(), question, hint, action)

    async def _about(self, rule: LifecycleRule) -> str:
        """What the rule is about now; where nobody may list, at least what it says."""
        if rule.expire_days is None and rule.expire_date is None:
            return deleting_words(rule, None)
        try:
            return deleting_words(rule, await self._service.matching(rule))
        except KeysRefused:
            raise
        except AppError:
            return deleting_words(rule, None) + "\n" + say("Could not count the affected objects.")


def _moves(warm: Days, cold: Days) -> tuple[tuple[str, int], ...]:
    found = [(name, days) for name, days in ((WARM, warm.value()), (COLD, cold.value())) if days is not None]
    return tuple(sorted(found, key=lambda move: move[1]))


_PARTS = re.compile(r"[\s,;]+")
_NOT_SET = -1


class BucketCorsPage(RulesPage[CorsRule]):
    """What a form cannot show of a rule is named and stays."""

    icon = "globe"

    def __init__(self, service: BucketService, theme: Theme) -> None:
        empty = say("No rules. Pages of other sites cannot use the bucket.")
        super().__init__(say("CORS"), theme, say("CORS rules"), empty, MOST_CORS_RULES, cors_line)
        self._service = service
        self._kept = CorsSetting()
        self.origins, self.headers, self.exposed = QPlainTextEdit(), QLineEdit(), QLineEdit()
        self.origins.setPlaceholderText(say("One per line: https://example.com, https://*.example.com, or * for any"))
        self.origins.setTabChangesFocus(True)
        self.origins.setFixedHeight(8 * SPACE)
        self.headers.setPlaceholderText(say("e.g. * or content-type, x-obs-meta-*"))
        self.exposed.setPlaceholderText(say("e.g. ETag, x-obs-request-id"))
        self.methods = {name: QCheckBox(name) for name in CORS_METHODS}
        self.age = number_box(_NOT_SET, 2**31 - 1)
        self.age.setSpecialValueText(say("not set"))
        self.warning = help_label("", "warn")
        guard_wheel(self.age)
        ticks = QWidget()
        row_of(*self.methods.values(), 1, inside=ticks, margins=0, spacing=2 * SPACE)
        form = [
            Field(say("Allowed origins"), self.origins),
            Field(say("Allowed methods"), ticks),
            Field(say("Allowed headers"), self.headers),
            Field(say("Exposed headers"), self.exposed),
            Field(say("Cache time (s)"), self.age),
        ]
        intro = say("Browsers let pages of other sites use the bucket only where a rule allows it.")
        self.lay_out_rules(intro, card(say("Selected rule"), [*form, self.warning, self.others, self.wrong]))
        self.follow(self.origins.textChanged, self.headers.textEdited, self.exposed.textEdited, self.age.valueChanged)
        self.follow(*(box.clicked for box in self.methods.values()))

    async def load(self) -> None:
        self._show(await self._service.ask(lambda settings, bucket: settings.cors(bucket)))

    def _show(self, setting: CorsSetting, row: int = 0) -> None:
        self._kept = setting
        self.show_all(setting.rules, row)

    def mistakes(self) -> dict[int, str]:
        found = {at: cors_mistake(rule) for at, rule in enumerate(self._rules) if rule not in self._kept.rules}
        return {at: say(wrong) for at, wrong in found.items() if wrong is not None}

    def fresh(self) -> CorsRule:
        self.origins.setFocus()
        return CorsRule(methods=("GET", "HEAD"), headers=("*",), exposed=("ETag",))

    def fill(self, rule: CorsRule) -> None:
        self.origins.setPlainText("\n".join(rule.origins))
        for name, box in self.methods.items():
            box.setChecked(name in rule.methods)
        self.headers.setText(", ".join(rule.headers))
        self.exposed.setText(", ".join(rule.exposed))
        self.age.setValue(_NOT_SET if rule.max_age_s is None else rule.max_age_s)

    def say_more(self, rule: CorsRule) -> None:
        opens = say(OPENS_TO_ALL)
        show_words(self.warning, opens if cors_opens_to_all(rule) else "")

    def read(self, before: CorsRule) -> CorsRule:
        odd = [name for name in before.methods if name not in self.methods]
        now = replace(
            before,
            origins=_parts(self.origins.toPlainText()),
            methods=(*(name for name, box in self.methods.items() if box.isChecked()), *odd),
            headers=_parts(self.headers.text()),
            exposed=_parts(self.exposed.text()),
            max_age_s=None if self.age.value() == _NOT_SET else self.age.value(),
        )
        return before if _same(now, before) else now

    def has_changes(self) -> bool:
        if len(self._rules) != len(self._kept.rules):
            return True
        return not all(_same(now, kept) for now, kept in zip(self._rules, self._kept.rules, strict=True))

    async def save(self) -> bool:
        rules, seen = tuple(self._rules), self._kept.seen
        kept = await self._service.ask(lambda settings, bucket: settings.set_cors(bucket, rules, seen))
        self._show(kept, self.rules.row)
        return True


def _parts(words: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(words) if part)


def _same(one: CorsRule, other: CorsRule) -> bool:
    """The order of methods says nothing."""
    return replace(one, methods=tuple(sorted(one.methods))) == replace(other, methods=tuple(sorted(other.methods)))


class BucketTagsPage(PropertyPage):
    """Type to add, Delete to remove, paste lines of `name=value`."""

    icon = "tag"

    def __init__(self, service: BucketService, theme: Theme) -> None:
        super().__init__(say("Tags"))
        self._service = service
        self._kept = TagSetting()
        self._limits: TagLimits = OBS_TAGS
        self._rows: Rows = ()
        self.table = PairTable(theme, say("Tags"), say("Value"))
        self.limits = help_label("", "small")
        self.wrong = help_label("", "error")
        intro = say("Tags group buckets, e.g. by project or cost center, also on the bill.")
        self.lay_out(help_label(intro), self.table, self.wrong, self.limits, 1)
        self.table.rows_edited.connect(self._on_rows)
        self.table.pasted.connect(self._on_pasted)

    async def load(self) -> None:
        self._limits = await self._service.tag_limits()
        self._show(await self._service.ask(lambda settings, bucket: settings.tags(bucket)))

    def _show(self, setting: TagSetting) -> None:
        self._kept = setting
        self._rows = setting.tags
        self._say()

    def _on_rows(self, rows: Rows) -> None:
        # A row that was emptied is gone.
        self._rows = tuple(row for row in rows if row[0].strip() or row[1].strip())
        self._say()
        self.edited.emit()

    def _on_pasted(self, words: str) -> None:
        self._on_rows(merged(self._rows, rows_in(words)))

    def _tags(self) -> tuple[tuple[str, str], ...]:
        return tuple((row[0].strip(), row[1].strip()) for row in self._rows)

    def _say(self) -> None:
        mistakes = tag_mistakes(self._tags(), self._limits)
        self.table.pairs.show(self._rows, mistakes)
        show_words(self.wrong, "\n".join(say(wrong) for wrong in mistakes.values()))
        words = say_count(
            "{count} of at most {most} tags. A key has up to {key} characters, a value {value}.",
            "{count} of at most {most} tags. A key has up to {key} characters, a value {value}.",
            len(self._rows),
            most=self._limits.most,
            key=self._limits.key_length,
            value=self._limits.value_length,
        )
        self.limits.setText(words)

    def has_changes(self) -> bool:
        return self._tags() != self._kept.tags

    def problem(self) -> str:
        return next((say(wrong) for wrong in tag_mistakes(self._tags(), self._limits).values()), "")

    async def save(self) -> bool:
        tags, seen = self._tags(), self._kept.seen
        self._show(await self._service.ask(lambda settings, bucket: settings.set_tags(bucket, tags, seen)))
        return True
