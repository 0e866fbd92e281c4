"""Properties of objects in real windows, over a real Lab."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QWidget

from support.dialogs import visible_dialog
from support.folder_cloud import FolderCloud
from support.list_host import ListHost
from support.panel_bench import User, light_theme
from support.servers.handed_on import fetched
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import until
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.storage.access import Grant, Grantees, Permission
from traindeck.domain.storage.object_facts import HeadChange, ObjectFacts
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import Connection, LabAddress
from traindeck.services.http import calls as retrying
from traindeck.services.storage.sdk.objects import ObsObjects
from traindeck.store.settings import Settings, SettingsFile
from traindeck.ui.kit.property_dialog import PropertyDialog, PropertyDialogs, PropertyPage
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.many_objects_pages import ManyChangesPage, ManySummaryPage
from traindeck.ui.storage.object_pages import (
    WRITE,
    LinkPage,
    ObjectAccessPage,
    ObjectGeneralPage,
    ObjectMetadataPage,
)
from traindeck.ui.storage.object_properties import ObjectPropertiesDialogs
from traindeck.ui.storage.object_table import CLASS, NAME
from traindeck.ui.storage.object_versions import ObjectStoragePage, ObjectVersionsPage
from traindeck.viewmodels.shell.journal import Journal
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.object_sheet import BulkWork, ObjectSheet
from traindeck.viewmodels.storage.places import Favourites

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

Page = TypeVar("Page", bound=PropertyPage)
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


class LabCloud(FolderCloud):
    """The services in front of a real Lab."""

    def __init__(self, folder: Path, way: Way) -> None:
        super().__init__(folder)
        self.way = way

    async def _open_lab(self) -> LabAddress:
        return LabAddress(self.way.profile, self.way.credentials, "1")

    def _connect(self, profile: Profile, credentials: Credentials) -> Connection:
        return Connection(profile, credentials, self.disk)


class Bench:
    def __init__(self, cloud: LabCloud, place: ObjectPath, theme: Theme, qtbot: QtBot) -> None:
        self.cloud, self.place, self.theme, self.qtbot = cloud, place, theme, qtbot
        self.user, self.journal = User(), Journal()
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        tree.use_profile("lab")
        favourites = Favourites(SettingsFile(cloud.paths.settings), cloud.disk, cloud.scope, Settings())
        self.browser = ObjectBrowser(
            "lab", place, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, "browser"
        )
        self.window = QWidget()
        self.buckets_shown: list[tuple[str, str]] = []
        self.dialogs = PropertyDialogs(theme, cloud.scope, self.window)
        self.view = BrowserView(self.browser, tree, favourites, theme, self.user)
        properties = ObjectPropertiesDialogs(
            self.dialogs,
            lambda profile, path: ObjectSheet(profile, path, cloud.connections, cloud.planes, cloud.disk),
            BulkWork(cloud.connections, cloud.scope, self.journal).of,
            theme,
            cloud.scope,
            self.user,
            tree.was_touched,
            lambda profile, bucket: self.buckets_shown.append((profile, bucket)),
        )
        self.host = ListHost(theme)
        self.host.take(self.view, properties.commands(self.host.active))

    async def objects(self) -> ObsObjects:
        return (await self.cloud.connections.open("lab")).objects

    async def facts(self, key: str) -> ObjectFacts:
        return await (await self.objects()).facts(self.place.join(key))

    def names(self) -> list[str]:
        model = self.view.model
        return [str(model.index(row, NAME).data()) for row in range(model.rowCount())]

    def class_of(self, name: str) -> str:
        return str(self.view.model.index(self.names().index(name), CLASS).data())

    def select(self, *names: str) -> None:
        table = self.view.table
        table.clearSelection()
        flags = table.selectionModel().SelectionFlag
        for name in names:
            index = self.view.model.index(self.names().index(name), 0)
            table.selectionModel().setCurrentIndex(index, flags.Select | flags.Rows)

    def dialog(self) -> PropertyDialog | None:
        return next((one for one in self.window.findChildren(PropertyDialog) if one.isVisible()), None)

    async def open(self, kind: type[Page], *names: str, command: str = "object.properties") -> Page:
        """The page of this kind of what is selected, read."""
        if (before := self.dialog()) is not None:
            before.done(0)
            await until(lambda: self.dialog() is None)
        self.select(*names)
        self.host.commands.run(command)
        await until(lambda: self.dialog() is not None)
        return await self.turn(kind)

    async def turn(self, kind: type[Page]) -> Page:
        dialog = self.dialog()
        assert dialog is not None
        row = next(row for row, place in enumerate(dialog.places) if isinstance(place.page, kind))
        dialog.list.setCurrentRow(row)
        await until(dialog.reload_button.isEnabled)
        page = dialog.places[row].page
        assert isinstance(page, kind)
        return page

    async def save(self) -> str:
        """What stands beside the button afterwards."""
        dialog = self.dialog()
        assert dialog is not None and dialog.save_button.isEnabled()
        self.qtbot.mouseClick(dialog.save_button, LEFT)
        await until(lambda: dialog.footing.text() not in ("", "Saving…"))
        return dialog.footing.text()

    def click(self, button: QPushButton) -> None:
        assert button.isEnabled() and button.isVisible()
        self.qtbot.mouseClick(button, LEFT)


@asynccontextmanager
async def bench(
    lab: LabProcess, folder: Path, theme: Theme, qtbot: QtBot, *, versions: bool = False, **fields: str
) -> AsyncIterator[Bench]:
    calls = BlockingCalls(2, "sdk")
    way = Way.to(lab, calls)
    place = ObjectPath(f"b-{secrets.token_hex(6)}")
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
        if versions:
            await storage.ask(lambda client: client.setBucketVersioning(place.bucket, "Enabled"), place)
    await way.put(b"12345", *(place.join(key) for key in ("a 数据.csv", "b.bin", "d/1", "d/2", "d/deep/3")))
    async with LabCloud(folder, way.at(**dict[str, Any](fields))) as cloud:
        at = Bench(cloud, place, theme, qtbot)
        qtbot.addWidget(at.host)
        at.browser.start()
        at.host.resize(800, 400)
        at.host.show()
        at.window.show()
        if not fields:
            await until(lambda: at.names() == ["d", "a 数据.csv", "b.bin"])
        yield at
        at.browser.close()
        at.window.close()
        at.window.deleteLater()
    calls.close()


async def test_what_is_known_is_shown_by_key_and_can_be_copied(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        enabled = {command.id: command.enabled for command in at.host.commands.all()}
        assert not enabled["object.properties"]() and not enabled["object.link"]()
        at.select("d")
        assert enabled["object.properties"]() and not enabled["object.link"]()
        at.select("a 数据.csv", "b.bin")
        assert enabled["object.properties"]() and not enabled["object.link"]()
        at.select("a 数据.csv")
        assert enabled["object.link"]()
        at.view.activateWindow()
        at.view.table.setFocus()
        await until(at.view.table.hasFocus)
        qtbot.keyClick(at.view.table, Qt.Key.Key_Return, Qt.KeyboardModifier.AltModifier)
        await until(lambda: at.dialog() is not None)
        page = await at.turn(ObjectGeneralPage)
        shown = dict(page.facts._facts)
        assert shown["MD5"] == "827ccb0eea8a706c4c34a16891f84e7b, computed by the service"
        assert shown["Storage class"] == "Standard (STANDARD)" and shown["Size"] == "5 bytes"
        assert shown["Public"] == "Only those with permission can read it."
        at.click(page.copy_md5)
        assert QGuiApplication.clipboard().text() == "827ccb0eea8a706c4c34a16891f84e7b"
        at.click(page.copy_all)
        assert f"OBS path: {at.place.join('a 数据.csv')}" in QGuiApplication.clipboard().text()
        assert at.dialog() is not None
        # The same object again is the same dialog; another one has its own.
        at.host.commands.run("object.properties")
        await asyncio.sleep(0)
        assert len([one for one in at.window.findChildren(PropertyDialog) if one.isVisible()]) == 1


async def test_metadata_is_edited_and_nobody_elses_change_is_lost(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        page = await at.open(ObjectMetadataPage, "a 数据.csv")
        assert not page.has_changes()
        page.lines["content-type"].clear()
        qtbot.keyClicks(page.lines["content-type"], "text/csv")
        page.metadata.table.rows_edited.emit((("owner", "李雷"), ("stage", "raw")))
        page.tags.table.pasted.emit("team=vision; project=标注")
        assert await at.save() == "Saved."
        facts = await at.facts("a 数据.csv")
        assert (facts.content_type, facts.metadata) == ("text/csv", {"owner": "李雷", "stage": "raw"})
        assert await (await at.objects()).tags(facts.path) == {"team": "vision", "project": "标注"}
        assert not page.has_changes()

        page.metadata.table.rows_edited.emit((("owner", "李雷"),))
        await (await at.objects()).change(facts.path, HeadChange(metadata={"theirs": "1"}))
        assert "changed by someone else" in await at.save()
        assert (await at.facts("a 数据.csv")).metadata == {"owner": "李雷", "stage": "raw", "theirs": "1"}
        assert page.has_changes(), "what was typed is still there"
        await page.load()
        page.metadata.table.rows_edited.emit((("theirs", "1"),))
        assert await at.save() == "Saved."
        assert (await at.facts("a 数据.csv")).metadata == {"theirs": "1"}


async def test_what_no_service_takes_cannot_be_saved(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        page = await at.open(ObjectMetadataPage, "b.bin")
        dialog = at.dialog()
        assert dialog is not None
        for rows, words in (
            ((("Größe", "x"),), "cannot be used as"),
            ((("a", "1"), ("a", "2")), "appears twice"),
            ((("traindeck-md5", "x"),), "belongs to the content"),
            ((("a", "x" * 9000),), "larger than"),
        ):
            page.metadata.table.rows_edited.emit(rows)
            assert words in page.problem() and words in dialog.footing.text()
            assert not dialog.save_button.isEnabled()
        page.metadata.table.rows_edited.emit(())
        assert page.problem() == "" and not page.has_changes()
        qtbot.keyClicks(page.lines["content-disposition"], "attachment; filename=")
        page.lines["content-disposition"].insert("学")
        page._on_edited()
        assert "English" in page.fields["content-disposition"].error.text()
        page.lines["content-disposition"].clear()
        page.tags.table.rows_edited.emit(tuple((f"t{number}", "") for number in range(11)))
        assert "more than an object can have" in await at.save()


async def test_a_class_is_chosen_and_what_is_archived_restored(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        page = await at.open(ObjectStoragePage, "b.bin")
        assert not page.restoring.isVisible()

        def choose(name: str) -> None:
            page.classes.setCurrentIndex(page.classes.findData(name))
            page.classes.activated.emit(page.classes.currentIndex())

        choose("COLD")
        assert "cannot be read until" in page.field.note.text()
        assert await at.save() == "Saved."
        assert (await at.facts("b.bin")).is_frozen
        await until(lambda: at.class_of("b.bin") == "Archive")
        assert page.restoring.isVisible() and not page.classes.isEnabled()
        page.restoring.days.setValue(3)
        at.click(page.restoring.button)
        await until(lambda: "has started" in page.outcome.text())
        assert "until" in page.restoring.state.text() and page.classes.isEnabled()
        choose("STANDARD")
        assert await at.save() == "Saved."
        assert (await at.facts("b.bin")).storage_class == "STANDARD"


async def test_versions_are_saved_brought_back_and_deleted(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot, versions=True) as at:
        await at.cloud.way.put(b"newer content", at.place.join("b.bin"))
        page = await at.open(ObjectVersionsPage, "b.bin")
        rows = page.table.versions
        assert rows.rowCount() == 2 and not page.download.isEnabled()
        page.table.selectRow(0)
        assert page.download.isEnabled() and not page.restore.isEnabled()
        page.table.selectRow(1)
        at.click(page.download)
        chooser = await visible_dialog(page, QFileDialog)
        chooser.setDirectory(str(tmp_path))
        assert chooser.selectedFiles() == [str(tmp_path / "b.bin")]
        chooser.accept()
        await until(lambda: "Saved" in page.outcome.text())
        assert (tmp_path / "b.bin").read_bytes() == b"12345"

        page.table.selectRow(1)
        at.click(page.restore)
        await until(lambda: rows.rowCount() == 3)
        assert (await at.facts("b.bin")).size_bytes == 5
        await until(lambda: "the current version" in page.outcome.text())
        page.table.selectRow(2)
        at.user.answer = False
        at.click(page.delete)
        await until(lambda: bool(at.user.asked))
        await until(page.delete.isEnabled)
        assert rows.rowCount() == 3
        at.user.answer = True
        at.click(page.delete)
        await until(lambda: rows.rowCount() == 2)
        assert "cannot be undone" in at.user.asked[-1]


async def test_only_a_deletion_that_holds_is_undone(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot, versions=True) as at:
        await until(lambda: at.browser.rows.shown.below is not None)  # all is listed, and nobody lists it meanwhile
        await at.cloud.way.remove(at.place.join("b.bin"))
        await at.cloud.way.put(b"newer", at.place.join("b.bin"))
        page = await at.open(ObjectVersionsPage, "b.bin")
        assert page.table.versions.rowCount() == 3
        page.table.selectRow(1)
        assert page.table.chosen is not None and page.table.chosen.is_marker
        assert page.delete.text() == "Delete version…"
        at.click(page.delete)
        await until(lambda: page.table.versions.rowCount() == 2)
        assert (await at.facts("b.bin")).size_bytes == 5
        await at.cloud.way.remove(at.place.join("b.bin"))
        page = await at.turn(ObjectVersionsPage)
        dialog = at.dialog()
        assert dialog is not None
        dialog.reload()
        await until(lambda: page.table.versions.rowCount() == 3)
        page.table.selectRow(0)
        assert page.delete.text() == "Undo the deletion"
        for _ in range(2):
            page.table.selectRow(0)
            before = page.table.versions.rowCount()
            at.click(page.delete)
            await until(lambda before=before: page.table.versions.rowCount() == before - 1)
            await until(lambda: page.outcome.text() == "Done.")
        assert not page.delete.isEnabled(), "the last version goes with the object, not here"


async def test_a_link_is_made_on_demand_and_forgotten(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        QGuiApplication.clipboard().setText("before")
        page = await at.open(LinkPage, "b.bin", command="object.link")
        assert not page.made.isVisible() and page.shown.toPlainText() == ""
        at.click(page.make)
        await until(page.made.isVisible)
        link = page.shown.toPlainText()
        assert await asyncio.to_thread(fetched, link) == (200, b"12345")
        assert "Anyone who has this link" in page.warning.text()
        assert QGuiApplication.clipboard().text() == "before"
        at.click(page.copy)
        assert QGuiApplication.clipboard().text() == link
        QGuiApplication.clipboard().clear()

        await at.turn(ObjectGeneralPage)
        assert page.shown.toPlainText() == ""
        page = await at.turn(LinkPage)
        page.purpose.setCurrentIndex(page.purpose.findData(WRITE))
        page.purpose.activated.emit(page.purpose.currentIndex())
        at.click(page.make)
        await until(page.made.isVisible)
        assert (await asyncio.to_thread(fetched, page.shown.toPlainText(), "PUT", b"from outside"))[0] == 200
        assert (await at.facts("b.bin")).size_bytes == 12
    assert not at.cloud.reported
    signature = link.rpartition("Signature=")[2].encode()
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and signature in path.read_bytes()]
    assert kept == []


async def test_an_object_is_opened_to_everybody_and_closed_again(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        plainly = f"{lab.obs}/{at.place.bucket}/b.bin?"
        page = await at.open(ObjectAccessPage, "b.bin")
        assert page.grants.rows.rowCount() == 1 and not page.has_changes()
        assert (await asyncio.to_thread(fetched, plainly))[0] == 403
        at.click(page.public)
        assert "anyone can read it" in page.warning.text()
        at.user.answer = False
        dialog = at.dialog()
        assert dialog is not None
        at.click(dialog.save_button)
        await until(lambda: bool(at.user.asked) and dialog.save_button.isEnabled())
        assert (await asyncio.to_thread(fetched, plainly))[0] == 403
        at.user.answer = True
        assert await at.save() == "Saved."
        assert await asyncio.to_thread(fetched, plainly) == (200, b"12345")
        assert page.now.text() == "Anyone can read it without keys."
        # What else is said about it later leaves it open.
        await (await at.objects()).change(at.place.join("b.bin"), HeadChange(metadata={"a": "b"}))
        assert (await asyncio.to_thread(fetched, plainly))[0] == 200
        at.click(page.private)
        assert await at.save() == "Saved."
        assert (await asyncio.to_thread(fetched, plainly))[0] == 403
        page.grants.add_wanted.emit(Grant(Grantees.ACCOUNT, Permission.READ, "no such id"))
        assert page.grants.problem.text() and not page.has_changes()


async def test_many_are_counted_and_changed_with_each_failure_named(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        await (await at.objects()).change(at.place.join("d/2"), HeadChange(storage_class="COLD"))
        summary = await at.open(ManySummaryPage, "d", "b.bin")
        await until(lambda: bool(summary.facts._facts) and not summary.stop.isVisible())
        shown = dict(summary.facts._facts)
        assert (shown["Objects"], shown["Size"]) == ("4", "20 bytes")
        assert shown["Archive (COLD)"] == "1 object, 5 B"
        page = await at.turn(ManyChangesPage)
        assert not page.apply.isEnabled()
        page.metadata.table.rows_edited.emit((("stage", "old"),))
        page.classes.setCurrentIndex(page.classes.findData("WARM"))
        page.classes.activated.emit(page.classes.currentIndex())
        at.click(page.apply)
        await until(lambda: "Done" in page.progress.words.text())
        assert "Change 4 objects?" in at.user.asked[-1]
        assert "Changed: 3. Unchanged: 0. Failed: 1." in page.progress.words.text()
        assert "d/2” is archived" in page.progress.failures.toPlainText()
        assert (await at.facts("d/deep/3")).metadata == {"stage": "old"}
        await until(lambda: at.class_of("b.bin") == "Infrequent Access")

        at.click(page.restoring.button)
        await until(lambda: "Changed: 1." in page.progress.words.text() and "Done" in page.progress.words.text())
        assert not (await at.facts("d/2")).is_frozen
        page.metadata.table.rows_edited.emit(())
        qtbot.keyClicks(page.without, "stage, Ü")
        assert not page.apply.isEnabled() and "cannot be used as" in page.without_field.error.text()
        page.without.clear()
        page.classes.setCurrentIndex(0)
        qtbot.keyClicks(page.without, "stage")
        at.user.answer = False
        at.click(page.apply)
        await until(lambda: len(at.user.asked) == 3)
        assert (await at.facts("d/deep/3")).metadata == {"stage": "old"}
        at.user.answer = True
        at.click(page.apply)
        await until(lambda: "Changed: 3. Unchanged: 1. Failed: 0." in page.progress.words.text())
        assert (await at.facts("d/deep/3")).metadata == {}


async def test_changing_many_goes_on_without_its_dialog_and_can_be_stopped(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(lab, tmp_path, theme, qtbot) as at:
        await at.cloud.way.put(b"1", *(at.place.join(f"d/more/{number:03}") for number in range(150)))
        control = Control(lab.root)
        control.rules({"kind": "latency", "service": "obs", "operation": "SetObjectMetadata", "seconds": 0.02})

        async def begin(name: str) -> ManyChangesPage:
            page = await at.open(ManyChangesPage, "d")
            page.metadata.table.rows_edited.emit(((name, "1"),))
            at.click(page.apply)
            await until(lambda: page.progress.stop.isVisible() and "Changed: 0." not in page.progress.words.text())
            return page

        await begin("first")
        dialog = at.dialog()
        assert dialog is not None
        dialog.done(0)
        await until(lambda: at.dialog() is None)
        page = await at.open(ManyChangesPage, "d")
        assert page.progress.stop.isVisible() and not page.apply.isEnabled()
        at.click(page.progress.stop)
        await until(lambda: "Stopped." in page.progress.words.text())
        assert "Changed: 153." not in page.progress.words.text()
        assert not at.journal.entries, "it was said in the dialog"

        await begin("second")
        dialog = at.dialog()
        assert dialog is not None
        dialog.done(0)
        await until(lambda: at.journal.entries)
        assert str(at.journal.entries[0].title) == "Objects changed: 153. Failed: 0."
        control.rules()


async def test_a_dead_line_is_said_where_the_facts_would_be(
    lab: LabProcess, tmp_path: Path, theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)
    async with bench(lab, tmp_path, theme, qtbot) as at:
        at.select("b.bin")
        at.cloud.way = replace(at.cloud.way, profile=replace(at.cloud.way.profile, obs_endpoint="http://127.0.0.1:9"))
        at.host.commands.run("object.properties")
        await until(lambda: at.dialog() is not None)
        dialog = at.dialog()
        assert dialog is not None
        await until(lambda: dialog.current.retry.isVisible())
        assert dialog.current.title.text() == "The Lab is not running."
        dialog.done(0)
