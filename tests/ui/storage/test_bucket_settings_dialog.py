"""The settings of a bucket in a real window, kept by a real Lab."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from support.frame_bench import ICONS, texts_cut
from support.qt_support import press, until
from support.servers.lab_process import LabProcess
from support.stores.foreign_stores import ACCESS_KEY, SECRET_KEY, rclone
from support.stores.lab_clients import s3_client
from support.stores.way import Way
from support.waiting import fail_with
from support.work_bench import Bench
from traindeck.domain import texts
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB, Profile, Signature
from traindeck.domain.storage.bucket_settings import CorsRule, LifecycleRule, Versioning
from traindeck.domain.storage.buckets import Ended, Held, UnfinishedUpload
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime import language
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope
from traindeck.services.storage.sdk.settings import ObsSettings
from traindeck.ui.kit.dialogs import Question
from traindeck.ui.kit.property_dialog import PropertyDialog, PropertyDialogs, PropertyPage
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.bucket_fragments_page import BucketFragmentsPage
from traindeck.ui.storage.bucket_general_page import BucketGeneralPage
from traindeck.ui.storage.bucket_rules_pages import (
    BucketCorsPage,
    BucketLifecyclePage,
    BucketTagsPage,
)
from traindeck.ui.storage.buckets import BucketDialogs
from traindeck.viewmodels.ports import Loss
from traindeck.viewmodels.storage.bucket_access import BucketAccess, PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.buckets import BucketRemovals, BucketService, NewBucketForm

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from support.qt_support import Stalls

Page = TypeVar("Page", bound=PropertyPage)
BUCKET = "settings-bucket"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process


@pytest.fixture
def way(lab: LabProcess) -> Iterator[Way]:
    with closing(BlockingCalls(2, "sdk")) as calls:
        yield Way.to(lab, calls)


class Stage:
    """A dialog over one bucket of one service."""

    def __init__(self, bench: Bench, scope: TaskScope, theme: Theme, qtbot: QtBot) -> None:
        self.bench = bench
        self.scope = scope
        self.qtbot = qtbot
        self.window = QWidget()
        self.window.show()
        self.dialogs = PropertyDialogs(theme, scope, self.window)
        tree = BucketTree(bench.connections, bench.transfers, bench.disk, scope)
        self._settings = BucketDialogs(
            self.dialogs, theme, scope, self.window, PublicMarks(bench.connections, tree, scope),
            BucketRemovals(bench.connections, scope), self._refused,
            lambda: NewBucketForm(LAB, bench.connections, scope),
            lambda profile, bucket: BucketAccess(profile, bucket, bench.connections),
            lambda profile, bucket: BucketService(profile, bucket, bench.connections, bench.unfinished),
            lambda profile, bucket: None,
        )  # fmt: skip

    async def _refused(self, loss: Loss) -> bool:
        pytest.fail(f"asked: {loss.question}")

    async def settings(self) -> ObsSettings:
        return (await self.bench.connections.open(LAB)).settings

    async def page(self, kind: type[Page], title: str) -> tuple[PropertyDialog, Page]:
        dialog = self._settings.show(LAB, BUCKET, title)
        page = dialog.current.page
        assert isinstance(page, kind)
        await until(dialog.reload_button.isEnabled)
        return dialog, page

    async def saved(self, dialog: PropertyDialog, answer: str = "") -> None:
        self.qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
        if answer:
            await self.answer(answer)
        await until(lambda: dialog.footing.text() == "Saved.")

    async def answer(self, name: str) -> str:
        def asked() -> list[Question]:
            return [found for found in self.window.findChildren(Question) if found.isVisible()]

        await until(lambda: bool(asked()))
        question = asked()[0]
        words = " ".join(label.text() for label in question.findChildren(QWidget) if hasattr(label, "text"))
        button = question.findChild(QPushButton, f"answer.{name}")
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        return words


Staged = Callable[[], AbstractAsyncContextManager[Stage]]


@pytest.fixture
def staged(way: Way, tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> Staged:
    @asynccontextmanager
    async def stage() -> AsyncIterator[Stage]:
        async with Bench(tmp_path / "home", way) as bench, TaskScope(fail_with) as scope:
            storage = (await bench.connections.open(LAB)).storage
            await storage.create_bucket(BUCKET)
            theme = Theme(qapp, ICONS, "light")
            at = Stage(bench, scope, theme, qtbot)
            try:
                yield at
            finally:
                at.window.close()
                at.window.deleteLater()
                theme.close()

    return stage


def begin_uploads(lab: LabProcess) -> None:
    client = s3_client(lab)
    for number in range(70):
        upload = client.create_multipart_upload(Bucket=BUCKET, Key=f"n{number:02}")["UploadId"]
        if number < 2:
            client.upload_part(Bucket=BUCKET, Key=f"n{number:02}", UploadId=upload, PartNumber=1, Body=b"x" * 500)
    client.close()


async def test_general_settings_are_shown_changed_and_kept(staged: Staged, responsive: Stalls) -> None:
    async with staged() as at:
        dialog, page = await at.page(BucketGeneralPage, "General")
        assert not dialog.has_changes() and page.quota.text() == ""
        page.quota.clear()
        at.qtbot.keyClicks(page.quota, "12 apples")
        assert "such as" in dialog.footing.text() and not dialog.save_button.isEnabled()
        page.quota.clear()
        at.qtbot.keyClicks(page.quota, "500 GB")
        page.versioning.setCurrentIndex(1)
        page.versioning.activated.emit(1)
        assert "suspended" in page.fields["versioning"].note.text()
        at.qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
        words = await at.answer("yes")
        assert "can only be suspended" in words
        await until(lambda: dialog.footing.text() == "Saved.")
        facts = await (await at.settings()).facts(BUCKET)
        assert (facts.quota_bytes, facts.versioning) == (500 * 10**9, Versioning.ENABLED)
        # Once on, "never" is no choice any more.
        assert [page.versioning.itemData(row) for row in range(page.versioning.count())] == ["Enabled", "Suspended"]
        dialog.reload()
        await until(dialog.reload_button.isEnabled)
        assert page.quota.text() == "500 GB" and not dialog.has_changes()
        dialog.close()


async def test_a_question_answered_with_no_changes_nothing(staged: Staged) -> None:
    async with staged() as at:
        settings = await at.settings()
        dialog, page = await at.page(BucketLifecyclePage, "Lifecycle")
        page.rules.add.click()
        page.expire.wanted.click()
        page.name.setText("mine")
        page.name.textEdited.emit("mine")
        assert dialog.has_changes()
        dialog.save()
        await until(lambda: any(found.isVisible() for found in at.window.findChildren(Question)))
        question = next(found for found in at.window.findChildren(Question) if found.isVisible())
        press(question, Qt.Key.Key_Escape)
        await until(dialog.save_button.isEnabled)
        assert dialog.has_changes() and (await settings.lifecycle(BUCKET)).rules == ()
        await at.saved(dialog, "yes")
        assert (await settings.lifecycle(BUCKET)).rules == (LifecycleRule("mine", expire_days=30, abort_days=7),)
        at.qtbot.mouseClick(page.rules.remove, Qt.MouseButton.LeftButton)
        await at.saved(dialog)
        assert (await settings.lifecycle(BUCKET)).rules == ()
        dialog.close()


async def test_what_a_rule_would_delete_is_counted(staged: Staged, lab: LabProcess) -> None:
    async with staged() as at:
        client = s3_client(lab)
        for number in range(3):
            client.put_object(Bucket=BUCKET, Key=f"tmp/{number}", Body=b"x")
        client.close()
        dialog, page = await at.page(BucketLifecyclePage, "Lifecycle")
        page.rules.add.click()
        page.prefix.setText("tmp/")
        page.prefix.textEdited.emit("tmp/")
        page.on_date.click()
        assert "2030-12-31" in dialog.footing.text()
        page.date.setText("2001-01-01")
        page.date.textEdited.emit("2001-01-01")
        dialog.save()
        assert "Objects now: 3 (3 B), already expired: 3" in await at.answer("yes")
        await until(lambda: dialog.footing.text() == "Saved.")
        page.rules.remove.click()
        await at.saved(dialog)
        dialog.close()


async def test_a_rule_beyond_the_form_is_shown_and_left_alone(staged: Staged, lab: LabProcess) -> None:
    async with staged() as at:
        tagged = {"And": {"Prefix": "a/", "Tags": [{"Key": "k", "Value": "v"}]}}
        rules = [{"ID": "tagged", "Status": "Enabled", "Filter": tagged, "Expiration": {"Days": 3}}]
        client = s3_client(lab)
        client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration={"Rules": rules})
        dialog, page = await at.page(BucketLifecyclePage, "Lifecycle")
        assert page.locked.isVisible() and "Filter" in page.locked.text() and not page.prefix.isVisible()
        page.rules.add.click()
        assert page.prefix.isVisible() and not page.locked.isVisible()
        await at.saved(dialog)
        kept = client.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"]
        assert kept[0] == rules[0] and len(kept) == 2
        client.delete_bucket_lifecycle(Bucket=BUCKET)
        client.close()
        dialog.close()


async def test_tags_are_checked_while_typing_and_a_change_elsewhere_is_not_lost(
    staged: Staged, lab: LabProcess
) -> None:
    async with staged() as at:
        dialog, page = await at.page(BucketTagsPage, "Tags")
        model = page.table.pairs
        model.setData(model.index(0, 0), "a=b")
        assert page.wrong.isVisible() and "a=b" in dialog.footing.text() and not dialog.save_button.isEnabled()
        model.setData(model.index(0, 0), "team")
        model.setData(model.index(0, 1), "视觉")
        page.table.pasted.emit("project=digits")
        await at.saved(dialog)
        assert (await (await at.settings()).tags(BUCKET)).tags == (("team", "视觉"), ("project", "digits"))
        client = s3_client(lab)
        client.put_bucket_tagging(Bucket=BUCKET, Tagging={"TagSet": [{"Key": "x", "Value": "y"}]})
        client.close()
        model.setData(model.index(0, 1), "audio")
        dialog.save()
        await until(lambda: "by someone else" in dialog.footing.text())
        assert page.has_changes() and (await (await at.settings()).tags(BUCKET)).tags == (("x", "y"),)
        dialog.reload()
        await at.answer("discard")
        await until(lambda: model.rows == (("x", "y"),))
        page.table.selectAll()
        page.table.remove_selected()
        await at.saved(dialog)
        dialog.close()


async def test_cors_rules(staged: Staged) -> None:
    async with staged() as at:
        dialog, page = await at.page(BucketCorsPage, "CORS")
        assert page.rules.empty.isVisible() and not page.origins.isVisible()
        at.qtbot.mouseClick(page.rules.add, Qt.MouseButton.LeftButton)
        assert page.wrong.isVisible() and not dialog.save_button.isEnabled()
        page.origins.setPlainText("https://a.example\n*")
        at.qtbot.mouseClick(page.methods["PUT"], Qt.MouseButton.LeftButton)
        assert page.warning.isVisible() and not page.wrong.isVisible()
        page.age.setValue(60)
        await at.saved(dialog)
        kept = (await (await at.settings()).cors(BUCKET)).rules
        assert kept == (CorsRule(("https://a.example", "*"), ("GET", "PUT", "HEAD"), ("*",), ("ETag",), 60),)
        # Back and forth is no change.
        at.qtbot.mouseClick(page.methods["POST"], Qt.MouseButton.LeftButton)
        assert dialog.has_changes()
        at.qtbot.mouseClick(page.methods["POST"], Qt.MouseButton.LeftButton)
        assert not dialog.has_changes()
        page.rules.lines.setFocus()
        press(page.rules.lines, Qt.Key.Key_Delete)
        await at.saved(dialog)
        assert (await (await at.settings()).cors(BUCKET)).rules == ()
        dialog.close()


async def test_fragments_are_listed_measured_and_thrown_away(
    staged: Staged, lab: LabProcess, responsive: Stalls
) -> None:
    async with staged() as at:
        # Not here: the window is watched.
        await at.bench.disk.run(lambda _: begin_uploads(lab))
        dialog, page = await at.page(BucketFragmentsPage, "Fragments")
        assert not dialog.save_button.isVisible()
        await until(lambda: page.summary.text() == "Fragments: 70, 1 kB")
        assert not page.older.isEnabled() and not page.chosen.isEnabled()
        page.table.selectRow(0)
        at.qtbot.mouseClick(page.chosen, Qt.MouseButton.LeftButton)
        assert "Known size: 500 B" in await at.answer("yes")
        await until(lambda: page.model.rowCount() == 69)
        at.qtbot.mouseClick(page.all, Qt.MouseButton.LeftButton)
        await at.answer("yes")
        await until(lambda: page.summary.text() == "There are no fragments.")
        assert page.result.text() == "Deleted 69 fragments."
        left: list[UnfinishedUpload] = []
        await at.bench.unfinished.each(LAB, ObjectPath(BUCKET), left.extend)
        assert left == []
        dialog.close()


class Crowded:
    """A bucket with very many unfinished uploads, half of them old, one of them ours."""

    def __init__(self, count: int) -> None:
        now = datetime.now(UTC)
        self.uploads = [
            UnfinishedUpload(ObjectPath(BUCKET, f"n{at:07}"), str(at), now - timedelta(days=8 * (at % 2)), at == 1)
            for at in range(count)
        ]
        self.ended: list[UnfinishedUpload] = []

    async def each_unfinished(self, take: Callable[[list[UnfinishedUpload]], None]) -> None:
        for start in range(0, len(self.uploads), 1000):
            take(self.uploads[start : start + 1000])
            await asyncio.sleep(0)

    async def measure(self, uploads: list[UnfinishedUpload], take: Callable[[list[Held]], None]) -> None:
        for start in range(0, len(uploads), 64):
            take([Held(upload, 1, 10) for upload in uploads[start : start + 64]])
            await asyncio.sleep(0)

    async def end(self, uploads: list[UnfinishedUpload], on_progress: Callable[[int], None]) -> Ended:
        self.ended = uploads
        on_progress(len(uploads))
        return Ended(uploads)


async def test_very_many_fragments_do_not_hold_the_window(staged: Staged, responsive: Stalls) -> None:
    async with staged() as at:
        crowd = Crowded(40_000)
        page = BucketFragmentsPage(crowd, at.scope)  # type: ignore[arg-type]
        dialog = at.dialogs.show("Bucket settings", "obs://crowded/", lambda: [page])
        await until(lambda: page.summary.text() == "Fragments: 40,000, 400 kB")
        at.qtbot.mouseClick(page.older, Qt.MouseButton.LeftButton)
        assert "Known size: 200 kB" in await at.answer("yes")
        await until(lambda: page.model.rowCount() == 20_001)
        assert len(crowd.ended) == 19_999 and page.summary.text() == "Fragments: 20,001, 200 kB"
        assert not page.older.isEnabled() and page.all.isEnabled()
        dialog.close()


async def test_a_foreign_store_says_so_on_every_page(
    tmp_path: Path, qapp: QApplication, qtbot: QtBot, way: Way
) -> None:
    with rclone(tmp_path) as url:
        fields = {"obs_endpoint": url, "signature": Signature.V4, "path_style": True, "region": "us-east-1"}
        profile: Profile = replace(way.profile, **fields)  # type: ignore[arg-type]
        there = Way(profile, Credentials(ACCESS_KEY, Secret(SECRET_KEY)), way.calls)
        async with Bench(tmp_path / "home", there) as bench, TaskScope(fail_with) as scope:
            await (await bench.connections.open(LAB)).storage.create_bucket(BUCKET)
            theme = Theme(qapp, ICONS, "light")
            at = Stage(bench, scope, theme, qtbot)
            dialog, general = await at.page(BucketGeneralPage, "General")
            assert not general.quota.isEnabled() and "no such setting" in general.fields["quota_bytes"].note.text()
            for title in ("Tags", "CORS", "Lifecycle"):
                dialog.open_page(title)
                await until(dialog.reload_button.isEnabled)
                place = dialog.current
                assert place.title.isVisible() and not place.retry.isVisible() and not dialog.save_button.isEnabled()
            dialog.close()
            at.window.close()
            at.window.deleteLater()
            theme.close()


@pytest.mark.parametrize("spoken", ["en", "zh_CN"])
async def test_nothing_is_cut_off_in_either_language(staged: Staged, spoken: str) -> None:
    language.speak(spoken)
    try:
        async with staged() as at:
            dialog = at._settings.show(LAB, BUCKET)
            for row in range(len(dialog.places)):
                dialog.list.setCurrentRow(row)
                await until(dialog.reload_button.isEnabled)
                if isinstance(page := dialog.current.page, BucketCorsPage | BucketLifecyclePage):
                    page.rules.add.click()
                    await until(page.rules.lines.isVisible)
                assert texts_cut(dialog) == []
            dialog.accept()
    finally:
        texts.speak("en", texts.AS_WRITTEN)
