"""What the menus, keys and dialogs of jobs do, as somebody uses them in the window."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QFileDialog, QLabel, QLineEdit

from support.folder_cloud import CPU, FolderCloud, HandMadeJobs, code_folder, digits_spec, offline
from support.jobs_window import JobsWindow, jobs_window
from support.many_runs import add_many, over
from support.panel_bench import drop
from support.waiting import until
from traindeck.domain.jobs.availability import SOLD_OUT
from traindeck.domain.jobs.form.job_file import to_toml
from traindeck.domain.jobs.job import LogChunk, RemoteJob, RunState
from traindeck.domain.texts import text
from traindeck.ui.jobs.costs.billing_view import STOP, BillingView
from traindeck.ui.jobs.form.choice_picker import facts_words
from traindeck.ui.jobs.form.template_dialogs import TemplatesDialog
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.kit.dialogs import NameDialog, Question
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.viewmodels.jobs.runs.run_page import DETAILS, OUTPUTS, SUB_PAGES
from traindeck.viewmodels.shell.finding import Finder
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.shell.recent import Recent

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

NOW = datetime.now(UTC)


def runs_of(folder: Path, count: int = 1) -> Callable[[FolderCloud], Awaitable[None]]:
    async def sent(cloud: FolderCloud) -> None:
        code = code_folder(folder / "code")
        for number in range(count):
            await cloud.submission.submit(digits_spec(parameters=(("lr", 0.1 * (number + 1)),)), code)

    return sent


def run_page(on: JobsWindow) -> RunPageView:
    on.do("run.open")
    page = on.page
    assert isinstance(page, RunPageView)
    return page


def select_all(on: JobsWindow) -> None:
    on.runs.setFocus()
    on.runs.rows.selectAll()


# files of jobs


async def test_a_job_is_imported_and_exported_by_their_dialogs(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        assert not on.shell.commands.get("job.export.json").enabled(), "there is nothing to export yet"
        on.form.load_spec(digits_spec(name="goes-out"), tmp_path / "code")
        for kind, suffix in (("yaml", ".yaml"), ("json", ".json"), ("toolkit", ".json")):
            file = tmp_path / f"{kind}{suffix}"
            on.do(f"job.export.{kind}")
            await on.choose_file(file)
            await until(lambda file=file: on.told()[-1:] == [f"Exported the job to “{file.name}”."])
        on.do("job.new")
        on.job.fields["name"].editor.setFocus()
        on.form.set_field("name", "typed")
        for name in ("yaml.yaml", "json.json", "toolkit.json"):
            on.do("job.import")
            await on.choose_file(tmp_path / name)
            await until(lambda: on.form.state.spec.name == "goes-out")
            assert on.told()[-2:] == ["The job form was replaced.", f"Imported the job from “{name}”."]
            on.notices.journal.undo_last()
            assert on.form.state.spec.name == "typed"
        on.do("job.import")
        dialog = await on.dialog(QDialog)
        dialog.reject()
        await until(lambda: not on.cloud.scope.is_running("import a job"))
        assert on.form.state.spec.name == "typed" and not on.cloud.reported


async def test_a_job_file_is_saved_and_opened_by_their_dialogs(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        on.form.load_spec(digits_spec(name="kept"), tmp_path / "code")
        file = tmp_path / "code" / "kept.toml"
        on.do("job.save")
        saving = await on.dialog(QFileDialog)
        for where in saving.findChildren(QComboBox, "lookInCombo"):
            assert where.toolTip() == str(on.form.state.code_place), "of a long path the middle is left out"
        place = saving.selectedFiles()
        assert place == [str(on.form.state.code_place / "job.toml")], "beside the code it is about"
        await on.choose_file(file)
        await until(lambda: on.job.file.text() == "kept.toml")
        on.form.set_field("name", "typed")
        other = tmp_path / "other.toml"
        other.write_text(to_toml(digits_spec(name="other")), encoding="utf-8")
        on.do("job.open")
        await on.choose_file(other)
        await until(lambda: on.form.state.spec.name == "other")
        on.notices.journal.undo_last()
        assert on.form.state.spec.name == "typed" and on.job.file.text() == "kept.toml •"
        on.do("job.save")
        again = await on.dialog(QFileDialog)
        assert again.selectedFiles() == [str(file)], "the file it is kept in"
        again.reject()
        on.job.open_button.click()
        await on.choose_file(file)
        await until(lambda: on.form.state.spec.name == "kept")
        assert on.told()[-1] == "The job form was replaced." and not on.cloud.reported


@pytest.mark.parametrize("way", ["job.new", "button", "template", "drop", "run.edit", "sample"])
async def test_nothing_that_was_typed_is_lost_to_a_command(qapp: QApplication, tmp_path: Path, way: str) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path)) as on:
        on.form.load_spec(digits_spec(name="ours"), tmp_path / "code")
        on.parts.templates.save("ours", frozenset())
        await until(lambda: on.parts.templates.state.names)
        on.form.set_field("name", "typed")
        before = on.form.state.spec
        scroll_bar = on.job.scroll_area.verticalScrollBar()
        await until(lambda: scroll_bar.maximum() > 0)
        scroll_bar.setValue(scroll_bar.maximum())
        match way:
            case "button":
                on.job.new_button.click()
            case "template":
                on.do("job.template")
                dialog = await on.dialog(TemplatesDialog)
                await until(dialog.use.isEnabled)
                dialog.use.click()
            case "drop":
                (tmp_path / "x.toml").write_text(to_toml(digits_spec(name="x")), encoding="utf-8")
                assert drop(on.job, [tmp_path / "x.toml"], QPoint(50, 50))
            case "sample":
                on.do("job.sample")
            case _:
                on.do(way)
        await until(lambda: on.form.state.spec != before)
        assert "The job form was replaced." in on.told() and not on.window.findChildren(Question)
        assert scroll_bar.value() == 0, "another job is read from its beginning"
        on.notices.journal.undo_last()
        assert on.form.state.spec == before and on.form.state.is_dirty


# what is written to runs


async def test_tags_are_asked_for_and_written_to_the_service(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 2)) as on:
        on.do("run.tags")
        dialog = await on.dialog(NameDialog)
        assert dialog.windowTitle() == "Tags of run 2"
        dialog.edit.setText("baseline, team=cv")
        dialog.accept_button.click()
        await until(lambda: on.room.runs.state.runs[0].tags == ("baseline", "team=cv"))
        job = on.room.runs.state.runs[0].job_id
        assert on.cloud.jobs.written == {(job, "baseline"): "", (job, "team"): "cv"}
        on.do("run.tags")
        dialog = await on.dialog(NameDialog)
        assert dialog.edit.text() == "baseline, team=cv"
        dialog.edit.setText("team=cv, _sys_x")
        assert not dialog.accept_button.isEnabled() and "_sys_" in dialog.trouble.text()
        dialog.edit.setText("")
        dialog.accept_button.click()
        await until(lambda: on.room.runs.state.runs[0].tags == ())
        assert not on.cloud.jobs.written
        select_all(on)
        on.do("run.tags")
        dialog = await on.dialog(NameDialog)
        assert dialog.edit.text() == ""
        dialog.edit.setText("both")
        dialog.accept_button.click()
        await until(lambda: all(run.tags == ("both",) for run in on.room.runs.state.runs))
        assert not on.cloud.reported


async def test_note_tags_and_description_are_edited_where_they_stand(
    qapp: QApplication, tmp_path: Path, qtbot: QtBot
) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 2)) as on:
        page = run_page(on)
        await until(lambda: page.parts.count())
        part, details = page.overview, page.details
        run = on.room.runs.state.selected_run
        assert run is not None
        for line, words in ((part.note, "a note"), (part.tags, "x, y=1")):
            line.setFocus()
            qtbot.keyClicks(line, words)
            qtbot.keyClick(line, Qt.Key.Key_Return)
        page.tabs.setCurrentIndex(SUB_PAGES.index(DETAILS))
        details.description.setFocus()
        qtbot.keyClicks(details.description, "first try")
        qtbot.keyClick(details.description, Qt.Key.Key_Return)

        def kept() -> tuple[str, str, tuple[str, ...]]:
            now = on.room.runs.run(run.id)
            assert now is not None
            return now.note, now.spec.description, now.tags

        await until(lambda: kept() == ("a note", "first try", ("x", "y=1")))
        assert on.cloud.jobs.written[run.job_id, "description"] == "first try"
        details.description.setFocus()
        details.description.selectAll()
        qtbot.keyClicks(details.description, "z" * 257)
        qtbot.keyClick(details.description, Qt.Key.Key_Return)
        assert "256" in details.description_field.error.text()
        qtbot.keyClick(details.description, Qt.Key.Key_Escape)
        assert details.description.text() == "first try"
        on.cloud.jobs.trouble = offline()
        details.description.selectAll()
        qtbot.keyClicks(details.description, "second try")
        qtbot.keyClick(details.description, Qt.Key.Key_Return)
        await until(lambda: on.cloud.reported)
        assert kept()[1] == "first try", "what the service refuses is not changed here either"
        on.cloud.reported.clear()
        on.cloud.jobs.trouble = None


async def test_a_note_that_is_being_typed_stays_with_its_run(qapp: QApplication, tmp_path: Path, qtbot: QtBot) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 2)) as on:
        page = run_page(on)
        await until(lambda: page.parts.count())
        second, first = on.room.runs.state.runs
        assert on.room.runs.state.selected == second.id
        page.overview.note.setFocus()
        qtbot.keyClicks(page.overview.note, "about the second")
        on.room.runs.select(first.id)  # as a run does that was just submitted
        await until(lambda: page.overview.note.text() == "")
        await until(
            lambda: (
                {run.id: run.note for run in on.room.runs.state.runs}
                == {
                    second.id: "about the second",
                    first.id: "",
                }
            )
        )


async def test_runs_are_exported_as_csv_and_markdown(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 2)) as on:
        select_all(on)
        for name, beginning in (("runs.csv", "no.,run,"), ("runs.md", "| no. |")):
            on.do("run.export")
            dialog = await on.dialog(QFileDialog)
            edit = dialog.findChild(QLineEdit, "fileNameEdit")
            assert edit is not None and edit.text() == "runs.csv"
            kind = next(one for one in dialog.nameFilters() if Path(name).suffix in one)
            kinds = dialog.findChild(QComboBox, "fileTypeCombo")
            assert kinds is not None
            kinds.setFocus()
            kinds.setCurrentText(kind)
            kinds.textActivated.emit(kind)
            assert edit.text() == name, "the ending follows the kind"
            await on.choose_file(tmp_path / Path(name).stem)
            await until((tmp_path / name).exists)
            await until(lambda: not on.cloud.scope.is_running("export runs"))
            written = (tmp_path / name).read_text("utf-8-sig")
            assert written.lower().startswith(beginning) and written.count("digits") >= 2, written
        assert not on.cloud.reported


async def test_a_job_made_elsewhere_is_adopted_by_its_key(qapp: QApplication, tmp_path: Path, qtbot: QtBot) -> None:
    async def others(cloud: FolderCloud) -> None:
        await cloud.add_cloud_profile("work")
        cloud.jobs.jobs["x"] = RemoteJob("x", "theirs", "Running", NOW, NOW, user="zhang", flavor=CPU.id)

    async with jobs_window(qapp, tmp_path, others) as on:
        looking = on.cloud.watch.looking_at("work")
        with looking:
            on.cloud.watch_runs()
            await until(lambda: on.runs.model.rowCount() == 1)
            on.runs.setFocus()
            on.runs.rows.setCurrentIndex(on.runs.model.index(0, 0))
            qtbot.keyClick(on.runs.rows, Qt.Key.Key_A)
            qtbot.keyClick(on.runs.rows, Qt.Key.Key_A)
            await until(lambda: on.room.runs.state.runs)
            assert [(run.job_id, run.name) for run in on.room.runs.state.runs] == [("x", "theirs")]
            assert on.runs.model.rowCount() == 1 and isinstance(on.page, RunPageView)
        assert not on.cloud.reported


# what comes home


BOARD = """
import sys, time
print("TensorBoard 2.20.0 at http://127.0.0.1:45678/ (Press CTRL+C to quit)", file=sys.stderr, flush=True)
while True:
    time.sleep(1)
"""


@pytest.mark.skipif(os.name == "nt", reason="a script with its interpreter in the first line is POSIX")
async def test_tensorboard_is_one_click_on_what_was_fetched(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "board.py").write_text(BOARD)
    (programs / "tensorboard").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{programs / "board.py"}" "$@"\n')
    (programs / "tensorboard").chmod(0o755)
    opened: list[str] = []
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path)) as on:
        run = on.room.runs.state.runs[0]
        place = on.cloud.storage.root / "digits" / "out" / run.name
        place.mkdir(parents=True)
        (place / "events.out.tfevents.1").write_bytes(b"event")
        page = run_page(on)
        page.tabs.setCurrentIndex(SUB_PAGES.index(OUTPUTS))
        part = page.outputs
        await until(lambda: part.model.rowCount() == 1)
        assert not part.board.isVisible(), "nothing was fetched yet"
        part.fetch.click()
        (tmp_path / "here").mkdir()
        await on.choose_file(tmp_path / "here")
        await until(part.board.isVisible)
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
        part.board.click()
        await until(lambda: on.cloud.reported)
        assert "TensorBoard is not installed." in on.cloud.reported[0][1].sentence()
        on.cloud.reported.clear()
        monkeypatch.setenv("PATH", str(programs))
        on.room.runs.fetches.page_wanted.disconnect()
        on.room.runs.fetches.page_wanted.connect(opened.append)
        part.board.click()
        await until(lambda: opened == ["http://127.0.0.1:45678/"])
        assert part.end_board.isVisible()
        part.board.click()
        assert len(opened) == 2, "its page once more"
        part.end_board.click()
        await until(lambda: not part.end_board.isVisible())
        assert not on.cloud.reported


# what is charged


async def test_jobs_of_several_accounts_and_regions_have_each_their_stop(
    qapp: QApplication, tmp_path: Path, qtbot: QtBot
) -> None:
    def of(name: str) -> HandMadeJobs:
        begun = NOW - timedelta(hours=len(name))
        return HandMadeJobs({name: RemoteJob(name, name, "Running", NOW, begun, user="zhang", flavor=CPU.id)})

    async def others(cloud: FolderCloud) -> None:
        for account in ("work", "home"):
            await cloud.add_cloud_profile(account)
            for region in ("cn-north-4", "cn-east-3"):
                cloud.others[account, region] = of(f"{account}-{region}")

    async with jobs_window(qapp, tmp_path, others) as on:
        on.do("run.billing")
        view = on.page
        assert isinstance(view, BillingView)
        await until(lambda: view.jobs.rowCount() == 2)
        assert view.accounts.text() == "2 accounts"
        view.regions.menu().aboutToShow.emit()
        next(one for one in view.regions.menu().actions() if "cn-east-3" in one.text()).trigger()
        await until(lambda: view.jobs.rowCount() == 4)
        assert view.regions.text() == "2 regions" and "4 active jobs" in view.sum.text()
        wanted = next(row for row in range(4) if view.jobs.row(row).job.name == "home-cn-east-3")
        place = view.table.visualRect(view.jobs.index(wanted, STOP)).center()
        qtbot.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
        question = await on.dialog(Question)
        on.press(question, "Stop")
        await until(lambda: view.jobs.rowCount() == 3)
        phases = {key: next(iter(jobs.jobs.values())).phase for key, jobs in on.cloud.others.items()}
        assert phases.pop(("home", "cn-east-3")) == "Terminated" and set(phases.values()) == {"Running"}
        on.cloud.others["work", "cn-east-3"].trouble = offline()
        view.page.load()
        await until(lambda: view.unknown.isVisible())
        assert "work" in view.unknown.text() and "is unknown" in view.unknown.text()
        view.accounts.menu().aboutToShow.emit()
        next(one for one in view.accounts.menu().actions() if one.text() == "work").trigger()
        await until(lambda: view.accounts.text() == "1 account" and view.jobs.rowCount() == 1)
        on.window.close_tab("billing")
        on.do("run.billing")
        again = on.page
        assert isinstance(again, BillingView) and again.accounts.text() == "1 account", "what was chosen is kept"
        await until(lambda: again.jobs.rowCount() == 1)
        place = again.table.visualRect(again.jobs.index(0, 0)).center()
        qtbot.mouseClick(again.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
        qtbot.mouseClick(again.stop, Qt.MouseButton.LeftButton)
        on.press(await on.dialog(Question), "Stop")
        selected = on.cloud.others["home", "cn-north-4"].jobs
        await until(lambda: [job.phase for job in selected.values()] == ["Terminated"])
        assert not on.cloud.reported


async def test_that_no_job_is_active_is_said_once(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        on.do("run.billing")
        view = on.page
        assert isinstance(view, BillingView)
        await until(lambda: view.sum.text() == "No active jobs.")
        assert view.empty.title.text() == "Nothing is charged in the selected accounts and regions."


async def test_each_of_the_runs_that_bill_is_stopped_from_the_list(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 3)) as on:
        for job in on.cloud.jobs.jobs:
            on.cloud.jobs.move("Running", job)
        on.cloud.watch_runs()
        await until(lambda: all(run.state is RunState.RUNNING for run in on.room.runs.state.runs))
        select_all(on)
        on.do("run.stop")
        on.press(await on.dialog(Question), "Stop")
        await until(lambda: all(job.phase == "Terminated" for job in on.cloud.jobs.jobs.values()))
        await until(lambda: all(run.state is RunState.TERMINATED for run in on.room.runs.state.runs))
        assert not on.cloud.reported


async def test_the_code_of_a_run_is_restored_and_exported_by_their_dialogs(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path)) as on:
        target = tmp_path / "back"
        target.mkdir()
        (target / "train.py").write_text("mine\n")
        on.do("run.restore")
        await on.choose_file(target)
        question = await on.dialog(Question)
        assert "train.py" in " ".join(label.text() for label in question.findChildren(QLabel))
        on.press(question, "Cancel")
        await until(lambda: not on.cloud.scope.is_running(f"restore the code of {on.room.runs.state.runs[0].id}"))
        assert (target / "train.py").read_text() == "mine\n"
        on.do("run.restore")
        await on.choose_file(target)
        on.press(await on.dialog(Question), "Replace")
        await until(lambda: (target / "train.py").read_text() == "print('hello')\n")
        on.do("run.code_export")
        await on.choose_file(tmp_path / "code.zip")
        await until(lambda: on.told()[-1] == f"Wrote {tmp_path / 'code.zip'}")
        assert not on.cloud.reported


async def test_of_several_that_are_deleted_those_left_alone_are_named(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 2)) as on:
        on.cloud.jobs.move("Completed", "job-1", duration_ms=1000)
        on.cloud.jobs.move("Running", "job-2")
        on.cloud.watch_runs()
        await until(lambda: [run.state for run in on.room.runs.state.runs] == [RunState.RUNNING, RunState.COMPLETED])
        select_all(on)
        on.do("run.delete")
        question = await on.dialog(Question)
        words = " ".join(label.text() for label in question.findChildren(QLabel))
        assert "Left alone: 1 selected run that is active or unconfirmed." in words
        on.press(question, "Delete")
        await until(lambda: [run.state for run in on.room.runs.state.runs] == [RunState.RUNNING])
        assert not on.cloud.reported


async def test_of_a_run_that_was_deleted_nothing_is_left_to_do(qapp: QApplication, tmp_path: Path) -> None:
    """Neither the form nor its page offers what cannot be had of it any more."""
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 1)) as on:
        on.cloud.jobs.move("Completed", "job-1", duration_ms=1000)
        on.cloud.watch_runs()
        await until(lambda: [run.state for run in on.room.runs.state.runs] == [RunState.COMPLETED])
        run = on.room.runs.state.runs[0]
        on.room.runs.select(run.id)
        page = run_page(on)
        on.form.load_spec(run.spec, tmp_path / "code", run)
        await until(lambda: on.parts.earlier.state.frozen)
        on.parts.earlier.choose(is_then=True)
        assert on.parts.checks.frozen is not None and page.overview.note.isEnabled() and page.more.isEnabled()
        on.runs.rows.setFocus()
        select_all(on)
        on.do("run.delete")
        on.press(await on.dialog(Question), "Delete")
        await until(lambda: page.page.state.is_gone)
        assert on.form.state.origin is None and on.parts.checks.frozen is None
        assert on.form.state.spec == run.spec, "what stands in the form is kept"
        await until(lambda: page.note.text() == "This run was deleted.")
        own = (page.overview.note, page.overview.tags, page.details.description, page.more, page.again)
        assert not any(each.isEnabled() for each in own)
        assert not on.cloud.reported


# news that leads to a line


async def test_news_of_a_line_leads_to_it_in_the_log(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, runs_of(tmp_path, 2)) as on:
        other, run = on.room.runs.state.runs[:2]
        whole = b"".join(b"line %05d\n" % number for number in range(20_000))
        await on.cloud.logs.take(run.id, "worker-0", LogChunk(whole, len(whole)))
        on.room.runs.select(other.id)
        on.shell.jump(Topic(Subject.LOG, f"{run.id} worker-0 {11 * 12_345}", run.profile))
        view = on.window.panel("log")
        assert isinstance(view, LogView)
        await until(lambda: view.pane.top_number == 12_345 and view.pane.is_settled)
        assert on.room.log.state.run is not None and on.room.log.state.run.id == run.id
        assert not on.room.log.state.is_following
        on.shell.jump(Topic(Subject.LOG, "gone worker-0 0", run.profile))  # of a run that was removed since


# runs of long ago


async def test_a_run_of_long_ago_is_found_and_opened_as_any_other(qapp: QApplication, tmp_path: Path) -> None:
    async def many(cloud: FolderCloud) -> None:
        await add_many(cloud.records, over(600))

    def title() -> str:
        key = on.window.current_tab()
        return on.window.tab_title(key) if key else ""

    async with jobs_window(qapp, tmp_path, many) as on:
        runs = on.room.runs
        assert runs.run("run00002") is None, "it was not read before somebody looks"
        finder, recent = Finder(on.shell.offers()), Recent()
        palette = CommandPalette(finder, recent, on.shell.theme, on.window, on.shell.look_up)
        palette.open()
        palette.typed.setText("digits 7")
        await until(lambda: "run.run00007" in [entry.id for entry in palette._found.entries])
        at = [entry.id for entry in palette._found.entries].index("run.run00007")
        assert palette.list.currentIndex().row() > at, "what was chosen before it came stays chosen"
        palette.list.setCurrentIndex(palette._found.index(at))
        QTest.keyClick(palette.typed, Qt.Key.Key_Return)
        await until(lambda: title() == "Run 7 · digits")
        on.shell.jump(Topic(Subject.RUN, "run00002", "lab"))
        await until(lambda: title() == "Run 2 · digits")
        on.shell.jump(Topic(Subject.RUN, "nobody", "lab"))
        assert on.shell.restore("run.run00004")
        await until(lambda: title() == "Run 4 · digits")
        assert on.shell.restore("compare.run00005.run00006")
        await until(lambda: title() == "Compare 5, 6")
        assert on.shell.restore("diff.run00008.run00009")
        await until(lambda: title() == "Code 8 ↔ 9")
        assert len(runs.state.runs) < 500


async def test_the_list_of_specifications_says_what_was_sold_out(qapp: QApplication, tmp_path: Path) -> None:
    async def refused(cloud: FolderCloud) -> None:
        run = next(iter(over(1)))
        reason = text("{title} {hint}", title=SOLD_OUT, hint=text("Try again later, or select another specification."))
        spec = digits_spec(flavor=CPU.id)
        await add_many(cloud.records, [replace(run, spec=spec, state=RunState.NOT_SENT, job_id="", reason=reason)])

    async with jobs_window(qapp, tmp_path, refused) as on:
        on.form.load_spec(digits_spec(), tmp_path / "code")
        await until(lambda: on.parts.choices.flavors())
        rows = {row.value: facts_words(row) for row in on.parts.choices.flavors()}
        assert "was sold out on 2026-01-01" in rows[CPU.id]
        assert not any("sold out" in words for name, words in rows.items() if name != CPU.id)
