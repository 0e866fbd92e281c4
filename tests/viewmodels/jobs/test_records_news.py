"""Damaged records: what the banner says of what became of them."""

from __future__ import annotations

from pathlib import Path

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from traindeck.viewmodels.jobs.records_news import RESTORED, RecordsNews
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
