"""The room of jobs: the list of runs, the form, the logs, and a page for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from traindeck.domain.jobs.form.job_format import JobFormat
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import name_stem
from traindeck.domain.jobs.run_tags import check_tags, tags_in
from traindeck.domain.readings.failure_rules import ActionOffer, FailureAction
from traindeck.domain.texts import Text, say, say_count, text
from traindeck.ui.jobs.form.job_form_view import JobFormView
from traindeck.ui.jobs.form.template_dialogs import SaveTemplateDialog, TemplatesDialog
from traindeck.ui.jobs.runs.again_strip import AgainStrip
from traindeck.ui.jobs.runs.curves_part import CurvesPanel
from traindeck.ui.jobs.runs.run_actions import RunAction, run_actions
from traindeck.ui.jobs.runs.run_list_view import RunListView
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.jobs.runs.run_rows import RunRows
from traindeck.ui.kit.dialogs import asked_line, chosen_file, chosen_place
from traindeck.ui.kit.edits import REFRESH, edit_of
from traindeck.ui.readings.failure_card import form_field
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.main_window import Make
from traindeck.viewmodels.jobs.runs.run_list import MOST_OFFERED, OtherJob
from traindeck.viewmodels.jobs.runs.run_page import CODE, SUB_PAGES, RunPage
from traindeck.viewmodels.jobs.runs.run_words import job_words, run_title, state_words
from traindeck.viewmodels.rooms import JobsRoom, StorageRoom
from traindeck.viewmodels.shell.commands import Command, always
from traindeck.viewmodels.shell.contexts import ANYWHERE
from traindeck.viewmodels.shell.finding import PaletteEntry
from traindeck.viewmodels.shell.journal import Subject, Topic

if TYPE_CHECKING:
    from traindeck.ui.readings.curves_view import CurvesView

FOLLOWING = "run"
"""The key of the tab that shows the selected run; that of a run that was kept has its id behind a point."""
_PINNED = "run."
_SCOPE = "run"
"""No dock of this name: the list acts on all that is selected in it, the tab of a run on its own."""
_NO_PAGE = text("Open a run first.")
_NO_OTHER = text("Select a job in the list that was made elsewhere.")
_NO_JOB = text("Fill in the job form first.")
_TABLES = "CSV (*.csv);;Markdown (*.md)"
_CHARTS = "PNG (*.png);;CSV (*.csv)"
_OTHERS = "*.yaml *.yml *.json"
_REFRESH_MS = 50
_MENDING = {
    FailureAction.SHOW_ACCOUNT: "account.connect",
    FailureAction.SHOW_LAB: "account.lab",
    FailureAction.SHOW_BILLING: "run.billing",
}
"""The commands of other rooms that help with a failure."""


class JobsFeature(Feature):
    """Its commands act on the run of the tab in front if that was kept, else on the selected one."""

    def __init__(self, shell: Shell, room: JobsRoom, storage: StorageRoom) -> None:
        super().__init__(shell)
        self._room = room
        self._storage = storage
        self._pages: dict[str, RunPage] = {}
        # Not for each letter that is typed into the form, nor for each of a thousand runs that go.
        self._refreshing = QTimer(shell.window, singleShot=True, interval=_REFRESH_MS)
        self._refreshing.timeout.connect(shell.commands.refresh)
        self.strip = AgainStrip(room.runs.again, shell.window)

    def panels(self) -> Mapping[str, Make]:
        room, theme = self._room, self.shell.theme
        return {
            "runs": lambda: RunListView(room.runs, theme, self.shell),
            "charts": lambda: CurvesPanel(room.runs, theme),
            "job": lambda: JobFormView(room.parts, theme, self.shell.confirm, self.shell.tasks),
        }

    def news(self) -> Subscriptions:
        room, refresh = self._room, self.shell.commands.refresh
        return [
            (room.parts.sending.submitted, self._follow),
            (room.runs.submitted, self._follow),
            (room.sample_run.submitted, self._follow_sample),
            (room.runs.opened, self.open_run),
            (room.runs.log_wanted, self.show_log),
            (room.runs.line_wanted, self._show_line),
            (room.runs.mending_wanted, self._mend),
            (room.runs.chart_export_wanted, self._ask_chart),
            (room.runs.edit_wanted, self._edit),
            (room.runs.adopted, self.open_run),
            (room.runs.tags_wanted, self._ask_tags),
            (room.runs.export_wanted, self._ask_export),
            (room.runs.chosen_changed, refresh),
            (room.runs.fetches.page_wanted, self._open_page),
            (room.runs.changed, self._refreshing.start),
            (room.runs.selection_changed, refresh),
            (room.form.changed, self._refreshing.start),
            (self.shell.theme.changed, self._mark_pinned),
        ]

    def commands(self) -> Iterable[Command]:
        submit = self._room.parts.sending.submit
        importing = partial(self.shell.tasks.start, "import a job", self._import_job)
        return [
            Command("job.new", say("&New job"), self._new_job, shortcut="Ctrl+N", menu="job", icon="plus"),
            Command("job.open", say("&Open job file…"), self._open_job, shortcut="Ctrl+O", menu="job"),
            Command("job.save", say("&Save job file…"), self._save_job, shortcut="Ctrl+S", menu="job"),
            Command("job.import", say("&Import…"), importing, menu="job"),
            *(self._export_command(kind, title) for kind, title in _exports()),
            Command("job.template", say("New from &template…"), self._show_templates, menu="job"),
            Command("job.keep", say("Save as te&mplate…"), self._keep_template, menu="job"),
            Command("job.text", say("Edit as te&xt"), self._edit_as_text, menu="job", checked=self._is_text),
            Command("job.code", say("Code that goes a&long…"), self._show_code, self._has_code, menu="job", group=2),
            Command("job.checks", say("All &checks…"), self._show_checks, menu="job", group=2),
            Command(
                "job.findings",
                say("&Findings in the scripts…"),
                self._show_findings,
                self._has_code,
                menu="job",
                group=2,
            ),
            Command("job.sample", say("&Sample project"), self.fill_in_sample, menu="job", group=1, icon="flask"),
            Command(
                "job.submit",
                say("&Submit"),
                submit,
                shortcut="Ctrl+Return",
                menu="job",
                group=2,
            ),
            Command("run.sample", say("&Run the sample"), self._room.sample_run.start, menu="run", group=0),
            *map(self._command, run_actions(self._room.runs, self.shell)),
            self._adopt_command(),
            self._pin_command(),
            Command(
                "view.refresh", say("&Refresh"), self._refresh, always, "F5", "view", contexts=ANYWHERE, icon="refresh"
            ),
        ]

    def offers(self) -> Iterable[PaletteEntry]:
        return map(self._offer, self._room.runs.state.runs[:MOST_OFFERED])

    def look_up(self, words: str, tell: Callable[[Iterable[PaletteEntry]], None]) -> None:
        self._room.runs.look_up(words, lambda found: tell(map(self._offer, found)))

    def _offer(self, run: Run) -> PaletteEntry:
        title, detail = f"{job_words(run)} {run.number}", f"{say('Run')} · {state_words(run)}"
        return PaletteEntry(f"run.{run.id}", title, partial(self.open_run, run), detail, "runs", also=run.name)

    def _command(self, action: RunAction) -> Command:
        """The same for the runs that are meant."""

        def act() -> None:
            action.act(self._runs(action))

        def fits() -> bool:
            return action.can_be_done(self._runs(action))

        def needs() -> Text:
            return action.why_not(self._runs(action)) or Text("")

        def is_on() -> bool:
            runs = self._runs(action)
            return action.is_on is not None and bool(runs) and all(map(action.is_on, runs))

        return Command(
            action.id, action.title, act, fits, action.keys, "run", action.group,
            is_on if action.is_on is not None else None, icon=action.icon, scope=_SCOPE, needs=needs,
        )  # fmt: skip

    def _adopt_command(self) -> Command:
        """For jobs of the account that were made elsewhere, and are selected in the list."""
        runs = self._room.runs

        def chosen() -> list[OtherJob]:
            return [other for other in map(runs.other, runs.chosen) if other is not None]

        def adopt() -> None:
            for other in chosen():
                runs.adopt(other)

        def has_some() -> bool:
            return bool(chosen())

        return Command(
            "run.adopt", say("&Adopt"), adopt, has_some, "A", "run", 1, icon="download", scope=_SCOPE, needs=_NO_OTHER
        )

    def _runs(self, action: RunAction) -> list[Run]:
        """All that are selected, where it can be done to several; else the one that is shown."""
        page, runs = self._pages.get(self.shell.window.current_tab()), self._room.runs
        run = runs.state.selected_run
        if page is not None and page.pinned and not isinstance(QApplication.focusWidget(), RunRows):
            run = page.state.run
        elif action.of_several and len(runs.chosen) > 1:
            return runs.chosen_runs or []
        return [] if run is None else [run]

    def _pin_command(self) -> Command:
        """For the tab in front, as its own button."""

        def page() -> RunPage | None:
            shown = self._pages.get(self.shell.window.current_tab())
            return shown if shown is not None and shown.state.run is not None else None

        def is_pinned() -> bool:
            return (shown := page()) is not None and bool(shown.pinned)

        def pin() -> None:
            self._pin(self.shell.window.current_tab(), not is_pinned())

        def has_page() -> bool:
            return page() is not None

        title = say("Keep this run as a tab of its own")
        return Command("run.pin", title, pin, has_page, "", "run", 3, is_pinned, icon="pin", needs=_NO_PAGE)

    # pages

    def open_run(self, run: Run) -> None:
        """Its own tab if it has one, else that of the selected run; with the keyboard."""
        if f"{_PINNED}{run.id}" not in self._pages:
            self._room.runs.select(run.id)
        self._open(run.id if f"{_PINNED}{run.id}" in self._pages else "").setFocus()

    def show_code(self, run: Run, path: str, line: int) -> None:
        """A line of the frozen code of a run, as a message names its file."""
        self.open_run(run)
        view = self.shell.window.tabs.currentWidget()
        if isinstance(view, RunPageView):
            view.show_code(path, line)

    def restore(self, page: object) -> bool:
        if not isinstance(page, str) or not (page == FOLLOWING or page.startswith(_PINNED)):
            return False
        self._open(page.removeprefix(FOLLOWING).removeprefix("."))
        return True

    def jump(self, topic: Topic) -> bool:
        if topic.subject is Subject.RUN:
            self._with_run(topic.name, self.open_run)
        if topic.subject is Subject.LOG:
            self._jump_to_line(topic.name)
        return topic.subject in (Subject.RUN, Subject.LOG)

    def _jump_to_line(self, place: str) -> None:
        run_id, worker, offset = place.split(" ")

        def open_line(run: Run) -> None:
            self.open_run(run)
            self._show_line(run, worker, int(offset))

        self._with_run(run_id, open_line)

    def _with_run(self, run_id: str, act: Callable[[Run], None]) -> None:
        """One that is gone is nothing to act on."""

        def act_on(runs: Sequence[Run]) -> None:
            for run in runs:
                act(run)

        self._room.runs.when_known([run_id], act_on)

    def page_closed(self, key: str) -> None:
        if model := self._pages.pop(key, None):
            model.close()

    def read_outputs(self) -> None:
        """Of the runs that are open: what they wrote may be gone."""
        for page in self._pages.values():
            page.forget_outputs()

    def _open(self, pinned: str = "") -> QWidget:
        key = f"{_PINNED}{pinned}" if pinned else FOLLOWING
        page = self.shell.window.open_tab(key, say("Run"), partial(self._page, key, pinned))
        self._name_tab(key)
        self._mark_pinned()
        return page

    def _mark_pinned(self) -> None:
        """A tab that follows the list, and one that stays, may be of the same run."""
        for key, model in self._pages.items():
            if model.pinned:
                words = say("Stays with this run, whatever is selected")
                self.shell.window.mark_tab(key, self.shell.theme.icon("pin"), words)

    def _page(self, key: str, pinned: str) -> QWidget:
        model = self._pages[key] = self._room.page(pinned)
        model.changed.connect(partial(self._name_tab, key))
        view = RunPageView(model, self.shell.theme, self.shell)
        view.pin_wanted.connect(partial(self._pin, key))
        return view

    def _pin(self, key: str, wanted: bool) -> None:
        model = self._pages[key]
        run = model.state.run
        if not wanted:
            self.shell.window.close_tab(key)
            if run is not None:
                self.open_run(run)
        elif run is not None:
            self._open(run.id).setFocus()

    def _name_tab(self, key: str) -> None:
        model = self._pages.get(key)
        run = model.state.run if model is not None else None
        if model is None or run is None:
            return
        title = run_title(run)
        if title != model.title:
            model.title = title
            self.shell.window.rename_tab(key, title)

    # what is asked for with a dialog

    def _ask_tags(self, runs: Sequence[Run]) -> None:
        self.shell.tasks.start("ask for tags", partial(self._tag, tuple(runs)))

    async def _tag(self, runs: Sequence[Run]) -> None:
        """All tags of one run; of several, those that they get beside their own."""
        title = say_count("Tags to add to {count} run", "Tags to add to {count} runs", len(runs))
        if len(runs) == 1:
            title = say("Tags of run {number}", number=runs[0].number)
        question = say("Words or KEY=VALUE, separated by commas. They are kept here and at the service.")
        before = ", ".join(runs[0].tags) if len(runs) == 1 else ""
        words = await asked_line(self.shell.window, title, question, say("Save"), before, check_tags)
        if words is None:
            return
        wanted = tags_in(words)
        gone = [tag for tag in runs[0].tags if tag not in wanted] if len(runs) == 1 else []
        self._room.runs.tag(runs, wanted, gone)

    def _ask_export(self, runs: Sequence[Run]) -> None:
        self.shell.tasks.start("export runs", partial(self._export, tuple(runs)))

    async def _export(self, runs: Sequence[Run]) -> None:
        path = await chosen_place(self.shell.window, say("Export runs"), "runs.csv", _TABLES)
        if path is not None:
            await self._room.export(runs, path)

    def _ask_chart(self, view: CurvesView) -> None:
        self.shell.tasks.start("export a chart", partial(self._export_chart, view))

    async def _export_chart(self, view: CurvesView) -> None:
        path = await chosen_place(self.shell.window, say("Export chart"), "curves.png", _CHARTS)
        if path is not None:
            view.export(path)

    # what is selected

    def show_log(self, run: Run) -> None:
        self._room.log.show(run)
        self.shell.show_dock("log")

    def _show_line(self, run: Run, worker: str, offset: int) -> None:
        self._room.log.show_at(run, worker, offset)
        self.shell.show_dock("log")

    def _mend(self, run: Run, offer: ActionOffer) -> None:
        """What the card of a failure offers; nothing is sent without the user."""
        match offer.action:
            case FailureAction.EDIT:
                self._edit(run)
                self._form_view().go_to_field(form_field(offer))
            case FailureAction.RUN_AGAIN:
                self._room.runs.rerun(run)
            case FailureAction.SHOW_CODE:
                self._show_part(run, CODE)
            case _:
                self.shell.commands.run(_MENDING[offer.action])

    def _show_part(self, run: Run, part: str) -> None:
        self.open_run(run)
        page = self.shell.window.tabs.currentWidget()
        if isinstance(page, RunPageView):
            page.tabs.setCurrentIndex(SUB_PAGES.index(part))

    def _open_page(self, address: str) -> None:
        QDesktopServices.openUrl(QUrl(address))

    def _follow(self, run: Run) -> None:
        """What was just submitted is seen; the keyboard stays in its panel, or goes to the page in front."""
        self._room.runs.select(run.id)
        focused = QApplication.focusWidget()
        self.show_log(run)
        page = self._open()
        (focused if focused is not None and focused.isVisible() else page).setFocus()

    def _follow_sample(self, run: Run) -> None:
        self._storage.buckets.refresh()
        self._follow(run)

    def _edit(self, run: Run) -> None:
        self._room.form.load_spec(run.spec, Path(run.spec.code_folder), run)
        self.shell.show_dock("job")

    def _refresh(self) -> None:
        """The panel that has the focus, if it knows how, else the page in front and the lists beside it."""
        if (own := edit_of(REFRESH)) is not None:
            own.run()
            return
        page = self.shell.window.tabs.currentWidget()
        if page is not None and (shown := edit_of(REFRESH, page)) is not None:
            shown.run()
        self._room.refresh()
        self._storage.buckets.refresh()

    # job files and the sample

    def _new_job(self) -> None:
        self._form_view()
        self._room.form.new()

    def fill_in_sample(self) -> None:
        self.shell.tasks.start("prepare the sample", self.prepare_sample, words=text("Preparing the sample…"))

    async def prepare_sample(self) -> Path:
        """The sample in the form, its data in the Lab; the answer is the folder it is in."""
        spec, base = await self._room.sample.prepare()
        self._room.form.load_spec(spec, base)
        self.shell.show_dock("job")
        self._storage.buckets.refresh()
        return base

    def _form_view(self) -> JobFormView:
        """In sight: what is asked for is shown there."""
        self.shell.show_dock("job")
        view = self.shell.window.panel("job")
        assert isinstance(view, JobFormView)
        return view

    def _show_templates(self) -> None:
        parts = self._room.parts
        dialog = TemplatesDialog(parts.templates, self.shell.confirm, self.shell.tasks, self.shell.window)
        dialog.accepted.connect(partial(self.shell.show_dock, "job"))
        _open(dialog)

    def _keep_template(self) -> None:
        parts = self._room.parts
        name = parts.form.state.template or parts.form.state.spec.name
        parts.templates.refresh()
        _open(SaveTemplateDialog(parts.templates, name, self.shell.window))

    def _edit_as_text(self) -> None:
        self._form_view().text_button.click()

    def _is_text(self) -> bool:
        return self._room.parts.written.state.is_open

    def _show_code(self) -> None:
        self._form_view().show_code()

    def _has_code(self) -> bool:
        return self._room.form.state.has_local_code

    def _show_findings(self) -> None:
        self._form_view().show_findings()

    def _show_checks(self) -> None:
        self._form_view().show_checks()

    def _open_job(self) -> None:
        self._form_view().choose_file()

    def _save_job(self) -> None:
        self._form_view().choose_save()

    async def _import_job(self) -> None:
        pattern = say("Jobs of other programs ({names})", names=_OTHERS) + f";;{say('All files')} (*)"
        path = await chosen_file(self.shell.window, say("Import a job"), pattern)
        if path is None:
            return
        self._room.parts.exchange.take_in(path)
        self.shell.show_dock("job")

    def _export_command(self, kind: JobFormat, title: str) -> Command:
        exporting = partial(self.shell.tasks.start, "export the job", partial(self._export_job, kind))
        return Command(
            f"job.export.{kind}", title, exporting, self._has_job, menu="job", submenu=say("&Export as"), needs=_NO_JOB
        )

    def _has_job(self) -> bool:
        return not self._room.form.is_untouched

    async def _export_job(self, kind: JobFormat) -> None:
        name = name_stem(self._room.form.state.spec.name or "job") + kind.suffix
        path = await chosen_place(self.shell.window, say("Export the job"), name, f"*{kind.suffix}")
        if path is not None:
            self._room.parts.exchange.write(path, kind)


def _exports() -> Iterable[tuple[JobFormat, str]]:
    return (
        (JobFormat.YAML, say("&YAML of ma-cli…")),
        (JobFormat.JSON, say("&JSON of ModelArts…")),
        (JobFormat.TOOLKIT, say("JSON of the &ToolKit…")),
    )


def _open(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
