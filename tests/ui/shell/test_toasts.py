"""Toasts: in sight over the content, reachable without a mouse, and gone by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from support.frame_bench import Frame, framed, texts_cut
from support.qt_support import until
from traindeck.domain.errors import Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.ui.shell import toasts

_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly


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
        at.window.resize(1280, 700)
        middle = at.window.centralWidget()
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


async def test_a_toast_of_another_window_is_shown_in_the_next_one(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        tell_some(at, [])
        again = toasts.Toasts(at.notices, at.theme, lambda _: None, at.window, at.window.statusBar())
        assert [toast.title.text() for toast in again.shown] == ["Nothing is available.", "“a.txt” was moved."]
