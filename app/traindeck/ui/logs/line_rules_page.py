"""The rules on lines as a page: what is done when a line comes in the log of a run."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QListWidgetItem, QPlainTextEdit, QWidget

from traindeck.domain.jobs.job import Run
from traindeck.domain.notices.line_rules import LineRule, RuleAct
from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.cards import card, fill_scrolling, push_button, show_words
from traindeck.ui.kit.fields import Field, guard_wheel
from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import RowList
from traindeck.ui.kit.theme import ROW, SPACE, set_role
from traindeck.viewmodels.logs.rule_book import RuleBook

_WIDTH = 780
_LABELS = 14 * SPACE
_ROWS = 6


class LineRulesPage(QWidget):
    """A list, and below it the rule that is selected or a new one; nothing is kept before Save is pressed."""

    def __init__(self, book: RuleBook, run: Callable[[], Run | None], edit_file: Callable[[], object]) -> None:
        super().__init__()
        self._book, self._run = book, run
        self._is_filling = False
        self._wanted = ""
        """Is to be selected as soon as it is there."""
        set_role(self, "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.list = RowList()
        self.list.setAccessibleName(say("Rules on lines"))
        self.list.setMinimumHeight(_ROWS * ROW)
        self.none = sentence(say("No rules yet. Fill in the fields below, then save."), "dim")
        self.name, self.pattern, self.tag, self.runs = QLineEdit(), QLineEdit(), QLineEdit(), QLineEdit()
        self.pattern.setPlaceholderText(say("Regular expression, for example: loss\\W+nan"))
        self.runs.setPlaceholderText(say("All jobs, or for example: bert-*"))
        self.act = QComboBox()
        for act in RuleAct:
            self.act.addItem(say(act.words), act.value)
        guard_wheel(self.act)
        self.enabled = QCheckBox(say("Enabled"))
        self.add = push_button(say("&New rule"), self._begin_anew)
        self.remove = push_button(say("Re&move"), self._remove)
        self.file = push_button(say("Edit the &file"), edit_file)
        self.test = push_button(say("&Test on the log shown"), self._test)
        self.save = push_button(say("&Save"), self._save, role="primary")
        self.trouble = sentence("", "error")
        self.outcome = sentence("", "dim")
        self.found = QPlainTextEdit()
        self.found.setReadOnly(True)
        self.found.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.found.setAccessibleName(say("Lines found"))
        self.found.setMinimumHeight(_ROWS * ROW)
        set_role(self.found, "log")
        self._build()
        self.list.currentItemChanged.connect(lambda item, _: self._show(item))
        self.list.itemChanged.connect(self._on_checked)
        self.act.currentIndexChanged.connect(self._on_act)
        for line in (self.name, self.pattern, self.tag):
            line.textChanged.connect(self._on_typed)
        book.changed.connect(self._on_changed)
        book.kept.connect(self._on_kept)
        self._begin_anew()
        self._on_changed()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._book.load()

    def _build(self) -> None:
        explained = sentence(
            say("A rule looks at each line that comes in the log of a run, and acts on it once: it notifies, adds a "
                "tag, or stops the job. Upper and lower case are alike."), "dim",
        )  # fmt: skip
        fields = (
            Field(say("Name"), self.name, label_width=_LABELS),
            Field(say("Pattern"), self.pattern, label_width=_LABELS),
            Field(say("Does"), self.act, label_width=_LABELS),
            Field(say("Tag"), self.tag, label_width=_LABELS),
            Field(say("Only for jobs"), self.runs, label_width=_LABELS),
        )
        self._tag = fields[3]
        first, second = QWidget(), QWidget()
        first.setLayout(FlowLayout(self.add, self.remove, self.file, spacing=SPACE))
        second.setLayout(FlowLayout(self.save, self.test, self.enabled, spacing=SPACE))
        listed = card(say("Rules on lines"), [explained, self.none, self.list, first])
        edited = card(say("Rule"), [*fields, self.trouble, second, self.outcome, self.found])
        column = QWidget()
        column.setMaximumWidth(_WIDTH)
        column_of(listed, edited, 1, inside=column, margins=0, spacing=2 * SPACE)
        fill_scrolling(self, row_of((column, 200), 1, margins=(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)))

    # what is shown

    def _on_changed(self) -> None:
        state, chosen = self._book.state, self._wanted or self._selected()
        shown = [self.list.item(row).data(Qt.ItemDataRole.UserRole) for row in range(self.list.count())]
        if shown != [*state.rules]:
            self._fill(chosen)
        self.none.setVisible(state.is_known and not state.rules)
        self.list.setVisible(bool(state.rules))
        self.setFocusProxy(self.list if state.rules else self.name)
        show_words(self.trouble, state.trouble.sentence() if state.trouble is not None else "")
        trial = state.trial
        self.found.setVisible(trial is not None and bool(trial.lines))
        if trial is None:
            show_words(self.outcome, "")
            return
        count = len(trial.lines)
        words = say_count("{count} line in run {number}.", "{count} lines in run {number}.", count,
                          number=trial.run.number)  # fmt: skip
        if trial.is_cut:
            words = say("{lines} There are more.", lines=words)
        show_words(self.outcome, words)
        several = len({worker for worker, _ in trial.lines}) > 1
        self.found.setPlainText("\n".join(f"{worker}  {line}" if several else line for worker, line in trial.lines))

    def _fill(self, chosen: str) -> None:
        self._is_filling = True
        self.list.clear()
        for rule in self._book.state.rules:
            item = QListWidgetItem(say("{name} ({does}): {pattern}", name=rule.name, does=rule.act.words,
                                       pattern=rule.pattern))  # fmt: skip
            item.setData(Qt.ItemDataRole.UserRole, rule)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if rule.is_enabled else Qt.CheckState.Unchecked)
            self.list.addItem(item)
            if rule.name == chosen:
                self.list.setCurrentItem(item)
                self._wanted = ""
        self._is_filling = False
        self.remove.setEnabled(self.list.currentItem() is not None)
        if (selected := self._rule()) is not None and selected.name == self.name.text():
            self.enabled.setChecked(selected.is_enabled)

    def _does(self) -> RuleAct:
        return RuleAct(self.act.currentData())

    def _rule(self) -> LineRule | None:
        item = self.list.currentItem()
        rule = item.data(Qt.ItemDataRole.UserRole) if item is not None else None
        return rule if isinstance(rule, LineRule) else None

    def _selected(self) -> str:
        rule = self._rule()
        return "" if rule is None else rule.name

    def _show(self, item: QListWidgetItem | None) -> None:
        rule = item.data(Qt.ItemDataRole.UserRole) if item is not None else None
        self.remove.setEnabled(item is not None)
        if self._is_filling or not isinstance(rule, LineRule):
            return
        self.name.setText(rule.name)
        self.pattern.setText(rule.pattern)
        self.act.setCurrentIndex(self.act.findData(rule.act.value))
        self.tag.setText(rule.label)
        self.runs.setText(rule.runs)
        self.enabled.setChecked(rule.is_enabled)

    def _on_act(self) -> None:
        self._tag.setVisible(self._does() is RuleAct.LABEL)
        self._on_typed()

    def _on_typed(self) -> None:
        needs_tag = self._does() is RuleAct.LABEL
        has_all = all(line.text().strip() for line in (self.name, self.pattern, *([self.tag] if needs_tag else [])))
        self.save.setEnabled(has_all)
        self.test.setEnabled(bool(self.pattern.text()))

    def _on_kept(self, name: str) -> None:
        self._wanted = name
        self._on_changed()
        for row in range(self.list.count()):
            rule = self.list.item(row).data(Qt.ItemDataRole.UserRole)
            if isinstance(rule, LineRule) and rule.name == name:
                self.list.setCurrentRow(row)
        self._wanted = ""

    # what is done

    def _begin_anew(self) -> None:
        self._select_none()
        for line in (self.name, self.pattern, self.tag, self.runs):
            line.clear()
        self.act.setCurrentIndex(0)
        self.enabled.setChecked(True)
        self.remove.setEnabled(False)
        self._on_act()
        if self.isVisible():
            self.name.setFocus()

    def _select_none(self) -> None:
        self.list.setCurrentRow(-1)
        self.list.clearSelection()

    def _save(self) -> None:
        act = self._does()
        label = self.tag.text().strip() if act is RuleAct.LABEL else ""
        name, runs = self.name.text().strip(), self.runs.text().strip()
        rule = LineRule(name, self.pattern.text(), act, label, runs, self.enabled.isChecked())
        self._book.keep(rule, self._selected())

    def _remove(self) -> None:
        """It comes back with Save: the fields keep what it was."""
        if name := self._selected():
            self._select_none()
            self._book.remove(name)

    def _test(self) -> None:
        run = self._run()
        if run is None:
            show_words(self.outcome, say("Open the log of a run first."))
            self.found.hide()
        else:
            self._book.try_out(self.pattern.text(), run)

    def _on_checked(self, item: QListWidgetItem) -> None:
        rule = item.data(Qt.ItemDataRole.UserRole)
        if not self._is_filling and isinstance(rule, LineRule):
            self._book.enable(rule, item.checkState() == Qt.CheckState.Checked)
