"""The Lab as a central tab: how it stands, where it answers, what it holds, and the buttons for it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from traindeck.domain.lab import LabOwner, LabSight, LabState, user_words
from traindeck.domain.storage.objects import count_words, size_words
from traindeck.domain.texts import exact_words, say, text
from traindeck.ui.kit.cards import Facts, card, fill_scrolling, plain, push_button, show_words, tool_button
from traindeck.ui.kit.cells import StateChip
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.property_page import help_label
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.lab.lab_page import LabPage, LabPageState
from traindeck.viewmodels.ports import ConfirmLoss, Tone
from traindeck.viewmodels.shell.status import age_words

_COPIED_MS = 1500
_STATES = {
    LabState.RUNNING: (Tone.GOOD, text("Running")),
    LabState.STARTING: (Tone.WAITING, text("Starting")),
    LabState.SILENT: (Tone.DOUBTFUL, text("Not responding")),
    LabState.STOPPED: (Tone.QUIET, text("Not running")),
    None: (Tone.DOUBTFUL, text("Unknown")),
}


class LabPageView(QWidget):
    """Binds a LabPage, which looks and counts only while this can be seen."""

    def __init__(self, page: LabPage, theme: Theme, confirm: ConfirmLoss) -> None:
        super().__init__()
        self._page = page
        self._theme = theme
        self.chip = StateChip()
        self.start = push_button(say("&Start"), page.start, tip=say("Start the Lab"))
        tip = say("Stop the Lab and its jobs; its contents are kept")
        self.stop = push_button(say("S&top"), lambda: page.stop(confirm), tip=tip)
        tip = say("Delete all buckets, objects and jobs of the Lab")
        self.empty = push_button(say("&Empty…"), lambda: page.empty(confirm), "danger", tip)
        self.note, self.work, self.trouble = plain("dim"), plain("dim"), plain("error")
        self.facts, self.disk_usage = Facts(), Facts()
        self.counted = plain("small")
        self.obs = CopyRow(say("Copy the OBS endpoint"), theme)
        self.modelarts = CopyRow(say("Copy the ModelArts endpoint"), theme)
        self.iam = CopyRow(say("Copy the IAM endpoint"), theme)
        self.folder = CopyRow(say("Copy the path of the folder"), theme)
        self.open_folder = push_button(say("&Open folder"), self._open_folder)
        self.folder_note = plain("small")
        self._build()
        page.changed.connect(self._on_changed)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._on_changed()

    def _build(self) -> None:
        about = say("A cloud simulator on this computer, with OBS, IAM and ModelArts, for trying things out. Free.")
        place = QWidget()
        row_of(self.open_folder, (self.folder, 1), inside=place, margins=0)
        column = column_of(
            row_of(label(say("The Lab"), "title"), (self.chip, 0, Qt.AlignmentFlag.AlignVCenter), 1, spacing=SPACE),
            help_label(about),
            row_of(self.start, self.stop, self.empty, 1, spacing=SPACE),
            self.work,
            self.note,
            self.trouble,
            card(say("Contents"), [self.disk_usage, self.counted]),
            card(say("Folder"), [place, self.folder_note]),
            card(say("Process"), [self.facts]),
            card(say("Endpoints"), [self._addresses()]),
            1,
            margins=(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE),
            spacing=SPACE + HALF,
        )
        self.folder_note.hide()
        fill_scrolling(self, column)
        self.folder.show_value(str(self._page.root))

    def _addresses(self) -> QWidget:
        box = QWidget()
        grid = QGridLayout(box)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(2 * SPACE)
        grid.setVerticalSpacing(HALF)
        grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate((("OBS", self.obs), ("ModelArts", self.modelarts), ("IAM", self.iam))):
            grid.addWidget(label(name, "dim"), row, 0)
            grid.addWidget(value, row, 1)
        return box

    def _apply_theme(self) -> None:
        self.empty.setIcon(self._theme.icon("trash", "bad"))
        self.stop.setIcon(self._theme.icon("stop"))
        self.open_folder.setIcon(self._theme.icon("folder"))
        self._theme_start()

    def _theme_start(self) -> None:
        """The one thing to do where it does not run."""
        is_wanted = self._page.state.can_start
        set_role(self.start, "primary" if is_wanted else "")
        self.start.setIcon(self._theme.icon("play", "on_accent" if is_wanted else "text"))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._page.watch(id(self), True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._page.watch(id(self), False)

    def _open_folder(self) -> None:
        is_open = QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._page.root)))
        if not is_open:
            self.folder.copy_value()
            self.folder_note.setText(say("No file manager found. The path was copied."))
        self.folder_note.setVisible(not is_open)

    def _on_changed(self) -> None:
        state = self._page.state
        tone, words = _STATES[state.state]
        self.chip.show_state(tone, say(words))
        self.start.setEnabled(state.can_start)
        self.stop.setEnabled(state.can_stop)
        self.empty.setEnabled(state.can_empty)
        self._theme_start()
        show_words(self.work, say(state.work) if state.work else "")
        show_words(self.note, _note_words(state))
        show_words(self.trouble, state.trouble.sentence() if state.trouble else "")
        sight = state.sight if state.state is not LabState.STOPPED else None
        self.facts.show_facts(_facts(sight))
        self.obs.show_value(sight.obs if sight else "")
        self.modelarts.show_value(sight.modelarts if sight else "")
        self.iam.show_value(sight.iam if sight else "")
        self.disk_usage.show_facts(_disk_usage(state))
        show_words(self.counted, self._counted_words(state))

    def _counted_words(self, state: LabPageState) -> str:
        if state.unmeasured is not None:
            return state.unmeasured.sentence()
        if state.measured_at is None:
            return ""
        age_s = max(0.0, (self._page.now() - state.measured_at).total_seconds())
        if age_s < 2:
            return say("Updated just now")
        return say("Updated {age}", age=age_words(age_s))


class CopyRow(QWidget):
    """A value and a button that copies it."""

    def __init__(self, purpose: str, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._purpose = purpose
        self.value = plain("")
        self.button = tool_button("copy", purpose, self.copy_value)
        self.button.setIconSize(QSize(16, 16))
        row_of((self.value, 1), self.button, inside=self, margins=0, spacing=SPACE)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self.show_value("")

    def show_value(self, value: str) -> None:
        self.value.setText(value or "–")
        self.button.setEnabled(bool(value))

    def copy_value(self) -> None:
        QGuiApplication.clipboard().setText(self.value.text())
        self.button.setIcon(self._theme.icon("check", "good"))
        self.button.setToolTip(say("Copied"))
        QTimer.singleShot(_COPIED_MS, self, self._apply_theme)

    def _apply_theme(self) -> None:
        self.button.setIcon(self._theme.icon("copy"))
        self.button.setToolTip(self._purpose)


def _note_words(state: LabPageState) -> str:
    """Why something cannot be done, or how old the truth is."""
    sight = state.sight
    if state.blind is not None:
        return f"{state.blind.sentence()} {_last_truth(state)}"
    if sight is None:
        return say("Checking…")
    if sight.state is LabState.SILENT:
        return f"{say('Its process is running but not responding.')} {_last_truth(state)}"
    if sight.state is LabState.RUNNING and not sight.is_ours_to_end:
        return f"{say(user_words(sight))} {say('It can be stopped or emptied only there.')}"
    return ""


def _last_truth(state: LabPageState) -> str:
    if state.seen_at is None:
        return say("No response yet.")
    return say("Last response: {time}.", time=exact_words(state.seen_at))


def _facts(sight: LabSight | None) -> list[tuple[str, str]]:
    pid = "–" if sight is None or sight.pid is None else str(sight.pid)
    return [
        (say("Process"), pid),
        (say("Started"), exact_words(sight.started if sight else None)),
        (say("Version"), (sight.version if sight else "") or "–"),
        (say("Managed by"), _owner_words(sight)),
    ]


def _owner_words(sight: LabSight | None) -> str:
    if sight is None or sight.owner is LabOwner.UNKNOWN:
        return "–"
    if sight.owner is LabOwner.OURS:
        return say("this window")
    if sight.owner is LabOwner.NOBODY:
        return say("a background command; stops when idle")
    if sight.owner is LabOwner.WINDOW:
        return say("another TrainDeck window (process {pid})", pid=sight.owner_pid or "–")
    return say("the terminal or script that started it")


def _disk_usage(state: LabPageState) -> list[tuple[str, str]]:
    held = state.held
    objects = count_words(held.objects)
    if held.objects:
        objects = say("{count} ({size})", count=objects, size=size_words(held.object_bytes))
    jobs = count_words(held.jobs)
    live = state.sight.live_jobs if state.sight and state.state is LabState.RUNNING else None
    if held.jobs is not None and live:
        jobs = say("{count}, active: {live}", count=jobs, live=count_words(live))
    return [(say("Buckets"), count_words(held.buckets)), (say("Objects"), objects), (say("Jobs"), jobs), _disk(state)]


def _disk(state: LabPageState) -> tuple[str, str]:
    size_bytes = state.held.disk_bytes
    words = size_words(size_bytes)
    if state.measured_at is None and state.is_counting:
        words = say("Counting…") if size_bytes is None else say("counting… {size} so far", size=words)
    elif not state.held.disk_is_whole:
        words = say("at least {size}; some folders cannot be read", size=words)
    return say("Size on disk"), words
