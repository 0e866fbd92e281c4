"""A page of rules: the list of them, and a form for the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from traindeck.domain.storage.bucket_settings import CorsRule, LifecycleRule
from traindeck.domain.texts import Text, say, text
from traindeck.ui.kit.cards import card, push_button, show_words
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.pair_table import PairTable
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import help_label, sentence
from traindeck.ui.kit.tables import KeyedView
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Rows

_MOST_SHOWN = 6


class _Lines(KeyedView, QListWidget):
    delete_wanted = Signal()

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {Qt.Key.Key_Delete: self.delete_wanted, Qt.Key.Key_Backspace: self.delete_wanted}


class RuleList(QWidget):
    """One line for each rule; those with a mistake are marked."""

    picked = Signal(int)
    """-1: there is none."""

    def __init__(self, theme: Theme, name: str, empty: str) -> None:
        super().__init__()
        self._theme = theme
        self.lines = _Lines()
        self.lines.setAccessibleName(name)
        self.lines.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.lines.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        set_role(self.lines, "rules")
        self.empty = sentence(empty, "dim")
        self.add, self.remove = push_button(say("Add rule")), push_button(say("Delete rule"))
        buttons = row_of(self.add, self.remove, 1, spacing=SPACE)
        column_of(self.empty, self.lines, buttons, inside=self, margins=0, spacing=HALF + HALF)
        self.lines.currentRowChanged.connect(self.picked)
        self.show_rules((), {})

    @property
    def row(self) -> int:
        return self.lines.currentRow()

    def show_rules(self, lines: Sequence[str], wrong: Mapping[int, str], row: int | None = None) -> None:
        """`row` is the one to choose; without it the choice stays."""
        wanted = self.row if row is None else row
        self.lines.blockSignals(True)
        while self.lines.count() > len(lines):
            self.lines.takeItem(self.lines.count() - 1)
        for at, words in enumerate(lines):
            item = self.lines.item(at) if at < self.lines.count() else QListWidgetItem(self.lines)
            item.setText(words)
            item.setSizeHint(QSize(0, ROW))
            item.setToolTip(wrong.get(at, words))
            item.setForeground(self._theme.color("bad" if at in wrong else "text"))
        wanted = min(max(wanted, 0), len(lines) - 1)
        is_other = wanted != self.lines.currentRow() or row is not None
        self.lines.setCurrentRow(wanted)
        self.lines.blockSignals(False)
        self.lines.setFixedHeight(min(len(lines), _MOST_SHOWN) * ROW + 4)
        self.lines.setVisible(bool(lines))
        self.empty.setVisible(not lines)
        self.remove.setEnabled(bool(lines))
        if is_other:
            self.picked.emit(wanted)


Rule = TypeVar("Rule", LifecycleRule, CorsRule)


class RulesPage(PropertyPage, Generic[Rule]):
    """Keeps the list and the form in step; a page says what its rules are like."""

    def __init__(self, title: str, theme: Theme, name: str, empty: str, most: int, line: Callable[[Rule], str]) -> None:
        """`line` says a rule in one line."""
        super().__init__(title)
        self._line: Callable[[Rule], str] = line
        self._rules: list[Rule] = []
        self._is_showing = False
        self._most = most
        self.rules = RuleList(theme, name, empty)
        self.others, self.wrong = help_label("", "small"), help_label("", "error")

    def lay_out_rules(self, intro: str, detail: QWidget) -> None:
        """`detail` is the form, with `others` and `wrong` somewhere in it."""
        self._detail = detail
        self.lay_out(help_label(intro), self.rules, detail, 1)
        self.rules.picked.connect(self._pick)
        self.rules.add.clicked.connect(self._add)
        self.rules.remove.clicked.connect(self._remove)
        self.rules.lines.delete_wanted.connect(self._remove)

    # what a page says

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
        self.rules.show_rules([self._line(rule) for rule in self._rules], self.mistakes(), row)
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
        show_words(self.others, say("Unchanged: {names}", names=", ".join(rule.others)) if rule.others else "")
        self.say_more(rule)

    def follow(self, *typed: SignalInstance) -> None:
        """What the form's fields tell of being changed by hand."""
        for signal in typed:
            signal.connect(self.on_typed)

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

    def _remove(self) -> None:
        row = self.rules.row
        if row < 0:
            return
        self.forget(row)
        del self._rules[row]
        self._refresh(min(row, len(self._rules) - 1))
        self.edited.emit()

    def forget(self, row: int) -> None:
        """The rule there goes."""

    def problem(self) -> str:
        return next(iter(self.mistakes().values()), "")


PairCheck = Callable[[str, str], Text | None]
"""What is wrong with this name and value."""


class PairsCard(QWidget):
    """Rows as typed; `values` is what they come to."""

    edited = Signal()

    def __init__(self, title: str, value_title: str, hint: str, check: PairCheck, theme: Theme) -> None:
        super().__init__()
        self._check = check
        self.problem: Text | None = None
        self._rows: Rows = ()
        self.table = PairTable(theme, title, value_title)
        self.table.rows_edited.connect(self._on_edited)
        self.table.pasted.connect(self._on_pasted)
        self.problem_label = sentence("", "error")
        self.problem_label.hide()
        self.note = help_label(hint, "small")
        column_of(card(title, [self.table, self.problem_label, self.note]), inside=self, margins=0)

    @property
    def values(self) -> dict[str, str]:
        return {name.strip(): value.strip() for name, value in self._rows if name.strip()}

    def show_values(self, values: Mapping[str, str]) -> None:
        self._become(tuple(sorted(values.items())))

    def _on_edited(self, rows: Rows) -> None:
        self._become(rows)
        self.edited.emit()

    def _on_pasted(self, words: str) -> None:
        found = [line.partition("=") for line in words.replace(";", "\n").splitlines() if "=" in line]
        pasted = {name.strip(): value.strip() for name, _, value in found if name.strip()}
        if pasted:
            self._on_edited(tuple(({row[0]: row[1] for row in self._rows} | pasted).items()))

    def _become(self, rows: Rows) -> None:
        self._rows = rows
        wrong = self._wrong()
        self.problem = next(iter(wrong.values()), None)
        self.table.pairs.show(rows, wrong)
        show_words(self.problem_label, say(self.problem) if self.problem else "")

    def _wrong(self) -> dict[str, Text]:
        found: dict[str, Text] = {}
        seen: set[str] = set()
        for name, value in self._rows:
            name = name.strip()
            problem = self._check(name, value.strip()) if name or value.strip() else None
            if name in seen:
                problem = text("The name “{name}” appears twice.", name=name)
            seen.add(name)
            if problem is not None:
                found.setdefault(name, problem)
        return found
