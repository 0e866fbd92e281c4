"""Toasts: in sight over the content, reachable without a mouse, and gone by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, SignalInstance
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from support.frame_bench import Frame, active_frame, framed, texts_cut
from support.qt_support import until
from traindeck.domain.errors import Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.ui.shell import toasts
from traindeck.viewmodels.shell.journal import NewsKind, Subject, Topic

RUN = Topic(Subject.RUN, "r1")
_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly


@contextmanager
def counted(signal: SignalInstance) -> Iterator[list[int]]:
    """One for each time."""
    times: list[int] = []

    def count() -> None:
        times.append(1)

    signal.connect(count)
    yield times
    signal.disconnect(count)


def is_over(toasts: QWidget, middle: QWidget) -> bool:
    """And not over what is pressed at the foot of a dock."""
    own, room = toasts.geometry(), middle.geometry()
    return room.left() <= own.left() and own.right() <= room.right()


def tell_some(at: Frame, undone: list[str]) -> None:
    at.notices.report("a", Unreachable(text("Nothing is available."), text("Try again in a moment."), "HTTP 503"))
    at.notices.journal.done(text("“{name}” was moved.", name="a.txt"), undo=lambda: undone.append("a.txt"))


@pytest.mark.parametrize("language", ["en", "zh_CN"])
async def test_they_stack_over_the_content_and_take_no_focus(qapp: QApplication, tmp_path: Path, language: str) -> None:
    speak(language)
    async with framed(qapp, tmp_path) as at:
        at.window.resize(960, 600)
        at.window.show()
        at.window.show_dock("runs")
        focused = at.window.focusWidget()
        tell_some(at, [])
        await until(lambda: at.toasts.height() > 60)
        first, second = at.toasts.shown
        assert at.window.focusWidget() is focused
        assert first.geometry().bottom() < second.geometry().top()
        bar = at.window.statusBar()
        assert at.toasts.geometry().bottom() < bar.geometry().top(), "the status bar stays in sight"
        assert at.window.rect().contains(at.toasts.geometry())
        assert texts_cut(at.toasts) == []
        middle = at.window.centralWidget()
        assert middle is not None
        at.window.resize(800, 500)
        at.window.show_dock("form")
        await until(lambda: 336 <= middle.width() < 520)
        await until(lambda: is_over(at.toasts, middle))
        at.window.resize(1280, 700)
        await until(lambda: abs(at.toasts.geometry().center().x() - middle.geometry().center().x()) <= 1)
        for panel_id in ("transfers", "log"):
            at.window.show_dock(panel_id)
            await until(lambda: at.window.findChildren(QWidget, options=_DIRECT)[-1] is at.toasts)
            await until(at.window.panel(panel_id).isVisible)  # in front of the other tabs


async def test_a_dataset_that_was_sent_is_looked_at_from_the_toast(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        looked: list[str] = []
        at.notices.journal.done(text("Uploaded “{name}” to {target}.", name="pets", target="obs://b/"))
        at.notices.journal.done(text("Done."), look=lambda: looked.append("pets"))
        await until(lambda: len(at.toasts.shown) == 2)
        seen = [not toast.look.isHidden() for toast in at.toasts.shown]
        assert seen == [False, True]
        at.toasts.shown[-1].look.click()
        assert looked == ["pets"]
        await until(lambda: len(at.toasts.shown) == 1)


async def test_undo_from_the_toast_and_from_the_keyboard(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        at.window.show_dock("runs")
        focused, undone = at.window.focusWidget(), list[str]()
        tell_some(at, undone)
        await until(lambda: len(at.toasts.shown) == 2)
        at.toasts.take_focus()
        newest = at.toasts.shown[-1]
        assert newest.has_focus
        QTest.keyClick(newest.close_it, Qt.Key.Key_Backtab)
        assert at.window.focusWidget() is newest.undo
        QTest.keyClick(newest.undo, Qt.Key.Key_Space)
        assert undone == ["a.txt"]
        await until(lambda: len(at.toasts.shown) == 1)
        assert at.window.focusWidget() is focused, "the keyboard is where it was"
        at.toasts.take_focus()
        QTest.keyClick(at.toasts.shown[0].close_it, Qt.Key.Key_Escape)
        await until(lambda: at.toasts.shown == [] and not at.toasts.isVisible())


async def test_what_went_well_leaves_by_itself_but_not_from_under_the_user(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert toasts.SHOWN_MS >= 6000
    monkeypatch.setattr(toasts, "_PER_LETTER_MS", 0)
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        at.window.activateWindow()
        await until(at.window.isActiveWindow)
        QCursor.setPos(at.window.mapToGlobal(at.window.rect().topLeft()))
        at.notices.journal.done(text("First."))
        await until(lambda: at.toasts.shown)
        at.toasts.take_focus()
        tell_some(at, [])
        await until(lambda: len(at.toasts.shown) == 3)
        monkeypatch.setattr(toasts, "SHOWN_MS", 30)
        for toast in at.toasts.shown:
            if (timer := toast.findChild(QTimer)) is not None and timer.isActive():
                timer.start(0)  # its time is over
        await until(lambda: len(at.toasts.shown) == 2)
        assert [toast.title.text() for toast in at.toasts.shown] == ["First.", "Nothing is available."]
        at.window.show_dock("runs")
        await until(lambda: len(at.toasts.shown) == 1)
        assert at.toasts.shown[0].title.text() == "Nothing is available.", "a failure waits for its reader"


async def test_it_waits_for_a_window_that_nobody_looks_at(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toasts, "_PER_LETTER_MS", 0)
    monkeypatch.setattr(toasts, "SHOWN_MS", 5)
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        other = QWidget()
        other.show()
        other.activateWindow()
        await until(other.isActiveWindow)
        at.notices.journal.done(text("First."))
        await until(lambda: at.toasts.shown)
        timer = at.toasts.shown[0].findChild(QTimer)
        assert timer is not None
        with counted(timer.timeout) as times:
            await until(lambda: len(times) >= 3)
        assert [toast.title.text() for toast in at.toasts.shown] == ["First."]
        other.close()
        at.window.activateWindow()
        await until(lambda: at.toasts.shown == [])


async def test_no_part_of_it_is_a_window_of_its_own(qapp: QApplication, tmp_path: Path) -> None:
    """Shown before it has its place, a button is one for a moment, and takes the keyboard from whoever types."""
    windows: list[str] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() is QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
                windows.append(str(watched))
            return False

    async with active_frame(qapp, tmp_path) as at:
        watch = Watch()
        qapp.installEventFilter(watch)
        tell_some(at, [])
        at.notices.journal.tell(NewsKind.NOTE, text("Done."), topic=RUN, look=qapp.beep, retry=qapp.beep)
        await until(lambda: len(at.toasts.shown) == 3)
        qapp.removeEventFilter(watch)
        assert windows == []
        assert at.window.isActiveWindow()


async def test_the_end_of_a_run_goes_by_itself_for_the_list_of_runs_has_it(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toasts, "_PER_LETTER_MS", 0)
    monkeypatch.setattr(toasts, "SHOWN_MS", 5)
    async with active_frame(qapp, tmp_path) as at:
        QCursor.setPos(at.window.mapToGlobal(at.window.rect().topLeft()))
        failed = at.notices.journal.tell(NewsKind.FAILED, text("“a” failed."), topic=RUN, is_quiet=True)
        at.notices.show(failed)
        at.notices.journal.tell(NewsKind.FAILED, text("Not saved."))
        await until(lambda: [toast.title.text() for toast in at.toasts.shown] == ["Not saved."])


async def test_a_toast_of_another_window_is_shown_in_the_next_one(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        tell_some(at, [])
        again = toasts.Toasts(at.notices, at.theme, lambda _: None, at.window, at.window.statusBar())
        assert [toast.title.text() for toast in again.shown] == ["Nothing is available.", "“a.txt” was moved."]
