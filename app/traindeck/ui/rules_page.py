"""A page of rules: the list of them, and a form for the chosen one."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from PySide6.QtWidgets import QLabel, QWidget

from traindeck.domain.texts import say
from traindeck.ui.page_parts import page_column, told
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.rule_list import RuleList
from traindeck.ui.theme import Theme


class _Kept(Protocol):
    @property
    def others(self) -> tuple[str, ...]: ...


Rule = TypeVar("Rule", bound=_Kept)


class RulesPage(PropertyPage, Generic[Rule]):
    """Keeps the list and the form in step; a page says what its rules are like."""

    def __init__(self, theme: Theme, name: str, empty: str, most: int) -> None:
        super().__init__()
        self._rules: list[Rule] = []
        self._is_showing = False
        self._most = most
        self.rules = RuleList(theme, name, empty)
        self.others, self.wrong = told("", "small"), told("", "error")

    def lay_out(self, intro: str, detail: QWidget) -> None:
        """`detail` is the form, with `others` and `wrong` somewhere in it."""
        self._detail = detail
        column = page_column(self)
        column.addWidget(told(intro))
        column.addWidget(self.rules)
        column.addWidget(detail)
        column.addStretch(1)
        self.rules.picked.connect(self._pick)
        self.rules.add_wanted.connect(self._add)
        self.rules.remove_wanted.connect(self._remove)

    # what a page says

    def line(self, rule: Rule) -> str:
        """The rule in one line."""
        raise NotImplementedError

    def mistakes(self) -> dict[int, str]:
        """By place, what keeps a rule from being saved."""
        raise NotImplementedError

    def fresh(self) -> Rule:
        """What a new rule begins with."""
        raise NotImplementedError

    def fill(self, rule: Rule) -> None:
        """Show the rule in the form."""
        raise NotImplementedError

    def read(self, before: Rule) -> Rule:
        """The rule as the form has it now; what the form does not show is as before."""
        raise NotImplementedError

    def say_more(self, rule: Rule) -> None:
        """What else the form tells of the chosen rule."""

    # list and form

    @property
    def chosen(self) -> Rule | None:
        row = self.rules.row
        return self._rules[row] if 0 <= row < len(self._rules) else None

    def show_all(self, rules: tuple[Rule, ...], row: int) -> None:
        self._rules = list(rules)
        self._refresh(row)

    def _refresh(self, row: int | None = None) -> None:
        self.rules.show_rules([self.line(rule) for rule in self._rules], self.mistakes(), row)
        self.rules.add.setEnabled(len(self._rules) < self._most)
        self._say()

    def _pick(self, row: int) -> None:
        self._detail.setVisible(row >= 0)
        rule = self.chosen
        if rule is not None:
            self._is_showing = True
            self.fill(rule)
            self._is_showing = False
            self._say()

    def _say(self) -> None:
        rule = self.chosen
        if rule is None:
            return
        show_words(self.wrong, self.mistakes().get(self.rules.row, ""))
        show_words(self.others, say("Stays as it is: {names}", names=", ".join(rule.others)) if rule.others else "")
        self.say_more(rule)

    def on_typed(self, *_: object) -> None:
        before = self.chosen
        if self._is_showing or before is None:
            return
        self._rules[self.rules.row] = self.read(before)
        self._refresh()
        self.edited.emit()

    def _add(self) -> None:
        self._rules.append(self.fresh())
        self._refresh(len(self._rules) - 1)
        self.edited.emit()

    def _remove(self, row: int) -> None:
        self.forget(row)
        del self._rules[row]
        self._refresh(min(row, len(self._rules) - 1))
        self.edited.emit()

    def forget(self, row: int) -> None:
        """The rule there goes."""

    def problem(self) -> str:
        return next(iter(self.mistakes().values()), "")


def show_words(label: QLabel, words: str) -> None:
    """Nothing to say, nothing to see."""
    label.setText(words)
    label.setVisible(bool(words))
