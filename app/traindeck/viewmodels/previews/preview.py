"""The preview of what is chosen: read while it is looked at, given up when something else is chosen."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.previews import (
    MOST_EDITED,
    ArchivePage,
    BytesPage,
    NotShown,
    PicturePage,
    PreviewPage,
    TablePage,
    TensorsPage,
    TextPage,
)
from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import moment_words, say, say_count
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.previews.reading import ObjectPreview, open_preview
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.viewmodels.previews.picture_grid import Draw, GridState, PictureGrid, drawn_page

if TYPE_CHECKING:
    from traindeck.services.storage.planes import Planes


LARGEST_SIDE = 2048
"""Pictures are drawn no larger; a screen shows no more in a panel."""

_PACKED = (".gz", ".bz2", ".xz")
_SETTLING_S = 0.12
_WORK, _MORE = "preview", "preview more"


@dataclass(frozen=True, slots=True)
class PreviewState:
    """What the panel shows beside its pages; `place` is None while nothing is chosen."""

    profile: str = ""
    place: ObjectPath | None = None
    found: ObjectHead | None = None
    is_reading: bool = False
    is_reading_more: bool = False
    trouble: AppError | None = None
    pages: tuple[PreviewPage, ...] = ()
    drawn: object = None
    """The picture, ready to be painted."""
    within: ObjectPath | None = None
    """The folder whose pictures were shown when this one was opened."""

    @property
    def is_folder(self) -> bool:
        return self.place is not None and self.place.is_folder

    @property
    def has_more(self) -> bool:
        return bool(self.pages) and self.pages[-1].has_more

    @property
    def can_edit(self) -> bool:
        """It is a text, and short enough to be edited as a whole."""
        is_text = bool(self.pages) and isinstance(self.pages[0], TextPage | TablePage)
        if not is_text or self.found is None:
            return False
        return self.found.size_bytes <= MOST_EDITED and not self.found.path.key.lower().endswith(_PACKED)


class Preview(QObject):
    """One for the program; what is chosen in whichever tab is shown in it."""

    changed = Signal()
    grew = Signal()
    """The last page was added to those before."""
    edit_wanted = Signal(str, object)
    """The text of this account and place."""

    def __init__(self, planes: Planes, calls: BlockingCalls, scope: TaskScope, draw: Draw) -> None:
        super().__init__()
        self.state = PreviewState()
        self.pictures = PictureGrid(planes, calls, scope, draw)
        self._planes = planes
        self._calls = calls
        self._scope = scope
        self._draw = draw
        self._preview: ObjectPreview | None = None
        self._watchers: set[object] = set()
        self._is_read = True

    def choose(self, profile: str, place: ObjectPath | None) -> None:
        """An object, or a folder whose pictures are shown; it is read once somebody looks."""
        if (profile, place) != (self.state.profile, self.state.place):
            self._begin(PreviewState(profile, place))

    def open_picture(self, number: int) -> None:
        """One of the folder; the others stay as they are."""
        folder, path = self.state.place, self.pictures.path(number)
        self._begin(PreviewState(self.state.profile, path, within=folder), keeps_pictures=True)

    def back(self) -> None:
        """To the pictures of the folder."""
        if self.state.within is not None:
            self._begin(PreviewState(self.state.profile, self.state.within), keeps_pictures=True)

    def look_again(self) -> None:
        """As it is now."""
        self._begin(PreviewState(self.state.profile, self.state.place))

    def watch(self, watcher: object, is_seen: bool) -> None:
        """Whether this panel is in sight; those of two windows may be there at the same time."""
        if is_seen:
            self._watchers.add(watcher)
        else:
            self._watchers.discard(watcher)
        if self._watchers and not self._is_read:
            self._read()
        elif not self._watchers and self.state.is_reading:
            self._scope.cancel(_WORK)
            self._is_read = False

    def more(self) -> None:
        if self.state.has_more and not self.state.is_reading_more and self._preview is not None:
            self._become(replace(self.state, is_reading_more=True, trouble=None))
            self._scope.start(_MORE, partial(self._load_more, self._preview), Repeat.REPLACE)

    def edit(self) -> None:
        if self.state.place is not None and not self.state.is_folder:
            self.edit_wanted.emit(self.state.profile, self.state.place)

    def saved(self, place: ObjectPath) -> None:
        """Its content is another one now."""
        if place == self.state.place:
            self.look_again()

    def _begin(self, state: PreviewState, *, keeps_pictures: bool = False) -> None:
        self._scope.cancel(_WORK)
        self._scope.cancel(_MORE)
        self._preview = None
        self._is_read = False
        if not keeps_pictures:
            self.pictures.clear()
        self._become(state)
        if self._watchers:
            self._read()

    def _read(self) -> None:
        place = self.state.place
        self._is_read = True
        if place is None:
            return
        if place.is_folder:
            if self.pictures.state.folder != place:
                self.pictures.show(self.state.profile, place)
        else:
            self._become(replace(self.state, is_reading=True))
            self._scope.start(_WORK, partial(self._load, self.state.profile, place), Repeat.REPLACE)

    async def _load(self, profile: str, place: ObjectPath) -> None:
        # Who runs over a list with the keys does not want every row.
        await asyncio.sleep(_SETTLING_S)
        try:
            preview = await open_preview(self._planes, self._calls, profile, place)
            self._become(replace(self.state, found=preview.found))
            page = await preview.next_page()
            drawn = None
            if isinstance(page, PicturePage):
                drawn = await drawn_page(self._calls, self._draw, page, LARGEST_SIDE)
                page = replace(page, content=b"")  # up to twenty megabytes that nobody needs any more
        except AppError as error:
            # Said in the panel, where the content would be.
            self._become(replace(self.state, is_reading=False, trouble=error))
            return
        self._preview = preview
        pages = () if page is None else (page,)
        self._become(replace(self.state, is_reading=False, pages=pages, drawn=drawn))

    async def _load_more(self, preview: ObjectPreview) -> None:
        try:
            page = await preview.next_page()
        except AppError as error:
            state = self.state
            if isinstance(error, NotShown | NotFound):  # what follows cannot be shown; what is there stays
                state = replace(state, pages=(*state.pages[:-1], replace(state.pages[-1], has_more=False)))
            self._become(replace(state, is_reading_more=False, trouble=error))
            return
        more = () if page is None else (page,)
        self.state = replace(self.state, is_reading_more=False, pages=self.state.pages + more)
        (self.grew if more else self.changed).emit()

    def _become(self, state: PreviewState) -> None:
        self.state = state
        self.changed.emit()


_BETWEEN = " · "


def about_words(state: PreviewState) -> str:
    """Kind, size and age of what is shown."""
    found = state.found
    if state.is_folder:
        return say("Folder")
    if found is None:
        return ""
    words = [_kind_words(state.pages[0])] if state.pages else []
    words.append(size_words(found.size_bytes))
    if found.modified is not None:
        words.append(moment_words(found.modified))
    return _BETWEEN.join(words)


def waiting_words(state: PreviewState) -> tuple[str, str]:
    """While there is no content: why."""
    if state.trouble is not None:
        return say(state.trouble.title), say(state.trouble.hint)
    return say("Reading…"), ""


def more_words(state: PreviewState) -> str:
    """How much of it is shown."""
    if state.is_reading_more:
        return say("Reading…")
    if not state.pages:
        return ""
    first = state.pages[0]
    if isinstance(first, TextPage):
        return say("There is more.") if state.has_more else ""
    count = sum(_rows_in(page) for page in state.pages)
    match first:
        case TablePage():
            some, all_ = (
                say_count("the first {count} row", "the first {count} rows", count),
                say_count("{count} row", "{count} rows", count),
            )
        case TensorsPage() if not first.tensors or first.tensors[0].name:
            some, all_ = (
                say_count("the first {count} tensor", "the first {count} tensors", count),
                say_count("{count} tensor", "{count} tensors", count),
            )
        case ArchivePage():
            some, all_ = (
                say_count("the first {count} entry", "the first {count} entries", count),
                say_count("{count} entry", "{count} entries", count),
            )
        case _:
            return ""
    return some if state.has_more else all_


def grid_words(state: GridState, count: int) -> tuple[str, str, str]:
    """For a folder: title and hint where no picture is, and the line below."""
    found = say_count("{count} picture", "{count} pictures", count) if count else ""
    if count and (state.has_more or state.is_listing):
        found = say_count("{count} picture so far", "{count} pictures so far", count)
    if state.is_listing:
        return say("Looking for pictures…"), "", found
    if state.trouble is not None:
        return say(state.trouble.title), say(state.trouble.hint), ""
    if state.has_more:
        looked_at = say_count("Scanned {count} object.", "Scanned {count} objects.", state.looked_at)
        return say("No pictures yet."), looked_at, found
    return say("There are no pictures in this folder."), say("Select an object to preview it."), found


def _kind_words(page: PreviewPage) -> str:
    match page:
        case TextPage():
            return say("Text, {encoding}", encoding=page.encoding)
        case TablePage():
            return say_count("Table, {count} column", "Table, {count} columns", len(page.columns))
        case PicturePage():
            return f"{page.format}{_BETWEEN}{page.width:,} × {page.height:,}"
        case TensorsPage() | ArchivePage() | BytesPage():
            return say(page.what)


def _rows_in(page: PreviewPage) -> int:
    match page:
        case TablePage(rows=rows) | TensorsPage(tensors=rows) | ArchivePage(members=rows):
            return len(rows)
        case _:
            return 0
