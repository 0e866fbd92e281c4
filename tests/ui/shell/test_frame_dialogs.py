"""Palette, questions, the account form and the welcome page, driven as a user drives them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from support import planted
from support.dialogs import visible_dialog
from support.frame_bench import ICONS, PressedSample
from support.qt_support import press, until
from support.waiting import fail_with
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Check, CheckUp, Profile
from traindeck.domain.errors import KeyringMissing
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.services.accounts.key_checks import OnCheck
from traindeck.ui.accounts.profile_dialog import ProfileDialog
from traindeck.ui.kit.dialogs import CANCEL, AnswerButton, Question, asked, choose_files, choose_folder, last_folders
from traindeck.ui.kit.theme import Theme
from traindeck.ui.qt.texts import QtTexts
from traindeck.ui.shell.frame_feature import About
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.viewmodels.accounts.profile_form import ProfileForm

AK, SK = "AKIAEXAMPLE123456789", planted.SECRET_KEY


@pytest.mark.parametrize("choice", ["stop", "leave", CANCEL])
async def test_a_question_gives_the_answer_by_name(qapp: QApplication, qtbot: QtBot, choice: str) -> None:
    parent = QWidget()
    parent.show()
    answers = (AnswerButton("stop", "Stop both", "danger"), AnswerButton("leave", "Leave them", "primary"))
    asking = asyncio.create_task(asked(parent, "Stop 2 jobs?", "They bill.", *answers))
    question = await visible_dialog(parent, Question)
    await until(question.isVisible)
    if choice == CANCEL:
        press(question, Qt.Key.Key_Escape)
    else:
        qtbot.mouseClick(question.findChild(QPushButton, f"answer.{choice}"), Qt.MouseButton.LeftButton)
    assert await asking == choice
    parent.close()


class Counter:
    """Takes the account and answers at once; the real desk has its own tests."""

    def __init__(self) -> None:
        self.taken: list[tuple[Profile, Credentials]] = []
        self.used = ""
        self.has_keyring = True
        self.told = CheckUp(
            (
                Check(text("Project"), True, text("It was found.")),
                Check(text("OBS"), False, text("The keys may not list the buckets."), text("Ask for the right.")),
                Check(text("ModelArts"), None, text("Not checked: there is no way in yet.")),
            ),
            accepted=True,
        )

    def all(self) -> list[Profile]:
        return [profile for profile, _ in self.taken]

    async def use(self, name: str) -> None:
        self.used = name

    async def add(
        self,
        profile: Profile,
        credentials: Credentials,
        *,
        replace_old: bool = False,
        this_session_only: bool = False,
    ) -> Profile:
        if not (self.has_keyring or this_session_only):
            raise KeyringMissing(text("This computer has no keyring for the keys."), text("Ask for the right."))
        self.taken.append((profile, credentials))
        return profile

    async def change(self, profile: Profile, proxy_password: Secret | None = None) -> Profile:
        raise AssertionError("nobody changes an account here")

    async def keyring(self) -> str:
        return "Secret Service"

    async def check(self, name: str, found: OnCheck = lambda _: None) -> CheckUp:
        return self.told


@pytest.fixture
def theme(qapp: QApplication) -> object:
    theme = Theme(qapp, ICONS, "light")
    yield theme
    theme.close()


async def test_an_account_is_typed_saved_and_checked(theme: Theme, qtbot: QtBot) -> None:
    counter = Counter()
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", counter), scope), theme)
        dialog.open()
        qtbot.keyClicks(dialog.fields["name"], "campus")
        dialog.region.setCurrentIndex(2)
        dialog.fields["access_key"].setText("")
        qtbot.keyClicks(dialog.fields["access_key"], f" {AK} ")
        qtbot.keyClicks(dialog.fields["secret_key"], SK)
        assert dialog.fields["secret_key"].echoMode() == QLineEdit.EchoMode.Password
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: counter.taken and dialog.save.isEnabled())
        profile, credentials = counter.taken[0]
        assert (profile.name, profile.region, credentials.access_key) == ("campus", "cn-east-3", AK)
        assert credentials.secret_key.reveal() == SK
        marks = [mark.accessibleName() for mark in dialog.checks.findChildren(QWidget) if mark.accessibleName()]
        assert marks == ["Passed", "Check failed", "Not checked"]
        await until(lambda: dialog.save.isEnabled())
        assert dialog.save.text() == "Save and check again"
        dialog.close()
        dialog.deleteLater()


async def test_without_a_keyring_the_session_is_offered(theme: Theme, qtbot: QtBot) -> None:
    counter = Counter()
    counter.has_keyring = False
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", counter), scope), theme)
        dialog.open()
        for name, value in (("name", "campus"), ("access_key", AK), ("secret_key", SK)):
            qtbot.keyClicks(dialog.fields[name], value)
        assert not dialog.session.isVisible()
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(dialog.session.isVisible)
        assert "no keyring" in dialog.error.text()
        await until(dialog.session.isEnabled)
        qtbot.mouseClick(dialog.session, Qt.MouseButton.LeftButton)
        await until(lambda: counter.taken and dialog.save.isEnabled())
        assert "until TrainDeck ends" in dialog.note.text() and not dialog.error.isVisible()
        assert [profile.name for profile, _ in counter.taken] == ["campus"]
        await until(dialog.save.isEnabled)
        dialog.close()
        dialog.deleteLater()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
async def test_labels_and_their_fields_stand_on_one_line(theme: Theme, qtbot: QtBot, language: str) -> None:
    """A line for mistakes below each field made the row higher, and the words stood lower than what they name."""
    speak(language)
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", Counter()), scope), theme)
        dialog.open()
        qtbot.mouseClick(dialog.more, Qt.MouseButton.LeftButton)
        named = [(one, one.buddy()) for one in dialog.findChildren(QLabel) if one.buddy() is not None]
        assert len(named) > 8
        for words, field in named:
            assert field is not None
            middles = [one.mapTo(dialog, one.rect().center()).y() for one in (words, field)]
            assert abs(middles[0] - middles[1]) <= 1, words.text()
        dialog.close()
        dialog.deleteLater()


async def test_mistakes_stand_beside_their_fields(theme: Theme, qtbot: QtBot) -> None:
    counter = Counter()
    async with TaskScope(fail_with) as scope:
        form = ProfileForm(cast("Any", counter), scope)
        dialog = ProfileDialog(form, theme)
        dialog.open()
        form.set("obs_endpoint", "obs.campus.cn")
        dialog.region.setEditText("Beijing")
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        assert counter.taken == []
        assert dialog.fields["access_key"].accessibleDescription()
        assert dialog.region.accessibleDescription().startswith("Select a region")
        assert dialog.more_box.isVisible(), "a mistake must not hide behind a button"
        titled: tuple[Any, ...] = (*dialog.findChildren(QLabel), *dialog.findChildren(QAbstractButton))
        letters = [widget.text().partition("&")[2][:1].lower() for widget in titled if "&" in widget.text()]
        assert len(letters) > 8
        assert len(set(letters)) == len(letters), letters
        assert dialog.fields["ca_file"].height() >= dialog.fields["ca_file"].minimumSizeHint().height()
        qtbot.keyClicks(dialog.fields["access_key"], AK)
        assert not dialog.fields["access_key"].accessibleDescription()
        dialog.close()
        dialog.deleteLater()


def drop(widget: QWidget, path: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    place = QPointF(20, 20)
    act, button, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entering = QDragEnterEvent(place.toPoint(), act, mime, button, none)
    QApplication.sendEvent(widget, entering)
    assert entering.isAccepted()
    QApplication.sendEvent(widget, QDropEvent(place, act, mime, button, none))


async def test_the_consoles_file_is_dropped(theme: Theme, tmp_path: Path) -> None:
    path = tmp_path / "凭证 credentials.csv"
    path.write_text(f"User Name,Access Key Id,Secret Access Key\nme,{AK},{SK}\n", encoding="utf-8")
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", Counter()), scope), theme)
        dialog.open()
        drop(dialog, path)
        await until(lambda: dialog.fields["secret_key"].text() == SK)
        assert dialog.fields["access_key"].text() == AK
        path.write_text("hello", encoding="utf-8")
        drop(dialog, path)
        await until(lambda: dialog.error.isVisible())
        assert "no access key" in dialog.error.text()
        dialog.close()
        dialog.deleteLater()


async def test_the_first_page_asks_for_what_was_pressed(theme: Theme, qtbot: QtBot, tmp_path: Path) -> None:
    asked_for: list[object] = []

    def connect(file: Path | str = "account") -> None:
        asked_for.append(file)

    sample = PressedSample(lambda: asked_for.append("sample"))
    page = WelcomePage(theme, sample, connect)
    page.resize(700, 600)
    page.show()
    press(page.sample, Qt.Key.Key_Space)
    qtbot.mouseClick(page.account, Qt.MouseButton.LeftButton)
    drop(page.viewport(), tmp_path / "credentials.csv")
    assert asked_for == ["sample", "account", tmp_path / "credentials.csv"]
    sample.stage = text("Preparing the sample…")
    sample.changed.emit()
    assert page.stage.text() == "Preparing the sample…" and not page.sample.isEnabled()
    for height in (600, 260):
        page.resize(700, height)
        await until(lambda: page.sample.geometry().bottom() == page.account.geometry().bottom())
    page.resize(300, 600)
    await until(lambda: page.widget().width() <= page.viewport().width())
    page.close()
    page.deleteLater()


async def test_about_names_the_version(theme: Theme) -> None:
    parent = QWidget()
    about = About(theme, parent)
    about.open()
    await until(about.isVisible)
    about.reject()
    parent.deleteLater()


async def test_a_dialog_for_files_begins_where_the_last_one_ended(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    kept: list[dict[str, str]] = []
    (tmp_path / "deep").mkdir()
    last_folders.keep_with({}, kept.append)
    try:
        for _ in range(2):
            dialog = choose_folder(None, "Where to", lambda _: None)  # type: ignore[arg-type]
            qtbot.addWidget(dialog)
            if kept:
                assert dialog.directory().absolutePath() == str(tmp_path / "deep")
                dialog.reject()
            else:
                dialog.setDirectory(str(tmp_path / "deep"))
                dialog.accept()
                assert kept == [{"folder": str(tmp_path / "deep")}]
                last_folders.keep_with(kept[0], kept.append)  # as at the next start
        elsewhere = choose_folder(None, "Where to", lambda _: None, tmp_path)  # type: ignore[arg-type]
        qtbot.addWidget(elsewhere)
        assert elsewhere.directory().absolutePath() == str(tmp_path), "who is told where to begin begins there"
        elsewhere.reject()
    finally:
        last_folders.keep_with({}, kept.append)


async def test_where_a_file_is_opened_no_key_deletes_one(qapp: QApplication, qtbot: QtBot) -> None:
    """Qt's own dialog deletes what is selected, folders with all that is in them; where one is made, it may."""
    window = QWidget()
    qtbot.addWidget(window)
    read_only = QFileDialog.Option.ReadOnly
    for choose, is_read in ((choose_files, True), (choose_folder, False)):
        dialog = choose(window, "Choose", lambda _: None)
        assert dialog.testOption(read_only) is is_read
        dialog.close()


async def test_a_dialog_for_files_speaks_chinese_from_label_to_button(qapp: QApplication, qtbot: QtBot) -> None:
    window, own_words = QWidget(), QtTexts(qapp)
    qtbot.addWidget(window)
    speak("zh_CN")
    own_words.speak("zh_CN")
    try:
        for choose in (choose_files, choose_folder):
            dialog = choose(window, "选择", lambda _: None)
            labels, buttons = dialog.findChildren(QLabel), dialog.findChildren(QPushButton)
            said = [words for words in (*(one.text() for one in labels), *(one.text() for one in buttons)) if words]
            assert said and all(any(letter >= "\u4e00" for letter in words) for words in said), said
            dialog.close()
    finally:
        own_words.speak("en")


@pytest.mark.parametrize("choice", ["light", "dark"])
async def test_the_arrows_of_a_dialog_for_files_are_seen_on_their_ground(
    qapp: QApplication, qtbot: QtBot, choice: str
) -> None:
    """Qt draws them black, also where all around them is dark."""
    theme, window = Theme(qapp, ICONS, choice), QWidget()
    qtbot.addWidget(window)
    dialog = choose_files(window, "Choose", lambda _: None)
    for name in ("backButton", "forwardButton", "toParentButton", "newFolderButton"):
        button = dialog.findChild(QToolButton, name)
        assert isinstance(button, QToolButton)
        image = button.icon().pixmap(16).toImage()
        drawn = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
        full = [color for color in drawn if color.alpha() == 255]
        assert full and all(color == theme.color("text") for color in full), name
    dialog.close()
    theme.close()


async def test_a_list_of_files_shows_sizes_and_dates_whole(tmp_path: Path, qtbot: QtBot) -> None:
    """Qt's own widths were too small for what stands in the columns: 9.…iB."""
    window = QWidget()
    qtbot.addWidget(window)
    (tmp_path / "some data.bin").write_bytes(bytes(9_500))
    dialog = choose_files(window, "Choose", lambda _: None)
    dialog.setDirectory(str(tmp_path))
    tree = dialog.findChild(QTreeView)
    assert isinstance(tree, QTreeView)
    await until(lambda: tree.model().rowCount(tree.rootIndex()) == 1)
    header = tree.header()
    shown = [column for column in range(header.count()) if not header.isSectionHidden(column)]
    assert len(shown) == 3
    await until(lambda: all(header.sectionSize(one) >= tree.sizeHintForColumn(one) for one in shown[1:]))
    dialog.close()
