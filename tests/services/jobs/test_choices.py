from __future__ import annotations

from pathlib import Path

from support.folder_cloud import FolderCloud, offline
from traindeck.domain.errors import AppError
from traindeck.services.jobs.choices import JobChoices


async def test_what_was_offered_is_known_without_a_line_at_the_next_start(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        folder = cloud.paths.home / "choices"
        first = JobChoices(cloud.connections, folder, cloud.disk)
        assert await first.recall("lab") is None
        told = await first.load("lab")
        assert told.taken is not None
        cloud.jobs.trouble = offline()
        again = JobChoices(cloud.connections, folder, cloud.disk)
        assert await again.recall("lab") == told
        try:
            await again.load("lab")
        except AppError:
            pass
        else:
            raise AssertionError("nobody answered")
        (kept,) = folder.iterdir()
        for junk in (b"", b"{", b"[]", b'{"engines": [1], "flavors": [], "taken": "x"}', b"\xff"):
            kept.write_bytes(junk)
            assert await JobChoices(cloud.connections, folder, cloud.disk).recall("lab") is None
