"""Files for other programs: there before the drag begins, or not at all."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, offline
from support.waiting import PATIENT_S, until
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.viewmodels.transfers import dragged_files
from traindeck.viewmodels.transfers.dragged_files import MOST_BYTES, MOST_FILES, DraggedFiles

BUCKET = ObjectPath("bucket")


async def test_a_few_small_objects_are_files_before_the_drag_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        old = cloud.paths.dragged / "old"
        old.mkdir(parents=True)
        os.utime(old, (0, 0))
        await cloud.storage.put(b"one", BUCKET.join("a/x.txt"))
        await cloud.storage.put(b"two", BUCKET.join("b/x.txt"))
        dragged = DraggedFiles(cloud.paths.dragged, cloud.planes, cloud.disk, cloud.scope)
        entries = [ObjectEntry(BUCKET.join(name), 3) for name in ("a/x.txt", "b/x.txt")]
        assert dragged.fit(entries)
        monkeypatch.setattr(dragged_files, "WAIT_S", PATIENT_S)
        files = await dragged.fetched("lab", entries)
        assert [file.read_bytes() for file in files] == [b"one", b"two"]
        assert len({file.name for file in files}) == 2
        await until(lambda: not old.exists())
        cloud.storage.trouble = offline()
        assert await dragged.fetched("lab", entries) == []
        cloud.storage.trouble, cloud.storage.wait = None, asyncio.Event()
        monkeypatch.setattr(dragged_files, "WAIT_S", 0.05)
        assert await dragged.fetched("lab", entries) == []
        cloud.storage.wait.set()


async def test_what_is_large_or_a_folder_does_not_wait_for_it(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        dragged = DraggedFiles(cloud.paths.dragged, cloud.planes, cloud.disk, cloud.scope)
        assert not dragged.fit([])
        assert not dragged.fit([ObjectEntry(BUCKET.join("folder/"))])
        assert not dragged.fit([ObjectEntry(BUCKET.join("x"), MOST_BYTES + 1)])
        assert not dragged.fit([ObjectEntry(BUCKET.join(str(number)), 1) for number in range(MOST_FILES + 1)])
