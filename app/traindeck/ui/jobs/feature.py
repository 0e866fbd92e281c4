"""The room of jobs: the list of runs, the form, the logs, and a page for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import say
from traindeck.ui.jobs.job_form_view import JobFormView
from traindeck.ui.jobs.run_list_view import RunListView
from traindeck.ui.jobs.run_page_view import RunPageView
from traindeck.ui.kit.dialogs import chosen_file, chosen_place
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.main_window import Make
from traindeck.viewmodels.jobs.run_page import RunPage
from traindeck.viewmodels.rooms import JobsRoom, StorageRoom
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.journal import Subject, Topic

_RUN = "run."
_TOML = "TOML (*.toml)"


class JobsFeature(Feature):
    """Its commands act on the run that is selected in the list."""

    def __init__(self, shell: Shell, room: JobsRoom, storage: StorageRoom) -> None:
        super().__init__(shell)
        self._room = room
        self._storage = storage
        self._pages: dict[str, RunPage] = {}

    def panels(self) -> Mapping[str, Make]:
        room, theme = self._room, self.shell.theme
        return {
            "runs": lambda: RunListView(room.runs, theme, self.shell.confirm),
            "log": lambda: LogView(room.log, theme),
            "job": lambda: JobFormView(room.form, room.places, theme),
        }

    def news(self) -> Subscriptions:
        room, refresh = self._room, self.shell.commands.refresh
        return [
            (room.form.submitted, self._follow),
            (room.runs.submitted, self._follow),
            (room.runs.opened, self.open_run),
            (room.runs.log_wanted, self.show_log),
            (room.runs.edit_wanted, self._edit),
            (room.runs.changed, refresh),
            (room.form.changed, refresh),
        ]

    def commands(self) -> Iterable[Command]:
        form, runs, on = self._room.form, self._room.runs, self._on_selected
        one = self._is_selected(lambda _: True)
        is_unconfirmed = self._is_selected(lambda run: run.state is RunState.UNCONFIRMED)
        can_stop = self._is_selected(lambda run: run.state.can_stop)
        stop = on(lambda run: runs.stop([run.id], self.shell.confirm))
        opening = partial(self.shell.tasks.start, "open a job file", self._open_job)
        saving = partial(self.shell.tasks.start, "save a job file", self._save_job)
        check = say("&Check again whether it exists")
        return [
            Command("file.sample", say("&Sample project"), self.fill_in_sample, menu="file", group=0, icon="flask"),
            Command("file.new", say("&New job"), form.new, shortcut="Ctrl+N", menu="file", group=1),
            Command("file.open", say("&Open job file…"), opening, shortcut="Ctrl+O", menu="file", group=1),
            Command("file.save", say("&Save job file…"), saving, shortcut="Ctrl+S", menu="file", group=1),
            Command("run.submit", say("&Submit"), form.submit, shortcut="Ctrl+Return", menu="run", group=0),
            Command("run.again", say("Run &again"), on(runs.rerun), one, "R", "run", 1, icon="again"),
            Command("run.edit", say("&Edit and run again"), on(self._edit), one, "Shift+R", "run", 1),
            Command("run.check", check, on(runs.check_again), is_unconfirmed, menu="run", group=1),
            Command("run.stop", say("S&top"), stop, can_stop, "", "run", 2, icon="stop"),
            Command("run.log", say("Show &log"), on(self.show_log), one, "", "run", 2, icon="log"),
            Command("run.open", say("&Open run"), on(self.open_run), one, "", "run", 2),
            Command("run.refresh", say("&Refresh"), self._refresh, shortcut="F5", menu="run", group=3),
        ]

    # pages

    def open_run(self, run: Run) -> None:
        self.shell.window.open_tab(f"{_RUN}{run.id}", run.name, partial(self._page, run))

    def restore(self, page: object) -> bool:
        if isinstance(page, Run):
            self.open_run(page)
        return isinstance(page, Run)

    def jump(self, topic: Topic) -> bool:
        if topic.subject is Subject.RUN and (run := self._room.runs.run(topic.name)) is not None:
            self._room.runs.select(run.id)
            self.open_run(run)
        return topic.subject is Subject.RUN

    def shown_on(self, key: str) -> object | None:
        return self._pages[key].state.run if key in self._pages else None

    def page_closed(self, key: str) -> None:
        if model := self._pages.pop(key, None):
            model.close()

    def read_outputs(self) -> None:
        """Of the runs that are open: what they wrote may be gone."""
        for page in self._pages.values():
            page.read_outputs()

    def _page(self, run: Run) -> QWidget:
        model = self._room.page(run)
        self._pages[f"{_RUN}{run.id}"] = model
        return RunPageView(model, self.shell.theme, self.shell.confirm)

    # what is selected

    def show_log(self, run: Run) -> None:
        self._room.log.show(run)
        self.shell.show_dock("log")

    def _follow(self, run: Run) -> None:
        self._room.runs.select(run.id)
        self.show_log(run)
        self.open_run(run)

    def _edit(self, run: Run) -> None:
        self._room.form.load_spec(run.spec, Path(run.spec.code_folder), run)
        self.shell.show_dock("job")

    def _is_selected(self, fits: Callable[[Run], bool]) -> Callable[[], bool]:
        """Whether there is a run selected that is so."""
        runs = self._room.runs
        return lambda: (run := runs.state.selected_run) is not None and fits(run)

    def _on_selected(self, act: Callable[[Run], object]) -> Callable[[], None]:
        """Do this with the run that is selected, if one is."""

        def act_on_it() -> None:
            if run := self._room.runs.state.selected_run:
                act(run)

        return act_on_it

    def _refresh(self) -> None:
        self._room.refresh()
        self._storage.buckets.refresh()

    # job files and the sample

    def fill_in_sample(self) -> None:
        self.shell.tasks.start("prepare the sample", self.prepare_sample)

    async def prepare_sample(self) -> Path:
        """The sample in the form, its data in the Lab; the answer is the folder it is in."""
        spec, base = await self._room.sample.prepare()
        self._room.form.load_spec(spec, base)
        self.shell.show_dock("job")
        self._storage.buckets.refresh()
        return base

    async def _open_job(self) -> None:
        path = await chosen_file(self.shell.window, say("Open job file"), _TOML)
        if path is not None:
            self._room.form.open_file(path)
            self.shell.show_dock("job")

    async def _save_job(self) -> None:
        path = await chosen_place(self.shell.window, say("Save job file"), "job.toml", _TOML)
        if path is not None:
            self._room.form.save_file(path)
