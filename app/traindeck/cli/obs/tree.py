"""`traindeck obs tree`: folders and objects drawn below each other."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AsyncExitStack
from itertools import islice
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
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
        await drawing.draw(folder)
    if not call.output.json_wanted:
        words = say("Folders shown: {count}", count=f"{drawing.folders:,}")
        if not options.folders:
            size = size_words(drawing.size_bytes)
            words += " · " + say("Objects shown: {count}, {size}", count=f"{drawing.objects:,}", size=size)
        call.output.line(f"\n{words}")
    return DONE


class _Level:
    """What is in one folder; its first page may be asked for long before it is drawn."""

    def __init__(self, plane: DataPlane, folder: ObjectPath, depth: int) -> None:
        from traindeck.services.storage.listing import entries

        self.depth = depth
        self.before = ""
        self.ahead: deque[tuple[ObjectEntry, _Level | None]] = deque()
        self.is_read = False
        self._pages = entries(plane, folder)
        self._is_begun = False
        self._first: asyncio.Task[list[ObjectEntry] | None] | None = None

    def begin(self, group: asyncio.TaskGroup, slots: asyncio.Semaphore) -> None:
        async def first() -> list[ObjectEntry] | None:
            async with slots:
                return await anext(self._pages, None)

        if not self._is_begun:
            self._is_begun = True
            self._first = group.create_task(first())

    async def page(self) -> list[ObjectEntry]:
        """Empty: that was all."""
        self._is_begun = True
        first, self._first = self._first, None
        found = await (first if first is not None else anext(self._pages, None))
        self.is_read = found is None
        return found or []

    async def close(self) -> None:
        await self._pages.aclose()


class _Drawing:
    def __init__(self, call: Call, plane: DataPlane, levels: int | None, *, folders_only: bool) -> None:
        self.folders = self.objects = self.size_bytes = 0
        self._call, self._plane = call, plane
        self._levels, self._folders_only = levels, folders_only
        self._slots = asyncio.Semaphore(_AHEAD)

    async def draw(self, folder: ObjectPath) -> None:
        """Each with all that is below it. A stack of its own: a name may have more parts than calls may be deep."""
        async with AsyncExitStack() as opened, asyncio.TaskGroup() as group:
            open_levels = [_Level(self._plane, folder, 1)]
            opened.push_async_callback(_close, open_levels)
            while open_levels:
                level = open_levels[-1]
                # Only the last of a level tells that none follows.
                while len(level.ahead) < 2 and not level.is_read:
                    self._take(await level.page(), level)
                self._list_ahead(level, group)
                if not level.ahead:
                    await open_levels.pop().close()
                    continue
                entry, below = level.ahead.popleft()
                self._print(entry, f"{level.before}{'├── ' if level.ahead else '└── '}", level.depth)
                if below is not None:
                    below.before = level.before + ("│   " if level.ahead else "    ")
                    open_levels.append(below)

    def _take(self, page: list[ObjectEntry], level: _Level) -> None:
        goes_on = self._levels is None or level.depth < self._levels
        for entry in page:
            if entry.is_folder or not self._folders_only:
                below = _Level(self._plane, entry.path, level.depth + 1) if entry.is_folder and goes_on else None
                level.ahead.append((entry, below))

    def _list_ahead(self, level: _Level, group: asyncio.TaskGroup) -> None:
        for _, below in islice(level.ahead, _AHEAD):
            if below is not None:
                below.begin(group, self._slots)

    def _print(self, entry: ObjectEntry, drawn: str, depth: int) -> None:
        size = entry.size_bytes or 0
        if entry.is_folder:
            self.folders += 1
        else:
            self.objects, self.size_bytes = self.objects + 1, self.size_bytes + size
        content = {"path": str(entry.path), "folder": entry.is_folder, "size": entry.size_bytes, "level": depth}
        name = entry.path.name + "/" if entry.is_folder else f"{entry.path.name}  {size_words(size)}"
        self._call.output.result(content, drawn + name)


async def _close(levels: list[_Level]) -> None:
    """What is left open when something failed."""
    for level in levels:
        await level.close()
