"""What a dataset holds and what is wrong with it, as a page."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QToolButton, QVBoxLayout, QWidget

from traindeck.domain.datasets.report_words import ReportFinding, ReportLine, facts_of, findings_of
from traindeck.domain.texts import say
from traindeck.ui.datasets.mini_dialog import ClassRows, class_table, show_classes
from traindeck.ui.kit.cards import Facts, card, fill_scrolling, plain, push_button
from traindeck.ui.kit.layouts import column_of, label, row_of, take_out
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.datasets.dataset_look import DatasetReportPage, LookStage, LookState

_MOST_NAMES = 50
_SIGN = 16
_MOST_ROWS = 12
_ICONS = {
    ReportLine.BAD: ("warning", "bad"),
    ReportLine.ADVICE: ("info", "accent"),
    ReportLine.UNKNOWN: ("unknown", "dim"),
    ReportLine.GOOD: ("check", "good"),
}


class FindingRow(QWidget):
    """A sign, the sentence, and the files below it once somebody wants to see them."""

    def __init__(self, finding: ReportFinding, theme: Theme) -> None:
        super().__init__()
        self.finding = finding
        name, color = _ICONS[finding.level]
        sign = QLabel()
        sign.setFixedSize(_SIGN + HALF, ROW)
        sign.setPixmap(theme.icon(name, color).pixmap(_SIGN, _SIGN))
        sign.setAccessibleName(_LEVELS[finding.level]())
        words = plain("", finding.words)
        words.setMinimumHeight(ROW)
        words.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        self.names = plain("dim")
        self.names.setFont(theme.mono_font())
        self.names.setContentsMargins(_SIGN + HALF + SPACE, 0, 0, SPACE)
        self.names.hide()
        self.more = QToolButton()
        self.more.setAutoRaise(True)
        self.more.setText(say("Show files"))
        self.more.clicked.connect(self._toggle)
        self.more.setVisible(bool(finding.names))
        top = Qt.AlignmentFlag.AlignTop
        head = row_of((sign, 0, top), (words, 1), (self.more, 0, top))
        column_of(head, self.names, inside=self, margins=0, spacing=HALF)

    def _toggle(self) -> None:
        is_shown = self.names.isHidden()
        if is_shown:
            shown = self.finding.names[:_MOST_NAMES]
            rest = len(self.finding.names) - len(shown)
            more = [say("… and {count} more", count=f"{rest:,}")] if rest else []
            self.names.setText("\n".join((*shown, *more)))
        self.names.setVisible(is_shown)
        self.more.setText(say("Hide files") if is_shown else say("Show files"))


_LEVELS = {
    ReportLine.BAD: lambda: say("Problem"),
    ReportLine.ADVICE: lambda: say("Advice"),
    ReportLine.UNKNOWN: lambda: say("Unknown"),
    ReportLine.GOOD: lambda: say("Good"),
}


class DatasetReportView(QWidget):
    """Binds a DatasetReportPage."""

    mini_wanted = Signal(str)

    def __init__(self, page: DatasetReportPage, theme: Theme) -> None:
        super().__init__()
        self._page = page
        self._theme = theme
        self._shown: object = None
        self.title = label(page.place, "title", wraps=True, copies=True)
        self.status = label("", "dim", wraps=True)
        self.again = push_button(say("Look again"), partial(self._look, None))
        self.read = push_button(say("Read contents"), partial(self._look, True))
        self.read.setToolTip(
            say("Reads up to 20,000 files of the folder, to find broken pictures, duplicates and encodings")
        )
        self.stop = push_button(say("Stop"), page.stop)
        self.mini = push_button(say("Make a small copy…"), lambda: self.mini_wanted.emit(page.place))
        self.facts = Facts()
        self.rows: list[QWidget] = []
        self._findings = QVBoxLayout()
        self._findings.setSpacing(0)
        findings = QWidget()
        findings.setLayout(self._findings)
        self._findings.setContentsMargins(0, 0, 0, 0)
        self.table = class_table(say("Classes"))
        self.summary_card = card(say("Dataset"), [self.facts])
        self.findings_card = card(say("Findings"), [findings])
        self.classes_card = card(say("Classes"), [self.table])
        buttons = row_of(self.again, self.read, self.mini, self.stop, 1, spacing=SPACE)
        column = column_of(
            self.title, self.status, buttons, self.summary_card, self.findings_card, self.classes_card, 1,
            margins=2 * SPACE, spacing=SPACE,
        )  # fmt: skip
        fill_scrolling(self, column)
        page.changed.connect(self._on_changed)
        self._on_changed()

    def _look(self, contents: bool | None) -> None:
        self._page.look(contents=self._page.state.has_contents if contents is None else contents)

    def _on_changed(self) -> None:
        state = self._page.state
        self.again.setEnabled(not state.is_busy)
        self.read.setVisible(not state.has_contents)
        self.read.setEnabled(not state.is_busy)
        self.stop.setVisible(state.is_busy)
        set_role(self.status, "error" if state.trouble else "dim")
        self.status.setText(_status(state))
        self.status.setVisible(bool(self.status.text()))
        for part in (self.summary_card, self.findings_card):
            part.setVisible(state.report is not None)
        if state.report is not self._shown:
            self._shown = state.report
            self._show(state)

    def _show(self, state: LookState) -> None:
        report = state.report
        take_out(self.rows)
        if report is None:
            return
        self.facts.show_facts(facts_of(report)[1:])  # the place is the title
        for finding in findings_of(report):
            row = FindingRow(finding, self._theme)
            self.rows.append(row)
            self._findings.addWidget(row)
        show_classes(self.table, ClassRows(report.classes, self.table, with_kept=False))
        rows = min(len(report.classes), _MOST_ROWS)
        self.table.setFixedHeight(rows * ROW + self.table.horizontalHeader().sizeHint().height() + HALF)
        self.classes_card.setVisible(len(report.classes) > 1)


def _status(state: LookState) -> str:
    if state.trouble is not None:
        return state.trouble.sentence()
    match state.stage:
        case LookStage.NAMES | LookStage.CLASSES:
            return say("Counting: {count} so far…", count=f"{state.done:,}")
        case LookStage.CONTENTS:
            return say("Looking into files: {count} of {total}", count=f"{state.done:,}", total=f"{state.total:,}")
        case _:
            if state.report is None or state.has_contents:
                return ""
            return say("Only names and sizes were looked at.")
