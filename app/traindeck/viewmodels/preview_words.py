"""What the Preview panel says around the content."""

from __future__ import annotations

from traindeck.domain.objects import size_words
from traindeck.domain.previews import (
    ArchivePage,
    BytesPage,
    Page,
    PicturePage,
    TablePage,
    TensorsPage,
    TextPage,
)
from traindeck.domain.texts import say
from traindeck.viewmodels.picture_grid import GridState
from traindeck.viewmodels.preview import PreviewState
from traindeck.viewmodels.run_words import moment_words

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
        words.append(moment_words(found.modified)[:16])
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
        return say("There is more of it.") if state.has_more else ""
    count = f"{sum(_rows_in(page) for page in state.pages):,}"
    match first:
        case TablePage():
            return say("the first {count} rows", count=count) if state.has_more else say("{count} rows", count=count)
        case TensorsPage() if first.tensors and not first.tensors[0].name:
            return ""
        case TensorsPage():
            some = say("the first {count} tensors", count=count)
            return some if state.has_more else say("{count} tensors", count=count)
        case ArchivePage():
            some = say("the first {count} entries", count=count)
            return some if state.has_more else say("{count} entries", count=count)
        case _:
            return ""


def grid_words(state: GridState, count: int) -> tuple[str, str, str]:
    """For a folder: title and hint where no picture is, and the line below."""
    found = say("{count} pictures", count=f"{count:,}") if count else ""
    if count and (state.has_more or state.is_listing):
        found = say("{count} pictures so far", count=f"{count:,}")
    if state.is_listing:
        return say("Looking for pictures…"), "", found
    if state.trouble is not None:
        return say(state.trouble.title), say(state.trouble.hint), ""
    if state.has_more:
        looked_at = say("{count} objects were looked through.", count=f"{state.looked_at:,}")
        return say("No pictures so far."), looked_at, found
    return say("There are no pictures in this folder."), say("Choose an object to look into it."), found


def _kind_words(page: Page) -> str:
    match page:
        case TextPage():
            return say("Text, {encoding}", encoding=page.encoding)
        case TablePage():
            return say("Table, {count} columns", count=f"{len(page.columns):,}")
        case PicturePage():
            return f"{page.format}{_BETWEEN}{page.width:,} × {page.height:,}"
        case TensorsPage() | ArchivePage() | BytesPage():
            return say(page.what)


def _rows_in(page: Page) -> int:
    match page:
        case TablePage():
            return len(page.rows)
        case TensorsPage():
            return len(page.tensors)
        case ArchivePage():
            return len(page.members)
        case _:
            return 0
