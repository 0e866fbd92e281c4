"""The part of the tour that is about jobs: the form from all sides, runs in every state, what they cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication
from tour.walk import Walk

from traindeck.domain.jobs.job import Run, RunState
from traindeck.ui.jobs.costs.billing_view import BillingView
from traindeck.ui.jobs.form.checks_dialog import ChecksDialog
from traindeck.ui.jobs.form.code_tree_dialog import CodeTreeDialog
from traindeck.ui.jobs.form.job_form_view import JobFormView
from traindeck.ui.jobs.form.template_dialogs import SaveTemplateDialog, TemplatesDialog
from traindeck.ui.jobs.runs.choose_run_dialog import ChooseRunDialog
from traindeck.ui.jobs.runs.code_diff_view import CodeDiffView
from traindeck.ui.jobs.runs.compare_view import CompareView
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.viewmodels.jobs.runs.run_page import CURVES, SUB_PAGES

_CTRL = Qt.KeyboardModifier.ControlModifier
_NOBODYS = "elsewhere"
"""An account that is not there: nobody is asked for the jobs it is said to run."""


async def runs(walk: Walk) -> None:
    """The page of a run, part by part, and what can be done with it."""
    hands = walk.hands
    rows = hands.panel("runs").rows
    last = rows.model().rowCount() - 1
    await hands.press(Qt.Key.Key_1, _CTRL)
    await hands.choose_cell(rows, last, 0)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), RunPageView))
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, RunPageView)
    for number in range(page.tabs.count()):
        await hands.click(page.tabs, page.tabs.tabRect(number).center())
        if SUB_PAGES[number] == CURVES:
            await hands.until(lambda: page.curves.view is not None)
        await walk.look_down(f"run, {page.tabs.tabText(number)}", page)
    await hands.open_menu_of(page.more)
    await walk.look("run, more actions")
    await walk.leave()
    await comparing(walk)
    await hands.press(Qt.Key.Key_1, _CTRL)
    await hands.choose_cell(rows, last, 0)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), RunPageView))
    bar = hands.window.tabs.tabBar()
    await walk.context("a tab", bar, bar.tabRect(bar.currentIndex()).center())
    await hands.choose_cell(rows, last, 0)
    await walk.context("a run", rows.viewport(), rows.visualRect(rows.model().index(last, 0)).center() + QPoint(9, 0))
    await hands.press(Qt.Key.Key_Delete)
    await hands.until(lambda: hands.dialog() is not None)
    await walk.look("delete a run")
    await walk.leave()


async def comparing(walk: Walk) -> None:
    """What is looked for in the list, runs beside each other, and the code of one beside its folder."""
    hands = walk.hands
    models, panel = hands.program.models, hands.panel("runs")
    await hands.click(panel.search.words)
    await hands.type("no run is called so")
    await walk.look("no such run")
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: models.jobs.runs.search.found is None)
    if len(models.jobs.runs.state.runs) < 2:
        before = models.jobs.runs.state.runs[0]
        again = await hands.program.core.submission.rerun(before.id, changes=["parameters.epochs=2"])
        await hands.until(lambda: (run := models.jobs.runs.run(again.id)) is not None and run.state.is_over)
    await hands.press(Qt.Key.Key_1, _CTRL)
    await hands.press(Qt.Key.Key_A, _CTRL)
    hands.window.commands.run("run.compare")
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), CompareView))
    beside = hands.window.tabs.currentWidget()
    assert isinstance(beside, CompareView)
    await hands.until(lambda: beside.runs.state.is_known)
    await walk.look("compare")
    await hands.click(beside.equal)
    await walk.look("compare, equal rows too")
    hands.window.close_tab(hands.window.current_tab())
    await hands.choose_cell(panel.rows, 0, 0)
    edit_code_of(models.jobs.runs.state.runs[0])
    hands.window.commands.run("run.diff")
    await hands.until(lambda: isinstance(hands.dialog(), ChooseRunDialog))
    await walk.look("compare code with")
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), CodeDiffView))
    diff = hands.window.tabs.currentWidget()
    assert isinstance(diff, CodeDiffView)
    await hands.until(lambda: diff.diff.state.is_known)
    await walk.look("difference of code")
    hands.window.close_tab(hands.window.current_tab())


def edit_code_of(run: Run) -> None:
    script = Path(run.spec.code_folder, run.spec.boot)
    script.write_text(script.read_text("utf-8").replace("import ", "# edited since\nimport ", 1), "utf-8")
    (script.parent / "notes.md").write_text("# Notes\n", "utf-8")


async def costs(walk: Walk) -> None:
    """What is charged, and the prices."""
    hands = walk.hands
    await hands.click(hands.window.statusBar().findChild(QAbstractButton, "status.billing"))
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, BillingView)
    await hands.until(lambda: page.page.state.is_known and page.page.state.table is not None)
    for number in range(page.tabs.count()):
        await hands.click(page.tabs, page.tabs.tabRect(number).center())
        await walk.look(f"costs, {page.tabs.tabText(number)}")
    hands.window.close_tab(hands.window.current_tab())


async def form(walk: Walk) -> None:
    """From top to bottom; filled in, started in each way, like a template and like a run, and with mistakes."""
    hands = walk.hands
    view: JobFormView = hands.panel("job")
    await hands.press(Qt.Key.Key_6, _CTRL)
    await walk.look("form")
    await filled_in(walk, view)
    await templates(walk, view)
    await like_a_run(walk, view)
    await started_otherwise(walk, view)
    hands.window.commands.run("job.new")
    view.page.more.unfold(True)
    await hands.fill(view.fields["name"].editor, "no such name!")
    await hands.press(Qt.Key.Key_Tab)
    await hands.type("/no/such/folder")
    await hands.press(Qt.Key.Key_Tab)
    await walk.look_down("form with mistakes", view)
    await hands.press(Qt.Key.Key_Return, _CTRL)
    await walk.look("submitted with mistakes")
    await all_checks(walk, "all checks of a form with mistakes")
    view.scroll_area.verticalScrollBar().setValue(0)


async def filled_in(walk: Walk, view: JobFormView) -> None:
    """With the sample: what goes along, what is checked, and what can be chosen of the service's lists."""
    hands, parts = walk.hands, walk.hands.program.models.jobs.parts
    hands.window.commands.run("job.sample")
    await hands.until(lambda: parts.code.state.nodes and not parts.checks.state.is_running)
    await walk.look_down("form with the sample", view)
    hands.window.commands.run("job.code")
    await hands.until(lambda: isinstance(hands.dialog(), CodeTreeDialog))
    await walk.look("code that goes along")
    await walk.leave()
    await all_checks(walk, "all checks")
    for name, picker in (("engine versions", view.page.version), ("specifications", view.page.flavor)):
        await hands.bring_into_view(picker, view.scroll_area)
        await hands.click(picker)
        await hands.until(lambda: QApplication.activePopupWidget() is not None)
        await walk.look(name)
        await hands.type("npu")
        await walk.look(f"{name} with a filter")
        await walk.leave()
    view.scroll_area.verticalScrollBar().setValue(0)


async def all_checks(walk: Walk, name: str) -> None:
    hands, checks = walk.hands, walk.hands.program.models.jobs.parts.checks
    hands.window.commands.run("job.checks")
    await hands.until(lambda: isinstance(hands.dialog(), ChecksDialog) and not checks.state.is_running)
    dialog = hands.dialog()
    assert isinstance(dialog, ChecksDialog)
    await walk.look_down(name, dialog)
    await walk.leave()


async def templates(walk: Walk, view: JobFormView) -> None:
    """The form is kept with two fields locked, and begun with."""
    hands = walk.hands
    hands.window.commands.run("job.keep")
    await hands.until(lambda: isinstance(hands.dialog(), SaveTemplateDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, SaveTemplateDialog)
    await hands.fill(dialog.name, " " * 3)
    await walk.look("template that cannot be called so")
    await hands.fill(dialog.name, "Digits with 30 epochs")
    for row in range(2):
        await hands.choose_cell(dialog.fields, row, 0)
        await hands.press(Qt.Key.Key_Space)
    await walk.look("save as a template")
    await hands.click(dialog.save)
    await hands.until(lambda: hands.dialog() is None)
    hands.window.commands.run("job.template")
    await hands.until(lambda: isinstance(hands.dialog(), TemplatesDialog))
    shown = hands.dialog()
    assert isinstance(shown, TemplatesDialog)
    await hands.until(lambda: shown.list.count() == 1)
    await walk.look("new from a template")
    await hands.click(shown.delete)
    await hands.until(lambda: len(hands.dialogs()) == 2)
    await walk.look("delete a template")
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: len(hands.dialogs()) == 1)
    await hands.click(shown.use)
    await hands.until(lambda: view.origin.isVisible())
    await walk.look("form with locked fields")


async def like_a_run(walk: Walk, view: JobFormView) -> None:
    """Filled from a run whose code was edited since."""
    hands, jobs = walk.hands, walk.hands.program.models.jobs
    run = next(one for one in jobs.runs.state.runs if one.state is RunState.COMPLETED)
    jobs.runs.edit_wanted.emit(run)
    await hands.until(lambda: view.origin.view.isVisible())
    await walk.look("form like a run")
    await hands.click(view.origin.view)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), CodeDiffView))
    diff = hands.window.tabs.currentWidget()
    assert isinstance(diff, CodeDiffView)
    await hands.until(lambda: diff.diff.state.is_known)
    await walk.look("code then and now")
    hands.window.close_tab(hands.window.current_tab())


async def started_otherwise(walk: Walk, view: JobFormView) -> None:
    hands = walk.hands
    start = view.page.start
    for _ in range(start.count() - 1):
        await hands.bring_into_view(start, view.scroll_area)
        start.setFocus()
        await hands.press(Qt.Key.Key_Down)
        await walk.look_down(f"form, start with {start.currentText()}", view)
        view.scroll_area.verticalScrollBar().setValue(0)


async def states(walk: Walk) -> None:
    """A run in each state there is, and the page of one that failed."""
    hands, records = walk.hands, walk.hands.program.core.records
    jobs = hands.program.models.jobs
    good = next(one for one in jobs.runs.state.runs if one.state is RunState.COMPLETED)
    failed = await hands.program.core.submission.rerun(good.id, changes=["parameters.epochs=many"])
    await hands.until(lambda: (run := jobs.runs.run(failed.id)) is not None and run.state.is_over)
    for number, state in enumerate(RunState, start=1):
        made = {"id": f"tour{number:02}", "name": f"state-{number:02}", "profile": _NOBODYS, "job_id": ""}
        words = {"phase": "Defrosting"} if state is RunState.UNKNOWN else {}
        await records.add(replace(good, state=state, starred=number % 4 == 0, tags=("tour",), **made, **words))
    jobs.runs.refresh()
    await hands.until(lambda: len(jobs.runs.state.runs) > len(RunState))
    rows = hands.panel("runs").rows
    await hands.press(Qt.Key.Key_1, _CTRL)
    await hands.until(rows.hasFocus)
    await hands.press(Qt.Key.Key_F11)
    await walk.look("runs in all states, whole window")
    await hands.press(Qt.Key.Key_F11)
    await walk.look("runs in all states")
    for run in [run for run in jobs.runs.state.runs if run.id.startswith("tour") or run.id == failed.id]:
        jobs.runs.select(run.id)
        jobs.runs.opened.emit(run)
        await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), RunPageView))
        await walk.look(f"page of a run, {run.state.value}")
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, RunPageView)
    await hands.press(Qt.Key.Key_1, _CTRL)
    await hands.press(Qt.Key.Key_End)
    await walk.look_down("runs in all states, the last", rows)
