"""What can be asked of a log, in a whole window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, QRectF, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QMenu

from end_to_end.outside import outside_of_tasks
from support.folder_cloud import digits_spec
from support.hands_here import HandsHere
from support.jobs_window import JobsWindow, jobs_window, log_with
from support.waiting import until
from traindeck.domain.jobs.job import LogChunk, RunState
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.viewmodels.logs.log_appearance import Bookmark
from traindeck.viewmodels.shell.journal import Subject, Topic


async def answer(at: JobsWindow, words: str, button: str) -> None:
    dialog = await at.dialog(QDialog)
    edit = dialog.findChild(QLineEdit)
    assert edit is not None
    edit.setText(words)
    at.press(dialog, button)
    await until(lambda: not dialog.isVisible())


async def test_commands_act_on_the_log_that_is_shown(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as at:
        commands = at.shell.commands
        assert commands.get("log.line").why_not(), "nothing is shown yet"
        view = await log_with(at, *(f"line {number}" for number in range(1, 301)))
        pane, look = view.pane, at.room.log.look
        commands.run("log.line")
        await answer(at, "123", "Go")
        await until(lambda: pane.selected_words() == "line 123")
        commands.run("log.bookmark")
        await answer(at, "where it began", "Set")
        run = at.room.log.state.run
        assert run is not None
        row = at.room.log.lines.row(122)
        assert row is not None
        await until(lambda: look.bookmarks(run.id, "worker-0") == [Bookmark(row.begin, "where it began")])
        assert commands.get("log.bookmark").checked is not None
        bare = at.room.log.lines.row(123)
        assert bare is not None
        commands.run("log.line")
        await answer(at, "124", "Go")
        await until(lambda: pane.selected_words() == "line 124")
        commands.run("log.bookmark")
        await answer(at, "", "Set")  # the note may stay empty
        await until(lambda: Bookmark(bare.begin, "") in look.bookmarks(run.id, "worker-0"))
        commands.run("log.bookmark")
        await until(lambda: look.bookmarks(run.id, "worker-0") == [Bookmark(row.begin, "where it began")])
        pane.selection.clear()
        pane.to_end()
        commands.run("log.previous_bookmark")
        await until(lambda: pane.selected_words() == "line 123" and "where it began" in view.said.text())
        commands.run("log.next_error")
        await until(lambda: view.said.text() == "No error after this line.")
        assert view.said.isVisible()
        QTest.mouseClick(pane.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(80, 30))
        await until(lambda: not view.said.isVisible())  # what is selected now is another thing
        commands.run("log.wrap")
        commands.run("log.larger")
        assert (look.state.wraps, look.state.zoom) == (True, 1)
        commands.run("log.usual")
        commands.run("log.highlight")
        await answer(at, "loss, nan，line", "Highlight")
        await until(lambda: look.state.highlights == ("loss", "nan", "line"))
        commands.run("log.filter")
        assert view.filter_bar.isVisible()
        commands.run("log.find_next")
        assert view.find_bar.isVisible()
        view.menu_wanted.emit(QPoint(5, 5))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu) and any("Wrap" in action.text().replace("&", "") for action in menu.actions())
        menu.close()


async def test_a_log_is_saved_tracked_dragged_over_and_gone_through_by_time(qapp: QApplication, tmp_path: Path) -> None:
    lines = [f"2026-05-01 10:{minute:02}:00 step {minute} reward={minute / 4:.2f}" for minute in range(60)]
    async with jobs_window(qapp, tmp_path, reads=True) as at:
        view = await log_with(at, *lines)
        hands, pane = HandsHere(at.window), view.pane
        await hands.choose_from(view.more, "Go to time…")
        await hands.answer("Go to time", "10:30")
        await hands.until(lambda: pane.selected_words() == lines[30])
        await hands.choose_from(view.more, "Save the log as…")
        await hands.choose_path(tmp_path / "all.log")
        await hands.until((tmp_path / "all.log").exists)
        assert (tmp_path / "all.log").read_text("utf-8").splitlines() == lines

        row = next(row for row in pane.rows_in_sight() if row.words == lines[30])
        await hands.click(pane.viewport(), place_of(at, row.words.index("7.50") + 1, row.words), double=True)
        await hands.until(lambda: "7.50" in pane.selected_words() or "7" in pane.selected_words())
        await hands.click(pane.viewport(), place_of(at, row.words.index("7.50") + 1, row.words), right=True)
        await hands.choose_in_menu("Track this number")
        await hands.until(lambda: "“step reward” is among the curves of the run now." in view.said.text())
        run = at.room.log.state.run
        readings = at.room.runs.readings
        assert run is not None and readings is not None
        await until(
            lambda: (read := readings.of(run.id)) is not None and read.values.values.get("step reward") == 14.75
        )


async def test_a_drag_beyond_the_edge_scrolls_and_selects_all_that_it_passes(
    qapp: QApplication, tmp_path: Path
) -> None:
    lines = [f"line {number}" for number in range(300)]
    async with jobs_window(qapp, tmp_path) as at:
        view = await log_with(at, *lines)
        hands, pane = HandsHere(at.window), view.pane
        await hands.press_on(pane, Qt.Key.Key_Home)
        await hands.until(lambda: pane.top_number == 0 and pane.is_settled)
        viewport, handle = pane.viewport(), at.window.windowHandle()
        begin, below = place_of(at, 5, "line 2"), QPoint(200, viewport.height() + 200)
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        await outside_of_tasks(lambda: QTest.mousePress(handle, left, none, viewport.mapTo(at.window, begin)))
        for place in (begin + QPoint(0, 20), below):
            await outside_of_tasks(lambda place=place: QTest.mouseMove(viewport, place))
        await hands.until(lambda: pane.is_at_end and "line 299" in pane.selected_words())
        await outside_of_tasks(lambda: QTest.mouseRelease(viewport, left, none, below))
        assert pane.selected_words().startswith("2\nline 3\n") and pane.selected_words().count("\n") == 297


async def test_all_workers_are_followed_in_one_log(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as at:
        view = await log_with(at, "first of 0")
        run = at.room.log.state.run
        assert run is not None
        run = await at.cloud.records.change(run.id, tasks=("worker-0", "worker-1"))
        at.cloud.watch.tell(run)
        await until(lambda: view.tasks.count() == 3 and view.tasks.isVisible())
        hands, sizes = HandsHere(at.window), [11, 0]

        async def write(worker: int, words: str) -> None:
            content = f"{words}\n".encode()
            sizes[worker] += len(content)
            await at.cloud.logs.take(run.id, f"worker-{worker}", LogChunk(content, sizes[worker]))

        await write(1, "first of 1")
        await hands.click(view.tasks, view.tasks.tabRect(2).center())
        await hands.until(lambda: shown(view) == ["worker-0 │ first of 0", "worker-1 │ first of 1"])
        for number in range(120):
            await write(number % 2, f"step {number}")
        await hands.until(lambda: "worker-1 │ step 119" in shown(view) and view.pane.is_at_end)
        at.cloud.watch.tell(replace(run, state=RunState.COMPLETED))
        await write(1, "last of 1")
        await hands.until(lambda: "worker-1 │ last of 1" in shown(view))
        assert at.room.log.state.size_bytes == sum(sizes)


def shown(view: LogView) -> list[str]:
    return [row.words for row in view.pane.rows_in_sight()]


async def test_a_click_on_a_message_opens_the_code_of_the_run(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as at:
        boot = digits_spec().boot
        view = await log_with(at, f'  File "/home/ma-user/user-job-dir/code/{boot}", line 1, in <module>')
        pane = view.pane
        top, laid = next(iter(pane._laid_out()))
        x = pane._left + 12 * pane.layouts.sign_width
        place = QRectF(x, top, 1, laid.lines * pane.layouts.line_height).center().toPoint()
        QTest.mouseClick(pane.viewport(), Qt.MouseButton.LeftButton, pos=place)

        def shown() -> bool:
            page = at.shell.window.tabs.currentWidget()
            return isinstance(page, RunPageView) and page.code.text.textCursor().selectedText() != ""

        await until(shown)


async def test_a_click_on_an_obs_path_opens_the_place(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as at:
        asked: list[object] = []
        at.shell.add(Jumps(at.shell, asked))
        words = "saved to obs://bucket/out/epoch-3.ckpt."
        view = await log_with(at, words, "wrapped words behind")
        pane = view.pane
        top, laid = next(iter(pane._laid_out()))
        x = pane._left + (words.index("obs") + 3) * pane.layouts.sign_width
        place = QRectF(x, top, 1, laid.lines * pane.layouts.line_height).center().toPoint()
        await outside_of_tasks(lambda: QTest.mouseMove(pane.viewport(), place))
        QTest.mouseClick(pane.viewport(), Qt.MouseButton.LeftButton, pos=place)
        run = at.room.log.state.run
        assert run is not None
        assert asked == [Topic(Subject.PLACE, "obs://bucket/out/epoch-3.ckpt", run.profile)]
        # A drag over it selects, and opens nothing.
        QTest.mousePress(pane.viewport(), Qt.MouseButton.LeftButton, pos=place)
        await outside_of_tasks(lambda: QTest.mouseMove(pane.viewport(), place + QPoint(60, 0)))
        QTest.mouseRelease(pane.viewport(), Qt.MouseButton.LeftButton, pos=place + QPoint(60, 0))
        assert len(asked) == 1 and pane.selected_words()


def place_of(at: JobsWindow, character: int, words: str) -> QPoint:
    """In the middle of this character of a row that is visible."""
    view = at.window.panel("log")
    assert isinstance(view, LogView)
    pane = view.pane
    top = next(top for top, laid in pane._laid_out() if laid.row.words == words)
    x = pane._left + (character + 0.5) * pane.layouts.sign_width - pane.horizontalScrollBar().value()
    return QPoint(int(x), int(top) + pane.layouts.line_height // 2)


class Jumps(Feature):
    """Notes where it is to go."""

    def __init__(self, shell: Shell, asked: list[object]) -> None:
        super().__init__(shell)
        self._asked = asked

    def jump(self, topic: Topic) -> bool:
        self._asked.append(topic)
        return True


class Editor(QObject):
    """The program that the desktop has for files."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(url.toLocalFile())


async def test_the_log_opens_in_the_program_that_the_desktop_has_for_it(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as at:
        await log_with(at, "one")
        editor, path = Editor(), at.room.log.path
        assert path is not None
        QDesktopServices.setUrlHandler("file", editor, "open")  # type: ignore[arg-type]
        try:
            at.do("log.editor")
            assert editor.opened == [str(path)] and path.read_bytes() == b"one\n"
        finally:
            QDesktopServices.unsetUrlHandler("file")
