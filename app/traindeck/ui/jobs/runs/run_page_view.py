"""One run as a central tab: a head of three lines, and below it what is known of the run, part by part."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QStackedLayout,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QWidget,
)

from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.run_table import number_words
from traindeck.domain.texts import printable, say
from traindeck.ui.jobs.runs.code_part import CodePart
from traindeck.ui.jobs.runs.curves_part import CurvesPart
from traindeck.ui.jobs.runs.outputs_part import OutputsPart
from traindeck.ui.jobs.runs.run_actions import again_action, fill_menu, run_actions, stop_action
from traindeck.ui.jobs.runs.run_parts import DetailsPart, OverviewPart, RunPart
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, push_button, show_words, theme_tool_buttons, tool_button
from traindeck.ui.kit.cells import StateChip
from traindeck.ui.kit.layouts import column_of, line, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.runs.run_page import OVERVIEW, SUB_PAGES, RunPage
from traindeck.viewmodels.jobs.runs.run_words import head_facts, run_title, state_words, tone_of
from traindeck.viewmodels.ports import Asks, Tone
from traindeck.viewmodels.shell.commands import without_mnemonic

AnyPart = TypeVar("AnyPart", bound=RunPart)

_KEYS = {Qt.KeyboardModifier.NoModifier: "run.again", Qt.KeyboardModifier.ShiftModifier: "run.edit"}
_NUMBER_WIDTH = 10 * SPACE  # the number of the run is always in sight
_WITH_FACTS = 19 * SPACE


class RunPageView(QWidget):
    """Shows RunPage; what was sent can be read and copied here, not edited."""

    pin_wanted = Signal(bool)
    """Keep this run as a tab of its own, or no longer."""

    def __init__(self, page: RunPage, theme: Theme, asks: Asks) -> None:
        super().__init__()
        self.page = page
        self._theme = theme
        self._asks = asks
        self._actions = {action.id: action for action in run_actions(page.runs, asks)}
        self.title, self.chip = ElidedLabel("", "heading"), StateChip()
        self.title.setMinimumWidth(_NUMBER_WIDTH)
        self.facts, self.note = ElidedLabel("", "dim"), ElidedLabel("", "dim")
        self._said = QWidget()
        # Two places: when a run ends, a click meant for Stop… must not reach Run again.
        self.again, self.stop = push_button("", role="primary"), push_button("")
        self.stop.setText(without_mnemonic(self._actions["run.stop"].title))
        self.again.clicked.connect(lambda: self._act(again_action))
        self.stop.clicked.connect(lambda: self._act(stop_action))
        stays = self.stop.sizePolicy()
        stays.setRetainSizeWhenHidden(True)
        self.stop.setSizePolicy(stays)
        self.more = tool_button("dots", say("More actions"))
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.more.setMenu(self._menu)
        self.pin = tool_button("pin", say("Keep this run as a tab of its own"))
        self.pin.setCheckable(True)
        self.pin.setChecked(bool(page.pinned))
        self.pin.clicked.connect(self._pin)
        self.tabs = QTabBar()
        self.tabs.setAccessibleName(say("Parts of the run"))
        self.tabs.setExpanding(False)
        self.tabs.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.parts = QStackedWidget()
        self.parts.setMinimumHeight(1)  # on a page that is too low they give way, not the head
        self._build()
        self.setFocusProxy(self.tabs)
        self.tabs.setCurrentIndex(SUB_PAGES.index(page.sub_page))
        self._beginning = QTimer(self, singleShot=True, interval=0)
        self._beginning.timeout.connect(self._make_part)
        self.tabs.currentChanged.connect(self._show_part)
        page.changed.connect(self._on_changed)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._on_changed()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where the page is low, the parts come before what is said of the whole."""
        super().resizeEvent(event)
        self._said.setVisible(self.height() >= _WITH_FACTS)
        self._tell_once()

    # Each is made when somebody looks at it: most runs are looked at in one of them.

    @cached_property
    def overview(self) -> OverviewPart:
        return self._added(OverviewPart(self.page, self._theme))

    @cached_property
    def curves(self) -> CurvesPart:
        return self._added(CurvesPart(self.page, self._theme))

    @cached_property
    def outputs(self) -> OutputsPart:
        return self._added(OutputsPart(self.page, self._asks))

    @cached_property
    def code(self) -> CodePart:
        return self._added(CodePart(self.page, self._theme))

    @cached_property
    def details(self) -> DetailsPart:
        return self._added(DetailsPart(self.page))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The keys of runs; not where text is read or written."""
        run, is_text = self.page.state.run, isinstance(QApplication.focusWidget(), QPlainTextEdit | QLineEdit)
        wanted = _KEYS.get(event.modifiers(), "") if event.key() == Qt.Key.Key_R else ""
        action = self._actions.get(wanted)
        if run is None or action is None or is_text:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat() and not self.page.state.is_gone and action.can_be_done([run]):
            action.act([run])

    def _build(self) -> None:
        head = QWidget()
        middle = Qt.AlignmentFlag.AlignVCenter
        first = row_of(
            (self.title, 0),
            (self.chip, 0, middle),
            self.again,
            1,
            self.stop,
            self.more,
            self.pin,
            margins=0,
            spacing=SPACE,
        )
        margins = (2 * SPACE, SPACE, SPACE, HALF)
        column_of(self.facts, self.note, inside=self._said, margins=0, spacing=HALF)
        column_of(first, self._said, inside=head, margins=margins, spacing=HALF)
        titles = (say("Overview"), say("Curves"), say("Outputs"), say("Code"), say("Details"))
        for words in titles:
            self.tabs.addTab(words)
        inside = QWidget()
        set_role(inside, "page")
        inside.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column_of(head, self.tabs, line(), (self.parts, 1), inside=inside, margins=0, spacing=0)
        self.empty = EmptyPage(say("No run is selected."), say("Select a run in the list, or submit a job."))
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(inside)

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self._on_changed()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.parts.count():
            self._beginning.start()  # in a turn of its own: the head and a part together would hold the window up

    def _make_part(self) -> None:
        self._show_now(self._part())
        self.parts.setCurrentWidget(self._part())
        self._tell_once()

    def show_code(self, path: str, line: int) -> None:
        """The line of a file that a message of the run names."""
        self.page.open_code_at(path, line)
        self.tabs.setCurrentIndex(SUB_PAGES.index("code"))

    def _show_part(self) -> None:
        self._make_part()
        if self.page.state.run is not None:
            self._show_note(self.page.state.run)
        self.page.show_sub_page(SUB_PAGES[self.tabs.currentIndex()])

    def _part(self) -> RunPart:
        """The one whose tab is in front."""
        match SUB_PAGES[self.tabs.currentIndex()]:
            case "curves":
                return self.curves
            case "outputs":
                return self.outputs
            case "code":
                return self.code
            case "details":
                return self.details
        return self.overview

    def _added(self, part: AnyPart) -> AnyPart:
        self._show_now(part)
        self.parts.addWidget(part)
        return part

    def _show_now(self, part: RunPart) -> None:
        if self.page.state.run is not None:
            part.show_run(self.page.state.run)

    def _pin(self, is_wanted: bool) -> None:
        """Another tab shows what is pinned: the button of this one stays as this one is."""
        self.pin.setChecked(bool(self.page.pinned))
        self.pin_wanted.emit(is_wanted)

    def _act(self, wanted: Callable[[Run], str]) -> None:
        run = self.page.state.run
        if run is not None and (action := self._actions.get(wanted(run))) is not None:
            action.act([run])

    def _fill_menu(self) -> None:
        self._menu.clear()
        if run := self.page.state.run:
            fill_menu(self._menu, [run], list(self._actions.values()))

    def _on_changed(self) -> None:
        run = self.page.state.run
        self._pages.setCurrentIndex(0 if run is None else 1)
        if run is None:
            return
        self.chip.show_state(tone_of(run), state_words(run))
        self.title.setText(run_title(run))
        self.title.setAccessibleDescription(run.name)
        self.facts.setText(" · ".join(head_facts(run, self.page.runs.clock(), self.page.progress)))
        self._show_acts(run)
        self._show_note(run)
        if self.parts.count():
            self._part().show_run(run)
        self._tell_once()

    def _show_acts(self, run: Run) -> None:
        can_act = self.page.busy is None and not self.page.state.is_gone
        for button, wanted, color in (
            (self.again, again_action(run), "on_accent"),
            (self.stop, stop_action(run), "bad" if run.state.can_stop else "text"),
        ):
            if action := self._actions.get(wanted):
                button.setText(without_mnemonic(action.title))
                button.setIcon(self._theme.icon(action.icon or "refresh", color))
                button.setEnabled(can_act)
            button.setVisible(bool(wanted))
        set_role(self.stop, "danger" if run.state.can_stop else "")
        self.more.setEnabled(not self.page.state.is_gone)

    def _tell_once(self) -> None:
        """What the head shows whole is not said again right below it."""
        part = self._part() if self.parts.count() else None
        if isinstance(part, OverviewPart):
            words = self.note.text()
            fits = self.note.fontMetrics().horizontalAdvance(words) <= self._said.width()
            part.leave_out(words if fits and self._said.isVisibleTo(self) else "")

    def _show_note(self, run: Run) -> None:
        """What matters most of what there is to say."""
        role, words = "dim", str(self.page.busy or self.page.gone_words)
        bad = self.page.reading.values.not_finite if self.page.reading is not None else None
        failure = self.page.reading.failure if self.page.reading is not None else None
        if not words and bad is not None and failure is None:
            role, words = "error", say("● The last {name} is {value}.", name=bad.name, value=number_words(bad.value))
        # Its card says it, where that is in sight; “exit code 1” helps nobody.
        has_card = failure is not None and SUB_PAGES[self.tabs.currentIndex()] == OVERVIEW
        if not words and failure is not None and not has_card:
            role, words = "error", printable(failure.short_words)
        if not words and run.reason and not has_card:
            role, words = "error" if tone_of(run) is Tone.BAD else "dim", str(run.reason)
        if not words and run.isolation.warning is not None:
            role, words = "warn", str(run.isolation.warning)
        set_role(self.note, role)
        show_words(self.note, words.replace("\n", " "))
