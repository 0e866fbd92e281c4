"""The frame of properties: pages that are read when seen, saved on demand, and never lost without a question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from support.frame_bench import ICONS
from support.qt_support import press, until
from support.waiting import fail_with
from traindeck.domain.errors import AppError, NotOffered, Unreachable
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope
from traindeck.ui.kit.dialogs import Question
from traindeck.ui.kit.property_dialog import PropertyDialog, PropertyDialogs, PropertyPage
from traindeck.ui.kit.theme import Theme

AWAY = Unreachable(text("The storage does not answer."), text("Look at the network."), "connect 127.0.0.1")


class Words(PropertyPage):
    """One line of words, kept somewhere that can be away."""

    def __init__(self, title: str, kept: str = "old") -> None:
        super().__init__()
        self.title = title
        self.kept = kept
        self.read = 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.line = QLineEdit()
        self.line.textEdited.connect(self.edited)
        QVBoxLayout(self).addWidget(self.line)

    async def load(self) -> None:
        self.read += 1
        await self._ask()
        self.line.setText(self.kept)

    def has_changes(self) -> bool:
        return self.line.text() != self.kept

    def problem(self) -> str:
        return "" if self.line.text() else "Type something."

    async def save(self) -> bool:
        await self._ask()
        self.kept = self.line.text()
        return True

    async def _ask(self) -> None:
        await self.gate.wait()
        if self.error is not None:
            raise self.error


class Bench:
    def __init__(self, qapp: QApplication, scope: TaskScope, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.theme = Theme(qapp, ICONS, "light")
        self.window = QWidget()
        self.window.show()
        self.dialogs = PropertyDialogs(self.theme, scope, self.window)
        self.first, self.second = Words("Tags"), Words("CORS")

    def open(self, page: str = "", pages: Sequence[PropertyPage] = ()) -> PropertyDialog:
        make: Callable[[], Sequence[PropertyPage]] = lambda: pages or (self.first, self.second)  # noqa: E731
        return self.dialogs.show("Bucket settings", "obs://data", make, page)

    async def read(self, page: str = "") -> PropertyDialog:
        dialog = self.open(page)
        await until(dialog.reload_button.isEnabled)
        return dialog

    def type(self, page: Words, words: str) -> None:
        page.line.clear()
        self.qtbot.keyClicks(page.line, words) if words else page.edited.emit()

    async def question(self) -> Question:
        await until(lambda: any(found.isVisible() for found in self.window.findChildren(Question)))
        return next(found for found in self.window.findChildren(Question) if found.isVisible())

    async def answer(self, name: str) -> None:
        question = await self.question()
        button = question.findChild(QPushButton, f"answer.{name}")
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def close(self) -> None:
        self.theme.close()
        self.window.close()
        self.window.deleteLater()


@pytest.fixture
def stage(qapp: QApplication, qtbot: QtBot) -> Callable[[TaskScope], Bench]:
    return lambda scope: Bench(qapp, scope, qtbot)


Stage = Callable[[TaskScope], Bench]


async def test_a_page_is_read_when_it_is_first_seen(stage: Stage) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        dialog = await at.read()
        assert (at.first.read, at.second.read) == (1, 0)
        press(dialog.list, Qt.Key.Key_Down)
        await until(lambda: at.second.line.isVisible())
        press(dialog.list, Qt.Key.Key_Up)
        assert (at.first.read, at.second.read) == (1, 1)
        dialog.close()
        at.close()


async def test_what_was_changed_is_marked_and_saved(stage: Stage) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        dialog = await at.read()
        assert not dialog.save_button.isEnabled()
        at.type(at.first, "new")
        item = dialog.list.item(0)
        assert "•" in item.text() and "not saved" in item.data(Qt.ItemDataRole.AccessibleTextRole)
        at.first.gate.clear()
        at.qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
        await until(lambda: dialog.footing.text() == "Saving…")
        assert not at.first.isEnabled()
        at.first.gate.set()
        await until(lambda: dialog.footing.text() == "Saved.")
        assert at.first.kept == "new" and "•" not in item.text() and at.first.isEnabled()
        dialog.close()
        at.close()


async def test_what_is_wrong_is_said_while_typing_and_not_sent(stage: Stage) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        dialog = await at.read()
        at.type(at.first, "")
        assert dialog.footing.text() == "Type something." and not dialog.save_button.isEnabled()
        dialog.save()
        assert at.first.kept == "old" and not scope.is_running("properties")
        at.type(at.first, "old")
        assert not dialog.has_changes() and not dialog.footing.text()
        dialog.close()
        at.close()


@pytest.mark.parametrize("error", [AWAY, NotOffered(text("It has no CORS."), text(""))])
async def test_a_page_that_cannot_be_read_says_why(stage: Stage, error: AppError) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        at.first.error = error
        dialog = await at.read()
        place = dialog.current
        assert place.title.isVisible() and place.title.text() == str(error)
        assert place.retry.isVisible() == (error is AWAY)
        assert not dialog.save_button.isEnabled() and not dialog.has_changes()
        at.first.error = None
        at.qtbot.mouseClick(place.retry, Qt.MouseButton.LeftButton) if error is AWAY else dialog.reload()
        await until(at.first.line.isVisible)
        dialog.close()
        at.close()


async def test_a_failed_save_keeps_what_was_typed(stage: Stage) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        dialog = await at.read()
        at.type(at.first, "new")
        at.first.error = AWAY
        dialog.save()
        await until(lambda: dialog.footing.text() == AWAY.sentence())
        assert at.first.line.text() == "new" and dialog.save_button.isEnabled()
        at.first.error = None
        dialog.save()
        await until(lambda: dialog.footing.text() == "Saved.")
        dialog.close()
        at.close()


async def test_a_mistake_of_ours_is_reported_and_shown(stage: Stage) -> None:
    reported: list[str] = []
    async with TaskScope(lambda name, error: reported.append(error.detail)) as scope:
        at = stage(scope)
        at.first.error = RuntimeError("oh")
        dialog = await at.read()
        assert dialog.current.retry.isVisible()
        await until(lambda: reported == ["RuntimeError: oh"])
        dialog.close()
        at.close()


@pytest.mark.parametrize(("answer", "kept"), [("save", "new"), ("discard", "old")])
async def test_leaving_asks_about_what_is_not_saved(stage: Stage, answer: str, kept: str) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        dialog = await at.read("CORS")
        at.type(at.second, "new")
        press(dialog, Qt.Key.Key_Escape)
        assert dialog.isVisible()
        await at.answer(answer)
        await until(lambda: not at.window.findChildren(PropertyDialog))
        assert (at.second.kept, at.first.read) == (kept, 0)
        at.close()


async def test_leaving_is_put_off_when_it_cannot_be_saved(stage: Stage) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        dialog = await at.read("CORS")
        at.type(at.second, "new")
        dialog.open_page("Tags")
        at.second.error = AWAY
        dialog.close()
        assert dialog.isVisible()
        await at.answer("save")
        await until(lambda: dialog.footing.text() == AWAY.sentence())
        assert dialog.isVisible() and dialog.current.page is at.second
        press(dialog, Qt.Key.Key_Escape)
        await at.answer("discard")
        await until(lambda: not at.window.findChildren(PropertyDialog))
        at.close()


async def test_who_asks_again_sees_the_dialog_that_is_open(stage: Stage) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        dialog = await at.read()
        assert at.open("CORS") is dialog and dialog.current.page is at.second
        assert not at.dialogs.unsaved()
        dialog.close()
        await until(lambda: not at.window.findChildren(PropertyDialog))
        other = at.open(pages=(Words("Tags"),))
        assert other is not dialog
        await until(other.reload_button.isEnabled)
        at.type(other.places[0].page, "new")  # type: ignore[arg-type]
        assert at.dialogs.unsaved() == [other]
        other.reload()
        await at.answer("discard")
        await until(lambda: not at.dialogs.unsaved())
        other.close()
        at.close()


async def test_closing_ends_what_was_being_read(stage: Stage) -> None:
    async with TaskScope(fail_with) as scope:
        at = stage(scope)
        at.first.gate.clear()
        dialog = at.open()
        await until(lambda: at.first.read == 1)
        press(dialog, Qt.Key.Key_Escape)
        await until(lambda: not at.window.findChildren(PropertyDialog))
        at.close()
