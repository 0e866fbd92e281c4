"""The log of a run as a panel: a header that says how things stand, and the lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QResizeEvent,
    QTextBlock,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractSlider,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QStackedLayout,
    QWidget,
)

from traindeck.domain.jobs.job import duration_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, theme_tool_buttons, tool_button
from traindeck.ui.kit.cells import StateChip
from traindeck.ui.kit.edits import FIND, Edit, Edits, HasEdits
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import one_line, sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.logs.log_place import KeptLog
from traindeck.viewmodels.jobs.run_words import run_title, state_words, tone_of
from traindeck.viewmodels.logs.log_feed import (
    MOST_LINES,
    LogBatch,
    LogFeed,
    LogState,
    count_in,
    folded,
    hits_in,
)
from traindeck.viewmodels.ports import Tone

_REBUILD_FROM = 1000
"""So many lines at once are faster set as a whole than added: adding 5,000 to a full view takes 45 ms, setting 6 ms."""

SLICE_LINES = 1000
_SLICE_CHARACTERS = 100_000
_COUNT_AGAIN_MS = 500

# Without a caret to see, these keys scroll.
_SCROLLS = {
    Qt.Key.Key_Up: QAbstractSlider.SliderAction.SliderSingleStepSub,
    Qt.Key.Key_Down: QAbstractSlider.SliderAction.SliderSingleStepAdd,
    Qt.Key.Key_PageUp: QAbstractSlider.SliderAction.SliderPageStepSub,
    Qt.Key.Key_PageDown: QAbstractSlider.SliderAction.SliderPageStepAdd,
    Qt.Key.Key_Space: QAbstractSlider.SliderAction.SliderPageStepAdd,
    Qt.Key.Key_Home: QAbstractSlider.SliderAction.SliderToMinimum,
}


class LogPane(QPlainTextEdit):
    """Read-only lines. Only a scroll of the user's changes whether the end is followed; no click does."""

    follow_wanted = Signal(bool)
    rebuilt = Signal()
    """All lines are others now."""
    grew = Signal()
    """Lines came at the end, and perhaps as many went at the top."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._follows = True
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(MOST_LINES + 1)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(theme.mono_font())
        self.setAccessibleName(say("Log"))
        self.setTabChangesFocus(True)
        set_role(self, "log")
        self.pill = QPushButton(self)
        self.pill.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.pill.setCursor(Qt.CursorShape.PointingHandCursor)
        set_role(self.pill, "pill")
        self.pill.hide()
        self.pill.clicked.connect(self.to_end)
        self.verticalScrollBar().actionTriggered.connect(self._tell_where)

    def clear_lines(self) -> None:
        self.setPlainText("")
        self.rebuilt.emit()

    def add(self, batch: LogBatch, so_far: LogBatch) -> None:
        """Show what arrived; `so_far` is all there is to show."""
        lines = list(batch.lines)
        if batch.skipped:
            gap = say_count(
                "— {count} line came too fast to show. It is in the log file. —",
                "— {count} lines came too fast to show. All are in the log file. —",
                batch.skipped,
            )
            lines.insert(0, gap)
        if len(lines) >= _REBUILD_FROM and self._follows and not self.textCursor().hasSelection():
            self.setPlainText("\n".join([*so_far.lines, so_far.open_line]))
            self.rebuilt.emit()
        else:
            self._append(lines, batch.open_line)
            self.grew.emit()
        if self._follows:
            self._scroll_to_end()

    def follow(self, wanted: bool, new_lines: int) -> None:
        if wanted and not self._follows:
            self._follows = True
            self._scroll_to_end()
        self._follows = wanted
        self.pill.setVisible(not wanted and new_lines > 0)
        if new_lines:
            words = say_count("{count} new line", "{count} new lines", new_lines)
            self.pill.setText(words)
            self._place_pill()

    def to_end(self) -> None:
        self._scroll_to_end()
        self.follow_wanted.emit(True)

    def show_hit(self, hit: QTextCursor) -> None:
        self.setTextCursor(hit)
        self.centerCursor()
        self._tell_where()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_End:
            self.to_end()
            return
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        scroll = _SCROLLS.get(Qt.Key(event.key())) if plain else None
        if scroll is None:
            super().keyPressEvent(event)
        else:
            self.verticalScrollBar().triggerAction(scroll)

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        if event.angleDelta().y() or event.pixelDelta().y():
            self._tell_where()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_pill()
        if self._follows:
            self._scroll_to_end()

    def focusInEvent(self, event: QFocusEvent) -> None:
        # The caret of a read-only log is nowhere the user put it: do not scroll to it.
        place = self.verticalScrollBar().value()
        super().focusInEvent(event)
        self.verticalScrollBar().setValue(place)

    def _append(self, lines: list[str], open_line: str) -> None:
        bar = self.verticalScrollBar()
        before, blocks = bar.value(), self.document().blockCount()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText("\n".join([*lines, open_line]))
        if not self._follows:
            # What fell off at the top must not move what is being read.
            fallen = blocks + len(lines) - self.document().blockCount()
            bar.setValue(max(0, before - fallen))

    def _scroll_to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _tell_where(self) -> None:
        # An action of the bar is told of before the value moves to where this is already.
        bar = self.verticalScrollBar()
        self.follow_wanted.emit(bar.sliderPosition() >= bar.maximum())

    def _place_pill(self) -> None:
        self.pill.adjustSize()
        room = self.viewport().geometry()
        self.pill.move(room.center().x() - self.pill.width() // 2, room.bottom() - self.pill.height() - 2 * SPACE)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._follows:
            self._scroll_to_end()


class LogSearch(QObject):
    """Looks through a pane in slices, so that keys and lines are taken in between. What was asked last is done."""

    counted = Signal(int, bool)
    """The hits so far, and whether these are all."""

    def __init__(self, pane: LogPane) -> None:
        super().__init__(pane)
        self._pane = pane
        self._wanted = ""
        self._counting: Iterator[None] | None = None
        self._finding: Iterator[None] | None = None
        self._next = QTimer(self, singleShot=True, interval=0)
        self._next.timeout.connect(self._resume)
        self._again = QTimer(self, singleShot=True, interval=_COUNT_AGAIN_MS)
        self._again.timeout.connect(self._count_again)
        pane.rebuilt.connect(self._on_rebuilt)
        pane.grew.connect(self._on_grew)

    def look_for(self, words: str) -> None:
        """Count them from now on, with what arrives; none: stop."""
        self._wanted = folded(words)
        self._counting = self._finding = None
        self._again.stop()
        if self._wanted:
            self._counting = self._count(as_it_goes=True)
        self._resume()

    def find(self, *, backwards: bool = False) -> None:
        """Select the next place, around the end if need be."""
        if self._wanted:
            self._finding = self._find(backwards)
            self._resume()

    def _resume(self) -> None:
        if self._finding is not None and next(self._finding, self) is self:
            self._finding = None
        if self._counting is not None and next(self._counting, self) is self:
            self._counting = None
        if self._finding is not None or self._counting is not None:
            self._next.start()
        else:
            self._next.stop()

    def _on_rebuilt(self) -> None:
        # What was under way held places of lines that are gone.
        self._finding = None
        if self._wanted:
            self._counting = self._count(as_it_goes=False)
            self._next.start()

    def _on_grew(self) -> None:
        if self._wanted and not self._again.isActive():
            self._again.start()

    def _count_again(self) -> None:
        if self._counting is not None:
            self._again.start()
            return
        self._counting = self._count(as_it_goes=False)
        self._resume()

    def _count(self, *, as_it_goes: bool) -> Iterator[None]:
        """`as_it_goes`: tell what is found so far; else the old number stays until there is a new one."""
        hits = 0
        for block in self._lines(self._pane.document().begin(), QTextBlock.next):
            if block is not None:
                hits += count_in(block.text(), self._wanted)
                continue
            if as_it_goes:
                self.counted.emit(hits, False)
            yield
        self.counted.emit(hits, True)

    def _find(self, backwards: bool) -> Iterator[None]:
        document, chosen = self._pane.document(), self._pane.textCursor()
        start = chosen.selectionStart() if backwards else chosen.selectionEnd()
        first = document.findBlock(start)
        limit: int | None = start - first.position()
        looked_at = 0
        for block in self._lines(first, partial(_beside, backwards=backwards)):
            if block is None:
                yield
                continue
            line = block.text()
            hit = _nearest(line, self._wanted, limit, backwards)
            if hit is not None:
                self._pane.show_hit(_selection(block, line, hit))
                return
            limit = None
            if looked_at >= document.blockCount():  # once around, and the other half of the first line
                return
            looked_at += 1

    def _lines(self, block: QTextBlock, step: Callable[[QTextBlock], QTextBlock]) -> Iterator[QTextBlock | None]:
        """From this one on, a slice of them at a time; None between two slices: others may have a turn."""
        place = QTextCursor(self._pane.document())  # moves with the lines while others work on them
        place.setKeepPositionOnInsert(True)
        lines = characters = 0
        while block.isValid():
            yield block
            lines, characters, block = lines + 1, characters + block.length(), step(block)
            if block.isValid() and (lines >= SLICE_LINES or characters >= _SLICE_CHARACTERS):
                place.setPosition(block.position())
                yield None
                block, lines, characters = place.block(), 0, 0


def _nearest(line: str, wanted: str, limit: int | None, backwards: bool) -> tuple[int, int] | None:
    """The first hit after `limit`, or the last one before it; None: the whole line."""
    hits = hits_in(line, wanted)
    if limit is not None:
        hits = [
            (begin, end)
            for begin, end in hits
            if (_units(line[:end]) <= limit if backwards else _units(line[:begin]) >= limit)
        ]
    if not hits:
        return None
    return hits[-1] if backwards else hits[0]


def _beside(block: QTextBlock, backwards: bool) -> QTextBlock:
    document = block.document()
    after = block.previous() if backwards else block.next()
    if after.isValid():
        return after
    return document.lastBlock() if backwards else document.begin()


def _selection(block: QTextBlock, line: str, hit: tuple[int, int]) -> QTextCursor:
    begin, end = (block.position() + _units(line[:index]) for index in hit)
    cursor = QTextCursor(block)
    cursor.setPosition(begin)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    return cursor


def _units(words: str) -> int:
    """Their length as Qt counts: what is beyond the first 65,536 characters, such as rare Chinese ones, is two."""
    return len(words) + sum(sign > "\uffff" for sign in words)


class FindBar(QWidget):
    """Search in what is shown."""

    def __init__(self, pane: LogPane) -> None:
        super().__init__()
        self._pane = pane
        self.words = QLineEdit()
        self.words.setPlaceholderText(say("Find in the lines shown"))
        self.words.setAccessibleName(say("Find in the lines shown"))
        self.words.setClearButtonEnabled(True)
        self.hits = one_line("", "dim")
        self.shut = tool_button("close", say("Close the search"), self.close_bar)
        row_of((self.words, 1), self.hits, self.shut, inside=self, margins=(SPACE, HALF, SPACE, HALF))
        self._search = LogSearch(pane)
        self._search.counted.connect(self._on_counted)
        self.words.textChanged.connect(self._on_words)
        self.words.installEventFilter(self)
        self.hide()

    def open_bar(self) -> None:
        self.show()
        chosen = self._pane.textCursor().selectedText()
        if chosen and "\u2029" not in chosen:
            self.words.setText(chosen)
        self._on_words(self.words.text())
        self.words.setFocus()
        self.words.selectAll()

    def close_bar(self) -> None:
        self.hide()
        self._search.look_for("")
        self._pane.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                backwards = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self._search.find(backwards=backwards)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
        return super().eventFilter(watched, event)

    def _on_words(self, words: str) -> None:
        self.hits.setText("")
        self._search.look_for(words)

    def _on_counted(self, count: int, is_all: bool) -> None:
        found = say("Hits: {count}", count=f"{count:,}") if count else say("Nothing found")
        self.hits.setText(found if is_all else say("Hits so far: {count}", count=f"{count:,}"))


class LogView(HasEdits, QWidget):
    """Shows LogFeed."""

    def __init__(self, feed: LogFeed, theme: Theme) -> None:
        super().__init__()
        self._feed = feed
        self._theme = theme
        self.chip = StateChip()
        self.name = ElidedLabel(role="strong")
        self.name.setMinimumWidth(10 * SPACE)  # the number of the run is always in sight
        self.facts = ElidedLabel(role="dim")
        self.reason = sentence("", "dim")
        self.reason.setContentsMargins(SPACE, 0, SPACE, HALF)
        self.tasks = QComboBox()
        self.tasks.setAccessibleName(say("Worker"))
        self.pane = LogPane(theme)
        self.find_bar = FindBar(self.pane)
        self.search = tool_button("search", say("Find in the log (Ctrl+F)"), self.find_bar.open_bar)
        self.empty = EmptyPage(say("No log is open."), say("Submit a job, or select a run, then Show log."))

        head = row_of(
            (self.chip, 0, Qt.AlignmentFlag.AlignVCenter),
            self.name,
            (self.facts, 1),
            self.tasks,
            self.search,
            margins=(SPACE, HALF, SPACE, HALF),
            spacing=SPACE,
        )
        inside = QWidget()
        column_of(head, self.reason, self.find_bar, (self.pane, 1), inside=inside, margins=0, spacing=0)
        self._inside = inside
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(inside)
        self.setFocusProxy(self.pane)

        self.place = KeptLog(feed, self.pane)
        self.pane.follow_wanted.connect(feed.follow_end)
        self.tasks.activated.connect(self._on_task)
        feed.changed.connect(self._on_changed)
        feed.cleared.connect(self.pane.clear_lines)
        feed.arrived.connect(self._on_arrived)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        so_far = feed.lines_so_far()
        self.pane.add(so_far, so_far)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 30 * SPACE)

    def edits(self, focused: QWidget) -> Edits:
        return {FIND: Edit(self.find_bar.open_bar, self._inside.isVisible)}

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.find_bar.isVisible():
            self.find_bar.close_bar()
        else:
            super().keyPressEvent(event)

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)

    def _on_arrived(self, batch: LogBatch) -> None:
        self.pane.add(batch, self._feed.lines_so_far())

    def _on_task(self, number: int) -> None:
        if run := self._feed.state.run:
            self._feed.show(run, self.tasks.itemText(number))

    def _on_changed(self) -> None:
        state = self._feed.state
        run = state.run
        self._pages.setCurrentWidget(self.empty if run is None else self._inside)
        if run is None:
            return
        self.chip.show_state(tone_of(run), state_words(run))
        self.name.setText(run_title(run))
        self.name.setAccessibleDescription(run.name)
        self.facts.setText(_facts(state))
        self._show_reason(state)
        if [self.tasks.itemText(number) for number in range(self.tasks.count())] != list(run.tasks):
            self.tasks.clear()
            self.tasks.addItems(list(run.tasks))
        self.tasks.setCurrentText(state.task)
        self.tasks.setVisible(len(run.tasks) > 1)
        self.pane.setPlaceholderText(_placeholder(state))
        self.pane.follow(state.is_following, state.new_lines)

    def _show_reason(self, state: LogState) -> None:
        run, role, words = state.run, "dim", ""
        if state.trouble is not None:
            role, words = "warn", say(state.trouble.title)
            if state.next_look_s is not None:
                words = say("{trouble} Next attempt in {seconds} s.", trouble=words, seconds=round(state.next_look_s))
        elif run is not None and run.reason:
            role, words = "error" if tone_of(run) is Tone.BAD else "dim", str(run.reason)
        set_role(self.reason, role)
        self.reason.setText(words)
        self.reason.setVisible(bool(words))


def _facts(state: LogState) -> str:
    """Run time, bytes held, age of the last answer; what is unknown is left out or a dash."""
    facts = [duration_words(state.run_seconds), size_words(state.size_bytes if state.is_read else None)]
    if state.answer_age_s is not None and state.run is not None and not state.run.state.is_over:
        facts.append(say("updated {seconds} s ago", seconds=round(state.answer_age_s)))
    return " · ".join(facts)


def _placeholder(state: LogState) -> str:
    if not state.is_read:
        return say("Reading the log…")
    if state.run is not None and state.run.state.is_over:
        return say("This run has no log.")
    return say("No output yet. Lines appear here as soon as the job writes them.")
