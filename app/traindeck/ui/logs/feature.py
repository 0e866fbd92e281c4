"""The room of logs: the panel, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QPoint, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.tracking import TrackedNumber, tracked_number
from traindeck.domain.texts import Text, say, text
from traindeck.ui.kit.context_menu import context_menu
from traindeck.ui.kit.dialogs import asked_line, chosen_place
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.logs.row_marks import LogLink
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.main_window import Make
from traindeck.viewmodels.jobs.runs.rule_news import RuleNews
from traindeck.viewmodels.logs.log_appearance import Bookmark
from traindeck.viewmodels.logs.log_feed import ALL_WORKERS, LogFeed
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.journal import Subject, Topic

_SCOPE = "log"
_RULES = "rules"
_ON_LOG = "log.rows"
_NO_LOG = text("Open the log of a run first.")
_LOGS = "*.log;;*.txt"

Track = Callable[[Run, TrackedNumber], None]
"""Follow this number from now on."""
OpenCode = Callable[[Run, str, int], None]
"""Show this line of a file of the run's code."""


class LogFeature(Feature):
    """Its commands act on the log that is shown."""

    def __init__(self, shell: Shell, feed: LogFeed, open_code: OpenCode, rules: RuleNews, track: Track) -> None:
        super().__init__(shell)
        self._track = track
        self._rules = rules
        self._feed = feed
        self._open_code = open_code
        self._view: LogView | None = None

    def panels(self) -> Mapping[str, Make]:
        return {"log": self._panel}

    def news(self) -> Subscriptions:
        refresh = self.shell.commands.refresh
        return [
            (self._feed.travel.missed, self._tell),
            (self._feed.cleared, refresh),
            (self._feed.look.changed, refresh),
            (self._rules.file_ready, self._open_file),
        ]

    def commands(self) -> Iterable[Command]:
        look, view = self._feed.look, self._in_view
        return [
            self._command("find_next", say("Find &next"), view(lambda on: on.find_bar.go()), 0, "F3"),
            self._command(
                "find_previous", say("Find &previous"), view(lambda on: on.find_bar.go(backwards=True)), 0, "Shift+F3"
            ),
            self._command("filter", say("&Filter the lines"), view(lambda on: on.filter_bar.open_bar()), 0, "Ctrl+L"),
            self._command("next_error", say("Next &error"), partial(self._find_error, 1), 1, "F4"),
            self._command("previous_error", say("Previous e&rror"), partial(self._find_error, -1), 1, "Shift+F4"),
            self._command("line", say("&Go to line…"), self._asking(self._go_to_line), 1, "Ctrl+G"),
            self._command("time", say("Go to &time…"), self._asking(self._go_to_time), 1, "Ctrl+T"),
            self._command(
                "bookmark", say("&Bookmark…"), self._asking(self._bookmark), 2, "Ctrl+B", self._is_bookmarked),
            self._command("next_bookmark", say("Next boo&kmark"), partial(self._mark_beside, 1), 2, "Ctrl+Down"),
            self._command("previous_bookmark", say("Previous bookmar&k"), partial(self._mark_beside, -1), 2, "Ctrl+Up"),
            self._command("track", say("Tra&ck this number"), self._in_view(self._track_number), 2, ""),
            self._command("highlight", say("&Highlight words…"), self._asking(self._highlight), 2, ""),
            self._command(
                "wrap", say("&Wrap lines"), lambda: look.change(wraps=not look.state.wraps), 3, "Alt+Z",
                lambda: look.state.wraps,
            ),
            self._command(
                "numbers", say("Line n&umbers"), lambda: look.change(shows_numbers=not look.state.shows_numbers), 3, "",
                lambda: look.state.shows_numbers,
            ),
            self._command(
                "fold", say("F&old repeated lines"), lambda: look.change(folds=not look.state.folds), 3, "",
                lambda: look.state.folds,
            ),
            self._command("larger", say("&Larger letters"), partial(look.zoom_by, 1), 3, "Ctrl++"),
            self._command("smaller", say("&Smaller letters"), partial(look.zoom_by, -1), 3, "Ctrl+-"),
            self._command("usual", say("Letters as u&sual"), partial(look.zoom_by, 0), 3, "Ctrl+0"),
            self._command("save", say("Save the log &as…"), self._asking(self._save), 4, ""),
            self._command("editor", say("Open in e&ditor"), self._open_in_editor, 4, ""),
            Command(
                "log.rules", say("&Rules on lines"), self._open_rules, menu="view", group=5, submenu=say("Lo&g"),
                contexts=(_ON_LOG,),
            ),
        ]  # fmt: skip

    def restore(self, page: object) -> bool:
        if page == _RULES:
            self._open_rules()
        return page == _RULES

    def _open_rules(self) -> None:
        from traindeck.ui.logs.line_rules_page import LineRulesPage  # seldom seen

        rules = self._rules
        make = partial(LineRulesPage, rules.book, lambda: self._feed.state.run, rules.edit)
        self.shell.window.open_tab(_RULES, say("Rules on lines"), make)
        self.shell.window.give_page_keys()

    def _command(
        self, name: str, title: str, run: Callable[[], object], group: int, keys: str,
        checked: Callable[[], bool] | None = None,
    ) -> Command:  # fmt: skip
        return Command(
            f"log.{name}", title, run, self._is_shown, keys, "view", group, checked, submenu=say("Lo&g"), scope=_SCOPE,
            needs=_NO_LOG, contexts=(_ON_LOG,),
        )  # fmt: skip

    def _panel(self) -> QWidget:
        view = self._view = LogView(self._feed, self.shell.theme)
        view.menu_wanted.connect(self._show_menu)
        view.link_wanted.connect(self._follow_link)
        view.destroyed.connect(self._forget)
        return view

    def _forget(self) -> None:
        self._view = None

    def _is_shown(self) -> bool:
        return self._view is not None and self._feed.state.run is not None

    def _in_view(self, act: Callable[[LogView], object]) -> Callable[[], object]:
        def run() -> None:
            if self._view is not None:
                act(self._view)

        return run

    def _asking(self, ask: Callable[[LogView], Awaitable[None]]) -> Callable[[], object]:
        def run() -> None:
            if (view := self._view) is not None:
                self.shell.tasks.start("ask about the log", lambda: ask(view))

        return run

    def _show_menu(self, at: QPoint) -> None:
        if self._view is not None:
            context_menu(self.shell.commands, _ON_LOG, self.shell.theme, self._view).popup(at)

    def _follow_link(self, link: LogLink) -> None:
        run = self._feed.state.run
        if run is None:
            return
        if link.line:
            self._open_code(run, link.path, link.line)
        else:
            self.shell.jump(Topic(Subject.PLACE, link.path, run.profile))

    def _tell(self, words: Text) -> None:
        if self._view is not None:
            self._view.say_for_a_while(say(words))

    # what needs an answer

    def _number(self) -> int:
        row = self._view.current_row() if self._view is not None else None
        return 0 if row is None else row.number

    def _find_error(self, step: int) -> None:
        self._feed.travel.find_error(self._number(), backwards=step < 0)

    async def _go_to_line(self, view: LogView) -> None:
        typed = await asked_line(view, say("Go to line"), say("Number of the line"), say("Go"), "", _check_line)
        if typed is not None:
            self._feed.travel.go_to_line(_check_line(typed))

    async def _go_to_time(self, view: LogView) -> None:
        question = say("A time of day such as 14:30 or 14:30:05, or a date with a time, as the lines tell it")
        typed = await asked_line(view, say("Go to time"), question, say("Go"), "", _check_words)
        if typed is not None:
            self._feed.travel.go_to_time(typed)

    async def _highlight(self, view: LogView) -> None:
        look = self._feed.look
        question = say("Words that get a color each, separated by commas")
        before = ", ".join(look.state.highlights)
        typed = await asked_line(view, say("Highlight words"), question, say("Highlight"), before, str)
        if typed is not None:
            look.highlight(typed.replace("，", ",").split(","))

    async def _bookmark(self, view: LogView) -> None:
        """Of the row with the selection, else of the one at the top; the same again takes it away."""
        row, run, task = view.current_row(), self._feed.state.run, self._feed.state.task
        if row is None or run is None:
            return
        if task == ALL_WORKERS:
            self._tell(text("Bookmarks are set in the log of one worker."))
            return
        if self._feed.look.bookmark(run.id, task, row.begin) is not None:
            self._feed.look.remove_bookmark(run.id, task, row.begin)
            return
        words = say("Bookmark"), say("Note (may stay empty)"), say("Set")
        note = await asked_line(view, *words, "", str, may_stay=True)
        if note is not None:
            self._feed.look.put_bookmark(run.id, task, Bookmark(row.begin, note))

    def _track_number(self, view: LogView) -> None:
        """The one that is selected: in this run, and in all runs of the same job."""
        row, run = view.current_row(), self._feed.state.run
        if row is None or run is None:
            return
        try:
            number = tracked_number(row.words, *view.pane.selection.piece_of(row))
        except InvalidInput as error:
            self._tell(error.paragraph())
            return
        self._track(run, number)
        self._tell(text("“{name}” is among the curves of the run now.", name=number.name))

    def _is_bookmarked(self) -> bool:
        row, run = self._view.current_row() if self._view is not None else None, self._feed.state.run
        if row is None or run is None:
            return False
        return self._feed.look.bookmark(run.id, self._feed.state.task, row.begin) is not None

    def _mark_beside(self, step: int) -> None:
        row, run = self._view.current_row() if self._view is not None else None, self._feed.state.run
        if row is None or run is None:
            return
        marks = self._feed.look.bookmarks(run.id, self._feed.state.task)
        behind = [mark for mark in marks if (mark.offset - row.begin) * step > 0]
        if not behind:
            self._tell(text("No bookmark after this line.") if step > 0 else text("No bookmark before this line."))
            return
        mark = behind[0 if step > 0 else -1]
        self._feed.travel.go_to_offset(mark.offset)
        if mark.note:
            self._tell(text("Bookmark: {note}", note=mark.note))

    async def _save(self, view: LogView) -> None:
        run, path = self._feed.state.run, self._feed.path
        if run is None or path is None:
            return
        target = await chosen_place(view, say("Save the log as"), f"{run.name}-{self._feed.state.task}.log", _LOGS)
        if target is not None:
            self._feed.travel.save(target, only_shown=self._feed.filter.state.is_on)

    def _open_in_editor(self) -> None:
        """A copy is not needed: the file is only ever appended to, and editors do not save by themselves."""
        if self._feed.path is not None:
            self._open_file(str(self._feed.path))

    def _open_file(self, path: str) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
            self._tell(text("No program opens {file}.", file=path))


def _check_line(typed: str) -> int:
    words = typed.strip().replace(",", "").replace(" ", "")
    if not (words.isascii() and words.isdecimal() and len(words) < 16 and int(words)):
        raise InvalidInput(text("Type the number of a line, from 1 on."), Text(""))
    return int(words)


def _check_words(typed: str) -> None:
    if not typed.strip():
        raise InvalidInput(text("Type a time."), Text(""))
