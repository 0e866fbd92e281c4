"""Planning a sync from the window: nothing moves before the yes, and a plan nobody wants is forgotten."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.folder_cloud import FolderCloud, offline
from support.waiting import until
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import CompareBy
from traindeck.domain.transfers.records import TransferState
from traindeck.viewmodels.transfers.sync_form import PlanStage, SyncForm
from traindeck.viewmodels.transfers.transfer_words import plan_words

PLACE = ObjectPath("bucket", "data/")


def form_over(cloud: FolderCloud) -> SyncForm:
    return SyncForm(LAB, PLACE, cloud.transfers, cloud.scope)


def folder_with(place: Path, **files: str) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (place / name).write_text(content, encoding="utf-8")
    return place


async def test_what_would_change_is_shown_and_then_done(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        await cloud.storage.put(b"old", PLACE.join("gone"))
        form = form_over(cloud)
        begun: list[int] = []
        form.begun.connect(begun.append)
        folder = folder_with(tmp_path / "here", a="1", b="22")
        form.choose(folder=str(folder), compare=CompareBy.MD5, delete=True, ignore="b\n\n")
        form.look()
        assert form.state.stage is PlanStage.LOOKING and not form.state.can_look
        await until(lambda: form.state.stage is PlanStage.SHOWN)
        assert form.state.plan is not None
        assert plan_words(form.state.plan) == "To upload: 1, 1 B · To delete: 1"
        assert not cloud.storage.place(PLACE.join("a")).exists()
        form.begin()
        assert begun == [form.state.plan.id] if form.state.plan else begun
        await until(lambda: cloud.transfers.rows()[0].state is TransferState.DONE)
        assert cloud.storage.place(PLACE.join("a")).read_bytes() == b"1"
        assert not cloud.storage.place(PLACE.join("gone")).exists()
        assert not cloud.storage.place(PLACE.join("b")).exists()
        form.close()
        assert cloud.transfers.rows()


async def test_the_other_way_and_when_all_is_equal(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        await cloud.storage.put(b"1", PLACE.join("a"))
        form = form_over(cloud)
        form.choose(folder=str(tmp_path / "here"), goes_up=False, compare=CompareBy.MD5)
        form.look()
        await until(lambda: form.state.can_begin)
        form.begin()
        await until(lambda: cloud.transfers.rows()[0].state is TransferState.DONE)
        assert (tmp_path / "here" / "a").read_bytes() == b"1"
        form.look()
        await until(lambda: form.state.stage is PlanStage.SHOWN)
        assert form.state.plan is not None and not form.state.can_begin
        assert plan_words(form.state.plan) == "No changes · identical: 1"
        form.close()


async def test_a_plan_for_something_else_is_forgotten(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        form = form_over(cloud)
        form.choose(folder=str(folder_with(tmp_path / "here", a="1")))
        form.look()
        await until(lambda: form.state.can_begin)
        form.choose(delete=True)
        assert form.state.stage is PlanStage.ASKING and form.state.plan is None
        await until(lambda: not cloud.transfers.rows())
        form.look()
        await until(lambda: form.state.can_begin)
        form.close()
        await until(lambda: not cloud.transfers.rows())
        assert not cloud.storage.place(PLACE.join("a")).exists()


async def test_closing_while_it_looks_leaves_nothing(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        form = form_over(cloud)
        form.choose(folder=str(folder_with(tmp_path / "here", a="1")))
        cloud.storage.wait = asyncio.Event()
        form.look()
        await until(lambda: bool(cloud.transfers.rows()))
        form.close()
        cloud.storage.wait.set()
        await until(lambda: not cloud.transfers.rows())


async def test_what_cannot_be_planned_is_said(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path / "cloud") as cloud:
        form = form_over(cloud)
        form.look()
        assert form.state.stage is PlanStage.ASKING, "without a folder there is nothing to look at"
        form.choose(folder="some/where")
        form.look()
        await until(lambda: form.state.trouble is not None)
        assert type(form.state.trouble) is InvalidInput
        form.choose(folder=str(tmp_path / "nowhere"))
        assert form.state.trouble is None
        form.look()
        await until(lambda: form.state.trouble is not None)
        assert type(form.state.trouble) is NotFound and "nowhere" in form.state.trouble.sentence()
        assert cloud.transfers.rows() == []
        form.choose(folder=str(folder_with(tmp_path / "here", a="1")))
        cloud.storage.trouble = offline()
        form.look()
        await until(lambda: form.state.trouble is not None or form.state.stage is PlanStage.SHOWN)
        form.close()
