"""What a browser says about its rows: how many, how much, as of when; and nothing that is not known."""

from __future__ import annotations

from traindeck.domain.objects import size_words
from traindeck.domain.texts import say
from traindeck.viewmodels.browser_rows import BrowserRows
from traindeck.viewmodels.object_browser import BrowserState
from traindeck.viewmodels.run_words import moment_words


def footing_words(state: BrowserState, rows: BrowserRows, selected: int) -> str:
    parts = []
    if selected:
        parts.append(say("{count} chosen", count=f"{selected:,}"))
    if rows.look.search:
        parts.append(say("{count} found", count=f"{rows.count:,}"))
    elif rows.count:
        if rows.folders:
            parts.append(say("{count} folders", count=f"{rows.folders:,}"))
        objects = rows.count - rows.folders
        if objects:
            parts.append(say("{count} objects, {size}", count=f"{objects:,}", size=size_words(rows.size_bytes)))
    if rows.below is not None and rows.folders:
        below = rows.below
        parts.append(
            say(
                "everything below: {count} objects, {size}", count=f"{below.count:,}", size=size_words(below.size_bytes)
            )
        )
    if rows.as_of is not None:
        parts.append(say("as of {moment}", moment=moment_words(rows.as_of)[11:16]))
    elif rows.count or rows.look.search:
        parts.append(say("so far"))
    return " · ".join(parts)


def listing_words(state: BrowserState, rows: BrowserRows) -> str:
    if state.trouble is not None and rows.count:
        return say(state.trouble.title)
    if state.busy is not None:
        return say(state.busy)
    if rows.look != state.look:
        return say("Putting in order…")
    if state.swept is not None:
        return say("Listing all below: {count} objects…", count=f"{state.swept:,}")
    if state.is_cut:
        return say("Not all below is listed.")
    return say("Reading…") if state.is_reading else ""


def empty_words(state: BrowserState, rows: BrowserRows) -> tuple[str, str]:
    if state.trouble is not None and rows.as_of is None:
        return say(state.trouble.title), say(state.trouble.hint)
    if rows.look != state.look or (rows.as_of is None and (state.is_reading or state.swept is not None)):
        return say("Reading…"), ""
    if rows.look.search:
        if rows.as_of is None:
            return say("Nothing of this name is known so far."), say("List all to look everywhere below.")
        return say("Nothing here or below is named so."), ""
    return say("This folder is empty."), say("Drop files here to upload them.")
