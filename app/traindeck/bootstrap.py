"""The root: builds everything, keeps the program going, takes it down in reverse order."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError
from traindeck.domain.openings import absolute
from traindeck.domain.settings import LAB_STARTS, LANGUAGE, THEME
from traindeck.domain.texts import say, text
from traindeck.loading import loaded_for_rooms, loaded_for_runs
from traindeck.runtime.files import local_error
from traindeck.runtime.language import speak, system_language
from traindeck.runtime.meeting_place import is_somebody_there, meeting_place
from traindeck.runtime.resources import resource
from traindeck.runtime.spare_memory import keep_giving_back
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.store.paths import Paths
from traindeck.store.settings import SettingsFile
from traindeck.ui.kit.context_menu import MenuKey
from traindeck.ui.kit.theme import Theme
from traindeck.ui.qt import loop as qt_loop
from traindeck.ui.qt.texts import QtTexts
from traindeck.ui.shell.main_window import MainWindow, make_frame
from traindeck.viewmodels.shell.journal import NewsKind, Subject, Topic
from traindeck.viewmodels.shell.notices import LAB_STOPPED, Mending, Notices
from traindeck.viewmodels.shell.window_state import WindowState

if TYPE_CHECKING:  # loaded while the frame is in sight already
    from traindeck.assembly.core import Core
    from traindeck.left_open import LeftOpen
    from traindeck.services.accounts.connections import LabAddress
    from traindeck.ui.qt.watchdog import Stall
    from traindeck.ui.shell.feature import Shell
    from traindeck.viewmodels.jobs.runs.run_list import RunList
    from traindeck.workspace import Models, Workspace

log = logging.getLogger(__name__)

_LAST_RESORT_S = 10
_PAINT_S = 1.0
_LANGUAGE_WAITS = "language"
_WAYS_TO_END = ("stop", "leave")


@dataclass(slots=True)
class Program:
    """The running program, for a guest who uses it as the user would."""

    application: QApplication
    core: Core
    models: Models
    workspace: Workspace
    theme: Theme
    stop: asyncio.Event
    stalls: list[Stall] = field(default_factory=list)
    status: int = 0
    """The exit status when it is asked to stop; a guest who only looks on may set it."""


Guest = Callable[[Program], Awaitable[int]]
"""Drives the program instead of a person; its answer is the exit status."""

OnFrame = Callable[[MainWindow], None]
"""Told of the window before it is shown, to look on while it fills."""


def run_program(options: Namespace, guest: Guest | None = None, on_frame: OnFrame | None = None) -> int:
    """`options.language` and `options.theme` are what was asked for; without them it is as the settings say."""
    named = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    # Qt itself ends the process where there is no screen; only on Linux can that be.
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in named):
        if guest is None:
            print(
                say(
                    "There is no display to open the window on. “traindeck --help” lists the commands that "
                    "work without one."
                ),
                file=sys.stderr,
            )
            return 1
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return qt_loop.run(partial(_main, options, guest, on_frame))


async def _main(
    options: Namespace,
    guest: Guest | None,
    on_frame: OnFrame | None,
    application: QApplication,
    stop: asyncio.Event,
) -> int:
    notices = Notices()
    sys.excepthook = notices.crash
    paths = Paths.for_user()
    openings = [absolute(one, Path.cwd()) for one in options.opens]
    try:
        # Small files, and nobody waits for this thread yet.
        paths.make()
        if guest is None and is_somebody_there(paths.home):
            from traindeck.ui.qt.one_program import hand_over  # only now: it takes a while to load

            if hand_over(meeting_place(paths.home), openings):
                return 0
        settings = SettingsFile(paths.settings).read()
    except AppError as error:
        theme = Theme(application, resource("icons"), options.theme or "")
        return await _cannot_start(error, stop, has_guest=guest is not None)
    asked = {THEME.key: options.theme, LANGUAGE.key: options.language}
    asked = {key: value for key, value in asked.items() if value}
    chosen = options.language or settings.value(LANGUAGE) or system_language()
    speak(chosen)
    MenuKey(application)
    qt_texts = QtTexts(application)
    qt_texts.speak(chosen)
    theme = Theme(application, resource("icons"), options.theme or settings.value(THEME))
    start = _Start(stop)
    layout = WindowState(paths.home / "window.json")
    layout.read()
    window = make_frame(theme, notices, layout, start.request_quit)
    if on_frame is not None:
        on_frame(window)
    await _in_sight(window)
    async with AsyncExitStack() as owned:
        owned.callback(start.take_down, window)
        await loaded_for_runs()
        from traindeck.assembly.core import Core
        from traindeck.assembly.crash_file import opened_crash_file
        from traindeck.assembly.lab_link import LabLife
        from traindeck.ui.shell.feature import Shell

        try:
            told = partial(notices.journal.tell, NewsKind.NOTE)
            core = await owned.enter_async_context(Core(paths, lab_life=LabLife.OWNED, somebody_helps=True, told=told))
            crash_file = owned.enter_context(
                opened_crash_file(core.paths.app_log.parent, partial(_tell_crash, notices))
            )
        except (AppError, OSError) as error:
            start.take_down(window)
            trouble = error if isinstance(error, AppError) else local_error(error)
            return await _cannot_start(trouble, stop, has_guest=guest is not None)
        furniture = owned.enter_context(ExitStack())
        # The window outlives the tasks: each of them may still have a dialog of it to close.
        scope = await owned.enter_async_context(TaskScope(notices.report, notices.succeeded))
        shell = Shell(window, theme, scope, start.request_quit)
        runs = _first_runs(core, scope, shell, layout.get("run"))
        await loaded_for_rooms()
        from traindeck.left_open import LeftOpen
        from traindeck.ui.kit.dialogs import last_folders
        from traindeck.ui.qt.watchdog import REST_BEAT_S, StallWatchdog
        from traindeck.workspace import Models, Workspace

        models = Models(core, scope, notices, layout, settings, asked, runs)
        owned.callback(models.close)
        layout.keep_with(core.disk, scope)
        last_folders.keep_with(layout.get("folders"), partial(layout.put, "folders"))
        models.preferences.language_changed.connect(lambda: qt_texts.speak(models.preferences.language))
        await asyncio.sleep(0)
        workspace = Workspace(shell, models)
        await workspace.build()
        program = Program(application, core, models, workspace, theme, stop)
        furniture.callback(lambda: program.workspace.shell.dispose())
        left_open = LeftOpen(models)
        _in_use(program, scope, start, left_open)
        watchdog = StallWatchdog(partial(_note_stall, program), rest_s=REST_BEAT_S)
        owned.callback(watchdog.close)
        gc.freeze()  # what came after the collector, while the window filled, lives to the end as well
        _with_lab(core, models, scope)
        if guest is None:
            _alone(program, openings, owned)
        scope.start("watch the runs", core.watch.run)
        scope.start("settle open submissions", core.submission.settle)
        scope.start("take up transfers", core.transfers.take_up)
        scope.start("give memory back", partial(keep_giving_back, core.disk))
        status = await _until_stopped(program, scope, guest)
        runs.again.cancel()
        left_open.close()
        program.workspace.window.save_layout()
        program.workspace.window.hide()
        # Whatever still hangs now, say who, and go: all that matters is on disk.
        faulthandler.dump_traceback_later(_LAST_RESORT_S, exit=True, file=crash_file)
        owned.callback(faulthandler.cancel_dump_traceback_later)
        await layout.keep(core.disk)
        models.run_news.flush()
        await models.events.flush()
        await models.webhook_notices.flush()
        return status


class _Start:
    """Closing the window before it is built ends the program without a question: nothing was begun yet."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._is_down = False
        self.close: Callable[[], None] | None = None
        """What closing means once the window is in use."""

    def request_quit(self) -> None:
        if self.close is None:
            self._stop.set()
        else:
            self.close()

    def take_down(self, window: MainWindow) -> None:
        """When it comes to an end before that."""
        if self.close is None and not self._is_down:
            self._is_down = True
            window.hide()
            window.deleteLater()


async def _in_sight(window: MainWindow) -> None:
    """Show the frame and let it be painted, before anything else takes its time."""
    painted = asyncio.Event()
    window.painted.connect(painted.set)
    window.show()
    try:
        async with asyncio.timeout(_PAINT_S):
            await painted.wait()
    except TimeoutError:
        log.info("the window is not in sight yet")  # it may have been opened as an icon


def _first_runs(core: Core, scope: TaskScope, shell: Shell, selected: object) -> RunList:
    """The list that is looked for first is there before the other rooms are; `selected` was so at the last end."""
    from traindeck.ui.jobs.runs.run_list_view import RunListView
    from traindeck.viewmodels.jobs.runs.run_list import RunList

    runs = RunList(core.run_service, core.submission, core.watch, scope, core.adoption, core.log_search)
    shell.window.provide("runs", lambda: RunListView(runs, shell.theme, shell))
    runs.select(str(selected or ""))
    runs.refresh()
    return runs


def _in_use(program: Program, scope: TaskScope, start: _Start, left_open: LeftOpen) -> None:
    """From now on the window answers to everything, also to another language."""
    from traindeck.ui.shell.feature import Shell
    from traindeck.workspace import Workspace

    core, models, theme = program.core, program.models, program.theme

    def watch_visibility(workspace: Workspace) -> None:
        handle = workspace.window.windowHandle()
        if handle is not None:
            handle.visibilityChanged.connect(note_visibility)

    def note_visibility(*_: object) -> None:
        window = program.workspace.window
        core.watch.hidden = window.isMinimized() or not window.isVisible()

    changing = asyncio.Lock()

    async def until_free() -> None:
        try:
            await program.workspace.until_free(
                lambda name: models.notices.hold(
                    _LANGUAGE_WAITS,
                    text("The language changes as soon as “{name}” is closed.", name=name),
                    text("Your changes there are kept until you save or discard them."),
                    is_error=False,
                )
            )
        finally:
            models.notices.clear(_LANGUAGE_WAITS)

    async def rebuild() -> None:
        """Step by step, so that the window answers between them; the old one stays until the new one is there."""
        async with changing:
            old = program.workspace
            old.window.save_layout()
            pages = old.open_pages()
            window = make_frame(theme, models.notices, models.layout, start.request_quit)
            await asyncio.sleep(0)
            fresh = Workspace(Shell(window, theme, scope, start.request_quit), models)
            await fresh.build()
            for panel_id in old.window.panels_made():
                for _ in iter(partial(window.prepare_panel, panel_id), False):
                    await asyncio.sleep(0)
                window.panel(panel_id)
                await asyncio.sleep(0)
            program.workspace = fresh
            await fresh.reopen(pages)
            fresh.start(pages.syncs)
            watch_visibility(fresh)
            left_open.follow(fresh)
            await asyncio.sleep(0)
            old.shell.dispose()
            note_visibility()

    def on_language() -> None:
        scope.start(f"speak {models.preferences.language}", rebuild)

    def close() -> None:
        models.jobs.runs.again.hold()
        scope.start("close", partial(_close, program))

    start.close = close

    async def take_up() -> None:
        async with changing:
            workspace = program.workspace
            await left_open.take_up(workspace)
            left_open.follow(workspace)

    program.workspace.start()
    watch_visibility(program.workspace)
    scope.start("open what was left open", take_up)
    models.preferences.language_changed.connect(on_language)
    models.preferences.until_free = until_free
    models.preferences.theme_changed.connect(theme.choose)


def _note_stall(program: Program, stall: Stall) -> None:
    took = "the window did not answer for %.0f ms (%.0f ms of its own):\n%s"
    log.warning(took, stall.seconds * 1000, stall.own * 1000, stall.stack)
    program.stalls.append(stall)


def _alone(program: Program, openings: list[str], owned: AsyncExitStack) -> None:
    """Be the window of this home, unless another start was quicker; open what this one and later ones are given."""
    from traindeck.ui.qt.one_program import FileOpenings, MeetingPoint

    def opened(what: Sequence[str]) -> None:
        program.workspace.take(what)

    home = program.core.paths.home
    point = MeetingPoint(meeting_place(home), str(home / "window.lock"), opened)
    owned.callback(point.close)
    if not point.open(openings):
        program.stop.set()
        return
    owned.callback(FileOpenings(program.application, opened).close)
    if openings:
        opened(openings)


def _with_lab(core: Core, models: Models, scope: TaskScope) -> None:
    """Start the Lab beside the window, say so when it cannot, and tell the panels when it comes and goes."""
    from traindeck.viewmodels.lab.lab_page import START

    notices, lab, known = models.notices, Topic(Subject.LAB), list[object]()

    async def start() -> None:
        try:
            await core.lab.start()
        except AppError as error:
            # Its page says more, where that is open; there is one banner for a Lab that does not run.
            notices.hold(LAB_STOPPED, error.title, error.hint, error.detail, topic=lab)

    def start_again() -> None:
        scope.start(START, start, Repeat.REPLACE)

    def noticed(address: LabAddress | None) -> None:
        if address is None:
            hint = text("Its buckets and jobs are kept. Start it to use them again.")
            notices.hold(LAB_STOPPED, text("The Lab is stopped."), hint, is_error=False, topic=lab)
        else:
            notices.clear(LAB_STOPPED)
            words = text("The Lab ended unexpectedly and was started again.") if known else text("The Lab is running.")
            notices.journal.tell(NewsKind.NOTE, words, topic=lab, is_quiet=True)
        known[:] = [address] if address else []
        models.status.lab_stopped(address is None)
        models.status.load()
        if address is None or not models.accounts.accounts.is_lab:
            return
        # What could not be read while the Lab was not there.
        models.storage.buckets.read_what_failed()
        if models.jobs.form.state.offer_trouble is not None:
            models.jobs.form.load_offer()

    notices.mends(LAB_STOPPED, Mending(text("Start the Lab"), start_again))
    core.lab.news.add(noticed)
    if models.preferences.value(LAB_STARTS):
        start_again()
    else:
        core.lab.stay_stopped()
        models.status.lab_stopped(True)


async def _until_stopped(program: Program, scope: TaskScope, guest: Guest | None) -> int:
    async def visit(visitor: Guest) -> None:
        program.status = 1
        try:
            program.status = await visitor(program)
        finally:
            program.stop.set()

    if guest is not None:
        scope.start("guest", partial(visit, guest))
    await program.stop.wait()
    return program.status


async def _close(program: Program) -> None:
    """The user wants to leave: ask once when that ends or forgets something."""
    from traindeck.ui.kit.dialogs import CANCEL, AnswerButton, asked
    from traindeck.viewmodels.jobs.runs.run_words import run_title

    core, window = program.core, program.workspace.window
    if not await program.workspace.storage.properties.may_go():
        return
    try:
        live = [run for run in await core.records.live() if run.state.is_remote]
    except AppError as error:
        log.error("what still runs is not known: %s %s", error, error.detail)
        program.stop.set()  # staying open would not make it known
        return
    # What another program began in the Lab goes on without us.
    here = [run for run in live if run.profile == LAB and run.id in core.submission.begun]
    paid = sum(run.profile != LAB for run in live)
    held = program.models.jobs.runs.again.countdown
    not_sent = say("{run} is not submitted again if you quit now.", run=run_title(held.run)) if held else ""
    if here and core.lab.owns_process:
        title = say("Active runs in the Lab: {count}", count=len(here))
        words = say("The Lab runs on this computer. Stop it and its runs, or let the runs finish in the background?")
        if paid:
            words = f"{words} {say('Paid jobs also keep running and are charged: {count}.', count=paid)}"
        ways = [
            AnswerButton(_WAYS_TO_END[0], say("Stop them and quit"), "danger"),
            AnswerButton(_WAYS_TO_END[1], say("Let them finish"), "primary"),
        ]
    elif paid:
        title = say("Paid jobs still running: {count}", count=paid)
        words = say(
            "They keep running and are charged after the window is closed. Stop them first if you no longer need them."
        )
        ways = [AnswerButton(_WAYS_TO_END[0], say("Quit and let them run"), "primary")]
    elif held:
        title, words, not_sent = not_sent, "", ""
        ways = [AnswerButton(_WAYS_TO_END[0], say("Quit"), "primary")]
    else:
        program.stop.set()
        return
    answer = await asked(window, title, f"{words} {not_sent}".strip(), *ways)
    if answer == _WAYS_TO_END[1]:
        await core.lab.close(keep_running=True)
    if answer != CANCEL:
        program.stop.set()


def _tell_crash(notices: Notices, trace: Path) -> None:
    title = text("TrainDeck ended unexpectedly last time.")
    hint = text("Runs and files are safe. For details, see {file}.", file=str(trace))
    notices.journal.tell(NewsKind.NOTE, title, hint)


async def _cannot_start(error: AppError, stop: asyncio.Event, *, has_guest: bool) -> int:
    """Nothing works without a place for the records: say so and end."""
    from traindeck.ui.kit.dialogs import asked

    log.error("cannot start: %s %s", error, error.detail)
    if sys.stderr is not None:
        print(error.sentence(), file=sys.stderr)
    if has_guest:
        return 1
    async with TaskScope(lambda name, trouble: log.error("%s: %s", name, trouble)) as scope:

        async def tell() -> None:
            await asked(None, say(error.title), say(error.hint))
            stop.set()

        scope.start("tell that it cannot start", tell)
        await stop.wait()
    return 1
