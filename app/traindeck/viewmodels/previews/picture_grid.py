"""The pictures of a folder as small ones: listed page by page, read and drawn only where somebody looks."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.previews import NotShown, PicturePage, PreviewPage, is_picture_name
from traindeck.domain.storage.objects import ObjectPath, ObjectRow
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.previews.reading import ObjectPreview
from traindeck.services.storage.data_ports import ObjectHead

if TYPE_CHECKING:
    from traindeck.services.storage.planes import Planes

Draw = Callable[[bytes, int], object]
"""A picture no larger than so many points on its longer side, or None; it is called in a worker."""

SMALL_SIDE = 192
"""Fine enough for a screen with small points."""
_DRAWERS = tuple(f"small picture {number}" for number in range(4))
"""Who reads and draws at once."""
_WANTED_KEPT = 200
_DRAWN_KEPT = 300
_PAGES_WITHOUT = 10
"""So many pages of other objects are looked through before somebody has to ask for more."""

_LIST = "pictures"


@dataclass(frozen=True, slots=True)
class GridState:
    """How far the list of pictures has come."""

    folder: ObjectPath | None = None
    is_listing: bool = False
    has_more: bool = False
    looked_at: int = 0
    """So many objects were looked through for pictures."""
    trouble: AppError | None = None


class PictureGrid(QObject):
    """The pictures directly in one folder."""

    changed = Signal()
    cleared = Signal()
    listed = Signal(int, int)
    """Pictures with these numbers are new."""
    drawn = Signal(int)

    def __init__(self, planes: Planes, calls: BlockingCalls, scope: TaskScope, draw: Draw) -> None:
        super().__init__()
        self.state = GridState()
        self.rows: list[ObjectRow] = []
        self._planes = planes
        self._calls = calls
        self._scope = scope
        self._draw = draw
        self._profile = ""
        self._marker = ""
        self._wanted: list[int] = []
        self._woken = asyncio.Event()
        self._is_working = False
        self._drawn: OrderedDict[int, object] = OrderedDict()
        self._troubles: dict[int, AppError] = {}

    def show(self, profile: str, folder: ObjectPath) -> None:
        self.clear()
        self._profile = profile
        self._become(folder=folder, has_more=True)
        self.more()

    def clear(self) -> None:
        self._scope.cancel(_LIST)
        for drawer in _DRAWERS:
            self._scope.cancel(drawer)
        self._is_working = False
        self.rows = []
        self._marker = ""
        self._wanted = []
        self._drawn.clear()
        self._troubles.clear()
        self.state = GridState()
        self.cleared.emit()
        self.changed.emit()

    def more(self) -> None:
        """List on."""
        if self.state.folder is not None and self.state.has_more and not self.state.is_listing:
            self._become(is_listing=True, trouble=None)
            self._scope.start(_LIST, partial(self._list, self.state.folder), Repeat.REPLACE)

    def path(self, number: int) -> ObjectPath:
        assert self.state.folder is not None
        return ObjectPath(self.state.folder.bucket, self.rows[number].key)

    def picture(self, number: int) -> object:
        """None while it is drawn, or where that failed: see `trouble`."""
        if number in self._drawn:
            self._drawn.move_to_end(number)
            return self._drawn[number]
        if number not in self._troubles and number not in self._wanted:
            # What was scrolled past meanwhile is not worth reading.
            self._wanted = [*self._wanted[-_WANTED_KEPT + 1 :], number]
            self._woken.set()
            if not self._is_working:
                self._is_working = True
                for drawer in _DRAWERS:
                    # Those of the folder before may still be ending.
                    self._scope.start(drawer, self._work, Repeat.REPLACE)
        return None

    def trouble(self, number: int) -> AppError | None:
        return self._troubles.get(number)

    async def _list(self, folder: ObjectPath) -> None:
        before = len(self.rows)
        try:
            for _ in range(_PAGES_WITHOUT):
                page = await self._planes.run(
                    self._profile,
                    lambda plane: plane.page(folder.bucket, folder.key, delimiter="/", marker=self._marker),
                )
                self._marker = page.next_marker
                new = [row for row in page.rows if row.size_bytes and is_picture_name(row.key)]
                if new:
                    first = len(self.rows)
                    self.rows += new
                    self.listed.emit(first, len(self.rows) - 1)
                self._become(looked_at=self.state.looked_at + len(page.rows), has_more=bool(page.next_marker))
                if not page.next_marker or len(self.rows) > before:
                    break
        except AppError as error:
            self._become(trouble=error)
        finally:
            self._become(is_listing=False)

    async def _work(self) -> None:
        """Goes on until another folder is shown: an end could fall together with the next one."""
        while await self._woken.wait():
            if not self._wanted:
                self._woken.clear()
                continue
            number = self._wanted.pop()
            row = self.rows[number]
            try:
                drawn = await self._small(row, self.path(number))
            except AppError as error:
                self._troubles[number] = error
            else:
                self._drawn[number] = drawn
                while len(self._drawn) > _DRAWN_KEPT:
                    self._drawn.popitem(last=False)
            self.drawn.emit(number)

    async def _small(self, row: ObjectRow, path: ObjectPath) -> object:
        found = ObjectHead(path, row.size_bytes, row.etag)
        page = await ObjectPreview(self._planes, self._calls, self._profile, found).next_page()
        return await drawn_page(self._calls, self._draw, page, SMALL_SIDE)

    def _become(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        self.changed.emit()


async def drawn_page(calls: BlockingCalls, draw: Draw, page: PreviewPage | None, longest: int) -> object:
    content = page.content if isinstance(page, PicturePage) else b""
    drawn = await calls.run(lambda _: draw(content, longest)) if content else None
    if drawn is None:
        raise NotShown(
            text("The picture cannot be shown: it is damaged or has an unusual format."),
            text("Download it and open it with another program."),
        )
    return drawn
