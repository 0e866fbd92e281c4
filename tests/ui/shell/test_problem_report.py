"""A report of a problem: seen before it is saved, without secrets, without network, also out of a crash."""

import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot

from support.dialogs import visible_dialog
from support.frame_bench import frame, texts_cut
from support.planted import found_in
from support.qt_support import until
from support.servers.secret_service import SecretService
from support.waiting import fail_with
from traindeck.assembly.account_core import AccountCore
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.errors import LocalTrouble, Unexpected
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.services.accounts.secrets import CHOICE_VARIABLE
from traindeck.store.paths import Paths
from traindeck.ui.kit.dialogs import ErrorReport
from traindeck.ui.shell.problem_report_dialog import ProblemReportDialog
from traindeck.viewmodels.shell.problem_report import ProblemForm, gathered

AK, SK = "ACCESSKEY1234567890X", "secret+of/nobody=0123456789abcdefghijk"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A real one, of the test alone."""
    with SecretService(tmp_path / "keyring") as service:
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv(CHOICE_VARIABLE)
        yield


async def a_form() -> str:
    return f'[job]\nname = "bert"\n[environment]\nTOKEN = "{SK}"\n'


async def a_log() -> str:
    raise LocalTrouble(text("The log is gone."), text("Look for it."))


@asynccontextmanager
async def core(home: Path) -> AsyncIterator[AccountCore]:
    """Nobody answers at the services of its account."""
    async with AccountCore(Paths(home)) as made:
        profile = Profile("mine", Provider.MODELARTS, "lab", NOWHERE, NOWHERE, NOWHERE, project_id="p")
        await made.profile_service().add(profile, Credentials(AK, Secret(SK)))
        made.paths.app_log.write_text(f"something with {AK} and {SK}\n", encoding="utf-8")
        yield made


def names(dialog: ProblemReportDialog) -> list[str]:
    return [dialog.files.item(row).data(Qt.ItemDataRole.UserRole) for row in range(dialog.files.count())]


async def test_what_is_saved_is_what_was_shown(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with core(tmp_path / "home") as at, TaskScope(fail_with) as scope:
        with frame(qapp, scope, tmp_path) as window:
            window.window.show()
            pieces = [("form.toml", a_form), ("run-4.log", a_log)]

            def make(crash: str) -> ProblemForm:
                return ProblemForm(at.diagnosis, "mine", lambda: gathered(pieces), scope, crash)

            def opened(crash: str) -> None:
                ProblemReportDialog(make(crash), window.theme, scope, window.window).open()

            window.window.report_problem = opened
            window.notices.report("a task", Unexpected(f"KeyError: {AK}"))
            mistake = await visible_dialog(window.window, ErrorReport)
            qtbot.mouseClick(mistake.more, Qt.MouseButton.LeftButton)
            dialog = await visible_dialog(window.window, ProblemReportDialog)
            await until(dialog.save.isEnabled)
            qtbot.keyClicks(dialog.note, f"it broke {SK}")
            expected = [
                "diagnosis.json", "versions.txt", "settings.json", "log/traindeck.log", "form.toml", "run-4.log",
                "error.txt", "note.txt",
            ]  # fmt: skip
            assert names(dialog) == expected
            shown = {}
            for row, name in enumerate(expected):
                dialog.files.setCurrentRow(row)
                shown[name] = dialog.content.toPlainText()
            assert "KeyError" in shown["error.txt"]
            assert shown["note.txt"].startswith("it broke")
            assert "The log is gone." in shown["run-4.log"]
            dialog.files.item(expected.index("settings.json")).setCheckState(Qt.CheckState.Unchecked)
            assert not dialog.folder.isEnabled()
            qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
            place = tmp_path / "out.zip"
            chooser = await visible_dialog(window.window, QFileDialog)
            chooser.findChild(QLineEdit).setText(str(place))
            chooser.accept()
            await until(dialog.folder.isEnabled)
            with zipfile.ZipFile(place) as archive:
                saved = {name: archive.read(name).decode() for name in archive.namelist()}
            assert saved == {name: words for name, words in shown.items() if name != "settings.json"}
            qtbot.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
            for words in ("".join(shown.values()), qapp.clipboard().text()):
                assert not found_in(words, (AK, SK))
            dialog.reject()


async def test_a_disk_that_does_not_take_it_is_told_and_nothing_is_cut(qapp: QApplication, tmp_path: Path) -> None:
    async with core(tmp_path / "home") as at, TaskScope(fail_with) as scope:
        with frame(qapp, scope, tmp_path) as window:
            window.window.show()
            for language in ("en", "zh_CN"):
                speak(language)
                form = ProblemForm(at.diagnosis, "mine", lambda: gathered([]), scope)
                dialog = ProblemReportDialog(form, window.theme, scope, window.window)
                dialog.open()
                await until(dialog.save.isEnabled)
                form.save(tmp_path / "no such folder" / "out.zip")
                await until(lambda form=form: form.state.trouble is not None)
                assert str(tmp_path / "no such folder") in dialog.outcome.text()
                assert texts_cut(dialog) == []
                dialog.reject()
