"""Deleting in the window against the real Lab: counts, undo where versions are kept, and nothing promised elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.panel_bench import User
from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client
from support.stores.way import Way
from support.waiting import until
from support.work_bench import BUCKET, Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.data_ports import BytesBody
from traindeck.ui.storage.folder_commands import DeletedDialog
from traindeck.viewmodels.storage.deleting import DeletedObjects, Deleting, News

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

IN = ObjectPath(BUCKET, "in/")
NAMES = ["a.txt", "deep/b.txt", "deep/对象"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as lab:
        yield lab


class Deletions:
    """What a window is told."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.deleting = Deleting(bench.transfers, bench.scope)
        self.told: list[News] = []
        self.touched: list[object] = []
        self.busy: list[str] = []
        self.deleting.news.connect(self.told.append)
        self.deleting.touched.connect(self.touched.append)
        self.deleting.busy.connect(lambda words: self.busy.append(str(words or "")))

    async def removed(self, paths: list[ObjectPath], user: User) -> None:
        before = len(self.touched)
        self.deleting.remove(LAB, paths, user)
        await until(lambda: not self.bench.scope.is_running("delete from OBS"))
        await until(lambda: len(self.touched) > before or not user.answer)


@asynccontextmanager
async def unused_calls() -> AsyncIterator[BlockingCalls]:
    with closing(BlockingCalls(1, "unused")) as calls:
        yield calls


@asynccontextmanager
async def deletions(lab: LabProcess, home: Path, *, versions: bool) -> AsyncIterator[Deletions]:
    async with unused_calls() as calls, Bench(home, Way.to(lab, calls)) as bench:
        await bench.prepare()
        with closing(obs_client(lab)) as client:
            client.setBucketVersioning(BUCKET, "Enabled" if versions else "Suspended")
        for name in NAMES:
            await bench.planes.run(LAB, lambda plane, name=name: plane.put(IN.join(name), BytesBody(name.encode())))
        yield Deletions(bench)


async def test_what_is_deleted_can_be_undone(lab: LabProcess, tmp_path: Path) -> None:
    async with deletions(lab, tmp_path, versions=True) as on:
        user = User()
        await on.removed([IN.join("deep/"), IN.join("a.txt"), IN.join("deep/b.txt")], user)
        assert user.asked == [], "it can be undone"
        assert await on.bench.objects("in/") == []
        assert on.touched == [IN]
        assert on.busy[-1] == ""
        (news,) = on.told
        assert str(news.message) == "Deleted 3 objects."
        assert news.undo is not None
        news.undo()
        await until(lambda: len(on.told) == 2)
        assert str(on.told[1].message) == "Undeleted 3 objects."
        assert sorted(await on.bench.objects("in/")) == sorted(IN.join(name).key for name in NAMES)


async def test_without_versions_it_is_for_good_and_a_no_changes_nothing(lab: LabProcess, tmp_path: Path) -> None:
    async with deletions(lab, tmp_path, versions=False) as on:
        no, yes = User(False), User()
        await on.removed([IN], no)
        assert "permanently" in no.asked[0]
        assert len(await on.bench.objects("in/")) == 3
        assert on.bench.transfers.rows() == []
        await on.removed([IN], yes)
        assert await on.bench.objects("in/") == []
        assert [(str(news.message), news.undo) for news in on.told] == [("Deleted 3 objects.", None)]


async def test_one_of_the_deleted_is_looked_up_and_restored(lab: LabProcess, tmp_path: Path, qtbot: QtBot) -> None:
    async with deletions(lab, tmp_path, versions=True) as on:
        await on.removed([IN], User())
        bench = on.bench
        dialog = DeletedDialog(DeletedObjects(LAB, IN, bench.planes, on.deleting, bench.scope), None)
        qtbot.addWidget(dialog)
        dialog.show()
        await until(lambda: dialog.model.rowCount() == 3 and "3 deleted objects" in dialog.words.text())
        assert [dialog.model.index(row, 0).data() for row in range(3)] == NAMES
        assert not dialog.some.isEnabled()
        dialog.table.selectRow(1)
        dialog.some.click()
        await until(lambda: len(on.told) == 2)
        assert await bench.objects("in/") == [IN.join("deep/b.txt").key]


async def test_a_bucket_without_versions_says_so(lab: LabProcess, tmp_path: Path, qtbot: QtBot) -> None:
    async with deletions(lab, tmp_path, versions=False) as on:
        other = ObjectPath("never-versioned")
        await (await on.bench.connections.open(LAB)).storage.create_bucket(other.bucket)
        dialog = DeletedDialog(DeletedObjects(LAB, other, on.bench.planes, on.deleting, on.bench.scope), None)
        qtbot.addWidget(dialog)
        await until(lambda: "is not enabled" in dialog.empty.hint.text())
        assert dialog.empty.title.text() == "Nothing to undelete here."
        assert dialog.seen.currentWidget() is dialog.empty, "in place of the list"
        assert not dialog.all.isEnabled()
