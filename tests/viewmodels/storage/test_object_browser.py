from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.folder_cloud import FolderCloud, offline
from support.waiting import PATIENT_S, until
from traindeck.domain.storage.objects import Column, Look, ObjectPath
from traindeck.runtime.blocking import CancelToken
from traindeck.viewmodels.storage import object_browser
from traindeck.viewmodels.storage.object_browser import ObjectBrowser

BUCKET = ObjectPath("bucket")
NAMES = ("b.txt", "a.bin", "data/1.txt", "data/2.txt", "data/deep/3.txt", "more/img_1.png")


@asynccontextmanager
async def browser_of(folder: Path, place: ObjectPath = BUCKET) -> AsyncIterator[tuple[FolderCloud, ObjectBrowser]]:
    async with FolderCloud(folder) as cloud:
        for number, name in enumerate(NAMES):
            await cloud.storage.put(b"x" * (10 * number), BUCKET.join(name))
        browser = open_browser(cloud, place)
        browser.start()
        yield cloud, browser
        browser.close()


def open_browser(cloud: FolderCloud, place: ObjectPath = BUCKET, name: str = "browser 1") -> ObjectBrowser:
    return ObjectBrowser("lab", place, cloud.listings, cloud.connections, cloud.index_calls, cloud.scope, name)


def shown(browser: ObjectBrowser) -> list[str]:
    rows = [browser.rows.row(rank) for rank in range(browser.rows.shown.count)]
    return [row.entry.path.key if row else "?" for row in rows]


async def shows(browser: ObjectBrowser, *keys: str) -> None:
    await until(lambda: shown(browser) == list(keys))


async def is_at_rest(browser: ObjectBrowser) -> None:
    await until(
        lambda: browser.rows.shown.below is not None and not browser.state.is_reading and browser.state.swept is None
    )


async def test_a_folder_is_shown_and_everything_below_counted_behind_it(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        await shows(browser, "data/", "more/", "a.bin", "b.txt")
        await is_at_rest(browser)
        assert browser.rows.shown.below is not None
        assert (browser.rows.shown.below.count, browser.rows.shown.below.size_bytes) == (6, 150)
        assert browser.rows.shown.order.size_bytes == 10
        assert browser.rows.shown.as_of is not None
        data = browser.rows.row(0)
        assert data is not None and data.size is not None and (data.size.count, data.size.size_bytes) == (3, 90)


async def test_ways_back_and_forward_are_remembered(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        await shows(browser, "data/", "more/", "a.bin", "b.txt")
        browser.go(BUCKET.join("data/"))
        await shows(browser, "data/deep/", "data/1.txt", "data/2.txt")
        browser.go(BUCKET.join("data/deep/"))
        await shows(browser, "data/deep/3.txt")
        browser.back()
        await shows(browser, "data/deep/", "data/1.txt", "data/2.txt")
        assert browser.state.can_go_back and browser.state.can_go_forward
        browser.forward()
        await shows(browser, "data/deep/3.txt")
        browser.up()
        browser.up()
        await shows(browser, "data/", "more/", "a.bin", "b.txt")
        assert not browser.state.can_go_forward


async def test_rows_are_sorted_by_any_column_and_stay_until_the_others_are_there(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        await is_at_rest(browser)
        browser.sort(Column.SIZE, True)
        assert shown(browser) == ["data/", "more/", "a.bin", "b.txt"]
        await until(lambda: browser.rows.shown.look.column is Column.SIZE)
        assert shown(browser) == ["data/", "more/", "a.bin", "b.txt"]
        browser.sort(Column.NAME, True)
        await shows(browser, "more/", "data/", "b.txt", "a.bin")


async def test_search_looks_everywhere_below(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        browser.search("TXT")
        await shows(browser, "b.txt", "data/1.txt", "data/2.txt", "data/deep/3.txt")
        browser.search("de")
        await shows(browser, "data/deep/")
        browser.search("")
        await shows(browser, "data/", "more/", "a.bin", "b.txt")


async def test_every_spelling_leads_to_the_place_and_an_object_to_its_folder(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        pointed: list[int] = []
        browser.rows.pointed.connect(pointed.append)
        browser.go_typed('"s3://bucket/data/2.txt"')
        await until(lambda: pointed == [2])
        assert browser.state.place == BUCKET.join("data/")
        browser.go_typed("https://bucket.obs.cn-north-4.myhuaweicloud.com/data/deep")
        await shows(browser, "data/deep/3.txt")
        browser.go_typed("no such place")
        assert browser.state.address_trouble is not None
        assert browser.state.place == BUCKET.join("data/deep/")
        browser.go_typed("bucket/")
        assert browser.state.address_trouble is None
        await shows(browser, "data/", "more/", "a.bin", "b.txt")


async def test_what_is_typed_is_completed(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        await is_at_rest(browser)
        offered: list[list[str]] = []
        browser.completed.connect(offered.append)
        browser.bucket_names = lambda: ["bucket", "bucket-2", "other"]
        for typed in ("buc", "obs://o", "/bucket/d", "obs://bucket/data/"):
            browser.complete(typed)
            await until(lambda: not cloud_is_completing(browser))
        assert offered == [
            ["obs://bucket/", "obs://bucket-2/"],
            ["obs://other/"],
            ["obs://bucket/data/"],
            ["obs://bucket/data/deep/", "obs://bucket/data/1.txt", "obs://bucket/data/2.txt"],
        ]


def cloud_is_completing(browser: ObjectBrowser) -> bool:
    return browser._scope.is_running("browser 1 complete")


async def test_the_second_look_shows_at_once_what_is_known(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (cloud, browser):
        await is_at_rest(browser)
        cloud.storage.trouble = offline()
        again = open_browser(cloud, name="browser 2")
        again.start()
        await shows(again, "data/", "more/", "a.bin", "b.txt")
        again.refresh()
        await until(lambda: again.state.trouble is not None)
        assert len(shown(again)) == 4, "what is known stays"
        assert again.rows.shown.as_of is not None
        again.close()


async def test_a_folder_that_came_since_everything_was_listed_is_not_shown_as_empty(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (cloud, browser):
        await is_at_rest(browser)
        for name in ("late/1.txt", "late/below/2.txt"):  # by another program
            await cloud.storage.put(b"x", BUCKET.join(name))
        browser.go_typed("obs://bucket/late/")
        await shows(browser, "late/below/", "late/1.txt")


async def test_what_is_chosen_while_the_rows_are_put_in_order_is_kept(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        await shows(browser, "data/", "more/", "a.bin", "b.txt")
        await is_at_rest(browser)
        free, held = threading.Event(), threading.Event()

        def hold(_: object) -> None:
            held.set()
            free.wait(PATIENT_S)

        holding = [asyncio.ensure_future(browser.rows._calls.run(hold)) for _ in range(8)]
        await until(held.is_set)
        told: list[int] = []
        browser.rows.replaced.connect(lambda: told.append(1))
        browser.rows.invalidate()
        await until(lambda: not browser.rows._invalidated.is_set())
        browser.rows.keep([browser.rows.id_at(3)])
        free.set()
        await until(lambda: bool(told))
        assert list(browser.rows.shown.order.places.values()) == [3]
        await asyncio.gather(*holding)


async def test_refresh_brings_what_is_new_and_keeps_what_is_chosen(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (cloud, browser):
        await shows(browser, "data/", "more/", "a.bin", "b.txt")
        await is_at_rest(browser)
        browser.rows.keep([browser.rows.id_at(3)])
        await cloud.storage.put(b"", BUCKET.join("aa.txt"))
        await cloud.storage.remove([BUCKET.join("more/img_1.png")])
        browser.refresh()
        await shows(browser, "data/", "a.bin", "aa.txt", "b.txt")
        assert list(browser.rows.shown.order.places.values()) == [3]
        await cloud.storage.remove([BUCKET.join("data/1.txt")])
        browser.touched(BUCKET.join("data/"))
        browser.go(BUCKET.join("data/"))
        await shows(browser, "data/deep/", "data/2.txt")


async def test_nothing_is_listed_while_nobody_looks_and_it_goes_on_later(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (cloud, browser):
        cloud.storage.wait = asyncio.Event()
        await until(lambda: cloud.storage.listed)
        browser.watch(False)
        cloud.storage.wait.set()
        await until(lambda: not cloud.scope.is_running("browser 1 read"))
        asked = len(cloud.storage.listed)
        browser.refresh()
        browser.go(BUCKET.join("data/"))
        await until(lambda: browser.rows.shown.look.folder == "data/")
        assert len(cloud.storage.listed) == asked
        browser.watch(True)
        await shows(browser, "data/deep/", "data/1.txt", "data/2.txt")


async def test_sizes_of_folders_are_counted_when_asked(tmp_path: Path, monkeypatch: object) -> None:
    async with browser_of(tmp_path) as (_, browser):
        await shows(browser, "data/", "more/", "a.bin", "b.txt")
        browser.calculate([BUCKET.join("data/")])
        await until(lambda: (row := browser.rows.row(0)) is not None and row.size is not None)
        await until(lambda: browser.state.busy is None)


async def test_a_very_large_bucket_is_not_listed_to_its_end_unless_asked(tmp_path: Path) -> None:
    was, object_browser.MOST_SWEPT = object_browser.MOST_SWEPT, 3
    try:
        async with browser_of(tmp_path) as (cloud, browser):
            cloud.storage.page_size = 1
            await until(lambda: browser.state.is_cut)
            assert browser.rows.shown.below is None, "what was not listed is not known"
            browser.list_everything()
            await until(lambda: browser.rows.shown.below is not None and browser.rows.shown.below.count == 6)
            assert not browser.state.is_cut
    finally:
        object_browser.MOST_SWEPT = was


async def test_trouble_is_said_where_the_rows_would_be(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        cloud.storage.trouble = offline()
        browser = open_browser(cloud)
        browser.start()
        await until(lambda: browser.state.trouble is not None)
        assert browser.rows.shown.as_of is None
        cloud.storage.trouble = None
        await cloud.storage.put(b"", BUCKET.join("x"))
        browser.refresh()
        await shows(browser, "x")
        assert browser.state.trouble is None
        browser.close()


async def test_chosen_rows_become_entries(tmp_path: Path) -> None:
    async with browser_of(tmp_path) as (_, browser):
        await is_at_rest(browser)
        entries = await browser.rows.entries([(0, 0), (2, 3)])
        assert [entry.path.key for entry in entries] == ["data/", "a.bin", "b.txt"]
        assert entries[2].storage_class == "STANDARD"


async def test_counts_are_right_again_by_themselves_after_something_was_put_there(tmp_path: Path) -> None:
    """Where a copy is told of by the folder it went into alone, and where it made new folders on its way."""
    async with browser_of(tmp_path) as (cloud, browser):
        await is_at_rest(browser)
        for folder, key in (("data/", "data/4.txt"), ("data/", "data/new/deep/5.txt"), ("", "fresh/6.txt")):
            await cloud.storage.put(b"x" * 100, BUCKET.join(key))
            browser.touched(BUCKET.join(folder) if folder else BUCKET)
            await until(lambda key=key: key in all_keys(browser))
        await until(lambda: counts(browser) == {"data/": 5, "fresh/": 1, "more/": 1})
        await until(lambda: browser.rows.shown.below is not None and browser.rows.shown.below.count == 9)


def counts(browser: ObjectBrowser) -> dict[str, int]:
    rows = [browser.rows.row(rank) for rank in range(browser.rows.shown.count)]
    return {row.entry.path.key: row.size.count for row in rows if row is not None and row.size is not None}


def all_keys(browser: ObjectBrowser) -> set[str]:
    listing = browser._listing
    assert listing is not None
    order = listing.index.order(Look("", "txt"), (), CancelToken())
    return {row.entry.path.key for row in listing.index.rows(order.ids).values()}
