"""One run as a central tab: a head of three lines, and below it what is known of the run, part by part."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QStackedLayout,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QWidget,
)

from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say
from traindeck.ui.jobs.run_actions import fill_menu, head_action, run_actions
from traindeck.ui.jobs.run_parts import CodePart, DetailsPart, OutputsPart, OverviewPart
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, show_words, theme_tool_buttons, tool_button
from traindeck.ui.kit.cells import StateChip
from traindeck.ui.kit.layouts import column_of, line, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.run_page import SUB_PAGES, RunPage, head_facts, run_title, state_words, tone_of
from traindeck.viewmodels.ports import Confirm, Tone
from traindeck.viewmodels.shell.commands import without_mnemonic

_KEYS = {Qt.KeyboardModifier.NoModifier: "run.again", Qt.KeyboardModifier.ShiftModifier: "run.edit"}
_NUMBER_WIDTH = 10 * SPACE  # the number of the run is always in sight
_ROLES = {"run.stop": "danger", "run.again": "primary"}


class RunPageView(QWidget):
    """Shows RunPage; what was sent can be read and copied here, not edited."""

    pin_wanted = Signal(bool)
    """Keep this run as a tab of its own, or no longer."""

    def __init__(self, page: RunPage, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self.page = page
        self._theme = theme
        self._actions = {action.id: action for action in run_actions(page.runs, confirm)}
        self.title, self.chip = ElidedLabel("", "heading"), StateChip()
        self.title.setMinimumWidth(_NUMBER_WIDTH)
        self.facts, self.note = ElidedLabel("", "dim"), ElidedLabel("", "dim")
        self.act = QPushButton()
        self.act.clicked.connect(self._act)
        self.more = tool_button("dots", say("More actions"))
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.more.setMenu(self._menu)
        self.pin = tool_button("pin", say("Keep this run as a tab of its own"))
        self.pin.setCheckable(True)
        self.pin.setChecked(bool(page.pinned))
        self.pin.clicked.connect(self.pin_wanted)
        self.tabs = QTabBar()
        self.tabs.setAccessibleName(say("Parts of the run"))
        self.tabs.setExpanding(False)
        self.tabs.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.overview, self.outputs = OverviewPart(page), OutputsPart(page)
        self.code, self.details = CodePart(page, theme), DetailsPart(page)
        self.parts = QStackedWidget()
        self._build()
        self.setFocusProxy(self.tabs)
        self.tabs.setCurrentIndex(SUB_PAGES.index(page.sub_page))
        self.parts.setCurrentIndex(self.tabs.currentIndex())
        self.tabs.currentChanged.connect(self._show_part)
        page.changed.connect(self._on_changed)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._on_changed()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The keys of runs; not where text is read or written."""
        run, is_text = self.page.state.run, isinstance(QApplication.focusWidget(), QPlainTextEdit | QLineEdit)
        wanted = _KEYS.get(event.modifiers(), "") if event.key() == Qt.Key.Key_R else ""
        action = self._actions.get(wanted)
        if run is None or action is None or is_text:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat() and action.fits(run):
            action.act([run])

    def _build(self) -> None:
        head = QWidget()
        middle = Qt.AlignmentFlag.AlignVCenter
        first = row_of(
            (self.title, 0), (self.chip, 0, middle), 1, self.act, self.more, self.pin, margins=0, spacing=SPACE
        )
        margins = (2 * SPACE, SPACE, SPACE, HALF)
        column_of(first, self.facts, self.note, inside=head, margins=margins, spacing=HALF)
        titles = (say("Overview"), say("Outputs"), say("Code"), say("Details"))
        for words, part in zip(titles, (self.overview, self.outputs, self.code, self.details), strict=True):
            self.tabs.addTab(words)
            self.parts.addWidget(part)
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

    def _show_part(self, number: int) -> None:
        self.parts.setCurrentIndex(number)
        self.page.show_sub_page(SUB_PAGES[number])

    def _act(self) -> None:
        run = self.page.state.run
        if run is not None and (action := self._actions.get(head_action(run))) is not None:
            action.act([run])

    def _fill_menu(self) -> None:
        self._menu.clear()
        if run := self.page.state.run:
            fill_menu(self._menu, [run], list(self._actions.values()), head_action(run))

    def _on_changed(self) -> None:
        run = self.page.state.run
        self._pages.setCurrentIndex(0 if run is None else 1)
        if run is None:
            return
        self.chip.show_state(tone_of(run), state_words(run))
        self.title.setText(run_title(run))
        self.title.setAccessibleDescription(run.name)
        self.facts.setText(" · ".join(head_facts(run, self.page.runs.clock())))
        self._show_act(run)
        self._show_note(run)
        for part in (self.overview, self.outputs, self.code, self.details):
            part.show_run(run)

    def _show_act(self, run: Run) -> None:
        wanted = head_action(run)
        self.act.setVisible(bool(wanted))
        if action := self._actions.get(wanted):
            self.act.setText(without_mnemonic(action.title))
            set_role(self.act, _ROLES.get(wanted, ""))
            color = "on_accent" if wanted == "run.again" else "bad" if wanted == "run.stop" else "text"
            self.act.setIcon(self._theme.icon(action.icon or "refresh", color))
            self.act.setEnabled(self.page.busy is None and not self.page.state.is_gone)

    def _show_note(self, run: Run) -> None:
        """What matters most of what there is to say."""
        role, words = "dim", str(self.page.busy or "")
        if not words and self.page.state.is_gone:
            words = say("This run was deleted.")
        if not words and run.reason:
            role, words = "error" if tone_of(run) is Tone.BAD else "dim", str(run.reason)
        if not words and run.isolation.warning is not None:
            role, words = "warn", str(run.isolation.warning)
        set_role(self.note, role)
        show_words(self.note, words.replace("\n", " "))
