"""The page of the Lab over a real Lab, without the page."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from support.qt_support import Stalls, until
from support.servers.lab_process import LabProcess
from traindeck.assembly import lab_keeper
from traindeck.assembly.lab_keeper import LabKeeper
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.domain.errors import AppError, LocalTrouble
from traindeck.domain.lab import LabDiskUsage, LabOwner, LabSight, LabState
from traindeck.domain.texts import text
from traindeck.lab.obs.store import ObjectStore
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.lab import lab_page
from traindeck.viewmodels.lab.lab_page import LabPage
from traindeck.viewmodels.ports import Loss


class User:
    """Answers every question the same way, and remembers it."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.asked: list[Loss] = []

    async def __call__(self, loss: Loss) -> bool:
        self.asked.append(loss)
        return self.answer

    @property
    def words(self) -> str:
        return "\n".join(str(fact) for fact in self.asked[-1].facts)


@dataclass
class Bench:
    page: LabPage
    link: LabLink
    root: Path
    reported: list[AppError] = field(default_factory=list)
    emptied: list[int] = field(default_factory=list)

    async def until_state(self, state: LabState) -> None:
        await until(lambda: self.page.state.state is state and self.page.state.work is None)


@asynccontextmanager
async def page_of(root: Path) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as owned:
        pools = [BlockingCalls(2, name) for name in ("lab", "lab folder")]
        for pool in pools:
            owned.callback(pool.close)
        link = LabLink(root, LabLife.OWNED, pools[0])
        owned.push_async_callback(link.close)

        async def no_runs() -> None:
            return

        reported: list[AppError] = []
        scope = await owned.enter_async_context(TaskScope(lambda _, error: reported.append(error)))
        page = LabPage(LabKeeper(root, link, pools[1], no_runs), scope)
        bench = Bench(page, link, root, reported)
        page.emptied.connect(lambda: bench.emptied.append(1))
        page.watch(1, True)
        yield bench


def fill(root: Path, objects: int = 3) -> None:
    store = ObjectStore(root)
    try:
        store.create_bucket("things", "owner")
        for number in range(objects):
            store.put("things", str(number), b"four")
    finally:
        store.close()


async def test_it_says_what_is_there_and_nothing_before_it_knows(tmp_path: Path, responsive: Stalls) -> None:
    root = tmp_path / "lab"
    await asyncio.to_thread(fill, root)
    async with page_of(root) as at:
        state = at.page.state
        assert (state.state, state.held.objects, state.held.disk_bytes) == (None, None, None)
        assert not (state.can_start or state.can_stop or state.can_empty)
        await until(lambda: at.page.state.measured_at)
        held = at.page.state.held
        assert (held.buckets, held.objects, held.object_bytes, held.jobs) == (1, 3, 12, 0)
        assert held.disk_bytes is not None and held.disk_bytes > 12
        await at.until_state(LabState.STOPPED)
        at.page.start()
        await until(lambda: at.page.state.work)
        await at.until_state(LabState.RUNNING)
        assert at.page.state.can_stop and at.page.state.can_empty and not at.page.state.can_start


async def test_a_stop_that_takes_nothing_from_anybody_is_not_asked_about(tmp_path: Path) -> None:
    async with page_of(tmp_path / "lab") as at:
        at.page.start()
        await at.until_state(LabState.RUNNING)
        user = User()
        at.page.stop(user)
        await at.until_state(LabState.STOPPED)
        assert user.asked == []
        assert not at.link.owns_process


async def test_emptying_names_what_goes_and_goes_on_by_itself(tmp_path: Path, responsive: Stalls) -> None:
    root = tmp_path / "lab"
    await asyncio.to_thread(fill, root)
    async with page_of(root) as at:
        at.page.start()
        await at.until_state(LabState.RUNNING)
        no = User(False)
        at.page.empty(no)
        await until(lambda: no.asked and at.page.state.work is None)
        assert "Buckets: 1. Objects: 3 (12 B). Jobs: 0." in no.words
        assert no.asked[0].typed is None
        yes = User()
        at.page.empty(yes)
        await until(lambda: at.emptied)
        await at.until_state(LabState.RUNNING)
        await until(lambda: at.page.state.held.objects == 0 and at.page.state.measured_at)
        assert at.reported == []


async def test_much_is_not_removed_by_a_click_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_page, "_MANY_OBJECTS", 3)
    root = tmp_path / "lab"
    await asyncio.to_thread(fill, root)
    async with page_of(root) as at:
        user = User(False)
        at.page.empty(user)
        await until(lambda: user.asked)
        assert str(user.asked[0].typed) == "empty"
        assert at.emptied == []


async def test_that_of_somebody_else_offers_neither_stop_nor_empty(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    with LabProcess(root) as lab:
        async with page_of(root) as at:
            await at.until_state(LabState.RUNNING)
            state = at.page.state
            assert state.sight is not None and state.sight.pid == lab.pid
            assert not (state.can_stop or state.can_empty or state.can_start)
            user = User()
            at.page.empty(user)  # as the command palette could, late
            await until(lambda: at.reported)
            assert str(lab.pid) in str(at.reported[0])
            assert at.page.state.trouble is at.reported[0]
        assert lab.exit_code(0) is None


async def test_what_cannot_start_says_why_and_can_be_tried_again(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    root.write_text("in the way", "utf-8")
    async with page_of(root) as at:
        await at.until_state(LabState.STOPPED)
        at.page.start()
        await until(lambda: at.page.state.trouble and at.page.state.can_start)
        assert str(root) in at.page.state.trouble.sentence()
        root.unlink()
        at.page.start()
        await at.until_state(LabState.RUNNING)
        assert at.page.state.trouble is None


class BlindDesk:
    """A desk whose looks fail from some moment on; the rest of it never answers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sight = LabSight(LabState.RUNNING, LabOwner.OURS, pid=7, obs="http://127.0.0.1:1", live_jobs=1)
        self.trouble: AppError | None = None

    async def look(self) -> LabSight:
        if self.trouble is not None:
            raise self.trouble
        return self.sight

    async def measure(self, on_part: object) -> LabDiskUsage:
        raise LocalTrouble(text("“{place}” cannot be read.", place="x"), text("Look."))


async def test_what_is_not_known_any_more_keeps_the_time_of_its_truth(tmp_path: Path) -> None:
    async with TaskScope(lambda _, error: pytest.fail(str(error))) as scope:
        service = BlindDesk(tmp_path)
        moment = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
        page = LabPage(cast("Any", service), scope, lambda: moment)
        page.watch(1, True)
        await until(lambda: page.state.state is LabState.RUNNING)
        page.watch(2, True)
        page.watch(1, False)  # as a window does after another took its place
        service.sight = replace(service.sight, state=LabState.SILENT, obs="", live_jobs=None)
        await until(lambda: page.state.state is LabState.SILENT)
        assert page.state.seen_at == moment
        assert page.state.sight is not None and page.state.sight.obs == "http://127.0.0.1:1"
        service.trouble = LocalTrouble(text("“{place}” cannot be read.", place="x"), text("Look."))
        await until(lambda: page.state.state is None)
        assert page.state.seen_at == moment and page.state.blind is service.trouble
        assert page.state.held.disk_bytes is None and page.state.unmeasured is not None
        page.watch(2, False)


def fill_with_a_great_many(root: Path, objects: int, files: int) -> None:
    fill(root, 0)
    with closing(sqlite3.connect(root / "obs" / "index.sqlite3")) as database, database:
        database.execute(
            "WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?) "
            "INSERT INTO objects SELECT 1, value, value, 10, '', 0, '', '', '', '', 0, '', '' FROM n",
            (objects,),
        )
    many = root / "obs" / "bodies" / "many"
    many.mkdir(parents=True)
    for number in range(files):
        (many / str(number)).touch()


@pytest.mark.limit(600)
@pytest.mark.parametrize(
    ("objects", "files"), [(30_000, 3_000), pytest.param(1_000_000, 100_000, marks=pytest.mark.long)]
)
async def test_a_great_many_objects_are_counted_and_removed_without_a_stall(
    objects: int, files: int, tmp_path: Path, responsive: Stalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Told in the same number of pieces, few or many.
    monkeypatch.setattr(lab_keeper, "_TELL_EVERY_S", files * 1e-6)
    root = tmp_path / "lab"
    await asyncio.to_thread(fill_with_a_great_many, root, objects, files)
    async with page_of(root) as at:
        await until(lambda: at.page.state.measured_at, 200)
        assert (at.page.state.held.objects, at.page.state.held.object_bytes) == (objects, 10 * objects)
        said: set[str] = set()
        at.page.changed.connect(lambda: said.add(str(at.page.state.work)))
        user = User()
        at.page.empty(user)
        await until(lambda: at.emptied, 200)
        assert user.asked[0].typed is not None and f"{objects:,}" in user.words
        assert any("deleted: " in words for words in said), said
