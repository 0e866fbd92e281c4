"""Which web pages may use a bucket: a list of rules, and the chosen one to change."""

from __future__ import annotations

import re
from dataclasses import replace

from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QPlainTextEdit, QWidget

from traindeck.domain.bucket_settings import (
    CORS_METHODS,
    MOST_CORS_RULES,
    CorsRule,
    CorsSetting,
    cors_mistake,
    cors_opens_to_all,
)
from traindeck.domain.texts import say
from traindeck.ui.cards import card
from traindeck.ui.form_fields import Field, WheelGuard
from traindeck.ui.page_parts import number_box, page_column, told
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.rule_list import RuleList
from traindeck.ui.theme import SPACE, Theme
from traindeck.viewmodels.bucket_settings import BucketDesk
from traindeck.viewmodels.bucket_words import cors_line

_PARTS = re.compile(r"[\s,;]+")
_NOT_SET = -1


class BucketCorsPage(PropertyPage):
    """What a form cannot show of a rule is named and stays."""

    icon = "globe"

    def __init__(self, desk: BucketDesk, theme: Theme) -> None:
        super().__init__()
        self.title = say("CORS")
        self._desk = desk
        self._kept = CorsSetting()
        self._rules: list[CorsRule] = []
        self._is_showing = False
        self.rules = RuleList(theme, say("CORS rules"), say("No rules: no page of another site can use the bucket."))
        self.origins, self.headers, self.exposed = QPlainTextEdit(), QLineEdit(), QLineEdit()
        self.origins.setPlaceholderText(say("One a line: https://example.com, https://*.example.com, or * for any"))
        self.origins.setTabChangesFocus(True)
        self.origins.setFixedHeight(8 * SPACE)
        self.headers.setPlaceholderText(say("for example * or content-type, x-obs-meta-*"))
        self.exposed.setPlaceholderText(say("for example ETag, x-obs-request-id"))
        self.methods = {name: QCheckBox(name) for name in CORS_METHODS}
        self.age = number_box(_NOT_SET, 2**31 - 1)
        self.age.setSpecialValueText(say("not set"))
        self.wrong, self.warning, self.others = told("", "error"), told("", "warn"), told("", "small")
        self._guard = WheelGuard()
        self._guard.watch(self.age)
        self._detail = self._lay_out()
        self._connect()

    def _lay_out(self) -> QWidget:
        ticks = QWidget()
        row = QHBoxLayout(ticks)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2 * SPACE)
        for box in self.methods.values():
            row.addWidget(box)
        row.addStretch(1)
        detail = card(
            say("Chosen rule"),
            [
                Field(say("Origins: the sites whose pages may"), self.origins),
                Field(say("Methods"), ticks),
                Field(say("Headers a page may send"), self.headers),
                Field(say("Headers a page may read"), self.exposed),
                Field(say("A browser may remember the answer for so many seconds"), self.age),
                self.warning,
                self.others,
                self.wrong,
            ],
        )
        column = page_column(self)
        column.addWidget(told(say("Browsers let pages of other sites use the bucket only where a rule allows it.")))
        column.addWidget(self.rules)
        column.addWidget(detail)
        column.addStretch(1)
        return detail

    def _connect(self) -> None:
        self.rules.picked.connect(self._show_rule)
        self.rules.add_wanted.connect(self._add)
        self.rules.remove_wanted.connect(self._remove)
        self.origins.textChanged.connect(self._on_typed)
        for line in (self.headers, self.exposed):
            line.textEdited.connect(self._on_typed)
        for box in self.methods.values():
            box.clicked.connect(self._on_typed)
        self.age.valueChanged.connect(self._on_typed)

    async def load(self) -> None:
        self._show(await self._desk.cors())

    def _show(self, setting: CorsSetting, row: int = 0) -> None:
        self._kept = setting
        self._rules = list(setting.rules)
        self._refresh(row)

    def _refresh(self, row: int | None = None) -> None:
        wrong = self._mistakes()
        self.rules.show_rules([cors_line(rule) for rule in self._rules], wrong, row)
        self.rules.add.setEnabled(len(self._rules) < MOST_CORS_RULES)
        self._say()

    def _mistakes(self) -> dict[int, str]:
        found = {at: cors_mistake(rule) for at, rule in enumerate(self._rules) if rule not in self._kept.rules}
        return {at: say(wrong) for at, wrong in found.items() if wrong is not None}

    def _show_rule(self, row: int) -> None:
        self._detail.setVisible(row >= 0)
        if row < 0:
            return
        rule = self._rules[row]
        self._is_showing = True
        self.origins.setPlainText("\n".join(rule.origins))
        for name, box in self.methods.items():
            box.setChecked(name in rule.methods)
        self.headers.setText(", ".join(rule.headers))
        self.exposed.setText(", ".join(rule.exposed))
        self.age.setValue(_NOT_SET if rule.max_age_s is None else rule.max_age_s)
        self._is_showing = False
        self._say()

    def _say(self) -> None:
        row = self.rules.row
        rule = self._rules[row] if 0 <= row < len(self._rules) else CorsRule()
        wrong = self._mistakes().get(row, "")
        opens = say("Pages of any site may then change the bucket with the rights that they carry, for example a link.")
        for label, words in (
            (self.wrong, wrong),
            (self.warning, opens if cors_opens_to_all(rule) else ""),
            (self.others, say("Stays as it is: {names}", names=", ".join(rule.others)) if rule.others else ""),
        ):
            label.setText(words)
            label.setVisible(bool(words))

    def _on_typed(self, *_: object) -> None:
        row = self.rules.row
        if self._is_showing or not 0 <= row < len(self._rules):
            return
        before = self._rules[row]
        odd = [name for name in before.methods if name not in self.methods]
        self._rules[row] = replace(
            before,
            origins=_parts(self.origins.toPlainText()),
            methods=(*(name for name, box in self.methods.items() if box.isChecked()), *odd),
            headers=_parts(self.headers.text()),
            exposed=_parts(self.exposed.text()),
            max_age_s=None if self.age.value() == _NOT_SET else self.age.value(),
        )
        if _same(self._rules[row], before):
            self._rules[row] = before
        self._refresh()
        self.edited.emit()

    def _add(self) -> None:
        self._rules.append(CorsRule(methods=("GET", "HEAD"), headers=("*",), exposed=("ETag",)))
        self._refresh(len(self._rules) - 1)
        self.origins.setFocus()
        self.edited.emit()

    def _remove(self, row: int) -> None:
        del self._rules[row]
        self._refresh(min(row, len(self._rules) - 1))
        self.edited.emit()

    def has_changes(self) -> bool:
        return tuple(self._rules) != self._kept.rules

    def problem(self) -> str:
        return next(iter(self._mistakes().values()), "")

    async def save(self) -> bool:
        self._show(await self._desk.set_cors(tuple(self._rules), self._kept.seen), self.rules.row)
        return True


def _parts(words: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(words) if part)


def _same(one: CorsRule, other: CorsRule) -> bool:
    """The order of methods says nothing."""
    return replace(one, methods=tuple(sorted(one.methods))) == replace(other, methods=tuple(sorted(other.methods)))
