"""Files for a drag to another program: fetched before it begins, into a folder of ours, while they are few and small.

What the other program gets is a name of a file, which it reads when and as it likes; so the file has to be there first,
and stays for a day.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from uuid import uuid4

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectEntry
from traindeck.domain.transfers.local_names import LocalNames, System
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.tasks import TaskScope, gather_or_raise
from traindeck.services.storage.content_check import checked
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.wire.data_plane import DataPlane

MOST_FILES = 20
MOST_BYTES = 8 * 1024 * 1024
WAIT_S = 0.8
"""Longer than this nobody holds a mouse still; then the drag begins without files."""
_KEPT_S = 24 * 3600


class DraggedFiles:
    """`fit` is answered at once; `fetched` takes the time it may."""

    def __init__(self, folder: Path, planes: Planes, disk: BlockingCalls, scope: TaskScope) -> None:
        self._folder = folder
        self._planes = planes
        self._disk = disk
        scope.start("forget old dragged files", lambda: disk.run(self._forget_old))

    def fit(self, entries: Sequence[ObjectEntry]) -> bool:
        """Whether they may go to another program as files."""
        sizes = [entry.size_bytes for entry in entries]
        known = [size for size in sizes if size is not None]
        return 0 < len(sizes) == len(known) <= MOST_FILES and sum(known) <= MOST_BYTES

    async def fetched(self, profile: str, entries: Sequence[ObjectEntry]) -> list[Path]:
        """All of them, or none where it takes too long or goes wrong."""
        try:
            async with asyncio.timeout(WAIT_S):
                contents = await self._planes.run(profile, partial(_contents, entries=entries))
        except (TimeoutError, AppError):
            return []  # the drag is still good for every place of ours
        names = LocalNames(System(is_windows=os.name == "nt", folds_case=True))
        files = [(names.place(entry.path.name), content) for entry, content in zip(entries, contents, strict=True)]
        try:
            return await self._disk.run(partial(self._write, self._folder / uuid4().hex, files))
        except AppError:
            return []

    def _write(self, folder: Path, files: Sequence[tuple[str, bytes]], token: CancelToken) -> list[Path]:
        with local_errors(folder):
            folder.mkdir(parents=True, mode=0o700)
            for name, content in files:
                token.check()
                write_whole(folder / name, content)
        return [folder / name for name, _ in files]

    def _forget_old(self, token: CancelToken) -> None:
        now = time.time()
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            token.check()
            if now - folder.stat().st_mtime > _KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)


async def _contents(plane: DataPlane, entries: Sequence[ObjectEntry]) -> list[bytes]:
    async def content(entry: ObjectEntry) -> bytes:
        pieces: list[bytes] = []
        found = await plane.get(entry.path, pieces.append, if_match=entry.etag, listed_bytes=entry.size_bytes)
        return checked(found, b"".join(pieces))

    return await gather_or_raise(content(entry) for entry in entries)
