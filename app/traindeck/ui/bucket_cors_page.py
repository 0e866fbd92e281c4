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
from traindeck.ui.page_parts import number_box, told
from traindeck.ui.rules_page import RulesPage, show_words
from traindeck.ui.theme import SPACE, Theme
from traindeck.viewmodels.bucket_settings import BucketDesk
from traindeck.viewmodels.bucket_words import cors_line

_PARTS = re.compile(r"[\s,;]+")
_NOT_SET = -1


class BucketCorsPage(RulesPage[CorsRule]):
    """What a form cannot show of a rule is named and stays."""

    icon = "globe"

    def __init__(self, desk: BucketDesk, theme: Theme) -> None:
        empty = say("No rules: no page of another site can use the bucket.")
        super().__init__(theme, say("CORS rules"), empty, MOST_CORS_RULES)
        self.title = say("CORS")
        self._desk = desk
        self._kept = CorsSetting()
        self.origins, self.headers, self.exposed = QPlainTextEdit(), QLineEdit(), QLineEdit()
        self.origins.setPlaceholderText(say("One a line: https://example.com, https://*.example.com, or * for any"))
        self.origins.setTabChangesFocus(True)
        self.origins.setFixedHeight(8 * SPACE)
        self.headers.setPlaceholderText(say("for example * or content-type, x-obs-meta-*"))
        self.exposed.setPlaceholderText(say("for example ETag, x-obs-request-id"))
        self.methods = {name: QCheckBox(name) for name in CORS_METHODS}
        self.age = number_box(_NOT_SET, 2**31 - 1)
        self.age.setSpecialValueText(say("not set"))
        self.warning = told("", "warn")
        self._guard = WheelGuard()
        self._guard.watch(self.age)
        self.lay_out(say("Browsers let pages of other sites use the bucket only where a rule allows it."), self._form())
        self._connect()

    def _form(self) -> QWidget:
        ticks = QWidget()
        row = QHBoxLayout(ticks)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2 * SPACE)
        for box in self.methods.values():
            row.addWidget(box)
        row.addStretch(1)
        return card(
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

    def _connect(self) -> None:
        self.origins.textChanged.connect(self.on_typed)
        for line in (self.headers, self.exposed):
            line.textEdited.connect(self.on_typed)
        for box in self.methods.values():
            box.clicked.connect(self.on_typed)
        self.age.valueChanged.connect(self.on_typed)

    async def load(self) -> None:
        self._show(await self._desk.cors())

    def _show(self, setting: CorsSetting, row: int = 0) -> None:
        self._kept = setting
        self.show_all(setting.rules, row)

    def line(self, rule: CorsRule) -> str:
        return cors_line(rule)

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
        opens = say("Pages of any site may then change the bucket with the rights that they carry, for example a link.")
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
        self._show(await self._desk.set_cors(tuple(self._rules), self._kept.seen), self.rules.row)
        return True


def _parts(words: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(words) if part)


def _same(one: CorsRule, other: CorsRule) -> bool:
    """The order of methods says nothing."""
    return replace(one, methods=tuple(sorted(one.methods))) == replace(other, methods=tuple(sorted(other.methods)))
