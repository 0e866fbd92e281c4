"""Making, opening, closing and removing buckets, in real windows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from support.folder_access import OWN, OWNER
from support.folder_cloud import FolderCloud, offline
from support.frame_bench import ICONS
from support.list_host import ListHost
from support.panel_bench import User
from support.qt_support import Stalls, press
from support.servers.anybody import Anybody
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import until
from traindeck.domain.errors import NoRight
from traindeck.domain.storage.access import Acl, Grant, Grantees, Permission
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm, Template, template_policy
from traindeck.domain.storage.policy_checks import policy_findings
from traindeck.domain.texts import say, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.services.accounts.connections import Connection
from traindeck.ui.kit.dialogs import AnswerButton, Question, asked
from traindeck.ui.kit.property_dialog import PropertyDialog, PropertyDialogs
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.access_page import AccessPage, PolicyEditor
from traindeck.ui.storage.bucket_view import BucketView, RemovalRows
from traindeck.ui.storage.buckets import BucketDialogs
from traindeck.ui.storage.new_bucket_dialog import NewBucketDialog
from traindeck.viewmodels.ports import Loss
from traindeck.viewmodels.storage.bucket_access import BucketAccess, PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.buckets import BucketRemovals, BucketService, NewBucketForm

Kind = TypeVar("Kind", bound=QDialog)


async def saved(dialog: PropertyDialog) -> None:
    """It says so, and would take the next wish."""
    await until(lambda: dialog.footing.text() == "Saved." and dialog.reload_button.isEnabled())


def open_dialog(kind: type[Kind]) -> Kind | None:
    shown = [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, kind) and widget.isVisible()]
    return shown[-1] if shown else None


def _empty(tree: BucketTree, user: User, profile: str, bucket: ObjectPath) -> None:
    tree.empty(bucket, user, profile)


async def dialog_of(kind: type[Kind]) -> Kind:
    """One that has the keyboard: until then a key goes nowhere."""
    await until(lambda: (one := open_dialog(kind)) is not None and one.isActiveWindow())
    found = open_dialog(kind)
    assert found is not None
    return found


async def answer(name: str) -> str:
    """Press a button of the question that is asked; the answer is the question."""
    question = await dialog_of(Question)
    words = question.windowTitle()
    button = question.findChild(QPushButton, f"answer.{name}")
    assert button is not None and button.isEnabled()
    button.click()
    await until(lambda: open_dialog(Question) is None)
    return words


class Bench:
    """The panel of buckets in a window, over a cloud in a folder."""

    def __init__(self, cloud: FolderCloud, theme: Theme) -> None:
        self.cloud = cloud
        self.window = QWidget()
        self.tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        self.marks = PublicMarks(cloud.connections, self.tree, cloud.scope)
        self.removals = BucketRemovals(cloud.connections, cloud.scope)
        self.removals.removed.connect(lambda *_: self.tree.refresh(None))
        self.user = User()
        self.view = BucketView(self.tree, theme, self.user)
        self.dialogs = PropertyDialogs(theme, cloud.scope, self.window)
        self.parts = BucketDialogs(
            self.dialogs,
            theme,
            cloud.scope,
            self.window,
            self.marks,
            self.removals,
            self._confirm,
            self._form,
            self._rights,
            self._service,
            partial(_empty, self.tree, self.user),
        )
        self.parts.attach(self.view)
        self.host = ListHost(theme)
        self.host.take(self.view, self.parts.commands(self.host.active))

    def _form(self) -> NewBucketForm:
        form = NewBucketForm("lab", self.cloud.connections, self.cloud.scope)
        form.made.connect(lambda _: self.tree.refresh(None))
        return form

    def _rights(self, profile: str, bucket: str) -> BucketAccess:
        return BucketAccess(profile, bucket, self.cloud.connections)

    def _service(self, profile: str, bucket: str) -> BucketService:
        return BucketService(profile, bucket, self.cloud.connections, self.cloud.unfinished)

    async def _confirm(self, loss: Loss) -> bool:
        facts = "\n".join(str(fact) for fact in loss.facts)
        typed = str(loss.typed) if loss.typed else ""
        yes = AnswerButton("yes", str(loss.action), "danger")
        return await asked(self.window, str(loss.question), facts, yes, typed=typed) == "yes"

    def data(self, bucket: str, role: Qt.ItemDataRole) -> str:
        return str(self.view.model.index_of(ObjectPath(bucket)).data(role))

    def names(self) -> list[str]:
        model = self.view.model
        return [str(model.index(row, 0).data()) for row in range(model.rowCount())]

    async def access(self, bucket: str = "bucket") -> tuple[PropertyDialog, AccessPage]:
        self.parts.show("lab", bucket, say("Access"))
        dialog = await dialog_of(PropertyDialog)
        await until(dialog.reload_button.isEnabled)
        page = dialog.current.page
        assert isinstance(page, AccessPage)
        return dialog, page


@pytest.fixture
def make_theme(qapp: QApplication) -> Callable[[], Theme]:
    return lambda: Theme(qapp, ICONS, "light")


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        await cloud.storage.create_bucket("bucket")
        for number in range(3):
            cloud.storage.place(ObjectPath("bucket", f"{number}")).write_bytes(b"12345")
        on = Bench(cloud, theme)
        qtbot.addWidget(on.window)
        qtbot.addWidget(on.view)
        on.view.resize(320, 400)
        on.window.show()
        qtbot.addWidget(on.host)
        on.host.show()
        on.host.activateWindow()
        await until(on.host.isActiveWindow)
        on.view.rows.setFocus()
        on.tree.use_profile("lab")
        await until(lambda: on.tree.level(None).is_known and on.marks.of("bucket") is not None)
        yield on
        for widget in QApplication.topLevelWidgets():
            if isinstance(widget, QDialog) and widget.isVisible():
                widget.done(0)
    theme.close()


async def test_a_public_bucket_wears_a_mark_that_can_be_read_aloud(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        spoken, tip = Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole
        assert "ublic" not in on.data("bucket", spoken) and "rivate" not in on.data("bucket", spoken)
        plain = on.view.model.index_of(ObjectPath("bucket")).data(Qt.ItemDataRole.DecorationRole)
        on.cloud.access.policies["bucket"] = template_policy(Template.PUBLIC_READ, "bucket", PolicyForm.OBS)
        on.marks.look_again("lab", "bucket")
        await until(lambda: on.marks.words("bucket"))
        assert on.data("bucket", spoken) == "Bucket: bucket. Public: anyone on the internet can read objects."
        assert "anyone on the internet" in on.data("bucket", tip)
        marked = on.view.model.index_of(ObjectPath("bucket")).data(Qt.ItemDataRole.DecorationRole)
        assert plain.pixmap(16).toImage() != marked.pixmap(16).toImage()


async def test_a_bucket_is_made_in_the_dialog(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot, responsive: Stalls
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        qtbot.mouseClick(on.view.add, Qt.MouseButton.LeftButton)
        dialog = await dialog_of(NewBucketDialog)
        await until(lambda: dialog.classes.count() == 3)
        assert "cn-north-4" in dialog.region.text()
        assert not dialog.create_button.isEnabled() and dialog.problem.isHidden()
        qtbot.keyClicks(dialog.name, "Bucket")
        assert dialog.problem.text() == "Capital letters are not allowed."
        assert dialog.name.accessibleDescription() == dialog.problem.text()
        dialog.name.selectAll()
        qtbot.keyClicks(dialog.name, "bucket")
        assert "unique in the whole cloud" in dialog.note.text() and dialog.problem.isHidden()
        qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
        await until(lambda: "already exists" in dialog.error.text())
        qtbot.keyClicks(dialog.name, "-2")
        assert dialog.error.isHidden()
        qtbot.keyClick(dialog.classes, Qt.Key.Key_Down)
        qtbot.keyClick(dialog.access, Qt.Key.Key_Down)
        assert dialog.create_button.text() == "Create public bucket"
        dialog.create_button.click()
        await until(lambda: on.names() == ["bucket", "bucket-2"] and open_dialog(NewBucketDialog) is None)
        (wanted,) = on.cloud.access.made
        assert (wanted.storage_class, wanted.template) == ("WARM", Template.PUBLIC_READ)
        await until(lambda: on.marks.words("bucket-2"))


async def test_escape_leaves_the_dialog_and_makes_nothing(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        on.parts.make_bucket()
        dialog = await dialog_of(NewBucketDialog)
        qtbot.keyClicks(dialog.name, "another")
        press(dialog, Qt.Key.Key_Escape)
        await until(lambda: open_dialog(NewBucketDialog) is None)
        assert on.cloud.access.made == []


async def test_a_template_is_chosen_asked_about_and_saved(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot, responsive: Stalls
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        dialog, page = await on.access()
        assert page.now.text() == "Private: only the account that owns the bucket has access."
        assert page.templates[Template.PRIVATE].isChecked() and not dialog.save_button.isEnabled()
        qtbot.mouseClick(page.templates[Template.PUBLIC_READ], Qt.MouseButton.LeftButton)
        assert page.then.text() == "When this is saved: Public: anyone on the internet can read objects."
        assert not page.templates[Template.PRIVATE].isChecked()
        assert '"GetObject"' in page.editor.text.toPlainText()
        dialog.save_button.click()
        assert await answer("yes") == "Make “bucket” public?"
        await saved(dialog)
        assert page.now.text().startswith("Public: anyone on the internet can read objects.")
        await until(lambda: on.marks.words("bucket"))
        page.templates[Template.PRIVATE].click()
        dialog.save_button.click()
        await until(lambda: on.cloud.access.policies["bucket"] == "")
        await saved(dialog)
        await until(lambda: on.marks.of("bucket") is not None and not on.marks.words("bucket"))


async def test_json_is_checked_while_it_is_typed_and_wrong_json_cannot_be_saved(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        dialog, page = await on.access()
        editor = page.editor
        qtbot.keyClicks(editor.text, '{"Statement": [}')
        assert editor.found.item(0).text() == (
            "Line 1, column 16: This is not JSON. A value is missing here, or is not valid JSON."
        )
        assert dialog.footing.text().startswith("Line 1, column 16") and not dialog.save_button.isEnabled()
        editor.text.moveCursor(editor.text.textCursor().MoveOperation.Start)
        editor.found.itemActivated.emit(editor.found.item(0))
        assert editor.text.textCursor().position() == 15 and editor.text.hasFocus()
        assert marked_words(editor) == ["}"]
        good = json.loads(template_policy(Template.PUBLIC_READ, "bucket", PolicyForm.OBS))
        editor.text.setPlainText(json.dumps(good))
        assert page.templates[Template.PUBLIC_READ].isChecked() and dialog.save_button.isEnabled()
        editor.format.click()
        assert editor.text.toPlainText().startswith('{\n  "Statement"')
        page.discard.click()
        assert editor.text.toPlainText() == "" and not page.has_changes()
        assert page.templates[Template.PRIVATE].isChecked()


async def test_grants_are_added_and_removed_by_hand(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        dialog, page = await on.access()
        grants = page.grants
        assert grants.rows.rowCount() == 1 and "The owner" in grants.rows.item(0, 0).text()
        grants.who.setCurrentIndex(grants.who.findData(Grantees.ACCOUNT))
        grants.add.click()
        assert "Enter the ID of an account" in grants.problem.text()
        qtbot.keyClicks(grants.account, "guest")
        assert grants.problem.isHidden()
        grants.delivered.setChecked(True)
        qtbot.keyClick(grants.account, Qt.Key.Key_Return)
        assert (grants.rows.item(1, 0).text(), grants.rows.item(1, 2).text()) == ("guest", "Yes")
        dialog.save()
        await saved(dialog)
        guest = Grant(Grantees.ACCOUNT, Permission.READ, "guest", delivered=True)
        assert on.cloud.access.acls[ObjectPath("bucket")] == Acl(OWNER, (OWN, guest))
        grants.rows.selectAll()
        qtbot.keyClick(grants.rows, Qt.Key.Key_Delete)
        assert grants.rows.rowCount() == 1, "the owner's stays"
        assert not grants.remove.isEnabled()


async def test_what_may_not_be_read_is_said_and_not_offered(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        refused = NoRight(
            text("The keys {key} do not have permission to do this.", key="AK"), text("Refresh the list.")
        )

        async def no_policy(bucket: str) -> str:
            raise refused

        monkeypatch.setattr(on.cloud.access, "policy", no_policy)
        dialog, page = await on.access()
        assert page.editor.isHidden() and "do not have permission" in page.policy_trouble.text()
        assert not page.templates[Template.PUBLIC_READ].isEnabled() and not page.grants.isHidden()
        assert not dialog.save_button.isEnabled()
        dialog.done(0)
        await until(lambda: open_dialog(PropertyDialog) is None)
        on.cloud.access.trouble = offline()
        dialog, page = await on.access()
        assert not page.isVisible(), "the frame says what is wrong and offers another try"
        on.cloud.access.trouble = None
        dialog.reload()
        await until(page.isVisible)


async def test_a_full_bucket_goes_with_its_name_typed_and_can_be_stopped(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot
) -> None:
    async with bench(tmp_path, make_theme(), qtbot) as on:
        on.view.rows.setFocus()
        on.view.rows.setCurrentIndex(on.view.model.index_of(ObjectPath("bucket")))
        qtbot.keyClick(on.view.rows, Qt.Key.Key_Delete)
        question = await dialog_of(Question)
        yes = question.findChild(QPushButton, "answer.yes")
        assert isinstance(yes, QPushButton) and not yes.isEnabled()
        assert not on.view.findChild(RemovalRows).isVisible(), "it waits for the user, and counts no more"
        qtbot.keyClicks(question.typed, "bucket")
        assert yes.isEnabled()
        on.cloud.access.step = asyncio.Event()
        on.cloud.access.step.set()
        yes.click()
        rows = on.view.findChild(RemovalRows)
        assert isinstance(rows, RemovalRows)
        await until(lambda: on.removals.running and on.removals.running[0].gone.count == 1)
        (row,) = rows.rows.values()
        assert rows.isVisible() and row.words.text() == "Emptying “bucket”: 1 of 3…" and row.bar.value() == 333
        row.stop.click()
        await until(lambda: not rows.isVisible())
        assert on.names() == ["bucket"]
        on.cloud.access.step = None
        on.host.activateWindow()
        await until(on.host.isActiveWindow)
        on.view.rows.setFocus()
        qtbot.keyClick(on.view.rows, Qt.Key.Key_Delete)
        question = await dialog_of(Question)
        qtbot.keyClicks(question.typed, "bucket")
        assert await answer("yes") == "Delete the bucket “bucket” with everything in it?"
        await until(lambda: on.names() == [])


def marked_words(editor: PolicyEditor) -> list[str]:
    return [mark.cursor.selectedText() for mark in editor.text.extraSelections()]


async def test_findings_stand_where_they_are_beyond_the_basic_plane(
    make_theme: Callable[[], Theme], qtbot: QtBot
) -> None:
    theme = make_theme()
    editor = PolicyEditor(theme)
    qtbot.addWidget(editor)
    policy = (
        '{"Sid🎓": 1, "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "GetObjct", "Resource": "b/*"}]}'
    )
    editor.show_policy(policy, policy_findings(policy, "b", PolicyForm.OBS))
    assert marked_words(editor) == ['"Sid🎓"', '"Action"']
    theme.close()


async def test_both_languages_fit(tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot) -> None:
    for language in ("en", "zh_CN"):
        speak(language)
        async with bench(tmp_path / language, make_theme(), qtbot) as on:
            dialog, page = await on.access()
            page.templates[Template.PUBLIC_READ_WRITE].click()
            for button in dialog.findChildren(QPushButton):
                if button.isVisible():
                    assert button.width() >= button.sizeHint().width(), button.text()
            page._model.discard()
    speak("en")


class ToLab:
    """Opens one account, as the window's connections do."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def open(self, name: str) -> Connection:
        return self._connection


async def test_what_is_saved_in_the_window_opens_and_closes_a_bucket_of_the_lab(
    tmp_path: Path, make_theme: Callable[[], Theme], qtbot: QtBot
) -> None:
    theme = make_theme()
    calls = BlockingCalls(4, "sdk")
    with LabProcess(tmp_path / "root") as lab:
        way, anybody = Way.to(lab, calls), Anybody(lab.obs)
        connection = Connection(way.profile, way.credentials, calls)
        await connection.storage.create_bucket("for-all")
        await way.put(b"x", ObjectPath("for-all", "k"))
        async with TaskScope(lambda name, error: pytest.fail(f"{name}: {error}")) as scope:
            model = BucketAccess("lab", "for-all", cast("Any", ToLab(connection)))
            page = AccessPage(model, theme)
            dialog = PropertyDialog("Bucket settings", "obs://for-all/", [page], theme, scope)
            dialog.show()
            await until(lambda: dialog.reload_button.isEnabled())
            for template, expected in ((Template.PUBLIC_READ, 200), (Template.PRIVATE, 403)):
                page.templates[template].click()
                dialog.save_button.click()
                if template is Template.PUBLIC_READ:
                    await answer("yes")
                await saved(dialog)
                assert await calls.run(lambda _: anybody.get("/for-all/k")) == expected
            dialog.done(0)
        connection.close()
    calls.close()
    theme.close()
