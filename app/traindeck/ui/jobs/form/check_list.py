"""The checks as a list: what is wrong first, each with the way out of it beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from traindeck.domain.jobs.checks import CheckFinding, CheckFix, CheckLevel
from traindeck.domain.texts import exact_words, say, say_count
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.tables import Index, RowList
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.form.live_checks import ChecksState

_LINES = 4
_FEW = 2
_MARKS = {
    CheckLevel.RED: ("✗", "bad"),
    CheckLevel.AMBER: ("!", "warn"),
    CheckLevel.NOT_CHECKED: ("?", "dim"),
    CheckLevel.GREEN: ("✓", "good"),
}
_ORDER = tuple(_MARKS)
_FIELD_ROLE = Qt.ItemDataRole.UserRole
COLOR_ROLE = Qt.ItemDataRole.UserRole + 1
_ROOM_ROLE = Qt.ItemDataRole.UserRole + 2


@dataclass(frozen=True, slots=True)
class _Line:
    """One row: what stands in it, where it leads, and the ways out."""

    key: str
    words: str
    color: str
    field: str = ""
    finding: tuple[str, str, int | None] | None = None
    """Of a script: the rule, the file and the line."""
    fixes: tuple[CheckFix, ...] = ()
    tip: str = ""


class WrappedWords(QStyledItemDelegate):
    """As many lines as the words need, beside the button."""

    def __init__(self, theme: Theme, parent: QListWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._list = parent

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        width = self._list.viewport().width() - 2 * SPACE - int(index.data(_ROOM_ROLE) or 0)
        height = _laid_out(str(index.data()), option.font, max(width, 10 * SPACE)).boundingRect().height()
        least = option.fontMetrics.height() + 2 * HALF if index.data(_ROOM_ROLE) else 0
        return QSize(0, max(ceil(height) + HALF + 2, least))  # as wide as the list, whatever it holds

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        words = str(index.data())
        self.initStyleOption(option, index)
        option.text = ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        is_chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setPen(self._theme.color("on_selection" if is_chosen else str(index.data(COLOR_ROLE))))
        room = option.rect.adjusted(SPACE, HALF // 2, -SPACE - int(index.data(_ROOM_ROLE) or 0), 0)
        _laid_out(words, option.font, max(room.width(), 10 * SPACE)).draw(painter, QPointF(room.topLeft()))
        painter.restore()

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        """The button of a row stands at its right, beside the first line."""
        size = editor.sizeHint()
        height = min(size.height(), option.rect.height())
        editor.setGeometry(option.rect.right() - size.width() - HALF, option.rect.top(), size.width(), height)


def _laid_out(words: str, font: QFont, width: int) -> QTextLayout:
    """Lines end between words; only what has none, as a path, is parted anywhere."""
    layout = QTextLayout(words.replace("\n", "\u2028"), font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    top = 0.0
    while (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        line.setPosition(QPointF(0, top))
        top += line.height()
    layout.endLayout()
    return layout


class WrappedRows(RowList):
    """In another width the words take other lines; Qt lays out anew for another height alone."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()


class CheckList(WrappedRows):
    """Choosing a line goes to its field. While the mouse is over it, no line goes elsewhere."""

    field_wanted = Signal(str)
    finding_wanted = Signal(object)
    """The rule, the file and the line of what was found in a script."""
    fix_wanted = Signal(object)
    all_wanted = Signal()

    def __init__(self, theme: Theme, *, is_whole: bool = False) -> None:
        """`is_whole`: all findings with all that is said of them; else what matters, always as high."""
        super().__init__()
        self._theme = theme
        self._is_whole = is_whole
        self._lines: list[_Line] = []
        self._state = ChecksState()
        self._told: frozenset[str] = frozenset()
        self.setAccessibleName(say("Checks"))
        self.setItemDelegate(WrappedWords(theme, self))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListWidget.ResizeMode.Adjust)
        if not is_whole:
            self.setMaximumHeight(_LINES * self._line_height())
            self.setMinimumHeight(self._line_height())
        set_role(self, "checks")
        self.itemClicked.connect(self._on_chosen)
        self.itemActivated.connect(self._on_chosen)
        theme.changed.connect(self.viewport().update)

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return hint if self._is_whole else QSize(hint.width(), _LINES * self._line_height())

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 2 * HALF

    def show_checks(self, state: ChecksState, told: frozenset[str]) -> None:
        """`told` are the fields whose mistakes somebody made; the others are only not filled in yet."""
        if state is not self._state or told != self._told:
            self._state, self._told = state, told
            self._show(self._wanted())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._show(self._wanted(), keeps_place=False)

    def _wanted(self) -> list[_Line]:
        state = self._state
        if not state.findings and not state.is_running and state.trouble is None:
            return [_Line("none", say("The form is checked while it is filled in."), "dim")]
        findings = sorted(state.findings, key=lambda one: _ORDER.index(one.level))
        if self._is_whole:
            return [self._line(one, number) for number, one in enumerate(findings)]
        shown = [one for one in findings if one.level in (CheckLevel.RED, CheckLevel.AMBER)]
        lines = [self._line(one, number) for number, one in enumerate(shown)]
        unknown = state.of(CheckLevel.NOT_CHECKED)
        if len(unknown) > _FEW:
            words = say("{count} not checked", count=f"{len(unknown):,}")
            lines.append(_Line("unknown", f"? {words}", "dim", tip="\n".join(say(one.title) for one in unknown)))
        else:
            lines += [self._line(one, number) for number, one in enumerate(unknown)]
        if passed := len(state.of(CheckLevel.GREEN)):
            words = say_count("1 check passed", "{count} checks passed", passed)
            lines.append(_Line("passed", f"✓ {words}", "dim" if shown or unknown else "good"))
        return lines

    def _line(self, one: CheckFinding, number: int) -> _Line:
        mark, color = _MARKS[one.level]
        is_told = "*" in self._told or one.field.partition(":")[0] in self._told
        if one.level is CheckLevel.RED and one.field and not is_told:
            mark, color = "○", "text"
        if one.check in self._state.stale:
            mark, color = "…", "dim"
        told = say("{title}: {fact}", title=say(one.title), fact=say(one.fact))
        whole = "\n".join(part for part in (told, one.source_line, say(one.hint or "")) if part)
        if one.as_of is not None:
            whole += "\n" + say("asked {time}", time=exact_words(one.as_of))
        words = whole if self._is_whole else say(one.fact)
        key = f"{one.check} {one.field} {one.file} {number if self._is_whole else ''}"
        fixes = one.fixes if one.check not in self._state.stale else ()
        finding = (one.rule, one.file, one.line) if one.rule and one.line is not None else None
        return _Line(key, f"{mark} {words}", color, one.field, finding, fixes, whole)

    def _show(self, wanted: list[_Line], *, keeps_place: bool = True) -> None:
        if keeps_place and self.underMouse() and not self._is_whole:
            wanted = _kept_in_place(self._lines, wanted)
        if wanted == self._lines:
            return
        while self.count() > len(wanted):
            self.takeItem(self.count() - 1)
        for number, one in enumerate(wanted):
            is_new = number >= self.count()
            item = QListWidgetItem(self) if is_new else self.item(number)
            if is_new or self._lines[number] != one:
                self._fill(item, one, has_buttons=not is_new and self._lines[number].fixes == one.fixes)
        self._lines = wanted
        self.scheduleDelayedItemsLayout()

    def _fill(self, item: QListWidgetItem, one: _Line, *, has_buttons: bool) -> None:
        if not has_buttons:
            index = self.indexFromItem(item)
            self.setIndexWidget(index, None)  # type: ignore[arg-type]
            button = self._button(one.fixes)
            item.setData(_ROOM_ROLE, button.sizeHint().width() + SPACE if button else 0)
            if button is not None:
                self.setIndexWidget(index, button)
        item.setText(one.words)
        item.setData(COLOR_ROLE, one.color)
        item.setData(_FIELD_ROLE, one.field)
        item.setToolTip(one.tip or one.words)

    def _button(self, fixes: Sequence[CheckFix]) -> QPushButton | None:
        if not fixes:
            return None
        words = say("Silence") if fixes[0].is_silence else say("Fix")
        button = push_button(words, role="link")
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the line has the focus, and a key of its own for it
        button.setAccessibleName(say("{title}: {fact}", title=words, fact=say(fixes[0].words)))
        if len(fixes) == 1:
            button.setToolTip(f"{say(fixes[0].words)} (F)")
            button.clicked.connect(partial(self._fix, fixes[0]))
            return button
        menu = QMenu(button)
        for fix in fixes:
            menu.addAction(say(fix.words)).triggered.connect(partial(self._fix, fix))
        button.setText(f"{say('Fix')} ▾")
        button.setToolTip("\n".join(say(fix.words) for fix in fixes))
        button.clicked.connect(lambda: menu.popup(button.mapToGlobal(button.rect().bottomLeft())))
        return button

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentRow()
        button = self.indexWidget(self.model().index(row, 0)) if row >= 0 else None
        if event.key() == Qt.Key.Key_F and not event.modifiers() and isinstance(button, QPushButton):
            button.click()
        else:
            super().keyPressEvent(event)

    def _fix(self, fix: CheckFix, *_: bool) -> None:
        self.fix_wanted.emit(fix)

    def _on_chosen(self, item: QListWidgetItem) -> None:
        row = self.row(item)
        finding = self._lines[row].finding if 0 <= row < len(self._lines) else None
        if field := str(item.data(_FIELD_ROLE) or ""):
            self.field_wanted.emit(field)
        elif finding is not None:
            self.finding_wanted.emit(finding)
        elif not self._is_whole:
            self.all_wanted.emit()


def _kept_in_place(before: Sequence[_Line], wanted: Sequence[_Line]) -> list[_Line]:
    """The same lines where they were; what was mended says so until the mouse is gone, what is new comes last."""
    fresh = {one.key: one for one in wanted}
    shown = [fresh.pop(one.key, replace(one, words=f"✓ {one.words[2:]}", color="dim", fixes=())) for one in before]
    return [*shown, *fresh.values()]
