"""The editor of a text, with a real window and a folder for a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from support.folder_cloud import FolderCloud, offline
from support.panel_bench import light_theme
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.text_editor_dialog import TextEditorDialog
from traindeck.viewmodels.storage.text_editor import TextEditor

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

PATH = ObjectPath("bucket", "dir/train.py")
BEFORE = "a = 1\r\nb =\u00a02\u2028c\r\n"


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


class Bench:
    def __init__(self, cloud: FolderCloud, theme: Theme) -> None:
        self.cloud = cloud
        self.editor = TextEditor(cloud.planes, cloud.scope, "lab", PATH)
        self.dialog = TextEditorDialog(self.editor, theme)
        self.place = cloud.storage.place(PATH)

    @property
    def stored(self) -> str:
        return self.place.read_bytes().decode()

    def save_over_theirs(self, qtbot: QtBot) -> None:
        qtbot.keyClicks(self.dialog.text, "mine ")
        self.place.write_bytes(b"theirs\n")
        qtbot.mouseClick(self.dialog.save, Qt.MouseButton.LeftButton)

    def offered(self) -> set[str]:
        return {name for name, button in self.dialog.answers.items() if button.isVisible()}


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        await cloud.storage.put(BEFORE.encode(), PATH)
        on = Bench(cloud, theme)
        qtbot.addWidget(on.dialog)
        on.dialog.show()
        on.editor.load()
        await until(lambda: not on.dialog.text.isReadOnly())
        yield on


async def test_what_is_typed_is_stored_and_nothing_else_changes(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        dialog = on.dialog
        assert dialog.form.text() == "UTF-8 · CRLF"
        assert not dialog.save.isEnabled()
        assert not dialog.card.isVisible()
        qtbot.keyClicks(dialog.text, "# new")
        qtbot.keyClick(dialog.text, Qt.Key.Key_Return)
        assert dialog.windowTitle() == "● train.py"
        qtbot.keyClick(dialog.text, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: on.stored == "# new\r\n" + BEFORE)
        await until(lambda: not dialog.text.document().isModified())
        assert dialog.windowTitle() == "train.py"
        dialog.reject()
        assert not dialog.isVisible()


async def test_a_conflict_is_asked_about_and_nothing_is_lost(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        dialog = on.dialog
        on.save_over_theirs(qtbot)
        await until(lambda: on.offered() == {"rename", "reload", "overwrite", "back"})
        assert on.stored == "theirs\n"
        qtbot.mouseClick(dialog.answers["rename"], Qt.MouseButton.LeftButton)
        assert dialog.name.text() == "train-2.py"
        qtbot.mouseClick(dialog.answers["rename_now"], Qt.MouseButton.LeftButton)
        beside = on.place.with_name("train-2.py")
        await until(beside.is_file)
        assert beside.read_bytes().decode() == "mine " + BEFORE
        await until(lambda: dialog.place.text() == "obs://bucket/dir/train-2.py" and not dialog.card.isVisible())
        assert on.stored == "theirs\n"


async def test_the_other_text_can_be_loaded_and_undone(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        dialog = on.dialog
        on.save_over_theirs(qtbot)
        await until(lambda: "reload" in on.offered())
        qtbot.mouseClick(dialog.answers["reload"], Qt.MouseButton.LeftButton)
        await until(lambda: dialog.words == "theirs\n")
        assert not dialog.card.isVisible()
        dialog.text.undo()
        assert dialog.words.startswith("mine a = 1"), "undo brings back what was typed"
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: on.stored.startswith("mine a = 1"))


async def test_overwriting_is_possible_when_meant(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        qtbot.keyClicks(on.dialog.text, "mine ")
        on.place.unlink()
        qtbot.mouseClick(on.dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: "overwrite" in on.offered())
        assert "deleted" in on.dialog.title.text()
        qtbot.mouseClick(on.dialog.answers["overwrite"], Qt.MouseButton.LeftButton)
        await until(on.place.is_file)
        assert on.stored == "mine " + BEFORE


async def test_a_refusal_keeps_the_text(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        dialog = on.dialog
        qtbot.keyClicks(dialog.text, "mine ")
        on.cloud.storage.trouble = offline()
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: "cannot be reached" in dialog.title.text() and dialog.card.isVisible())
        assert dialog.words.startswith("mine ")
        assert dialog.text.document().isModified()
        on.cloud.storage.trouble = None
        qtbot.mouseClick(dialog.answers["again"], Qt.MouseButton.LeftButton)
        await until(lambda: on.stored == "mine " + BEFORE)


async def test_closing_asks_for_what_is_not_saved(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        dialog = on.dialog
        qtbot.keyClicks(dialog.text, "x")
        dialog.close()
        assert dialog.isVisible()
        assert on.offered() == {"save_and_close", "discard", "back"}
        qtbot.mouseClick(dialog.answers["back"], Qt.MouseButton.LeftButton)
        assert not dialog.card.isVisible()
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        on.cloud.storage.trouble = offline()
        qtbot.mouseClick(dialog.answers["save_and_close"], Qt.MouseButton.LeftButton)
        await until(lambda: "cannot be reached" in dialog.title.text())
        assert dialog.isVisible(), "it stays while the text is not stored"
        on.cloud.storage.trouble = None
        dialog.reject()
        qtbot.mouseClick(dialog.answers["save_and_close"], Qt.MouseButton.LeftButton)
        await until(lambda: not dialog.isVisible())
        assert on.stored == "x" + BEFORE


async def test_what_was_typed_can_be_discarded_when_meant(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        qtbot.keyClicks(on.dialog.text, "mine ")
        qtbot.keyClick(on.dialog.text, Qt.Key.Key_Escape)
        await until(lambda: "discard" in on.offered())
        qtbot.mouseClick(on.dialog.answers["back"], Qt.MouseButton.LeftButton)
        assert on.dialog.isVisible() and on.dialog.words.startswith("mine ")
        qtbot.keyClick(on.dialog.text, Qt.Key.Key_Escape)
        qtbot.mouseClick(on.dialog.answers["discard"], Qt.MouseButton.LeftButton)
        assert not on.dialog.isVisible() and on.stored == BEFORE


async def test_a_letter_the_encoding_lacks_can_be_saved_in_utf_8(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await cloud.storage.put("na\u00efve \u00ff\n".encode("latin-1"), PATH)
        on = Bench(cloud, theme)
        qtbot.addWidget(on.dialog)
        on.dialog.show()
        on.editor.load()
        await until(lambda: not on.dialog.text.isReadOnly())
        on.dialog.text.insertPlainText("学")
        qtbot.mouseClick(on.dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: "utf8" in on.offered())
        qtbot.mouseClick(on.dialog.answers["utf8"], Qt.MouseButton.LeftButton)
        await until(lambda: on.place.read_bytes() == "学na\u00efve \u00ff\n".encode())


async def test_what_is_no_text_is_said_and_nothing_can_be_typed(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await cloud.storage.put(bytes(range(256)), PATH)
        on = Bench(cloud, theme)
        qtbot.addWidget(on.dialog)
        on.dialog.show()
        on.editor.load()
        await until(lambda: on.dialog.card.isVisible())
        assert "is not text" in on.dialog.title.text()
        assert on.dialog.text.isReadOnly()
        on.dialog.reject()
        assert not on.dialog.isVisible()
