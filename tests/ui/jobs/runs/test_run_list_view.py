from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QWidget

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.many_runs import add_many, over
from support.panel_bench import User, light_theme
from support.waiting import until
from traindeck.domain.jobs.job import Isolation, LiveJobs, RemoteJob, Run, RunState
from traindeck.domain.jobs.run_query import Metric
from traindeck.domain.texts import text
from traindeck.services.jobs.run_watch import JobsSeen
from traindeck.ui.jobs.runs.run_list_view import RunListView
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.jobs.runs.run_rows import RUN_ROLE, RunRows
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.jobs.runs.run_page import CODE, SUB_PAGES, RunPage
from traindeck.viewmodels.shell.commands import without_mnemonic

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from support.qt_support import Stalls

NOW = datetime.now(UTC)


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def a_run(number: int, state: RunState = RunState.COMPLETED, **changes: Any) -> Run:
    run = Run(
        f"r{number}", number, f"digits-{number}", "lab", digits_spec(), state, NOW, bundle="b", job_id=f"j{number}"
    )
    return replace(run, **changes)


@asynccontextmanager
async def view_of(
    folder: Path, theme: Theme, qtbot: QtBot, *runs: Run, user: User | None = None, tested: bool = True
) -> AsyncIterator[tuple[FolderCloud, RunList, RunListView]]:
    async with FolderCloud(folder) as cloud:
        for run in runs:
            await cloud.records.add(run)
        model = cloud.run_list()
        view = RunListView(model, theme, user or User())
        qtbot.addWidget(view)
        if tested:
            QAbstractItemModelTester(view.model, QAbstractItemModelTester.FailureReportingMode.Fatal, view)
        view.resize(420, 300)
        view.show()
        model.refresh()
        await until(lambda: model.state.is_known)
        yield cloud, model, view
        model.close()


def shown(view: RunListView, row: int) -> str:
    run: Run = view.model.index(row, 0).data(RUN_ROLE)
    return run.name


class Letters(RowsModel[tuple[str, int]]):
    COLUMNS = 2

    def key(self, row: tuple[str, int]) -> str:
        return row[0]

    def headers(self) -> tuple[str, str]:
        return ("letter", "number")

    def cell(self, row: tuple[str, int], column: int, role: int) -> object:
        return row[column] if role == Qt.ItemDataRole.DisplayRole else None


_ROWS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3)), unique_by=lambda row: row[0])


@given(st.lists(_ROWS, max_size=6))
def test_a_table_says_truly_what_changed(steps: list[list[tuple[str, int]]]) -> None:
    model = Letters()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    resets: list[int] = []
    model.modelReset.connect(lambda: resets.append(1))
    for rows in steps:
        model.show(rows)
        assert [model.row(number) for number in range(model.rowCount())] == rows
    assert not resets
    tester.deleteLater()


async def test_an_empty_list_says_what_to_do(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot) as (cloud, _, view):
        assert view.empty.isVisible()
        assert "Submit" in view.empty.hint.text()
        cloud.watch.tell(a_run(1))
        assert view.rows.isVisible()


async def test_r_runs_again_once_and_shift_r_edits(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot) as (cloud, runs, view):
        run = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        again: list[Run] = []
        edit: list[Run] = []
        runs.submitted.connect(again.append)
        runs.edit_wanted.connect(edit.append)
        view.select(run.id)
        for _ in range(4):
            qtbot.keyClick(view.rows, Qt.Key.Key_R)
        await until(lambda: again)
        assert len(cloud.jobs.jobs) == 2
        assert list(runs.state.rows) == [again[0].id, run.id]
        assert view.selected_ids() == [run.id]
        qtbot.keyClick(view.rows, Qt.Key.Key_R, Qt.KeyboardModifier.ShiftModifier)
        assert edit == [runs.run(run.id)]


def test_a_key_held_down_counts_once_and_enter_is_return(theme: Theme, qtbot: QtBot) -> None:
    table = RunRows(theme)
    qtbot.addWidget(table)
    told: list[str] = []
    table.open_wanted.connect(lambda: told.append("open"))
    table.again_wanted.connect(lambda: told.append("again"))
    table.delete_wanted.connect(lambda: told.append("delete"))
    key, plain = Qt.Key, Qt.KeyboardModifier.NoModifier
    for code, modifiers, is_repeat in (
        (key.Key_Enter, Qt.KeyboardModifier.KeypadModifier, False),
        (key.Key_Return, plain, False),
        (key.Key_R, plain, False),
        (key.Key_R, plain, True),
        (key.Key_Delete, plain, True),
        (key.Key_Delete, Qt.KeyboardModifier.ControlModifier, False),
    ):
        QApplication.sendEvent(table, QKeyEvent(QEvent.Type.KeyPress, code, modifiers, "", is_repeat))
    assert told == ["open", "open", "again"]


async def test_selection_and_place_stay_while_runs_change(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    many = [a_run(number) for number in range(1, 60)]
    async with view_of(tmp_path, theme, qtbot, *many) as (cloud, _, view):
        view.select("r20")
        place = view.rows.verticalScrollBar().value()
        cloud.watch.tell(a_run(21, RunState.RUNNING, started=NOW))
        cloud.watch.tell(a_run(22, reason="late news"))
        cloud.watch.forget("r5")
        assert view.selected_ids() == ["r20"]
        assert abs(view.rows.verticalScrollBar().value() - place) <= 1
        assert shown(view, 0) == "digits-21"


async def test_what_is_selected_elsewhere_is_selected_here(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot, a_run(1), a_run(2)) as (cloud, runs, view):
        view.select("r1")
        cloud.watch.tell(a_run(3, RunState.PREPARING))
        runs.select("r3")
        assert view.selected_ids() == ["r3"]
        view.rows.clearSelection()
        cloud.watch.tell(a_run(3, RunState.RUNNING))
        assert view.selected_ids() == []
        view.rows.selectAll()
        assert len(view.selected_ids()) == 3
        view.close()


async def test_run_time_goes_on_while_a_run_lives(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    live = a_run(1, RunState.RUNNING, started=datetime.now(UTC) - timedelta(seconds=61))
    async with view_of(tmp_path, theme, qtbot, live, a_run(2)) as (_, runs, view):
        assert view.model.times(live)[0].startswith("1:0")
        assert view.model.times(a_run(2))[0] == "–"
        changes: list[tuple[int, int]] = []

        def note(first: QModelIndex, last: QModelIndex) -> None:
            changes.append((first.row(), last.row()))

        view.model.dataChanged.connect(note)
        runs.ticked.emit()
        assert changes == [(0, 0)], "what is over stands still"


async def test_delete_asks_with_names_and_deletes_only_what_is_over(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    user = User()
    many = [a_run(1), a_run(2, RunState.RUNNING), a_run(3, RunState.FAILED)]
    async with view_of(tmp_path, theme, qtbot, *many, user=user) as (_, runs, view):
        view.select("r1")
        qtbot.keyClick(view.rows, Qt.Key.Key_Delete)
        await until(lambda: len(runs.state.runs) == 2)
        assert "digits-1" in user.asked[0]
        assert user.asked[0].endswith("[Delete]")
        view.rows.selectAll()
        user.answer = False
        qtbot.keyClick(view.rows, Qt.Key.Key_Delete)
        await until(lambda: len(user.asked) == 2)
        assert "digits-3" in user.asked[1]
        assert len(runs.state.runs) == 2


async def test_the_menu_offers_what_is_possible(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    many = [a_run(1), a_run(2, RunState.RUNNING)]
    async with view_of(tmp_path, theme, qtbot, *many) as (_, runs, view):
        view.rows.clearSelection()
        assert view.menu() is None
        view.select("r2")
        offered = {without_mnemonic(one.text().partition("\t")[0]): one for one in view.menu().actions()}
        assert offered["Stop…"].isEnabled()
        assert not offered["Delete…"].isEnabled()
        opened: list[Run] = []
        runs.opened.connect(opened.append)
        offered["Open run"].trigger()
        assert opened[0].id == "r2"
        assert runs.state.selected == "r2"


async def test_what_can_be_done_to_several_is_offered_for_several(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    many = [a_run(1), a_run(2, RunState.RUNNING), a_run(3, RunState.RUNNING)]
    async with view_of(tmp_path, theme, qtbot, *many) as (_, runs, view):
        view.rows.selectAll()
        assert set(runs.chosen) == {"r1", "r2", "r3"}
        offered = {without_mnemonic(one.text().partition("\t")[0]): one for one in view.menu().actions()}
        changing = {"Stop…", "Compare", "Star", "Tags…", "Delete…"}
        assert set(offered) == {*changing, "Copy name", "Copy job ID", "Export as CSV or Markdown…", ""}
        offered["Copy name"].trigger()
        assert sorted(QGuiApplication.clipboard().text().splitlines()) == ["digits-1", "digits-2", "digits-3"]


async def test_of_ten_thousand_runs_those_in_sight_are_read_and_nothing_stalls(
    tmp_path: Path, theme: Theme, qtbot: QtBot, responsive: Stalls
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await add_many(cloud.records, over(10_000))
        await cloud.records.add(a_run(10_001, RunState.RUNNING, started=NOW))
        runs = cloud.run_list()
        view = RunListView(runs, theme, User())
        qtbot.addWidget(view)
        view.resize(420, 300)
        view.show()
        runs.refresh()
        await until(lambda: view.model.rowCount() == 10_001)
        assert runs.state.count == 10_001 and len(runs.state.runs) < 500
        assert shown(view, 0) == "digits-10001" and shown(view, 1) == "digits-10000"
        for number in range(30):
            cloud.watch.tell(a_run(10_001, RunState.RUNNING, started=NOW, reason=str(number)))
            view.rows.scrollToBottom() if number % 2 else view.rows.scrollToTop()
            await asyncio.sleep(0.01)
        runs.ticked.emit()
        view.rows.scrollToBottom()
        await until(lambda: runs.row("run00001") is not None)
        assert shown(view, 10_000) == "digits-1"
        assert len(runs.state.runs) < 1500  # what was jumped over is not read
        runs.select("run05000")  # as by a message that names it
        await until(lambda: runs.state.selected_run is not None)
        assert runs.state.selected_run is not None and runs.state.selected_run.number == 5000
        assert view.selected_ids() == ["run05000"]
        cloud.watch.tell(a_run(10_001, RunState.COMPLETED, started=NOW, ended=NOW))
        cloud.watch.forget("run09999")
        assert view.model.rowCount() == 10_000 and view.model.row(1) == "run10000"
        runs.close()


async def test_all_of_thousands_are_selected_and_none_is_left_out_of_what_is_done(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    user = User(answer=False)
    async with FolderCloud(tmp_path) as cloud:
        await add_many(cloud.records, over(1_000))
        runs = cloud.run_list()
        view = RunListView(runs, theme, user)
        qtbot.addWidget(view)
        view.show()
        runs.refresh()
        await until(lambda: view.model.rowCount() == 1_000)
        view.rows.selectAll()
        assert runs.chosen_runs is None  # not some of them
        qtbot.keyClick(view.rows, Qt.Key.Key_Delete)
        await until(lambda: user.asked)
        assert "Delete 1,000 runs?" in user.asked[0] or "Delete 1000 runs?" in user.asked[0]
        assert runs.chosen_runs is not None and len(runs.chosen_runs) == 1_000
        runs.close()


@asynccontextmanager
async def page_of(
    cloud: FolderCloud, runs: RunList, theme: Theme, qtbot: QtBot, pinned: str = ""
) -> AsyncIterator[tuple[RunPageView, User]]:
    page, user = RunPage(runs, cloud.service, cloud.watch, cloud.scope, pinned), User()
    view = RunPageView(page, theme, user)
    qtbot.addWidget(view)
    view.resize(700, 500)
    view.show()
    yield view, user
    page.close()


async def test_one_trouble_of_a_run_is_told_once_on_its_page(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    short, long = text("The Lab ended."), text("The service says a great deal about why. " * 20)
    run = a_run(1, RunState.FAILED, reason=short)
    async with (
        view_of(tmp_path, theme, qtbot, run) as (cloud, runs, _),
        page_of(cloud, runs, theme, qtbot, run.id) as (view, _),
    ):
        await until(lambda: view.parts.count() and view.note.isVisible())
        assert view.note.text() == "The Lab ended." and view.overview.reason.isHidden()
        cloud.watch.tell(replace(run, reason=long))
        await until(lambda: not view.overview.reason.isHidden())
        assert view.note.text() == view.overview.reason.text(), "one line has no room for all of it"


async def test_the_page_of_a_run_shows_it_and_acts_on_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot) as (cloud, runs, _):
        run = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        async with page_of(cloud, runs, theme, qtbot, run.id) as (view, user):
            assert view.title.text() == "Run 1 · digits"
            assert view.title.accessibleDescription() == run.name
            assert "Progress –" in view.facts.text() and "Free" in view.facts.text()
            for isolation, words in (
                (Isolation.NONE, "keys in your keyring"),
                (Isolation.PARTIAL, "cannot read your files"),
            ):
                cloud.watch.tell(replace(run, isolation=isolation))
                assert words in view.note.text() and words in view.overview.isolation.text()
            cloud.watch.tell(run)
            assert not view.note.isVisible() and view.outputs.fetch.isEnabled(), "outputs come while it runs, too"
            cloud.watch_runs()
            assert view.stop.text() == "Stop…"
            qtbot.mouseClick(view.stop, Qt.MouseButton.LeftButton)
            await until(lambda: view.chip.text() == "Stopped")
            await until(lambda: view.again.isVisible() and view.again.isEnabled())
            assert len(user.asked) == 1 and view.again.text() == "Run again"
            qtbot.mouseClick(view.again, Qt.MouseButton.LeftButton)
            await until(lambda: len(cloud.jobs.jobs) == 2)
            await until(lambda: not runs.state.busy)


async def test_the_page_follows_the_selection_and_keeps_what_is_looked_at(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with view_of(tmp_path, theme, qtbot, a_run(1), a_run(2)) as (cloud, runs, _):
        real = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        following, keeping = page_of(cloud, runs, theme, qtbot), page_of(cloud, runs, theme, qtbot, "r1")
        async with following as (view, _), keeping as (kept, _):
            assert view.title.text() == "Run 2 · digits", "the newest, as long as nothing else was selected"
            view.tabs.setCurrentIndex(SUB_PAGES.index(CODE))
            runs.select(real.id)
            await until(lambda: view.code.text.toPlainText() == "print('hello')\n")
            assert (view.title.text(), kept.title.text()) == ("Run 3 · digits", "Run 1 · digits")
            assert view.parts.currentWidget() is view.code and view.code.text.isReadOnly()
            qtbot.keyClick(view.code.files, Qt.Key.Key_Up)
            await until(lambda: view.code.text.toPlainText() == "1 2 3\n")
            view.page.pin(real.id)
            runs.select("r1")
            assert view.title.text() == "Run 3 · digits"
            assert RunPage(runs, cloud.service, cloud.watch, cloud.scope).sub_page == CODE


async def test_a_message_of_the_run_leads_to_the_line_of_its_code(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot) as (cloud, runs, _):
        folder = code_folder(tmp_path / "code")
        boot = digits_spec().boot
        (folder / boot).write_text("first\nsecond\nthird\n", "utf-8")
        run = await cloud.submission.submit(digits_spec(), folder)
        async with page_of(cloud, runs, theme, qtbot, run.id) as (view, _):
            for line, words in ((2, "second"), (3, "third")):
                view.show_code(f"/home/ma-user/modelarts/user-job-dir/code/{boot}", line)
                await until(lambda words=words: view.code.text.textCursor().selectedText() == words)
            view.show_code("/usr/lib/python3/somewhere/else.py", 7)
            assert view.page.state.code_file is not None and view.page.state.code_file.path == boot


async def test_r_in_the_page_runs_again_but_not_where_text_is(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot) as (cloud, runs, _):
        run = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        async with page_of(cloud, runs, theme, qtbot, run.id) as (view, _):
            view.tabs.setCurrentIndex(SUB_PAGES.index(CODE))
            for widget in (view.code.text, view.code.files):
                widget.setFocus()
                qtbot.keyClick(widget, Qt.Key.Key_R)
            assert runs.state.busy == {} and len(cloud.jobs.jobs) == 1
            view.setFocus()
            qtbot.keyClick(view.tabs, Qt.Key.Key_R)
            await until(lambda: len(cloud.jobs.jobs) == 2)
            await until(lambda: not runs.state.busy)


class Shown(QObject):
    """What was shown as a window of its own, be it for a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.windows: list[QWidget] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.windows.append(watched)
        return False


async def test_building_it_shows_no_window(qapp: QApplication, tmp_path: Path, theme: Theme) -> None:
    """It is built beside a window that is in use, which would lose the keyboard to it."""
    async with FolderCloud(tmp_path) as cloud:
        model = cloud.run_list()
        seen = Shown()
        qapp.installEventFilter(seen)
        try:
            view = RunListView(model, theme, User())
        finally:
            qapp.removeEventFilter(seen)
        assert seen.windows == []
        view.deleteLater()
        model.close()


async def test_several_are_deleted_by_one_key_and_the_selection_shows_who_has_the_keyboard(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    user = User()
    async with view_of(tmp_path, theme, qtbot, a_run(1), a_run(2), a_run(3), user=user) as (_, runs, view):
        view.rows.setFocus()
        await until(view.rows.hasFocus)

        def ground() -> str:
            place = view.rows.visualRect(view.model.index(0, 0))
            return view.rows.viewport().grab().toImage().pixelColor(place.center().x(), place.top() + 3).name()

        view.select("r3")
        with_keys = ground()
        view.rows.clearFocus()
        assert ground() != with_keys == theme.color("selection").name()
        view.rows.setFocus()
        view.rows.selectAll()
        qtbot.keyClick(view.rows, Qt.Key.Key_Delete)
        await until(lambda: not runs.state.runs)
        assert len(user.asked) == 1


async def test_a_star_is_clicked_and_the_selection_stays(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot, a_run(1, job_id=""), a_run(2, job_id="")) as (cloud, runs, view):
        view.select("r2")
        index = view.model.index(1, 0)
        star = view.rows._delegate.star_place(view.rows.visualRect(index), view.rows.font(), index.data(RUN_ROLE))
        qtbot.mouseClick(view.rows.viewport(), Qt.MouseButton.LeftButton, pos=star.center())
        await until(lambda: (run := runs.run("r1")) is not None and run.starred)
        assert view.selected_ids() == ["r2"] and (await cloud.records.existing("r1")).starred


async def test_what_is_under_way_makes_no_panel_wider(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot, a_run(1), a_run(2)) as (_, model, view):
        least = view.minimumSizeHint().width()
        for run_id in ("r1", "r2"):
            model._say(run_id, text("What is done with the run {run} takes a while…", run=run_id))
        assert view.busy.text().count("takes a while") == 2
        assert view.minimumSizeHint().width() == least


async def test_what_is_typed_above_the_list_is_looked_for_and_escape_shows_all(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    many = [a_run(1), a_run(2, RunState.FAILED), a_run(3)]
    async with view_of(tmp_path, theme, qtbot, *many) as (_, runs, view):
        qtbot.keyClicks(view.search.words, "digits-2")
        await until(lambda: view.model.rowCount() == 1)
        assert shown(view, 0) == "digits-2" and "1 of 3 runs" in view.search.told.text()
        qtbot.keyClicks(view.search.words, "nothing")
        await until(lambda: view.empty.isVisible())
        assert view.empty.title.text() == "No run matches."
        view.search.words.clearFocus()
        view.setFocus()
        assert view.search.words.hasFocus(), "the key of the panel leads to what can be used there"
        qtbot.keyClick(view.search.words, Qt.Key.Key_Escape)
        assert view.model.rowCount() == 3 and view.search.words.text() == ""
        runs.search.set(states=(RunState.FAILED,))
        await until(lambda: view.model.rowCount() == 1)
        assert "Failed" in view.search.told.text()
        view.search.clear.click()
        assert view.model.rowCount() == 3


async def test_the_run_that_is_shown_stays_the_selected_one_whatever_is_looked_for(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with view_of(tmp_path, theme, qtbot, a_run(1), a_run(2), a_run(3)) as (_, runs, view):
        view.select("r2")
        for words in ("no run is called so", "digits-3"):
            qtbot.keyClicks(view.search.words, words)
            await until(lambda: runs.search.found is not None and "r2" not in runs.state.rows)
            assert runs.state.selected == "r2" and view.selected_ids() == []
            qtbot.keyClick(view.search.words, Qt.Key.Key_Escape)
            await until(lambda: view.model.rowCount() == 3)
            assert runs.state.selected == "r2" and view.selected_ids() == ["r2"]
        view.rows.clearSelection()
        assert runs.state.selected == "", "taken back by hand"


async def test_a_job_of_others_is_adopted_by_its_key_and_says_so_aloud(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    other = RemoteJob("x1", "somebody-elses", "Running", user="zhang")
    async with view_of(tmp_path, theme, qtbot, a_run(1)) as (cloud, runs, view):
        cloud.watch.jobs_seen.tell(JobsSeen("lab", LiveJobs((other,))))
        await until(lambda: view.model.rowCount() == 2)
        spoken = view.model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
        assert spoken.startswith("somebody-elses, Running, Made elsewhere")
        view.select("job x1")
        assert runs.chosen == ("job x1",) and runs.state.selected == "r1"
        menu = view.menu()
        assert menu is not None and len(menu.actions()) == 1
        cloud.jobs.jobs["x1"] = other
        qtbot.keyClick(view.rows, Qt.Key.Key_A)
        await until(lambda: runs.state.selected_run is not None and runs.state.selected_run.job_id == "x1")
        assert view.model.rowCount() == 2 and view.selected_ids() == [runs.state.selected]


async def test_note_and_tags_are_kept_where_they_are_read(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with view_of(tmp_path, theme, qtbot, a_run(1, job_id="", bundle="")) as (cloud, runs, _):
        await cloud.records.set_metrics("r1", {"loss": Metric(0.2, 0.1, 3.0)})
        async with page_of(cloud, runs, theme, qtbot, "r1") as (view, _):
            part = view.overview
            await until(lambda: part.metrics_card.isVisible())
            for field, words in ((part.note, "lower rate"), (part.tags, "baseline, team=cv")):
                field.setFocus()
                qtbot.keyClicks(field, words)
                qtbot.keyClick(field, Qt.Key.Key_Return)
            await until(lambda: (run := runs.run("r1")) is not None and run.tags == ("baseline", "team=cv"))
            assert (await cloud.records.existing("r1")).note == "lower rate"
            part.tags.setText("a,*")
            part.tags.editingFinished.emit()
            assert "is not a tag" in part.tags_field.error.text()
            part.tags.setText("baseline")
            part.tags.editingFinished.emit()
            await until(lambda: (run := runs.run("r1")) is not None and run.tags == ("baseline",))
            assert not part.tags_field.error.isVisible()
