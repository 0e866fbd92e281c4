"""The log of a run as a panel: a header that says how things stand, and the lines."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QStackedLayout, QTabBar, QWidget

from traindeck.domain.jobs.job import duration_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import printable, say
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, theme_tool_buttons, tool_button
from traindeck.ui.kit.cells import StateChip
from traindeck.ui.kit.edits import COPY, FIND, SELECT_ALL, Edit, Edits, HasEdits
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.logs.filter_bar import FilterBar
from traindeck.ui.logs.find_bar import FindBar
from traindeck.ui.logs.log_pane import LogPane
from traindeck.ui.logs.log_place import KeptLog
from traindeck.ui.logs.log_scroll_bar import LogScrollBar, Shares
from traindeck.ui.logs.log_spoken import read_aloud
from traindeck.ui.logs.row_marks import RowMarks
from traindeck.viewmodels.jobs.runs.run_words import run_title, state_words, tone_of
from traindeck.viewmodels.logs.log_feed import ALL_WORKERS, LogFeed, LogState
from traindeck.viewmodels.logs.log_rows import LogRow
from traindeck.viewmodels.ports import Tone

_SAID_MS, _READ_MS = 8000, 400
_MOST_READ = 4000


class LogView(HasEdits, QWidget):
    """Shows LogFeed."""

    menu_wanted = Signal(QPoint)
    link_wanted = Signal(object)

    def __init__(self, feed: LogFeed, theme: Theme) -> None:
        super().__init__()
        self.feed = feed
        self._theme = theme
        self.chip = StateChip()
        self.name = ElidedLabel(role="strong")
        self.name.setMinimumWidth(10 * SPACE)  # the number of the run is always in sight
        self.facts = ElidedLabel(role="dim")
        self.reason = sentence("", "dim")
        self.reason.setContentsMargins(SPACE, 0, SPACE, HALF)
        self.said = sentence("", "dim")
        self.said.setContentsMargins(SPACE, 0, SPACE, HALF)
        self.said.hide()
        self._silent = QTimer(self, singleShot=True, interval=_SAID_MS)
        self._silent.timeout.connect(self._fall_silent)
        self._reading = QTimer(self, singleShot=True, interval=_READ_MS)
        self._read = ""
        self.tasks = QTabBar()
        self.tasks.setAccessibleName(say("Worker"))
        self.tasks.setDrawBase(False)
        self.tasks.setExpanding(False)
        self.tasks.setUsesScrollButtons(True)
        self.pane = LogPane(feed.lines, theme)
        self.find_bar = FindBar(feed.search, self.pane)
        self.filter_bar = FilterBar(feed.filter, self.pane)
        self.filter = tool_button("filter", say("Filter the lines"), self.filter_bar.open_bar)
        self.search = tool_button("search", say("Find in the log (Ctrl+F)"), self.find_bar.open_bar)
        self.more = tool_button("dots", say("More for this log"), self._ask_menu)
        self.empty = EmptyPage(say("No log is open."), say("Submit a job, or select a run, then Show log."))
        self._marks = RowMarks(feed, theme)

        head = row_of(
            (self.chip, 0, Qt.AlignmentFlag.AlignVCenter), self.name, (self.facts, 1), self.filter, self.search,
            self.more, margins=(SPACE, HALF, SPACE, HALF), spacing=SPACE,
        )  # fmt: skip
        inside = QWidget()
        column_of(
            head, self.tasks, self.reason, self.said, self.find_bar, self.filter_bar, (self.pane, 1),
            inside=inside, margins=0, spacing=0,
        )  # fmt: skip
        self._inside = inside
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(inside)
        self.setFocusProxy(self.pane)
        self.place = KeptLog(feed, self.pane)
        self._connect(feed, theme)
        self._apply_look()
        self._apply_theme()
        self._on_changed()

    def _connect(self, feed: LogFeed, theme: Theme) -> None:
        pane = self.pane
        pane.marks_of = self._marks.of
        pane.painter.badge_of, pane.painter.flag_of = self._badge_of, self._flag_of
        bar = pane.verticalScrollBar()
        assert isinstance(bar, LogScrollBar)
        bar.shares_in = self._shares_in
        for told in (feed.search.changed, feed.lines.changed, feed.landmarks.changed):
            told.connect(bar.mark_again)
        pane.follow_wanted.connect(feed.follow_end)
        pane.badge_clicked.connect(feed.filter.open_fold)
        pane.link_clicked.connect(self.link_wanted)
        pane.zoom_wanted.connect(feed.look.zoom_by)
        self._reading.timeout.connect(self._describe)
        for told in (pane.moved, pane.selection_changed):
            told.connect(self._describe_soon)
        pane.selection_changed.connect(self._fall_silent)
        self.tasks.tabBarClicked.connect(self._on_task)
        feed.changed.connect(self._on_changed)
        feed.cleared.connect(pane.clear)
        feed.search.marked.connect(pane.mark_again)
        feed.filter.folded.connect(pane.viewport().update)
        feed.filter.changed.connect(self._say_why_empty)
        feed.travel.reached.connect(self._on_reached)
        feed.travel.taken.connect(_put)
        feed.look.changed.connect(self._apply_look)
        theme.changed.connect(self._apply_theme)

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 30 * SPACE)

    def edits(self, focused: QWidget) -> Edits:
        edits = {FIND: Edit(self.find_bar.open_bar, self._inside.isVisible)}
        if focused is self.pane:
            edits[COPY] = Edit(self.copy, lambda: bool(self.pane.selection))
            edits[SELECT_ALL] = Edit(self.pane.select_all, lambda: bool(self.feed.lines.rows))
        return edits

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.find_bar.isVisible():
            self.find_bar.close_bar()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.pane.geometry().contains(event.pos()) and self._inside.isVisible():
            self.menu_wanted.emit(event.globalPos())

    def say_for_a_while(self, words: str) -> None:
        """What came of something that was asked for."""
        self.said.setText(words)
        self.said.show()
        self._silent.start()

    def _fall_silent(self) -> None:
        """What was said was about what is not selected any more, or has been read."""
        self._silent.stop()
        self.said.hide()

    def _describe_soon(self) -> None:
        if not self._reading.isActive():
            self._reading.start()

    def _describe(self) -> None:
        """For who has the window read to him: the lines in sight, and the one where he is whenever it is another."""
        pane, rows = self.pane, self.pane.rows_in_sight()
        here = self.current_row() if pane.selection or not self.feed.state.is_following else None
        place = next((at for at, row in enumerate(rows) if here is not None and row.number == here.number), None)
        pane.spoken.show_lines([_words(row) for row in rows], place)
        chosen = pane.selected_words()[:_MOST_READ]
        words = chosen or (_words(here) if here is not None else "")
        pane.setAccessibleDescription(words or "\n".join(map(_words, rows))[-_MOST_READ:])
        if words != self._read and pane.hasFocus() and words:
            read_aloud(pane, words)
        self._read = words

    def copy(self) -> None:
        """What is selected, of the rows that are shown; without colours."""
        if (ends := self.pane.selection.ends) is not None:
            self.feed.travel.copy(ends[0].number, ends[1].number, self.pane.selection.words_in)

    def current_row(self) -> LogRow | None:
        """Where the selection is, else the row at the top."""
        ends = self.pane.selection.caret
        return self.feed.lines.row(self.pane.top_number if ends is None else ends.number)

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self._marks.use_theme()
        self.pane.mark_again()

    def _apply_look(self) -> None:
        look = self.feed.look.state
        self.feed.filter.fold(look.folds)
        self.pane.look_as(wraps=look.wraps, shows_numbers=look.shows_numbers, zoom=look.zoom)

    def _badge_of(self, row: LogRow) -> str:
        count = self.feed.filter.repeats(row)
        return "" if count < 2 else f"× {count:,} {'▴' if self.feed.filter.is_open(row) else '▾'}"

    def _flag_of(self, row: LogRow) -> str:
        run = self.feed.state.run
        if run is None or row.mark is not None:
            return ""
        return "link" if self.feed.look.bookmark(run.id, self.feed.state.task, row.begin) else ""

    def _shares_in(self, parts: int) -> Shares:
        """Of the rows that are shown: errors, hits, bookmarks."""
        lines, chosen = self.feed.lines, self.feed.lines.chosen
        found = {"bad": self.feed.landmarks.errors, "warn": self.feed.search.rows}
        marks = [row for row in self.feed.landmarks.bookmarks if chosen is None or row in chosen]
        if not len(lines) or not (marks or any(found.values())):
            return {}
        edges = [lines.number_at(len(lines) * part // parts) for part in range(parts)] + [lines.rows]
        shares: dict[str, list[int]] = {}
        for color, rows in found.items():
            if rows:
                shown = rows if chosen is None else rows.both(chosen)
                before = [shown.before(edge) for edge in edges]
                shares[color] = [after - first for first, after in pairwise(before)]
        before = [bisect_left(marks, edge) for edge in edges]
        shares["link"] = [after - first for first, after in pairwise(before)]
        return shares

    def _on_reached(self, row: int) -> None:
        self.pane.select_row(row)

    def _ask_menu(self) -> None:
        self.menu_wanted.emit(self.more.mapToGlobal(QPoint(0, self.more.height())))

    def _on_task(self, number: int) -> None:
        task = self.tasks.tabData(number) if number >= 0 else None
        if (run := self.feed.state.run) and task not in (None, self.feed.state.task):
            self.feed.show(run, task)

    def _on_changed(self) -> None:
        state = self.feed.state
        run = state.run
        self._pages.setCurrentWidget(self.empty if run is None else self._inside)
        if run is None:
            return
        self.chip.show_state(tone_of(run), state_words(run))
        self.name.setText(run_title(run))
        self.name.setAccessibleDescription(run.name)
        self.facts.setText(_facts(state))
        self._show_reason(state)
        wanted = [*run.tasks, ALL_WORKERS] if len(run.tasks) > 1 else []
        if [self.tasks.tabData(number) for number in range(self.tasks.count())] != wanted:
            while self.tasks.count():
                self.tasks.removeTab(0)
            for task in wanted:
                self.tasks.setTabData(self.tasks.addTab(say("All workers") if task == ALL_WORKERS else task), task)
        if state.task in wanted:
            self.tasks.setCurrentIndex(wanted.index(state.task))
        self.tasks.setVisible(bool(wanted))
        self._say_why_empty()
        self.pane.follow(state.is_following, state.new_lines)

    def _say_why_empty(self) -> None:
        hides_all = self.feed.filter.state.is_on and self.feed.lines.rows > 0
        self.pane.show_words_instead(say("No line matches the filter.") if hides_all else _placeholder(self.feed.state))

    def _show_reason(self, state: LogState) -> None:
        run, role, words = state.run, "dim", ""
        if state.trouble is not None:
            role, words = "warn", say(state.trouble.title)
            if state.next_look_s is not None:
                words = say("{trouble} Next attempt in {seconds} s.", trouble=words, seconds=round(state.next_look_s))
        elif run is not None and run.reason:
            role, words = "error" if tone_of(run) is Tone.BAD else "dim", str(run.reason)
        if run is not None and state.failure is not None and not state.trouble:
            role, words = "error", printable(state.failure.short_words) or words
        set_role(self.reason, role)
        self.reason.setText(words)
        self.reason.setVisible(bool(words))


def _words(row: LogRow) -> str:
    return (say(row.mark) if row.mark is not None else row.words)[:_MOST_READ]


def _put(words: str) -> None:
    QGuiApplication.clipboard().setText(words)


def _facts(state: LogState) -> str:
    """Run time, bytes held and in the cloud, age of the last answer; what is unknown is left out or a dash."""
    held = size_words(state.size_bytes if state.is_read else None)
    if state.cloud_bytes is not None and state.cloud_bytes > state.size_bytes:
        held = say("{held} of {cloud}", held=held, cloud=size_words(state.cloud_bytes))
    facts = [duration_words(state.run_seconds), held]
    if state.answer_age_s is not None and state.run is not None and not state.run.state.is_over:
        facts.append(say("updated {seconds} s ago", seconds=round(state.answer_age_s)))
    if state.order is not None:
        facts.append(say(state.order))
    return " · ".join(facts)


def _placeholder(state: LogState) -> str:
    if not state.is_read:
        return say("Reading the log…")
    if state.run is not None and state.run.state.is_over:
        return say("This run has no log.")
    return say("No output yet. Lines appear here as soon as the job writes them.")
