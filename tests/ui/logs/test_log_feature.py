"""What can be asked of a log, in a whole window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QPoint, QRectF, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QMenu

from end_to_end.outside import outside_of_tasks
from support.folder_cloud import digits_spec
from support.jobs_window import JobsWindow, jobs_window, log_with
from support.waiting import until
from traindeck.ui.jobs.runs.run_page_view import RunPageView
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
