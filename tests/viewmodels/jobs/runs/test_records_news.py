"""Damaged records: what the banner says of what became of them."""

from __future__ import annotations

from pathlib import Path

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.waiting import until
from traindeck.viewmodels.jobs.runs.records_news import LOGS, RESTORED, RecordsNews
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.shell.notices import Notices


async def test_what_became_of_damaged_records_is_told_until_somebody_has_read_it(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        run = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        place = cloud.paths.database
    place.write_bytes(b"no database at all" * 500)
    async with FolderCloud(tmp_path) as cloud:
        notices = Notices()
        news = RecordsNews(cloud.records, cloud.watch, notices, cloud.scope)
        banner = notices.condition(RESTORED)
        assert banner is not None and banner.mending is not None and str(banner.hint)
        assert [one.id for one in await cloud.records.all()] == [run.id], "from its folder"
        banner.mending.act()
        assert not notices.holds(RESTORED)
        news.close()


async def test_logs_that_cannot_be_kept_are_told_of_until_they_can(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        run = await cloud.submission.submit(digits_spec(), code_folder(tmp_path / "code"))
        notices = Notices()
        news = RecordsNews(cloud.records, cloud.watch, notices, cloud.scope)
        feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        feed.show(run)
        place = cloud.logs.file(run.id).path
        place = place.with_name(f"{place.name}.lock")
        place.mkdir(parents=True)  # in the way of whoever wants to write
        cloud.jobs.move("Running")
        cloud.jobs.write(b"epoch 1\n")
        cloud.watch_runs()
        await until(lambda: notices.holds(LOGS))
        banner = notices.condition(LOGS)
        assert banner is not None and banner.mending is not None and "job logs" in str(banner.hint)
        await until(lambda: feed.state.trouble is not None)
        assert feed.state.trouble is cloud.watch.log_trouble, "the head of the log says it, too"
        place.rmdir()
        banner.mending.act()
        await until(lambda: not notices.holds(LOGS))
        await until(lambda: feed.state.size_bytes == len(b"epoch 1\n") and feed.state.trouble is None)
        news.close()
        feed.close()
