"""A typed place that is not there: the nearest names, and making it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, offline
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import MissingPlace, nearest

BUCKET = ObjectPath("bucket")


@asynccontextmanager
async def browser_of(folder: Path) -> AsyncIterator[tuple[FolderCloud, ObjectBrowser]]:
    async with FolderCloud(folder) as cloud:
        for name in ("data/train/1.txt", "data/test/1.txt", "readme.md", "数据集/一.txt"):
            await cloud.storage.put(b"x", BUCKET.join(name))
        browser = ObjectBrowser("lab", BUCKET, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, "one")
        browser.make_folder = cloud.transfers.make_folder
        browser.start()
        yield cloud, browser
        browser.close()


@pytest.mark.parametrize(
    ("typed", "alike"),
    [
        ("bucket/dat/", ["obs://bucket/data/"]),
        ("bucket/DATA/train/deep/", ["obs://bucket/data/"]),
        ("bucket/data/trian/x.txt", ["obs://bucket/data/train/"]),
        ("bucket/readme.nd", ["obs://bucket/readme.md"]),
        ("bucket/数据/", ["obs://bucket/数据集/"]),
        ("bucket/zzzzzz", []),
        ("buckett/data/", ["obs://bucket/data/"]),
    ],
)
async def test_the_nearest_places_are_offered(tmp_path: Path, typed: str, alike: list[str]) -> None:
    async with browser_of(tmp_path) as (_, browser):
        browser.go_typed(typed)
        await until(lambda: browser.state.missing is not None)
        missing = browser.state.missing
        assert missing is not None
        assert [str(path) for path in missing.alike][: len(alike)] == alike
        assert browser.state.place == BUCKET
        browser.go_typed("bucket/data/train")
        await until(lambda: browser.state.place == BUCKET.join("data/train/"))
        assert browser.state.missing is None


async def test_a_folder_and_a_bucket_are_made_and_gone_to(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (cloud, browser):
        made: list[object] = []
        browser.created.connect(made.append)
        browser.go_typed("obs://zzz-999/x/")
        await until(lambda: browser.state.missing is not None)
        assert browser.state.missing == MissingPlace(ObjectPath("zzz-999", "x/"), (), has_bucket=False)
        browser.create_missing()
        await until(lambda: browser.state.place == ObjectPath("zzz-999"))
        assert (cloud.storage.root / "zzz-999").is_dir()
        assert made == [None]


async def test_trouble_is_not_taken_for_a_missing_place(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (cloud, browser):
        cloud.storage.trouble = offline()
        browser.go_typed("bucket/data/")
        await until(lambda: browser.state.address_trouble is not None)
        assert browser.state.missing is None


def test_the_nearest_come_first() -> None:
    names = ["train/", "Trian/", "test/", "x"] + [f"other-{number}/" for number in range(1000)]
    assert nearest("trian", names)[:2] == ["Trian/", "train/"]
    assert nearest("", names) == []
