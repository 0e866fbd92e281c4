"""`traindeck obs tree`: folders and objects drawn below each other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from traindeck.cli.main import DONE, Call
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane

_AHEAD = 16
"""So many folders of a level are listed while those before them are drawn."""


async def tree(call: Call) -> int:
    from traindeck.services.storage.listing import nothing_there

    folder, options = ObjectPath.parse(call.options.path).as_folder(), call.options
    async with call.accounts() as core, core.plane(call.profile(core)) as plane:
        if not folder.is_bucket and not (await plane.page(folder.bucket, folder.key, most=1)).rows:
            raise nothing_there(folder)
        if not call.output.json_wanted:
            call.output.line(str(folder))
        drawing = _Drawing(call, plane, options.levels, folders_only=options.folders)
        await drawing.draw(_Level(plane, folder), "", 1)
    if not call.output.json_wanted:
        words = say("Folders shown: {count}", count=f"{drawing.folders:,}")
        if not options.folders:
            size = size_words(drawing.size_bytes)
            words += " · " + say("Objects shown: {count}, {size}", count=f"{drawing.objects:,}", size=size)
        call.output.line(f"\n{words}")
    return DONE


class _Level:
    """What is in one folder; its first page may be asked for long before it is drawn."""

    def __init__(self, plane: DataPlane, folder: ObjectPath) -> None:
        from traindeck.services.storage.listing import entries

        self._pages = entries(plane, folder)
        self._first: asyncio.Task[list[ObjectEntry] | None] | None = None

    def begin(self, group: asyncio.TaskGroup, slots: asyncio.Semaphore) -> None:
        async def first() -> list[ObjectEntry] | None:
            async with slots:
                return await anext(self._pages, None)

        self._first = group.create_task(first())

    async def entries(self) -> AsyncGenerator[ObjectEntry, None]:
        async with aclosing(self._pages) as pages:
            page = await (self._first if self._first is not None else anext(pages, None))
            while page is not None:
                for entry in page:
                    yield entry
                page = await anext(pages, None)


class _Drawing:
    def __init__(self, call: Call, plane: DataPlane, levels: int | None, *, folders_only: bool) -> None:
        self.folders = self.objects = self.size_bytes = 0
        self._call, self._plane = call, plane
        self._levels, self._folders_only = levels, folders_only
        self._slots = asyncio.Semaphore(_AHEAD)

    async def draw(self, level: _Level, before: str, depth: int) -> None:
        """Each with all that is below it; only the last of a level tells that none follows."""
        async with aclosing(level.entries()) as entries, asyncio.TaskGroup() as group:
            ahead: deque[tuple[ObjectEntry, _Level | None]] = deque()
            async for entry in entries:
                if entry.is_folder or not self._folders_only:
                    ahead.append((entry, self._begun(entry, group, depth)))
                if len(ahead) > _AHEAD:
                    await self._one(*ahead.popleft(), before, depth, is_last=False)
            while ahead:
                await self._one(*ahead.popleft(), before, depth, is_last=not ahead)

    def _begun(self, entry: ObjectEntry, group: asyncio.TaskGroup, depth: int) -> _Level | None:
        if not entry.is_folder or (self._levels is not None and depth >= self._levels):
            return None
        level = _Level(self._plane, entry.path)
        level.begin(group, self._slots)
        return level

    async def _one(self, entry: ObjectEntry, below: _Level | None, before: str, depth: int, *, is_last: bool) -> None:
        self._print(entry, f"{before}{'└── ' if is_last else '├── '}", depth)
        if below is not None:
            await self.draw(below, before + ("    " if is_last else "│   "), depth + 1)

    def _print(self, entry: ObjectEntry, drawn: str, depth: int) -> None:
        size = entry.size_bytes or 0
        if entry.is_folder:
            self.folders += 1
        else:
            self.objects, self.size_bytes = self.objects + 1, self.size_bytes + size
        content = {"path": str(entry.path), "folder": entry.is_folder, "size": entry.size_bytes, "level": depth}
        name = entry.path.name + "/" if entry.is_folder else f"{entry.path.name}  {size_words(size)}"
        self._call.output.result(content, drawn + name)
