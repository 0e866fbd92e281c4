"""What the page of the Lab shows of each state, and the question that wants a word."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from support.frame_bench import ICONS, texts_cut
from support.qt_support import press, until
from traindeck.domain import texts
from traindeck.domain.errors import AppError, LocalTrouble
from traindeck.domain.lab import LabDiskUsage, LabOwner, LabSight, LabState
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.ui.kit.dialogs import CANCEL, AnswerButton, Question
from traindeck.ui.kit.theme import Theme
from traindeck.ui.lab.lab_page_view import LabPageView
from traindeck.viewmodels.lab.lab_page import LabPage
from traindeck.viewmodels.ports import Loss

STARTED = datetime(2026, 11, 18, 8, 0, tzinfo=UTC)
RUNNING = LabSight(
    LabState.RUNNING, LabOwner.OURS, None, 4711, STARTED, "1.2.3",
    "http://127.0.0.1:9000", "http://127.0.0.1:9001", "http://127.0.0.1:9001", 2,
)  # fmt: skip
SILENT = LabSight(LabState.SILENT, pid=4711)
OTHERS = LabSight(LabState.RUNNING, LabOwner.WINDOW, 99, 4711, STARTED, "1.2.3", live_jobs=0)


class RunActions:
    """Shows what the test puts there."""

    def __init__(self, root: Path, sight: LabSight) -> None:
        self.root = root
        self.sight = sight
        self.held = LabDiskUsage(2, 1234, 5_000_000, 12, ("a", "b"), 6_000_000)
        self.blind: AppError | None = None

    async def look(self) -> LabSight:
        if self.blind:
            raise self.blind
        return self.sight

    async def measure(self, on_part: Callable[[LabDiskUsage], None]) -> LabDiskUsage:
        return self.held


async def refuse(loss: Loss) -> bool:
    return False


def words_of(view: LabPageView) -> dict[str, str]:
    labels = [left.text() for facts in (view.disk_usage, view.facts) for pair in facts._labels for left in pair]
    return dict(zip(labels[::2], labels[1::2], strict=True))


async def test_every_state_says_what_is_known_and_what_can_be_done(qapp: QApplication, tmp_path: Path) -> None:
    async with TaskScope(lambda _, error: pytest.fail(str(error))) as scope:
        theme = Theme(qapp, ICONS, "light")
        service = RunActions(tmp_path / "lab", RUNNING)
        page = LabPage(cast("Any", service), scope)
        view = LabPageView(page, theme, refuse)
        assert (view.chip.text(), view.note.text()) == ("Unknown", "Checking…")
        assert words_of(view)["Objects"] == "–" and words_of(view)["Size on disk"] == "–"
        view.resize(520, 500)
        view.show()
        await until(lambda: view.chip.text() == "Running" and page.state.measured_at)
        assert words_of(view)["Objects"] == "1,234 (5 MB)"
        assert words_of(view)["Jobs"] == "12, active: 2"
        assert words_of(view)["Size on disk"] == "6 MB"
        assert words_of(view)["Process"] == "4711"
        view.obs.button.click()
        assert QGuiApplication.clipboard().text() == "http://127.0.0.1:9000"
        assert texts_cut(view) == []
        service.sight = SILENT
        await until(lambda: view.chip.text() == "Not responding")
        assert "Last response: 20" in view.note.text()
        assert words_of(view)["Jobs"] == "12"
        service.sight = OTHERS
        await until(lambda: "Another TrainDeck window uses this Lab (process 99)." in view.note.text())
        assert not (view.start.isEnabled() or view.stop.isEnabled() or view.empty.isEnabled())
        service.blind = LocalTrouble(text("“{place}” cannot be read.", place="x"), text("Look."))
        await until(lambda: view.chip.text() == "Unknown")
        assert "“x” cannot be read. Look. Last response: 20" in view.note.text()
        service.blind, service.sight = None, LabSight(LabState.STOPPED)
        await until(lambda: view.chip.text() == "Not running")
        assert view.start.isEnabled() and view.empty.isEnabled() and not view.stop.isEnabled()
        assert view.obs.value.text() == "–" and not view.obs.button.isEnabled()
        view.hide()
        await until(lambda: not scope.is_running("look at the Lab") and not scope.is_running("measure the Lab"))
        theme.close()
        view.deleteLater()


async def test_in_chinese_nothing_is_cut(qapp: QApplication, tmp_path: Path) -> None:
    speak(texts.CHINESE)
    async with TaskScope(lambda _, error: pytest.fail(str(error))) as scope:
        theme = Theme(qapp, ICONS, "dark")
        page = LabPage(cast("Any", RunActions(tmp_path / "lab", OTHERS)), scope)
        view = LabPageView(page, theme, refuse)
        view.resize(520, 500)
        view.show()
        await until(lambda: view.chip.text() == "运行中" and page.state.measured_at)
        assert texts_cut(view) == []
        view.hide()
        theme.close()
        view.deleteLater()


async def test_a_question_that_wants_a_word_opens_with_it_alone(qapp: QApplication) -> None:
    question = Question("Empty?", "All of it.", [AnswerButton("yes", "Empty it", "danger")], typed="empty")
    question.open()
    yes = question.findChild(QPushButton, "answer.yes")
    assert yes is not None and not yes.isEnabled()
    question.typed.setText("emp")
    assert not yes.isEnabled()
    press(question.typed, Qt.Key.Key_Return)
    assert question.isVisible(), "neither done nor given up"
    question.typed.setText(" Empty ")
    assert yes.isEnabled()
    press(question.typed, Qt.Key.Key_Return)
    assert question.isVisible()
    yes.setFocus()
    press(yes, Qt.Key.Key_Return)
    assert question.answer == "yes" and not question.isVisible()
    question.deleteLater()


async def test_the_first_key_in_a_dangerous_question_does_no_harm(qapp: QApplication) -> None:
    question = Question("Delete?", "", [AnswerButton("yes", "Delete", "danger")])
    question.open()
    await until(question.isVisible)
    focused = question.focusWidget()
    assert isinstance(focused, QPushButton) and focused.text() == "Cancel"
    QTest.keyClick(focused, Qt.Key.Key_Return)
    assert question.answer == CANCEL and not question.isVisible()
    question.deleteLater()


async def test_enter_presses_the_answer_that_has_the_focus(qapp: QApplication) -> None:
    answers = [AnswerButton("yes", "Delete", "danger"), AnswerButton("all", "Delete with the code", "danger")]
    question = Question("Delete?", "", answers)
    question.open()
    await until(question.isVisible)
    wanted = question.buttons.findChild(QPushButton, "answer.all")
    assert wanted is not None
    wanted.setFocus()
    QTest.keyClick(wanted, Qt.Key.Key_Return)
    assert question.answer == "all"
    question.deleteLater()
