"""The account form's finer points: what it keeps to itself, what it takes, and how it tells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from end_to_end.outside import outside_of_tasks
from support import planted
from support.frame_bench import ICONS
from support.qt_support import until
from support.waiting import fail_with
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Check, CheckUp, Profile, Provider, Signature
from traindeck.domain.errors import KeyringMissing, KeysRefused
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.services.accounts.key_checks import OnCheck
from traindeck.ui.accounts.profile_dialog import FileDrop, ProfileDialog, is_credentials
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.bars import NoticeBar
from traindeck.viewmodels.accounts.profile_form import ProfileForm
from traindeck.viewmodels.shell.notices import KEYS, Mending, Notices

AK, SK, TOKEN, PASSWORD = "AKIAEXAMPLE123456789", planted.SECRET_KEY, planted.TOKEN, planted.PROXY_PASSWORD
RUNNING = Check(text("OBS"), None, text("Checking…"), None, "obs", is_running=True)
DONE = Check(text("OBS"), True, text("{count} buckets visible.", count=2), None, "obs")


class RunActions:
    """Takes every account and says so step by step; the real one has its own tests."""

    def __init__(self) -> None:
        self.added: list[tuple[Profile, Credentials, bool]] = []
        self.changed: list[tuple[Profile, Secret | None]] = []
        self.used: list[str] = []
        self.keyring_error: KeyringMissing | None = None
        self.verdict = CheckUp((DONE,), accepted=True)

    def all(self) -> list[Profile]:
        return []

    async def use(self, name: str) -> None:
        self.used.append(name)

    async def add(
        self, profile: Profile, credentials: Credentials, *, replace_old: bool = False, this_session_only: bool = False
    ) -> Profile:
        if self.keyring_error and not this_session_only:
            raise self.keyring_error
        self.added.append((profile, credentials, this_session_only))
        return profile

    async def change(self, profile: Profile, proxy_password: Secret | None = None) -> Profile:
        self.changed.append((profile, proxy_password))
        return profile

    async def keyring(self) -> str:
        if self.keyring_error:
            raise self.keyring_error
        return "KWallet"

    async def check(self, name: str, found: OnCheck = lambda _: None) -> CheckUp:
        found(CheckUp((RUNNING,)))
        return self.verdict


@pytest.fixture
def theme(qapp: QApplication) -> object:
    theme = Theme(qapp, ICONS, "light")
    yield theme
    theme.close()


def words(widget: QWidget) -> str:
    return " ".join(label.text() for label in widget.findChildren(QLabel) if label.isVisibleTo(widget))


async def test_secrets_are_neither_shown_nor_copied(theme: Theme, qtbot: QtBot) -> None:
    clipboard = QGuiApplication.clipboard()
    clipboard.setText("before")
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", RunActions()), scope), theme)
        dialog.open()
        dialog.more.setChecked(True)
        for name in ("secret_key", "token", "proxy_password"):
            edit = dialog.fields[name]
            qtbot.keyClicks(edit, SK)
            assert edit.echoMode() == QLineEdit.EchoMode.Password and SK not in edit.displayText()
            edit.selectAll()
            for keys in (QKeySequence.StandardKey.Copy, QKeySequence.StandardKey.Cut):
                QTest.keySequence(edit, QKeySequence(keys))
            edit.copy()
            edit.cut()
            assert clipboard.text() == "before"
            assert not edit.dragEnabled()
        dialog.close()
        dialog.deleteLater()


async def test_every_setting_reaches_the_profile(theme: Theme, qtbot: QtBot) -> None:
    service = RunActions()
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", service), scope), theme)
        dialog.open()
        await until(lambda: "KWallet" in dialog.note.text())
        typed = {
            "name": "store", "access_key": AK, "secret_key": SK, "work_in": "team/ann",
            "obs_endpoint": "https://s3.campus.cn/", "ca_file": "/etc/campus.pem", "project_id": "p1",
            "proxy": "proxy.campus.cn:3128", "proxy_user": "ann", "proxy_password": PASSWORD,
        }  # fmt: skip
        dialog.more.setChecked(True)
        for name, value in typed.items():
            qtbot.keyClicks(dialog.fields[name], value)
        dialog.signature.setCurrentIndex(3)
        dialog.path_style.setChecked(True)
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: "2 buckets visible." in words(dialog.checks))
        ((profile, keys, this_session_only),) = service.added
        assert profile == Profile(
            "store", Provider.MODELARTS, "cn-north-4", obs_endpoint="https://s3.campus.cn", project_id="p1",
            signature=Signature.V4, path_style=True, ca_file="/etc/campus.pem", work_in="obs://team/ann/",
            proxy="http://ann@proxy.campus.cn:3128",
        )  # fmt: skip
        assert keys == Credentials(AK, Secret(SK), proxy_password=Secret(PASSWORD)) and not this_session_only
        assert PASSWORD not in repr(profile)
        assert "The credential is valid." in words(dialog.checks) and service.used == ["store"]
        await until(dialog.save.isEnabled)
        dialog.close()
        dialog.deleteLater()


async def test_temporary_keys_come_out_of_a_file_with_their_end(theme: Theme, qtbot: QtBot, tmp_path: Path) -> None:
    service, end = RunActions(), datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    path = tmp_path / "credential.json"
    content = f'"access":"{AK}","secret":"{SK}","securitytoken":"{TOKEN}","expires_at":"{end.isoformat()}"'
    path.write_text(f'{{"credential":{{{content}}}}}', encoding="utf-8")
    async with TaskScope(fail_with) as scope:
        form = ProfileForm(cast("Any", service), scope)
        dialog = ProfileDialog(form, theme)
        dialog.open()
        form.load(path)
        await until(lambda: "this session only" in dialog.note.text())
        assert f"{end.astimezone():%Y-%m-%d %H:%M}" in dialog.note.text()
        await until(dialog.save.isEnabled)
        qtbot.keyClicks(dialog.fields["name"], "short")
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: service.added)
        assert service.added[0][1] == Credentials(AK, Secret(SK), Secret(TOKEN), expires=end)
        await until(dialog.save.isEnabled)
        dialog.close()
        dialog.deleteLater()


async def test_an_account_is_changed_without_its_keys_or_given_new_ones(theme: Theme, qtbot: QtBot) -> None:
    before = Profile("campus", Provider.MODELARTS, "cn-east-3", key_hint="AKIA…89", proxy="http://ann@proxy:80")
    service = RunActions()
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", service), scope, before), theme)
        dialog.open()
        assert "campus" in dialog.windowTitle() and "AKIA…89" in words(dialog)
        assert dialog.fields["name"].isReadOnly() and dialog.fields["proxy_user"].text() == "ann"
        dialog.more.setChecked(True)
        qtbot.keyClicks(dialog.fields["proxy_password"], PASSWORD)
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: service.changed)
        assert service.changed[0][0].proxy == before.proxy and service.changed[0][1] == Secret(PASSWORD)
        await until(dialog.save.isEnabled)
        qtbot.keyClicks(dialog.fields["access_key"], AK)
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        assert dialog.fields["secret_key"].accessibleDescription(), "half a pair is no pair"
        qtbot.keyClicks(dialog.fields["secret_key"], SK)
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: service.added)
        assert service.used == [], "who mends one account has not chosen it"
        await until(dialog.save.isEnabled)
        dialog.close()
        dialog.deleteLater()


async def test_that_there_is_no_keyring_is_said_at_once(theme: Theme, qtbot: QtBot) -> None:
    service = RunActions()
    service.keyring_error = KeyringMissing(
        text("This computer has no keyring for the keys."),
        text("Install the package gnome-keyring (on KDE: kwallet) and sign in to the desktop again."),
    )
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", service), scope), theme)
        dialog.open()
        await until(dialog.session.isVisible)
        dialog.more.click()
        await until(dialog.fields["token"].isVisible)
        lefts = {edit.mapTo(dialog, QPoint()).x() for edit in dialog.fields.values()}
        assert len(lefts) == 1, "all begin in one line"
        dialog.more.click()
        assert "gnome-keyring" in dialog.error.text() and dialog.note.text() == "Nothing is kept yet."
        for name, value in (("name", "campus"), ("access_key", AK), ("secret_key", SK)):
            qtbot.keyClicks(dialog.fields[name], value)
        qtbot.mouseClick(dialog.session, Qt.MouseButton.LeftButton)
        await until(lambda: service.added)
        assert service.added[0][2], "for this session only"
        await until(dialog.save.isEnabled)
        assert "until TrainDeck ends" in dialog.note.text() and not dialog.error.isVisible()
        dialog.close()
        dialog.deleteLater()


@pytest.mark.parametrize(("name", "is_taken"), [("凭证 credentials.csv", True), ("credentials.JSON", True),
                                                ("job.toml", False), ("data.json", False)])  # fmt: skip
async def test_the_consoles_file_may_fall_anywhere_on_the_window(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, name: str, is_taken: bool
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    taken: list[object] = []
    FileDrop(window, taken.append, is_credentials)
    window.show()
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(tmp_path / name))])
    act, button, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entering = QDragEnterEvent(QPoint(5, 5), act, mime, button, none)
    entering.ignore()
    QApplication.sendEvent(window, entering)
    assert entering.isAccepted() == is_taken
    if is_taken:
        QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), act, mime, button, none))
    assert taken == ([tmp_path / name] if is_taken else [])


async def test_one_banner_for_refused_keys_with_the_way_out(theme: Theme, qtbot: QtBot) -> None:
    notices, pressed = Notices(), []
    bar = NoticeBar(notices, theme)
    qtbot.addWidget(bar)
    bar.resize(900, 100)
    bar.show()
    why = KeysRefused(
        text("The access key AKIA…89 does not exist at obs.example.com."), text("Look it up."), "HTTP 403"
    )
    mending = Mending(text("Enter new keys…"), lambda: pressed.append("paste"))
    notices.hold(
        KEYS + "campus", text("The keys of “{name}” were rejected.", name="campus"), why.title, mending=mending
    )
    for task in ("list buckets", "upload", "follow"):
        notices.report(task, why)
    assert (len(notices.conditions), notices.toasts) == (1, ()), "told in one place"
    assert "campus" in bar.title.text() and "does not exist" in bar.hint.text()
    assert bar.mending.text() == "Enter new keys…"
    qtbot.mouseClick(bar.mending, Qt.MouseButton.LeftButton)
    assert pressed == ["paste"] and len(notices.conditions) == 1, "it stays until the keys work"
    notices.clear(KEYS + "campus")
    assert not notices.conditions


async def fill(qtbot: QtBot, dialog: ProfileDialog) -> None:
    for name, value in (("name", "campus"), ("access_key", AK), ("secret_key", SK)):
        qtbot.keyClicks(dialog.fields[name], value)


FAILED = Check(text("ModelArts"), False, text("ModelArts has not been authorized."), None, "modelarts")


@pytest.mark.parametrize(
    "verdict", [CheckUp((RUNNING,)), CheckUp((DONE,), accepted=False), CheckUp((DONE, FAILED), accepted=True)]
)
async def test_an_account_is_in_use_when_its_checks_pass_or_the_user_says_so(
    theme: Theme, qtbot: QtBot, verdict: CheckUp
) -> None:
    service = RunActions()
    service.verdict = verdict
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", service), scope), theme)
        dialog.open()
        assert not dialog.use_anyway.isVisible()
        await fill(qtbot, dialog)
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(dialog.use_anyway.isVisible)
        assert service.added and service.used == []
        qtbot.mouseClick(dialog.use_anyway, Qt.MouseButton.LeftButton)
        await until(lambda: service.used == ["campus"] and dialog.save.isEnabled())
        assert not dialog.use_anyway.isVisible()
        dialog.close()
        dialog.deleteLater()


async def test_what_is_said_of_the_keyring_is_true_after_each_try(theme: Theme, qtbot: QtBot) -> None:
    service = RunActions()
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", service), scope), theme)
        dialog.open()
        await until(lambda: "will be kept in the system keyring (KWallet)" in dialog.note.text())
        service.keyring_error = KeyringMissing(text("This computer offers no keyring."), text("Install one."))
        await fill(qtbot, dialog)
        for _ in range(2):
            qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
            await until(lambda: dialog.session.isVisible() and dialog.save.isEnabled())
            assert (dialog.note.text(), service.added) == ("Nothing is kept yet.", [])
            assert "no keyring" in dialog.error.text()
        service.keyring_error = None
        dialog.form.look_for_keyring()
        await until(lambda: not dialog.session.isVisible())
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        await until(lambda: "is kept in the system keyring (KWallet)" in dialog.note.text())
        await until(dialog.save.isEnabled)
        dialog.close()
        dialog.deleteLater()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
async def test_it_fits_a_low_screen_and_no_mistake_moves_a_field(theme: Theme, qtbot: QtBot, language: str) -> None:
    speak(language)
    service = RunActions()
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", service), scope), theme)
        dialog.open()
        least = dialog.minimumSizeHint()
        assert least.width() <= 860 and least.height() <= 480, "as on 1920×1080 at 200 %"
        dialog.resize(640, 480)

        def places() -> list[QPoint]:
            parts = (
                *(dialog.fields[name] for name in ("name", "access_key", "secret_key")),
                dialog.region,
                dialog.save,
            )
            return [part.mapTo(dialog, QPoint()) for part in parts]

        await until(lambda: dialog.note.isVisible())
        before = places()
        dialog.region.setEditText("Beijing")
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        assert dialog.fields["access_key"].accessibleDescription() and dialog.region.accessibleDescription()
        await outside_of_tasks(QApplication.processEvents)
        assert places() == before and service.added == []
        dialog.close()
        dialog.deleteLater()


@pytest.mark.parametrize("field", ["access_key", "secret_key"])
@pytest.mark.parametrize(
    "pasted",
    [f"{AK}\n{SK}", f"Access Key Id: {AK}\r\nSecret Access Key: {SK}", f"学员,{AK},{SK}", f"{AK}\t{SK}"],
)
async def test_both_keys_are_pasted_at_once(theme: Theme, qtbot: QtBot, field: str, pasted: str) -> None:
    QGuiApplication.clipboard().setText(pasted)
    async with TaskScope(fail_with) as scope:
        dialog = ProfileDialog(ProfileForm(cast("Any", RunActions()), scope), theme)
        dialog.open()
        qtbot.keySequence(dialog.fields[field], QKeySequence.StandardKey.Paste)
        assert (dialog.fields["access_key"].text(), dialog.fields["secret_key"].text()) == (AK, SK)
        assert SK not in dialog.fields["access_key"].text()
        dialog.close()
        dialog.deleteLater()
    QGuiApplication.clipboard().clear()
