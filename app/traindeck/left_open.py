"""What was open when the program ended is open again: tabs, the selected run, the unsaved form."""

from __future__ import annotations

import asyncio
from typing import Any

from PySide6.QtCore import QObject, QTimer

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.jobs.feature import FOLLOWING
from traindeck.ui.shell.frame_feature import WELCOME
from traindeck.ui.storage.browser_tabs import FolderPage
from traindeck.workspace import Models, OpenPages, Workspace

_NOTE_MS = 300
_MOST_TABS = 30
_MOST_TEXT = 100_000


class LeftOpen(QObject):
    """Notes it whenever it changes: a program that is killed loses moments."""

    def __init__(self, models: Models) -> None:
        super().__init__()
        self._models = models
        self._state = models.layout
        self._workspace: Workspace | None = None
        self._noting = QTimer(self, singleShot=True, interval=_NOTE_MS)
        self._noting.timeout.connect(self._note)
        # While somebody types, only the last counts.
        self._noting_draft = QTimer(self, singleShot=True, interval=_NOTE_MS)
        self._noting_draft.timeout.connect(self._note_draft)

    async def take_up(self, workspace: Workspace) -> None:
        """As it was; Welcome is for those who have no run."""
        await self._until_runs_are_known()
        runs = self._models.jobs.runs
        pages = self._pages()
        if not pages.pages:
            pages = OpenPages((FOLLOWING if runs.state.count else WELCOME,))
        await workspace.reopen(pages)
        form = self._models.jobs.form
        if form.is_untouched:  # somebody may have been quicker
            form.restore_draft(self._state.get("draft"))
            if isinstance(unread := self._state.get("draft.text"), str):
                self._models.jobs.parts.written.bring_back(unread)

    def follow(self, workspace: Workspace) -> None:
        """This window from now on."""
        if self._workspace is None:
            self._models.jobs.runs.selection_changed.connect(self._noting.start)
            self._models.jobs.form.draft_changed.connect(self._noting_draft.start)
            self._models.jobs.parts.written.changed.connect(self._noting_draft.start)
        self._workspace = workspace
        workspace.window.tabs.changed.connect(self._noting.start)
        self._noting.start()

    def close(self) -> None:
        """The last of it, before the window goes."""
        if self._workspace is not None:
            self._note()
            self._note_draft()
            self._workspace = None
        self._noting.stop()
        self._noting_draft.stop()

    # inside

    async def _until_runs_are_known(self) -> None:
        runs, told = self._models.jobs.runs, asyncio.Event()
        runs.changed.connect(told.set)
        try:
            while not runs.state.is_known and runs.state.trouble is None:
                told.clear()
                await told.wait()
        finally:
            runs.changed.disconnect(told.set)

    def _note(self) -> None:
        if self._workspace is None:
            return
        pages = self._workspace.open_pages()
        profile = self._models.accounts.accounts.current
        written = [_written(page, profile) for page in pages.pages]
        self._state.put("tabs", {"pages": written, "current": pages.current})
        self._state.put("run", self._models.jobs.runs.state.selected or None)

    def _pages(self) -> OpenPages:
        kept: Any = self._state.get("tabs")
        kept = kept if isinstance(kept, dict) else {}
        pages, current = kept.get("pages"), kept.get("current")
        account = self._models.accounts.accounts.current
        read = [_read(page, account) for page in (pages if isinstance(pages, list) else [])[:_MOST_TABS]]
        front = read[current] if isinstance(current, int) and 0 <= current < len(read) else None
        shown = [page for page in read if page is not None]
        return OpenPages(tuple(shown), shown.index(front) if front is not None else 0)

    def _note_draft(self) -> None:
        form = self._models.jobs.form
        self._state.put("draft", None if form.is_untouched else form.draft())
        unread = self._models.jobs.parts.written.unread
        self._state.put("draft.text", unread[:_MOST_TEXT] if unread is not None else None)


def _written(page: object, profile: str) -> Any:
    if isinstance(page, FolderPage):
        return {"place": str(page.place), "profile": profile, "top": page.top}
    return page if isinstance(page, str) else None


def _read(page: Any, profile: str) -> object | None:
    """None: it cannot be opened, or not with this account."""
    if isinstance(page, str):
        return page
    if not isinstance(page, dict) or page.get("profile") != profile:
        return None
    try:
        return FolderPage(ObjectPath.parse(str(page.get("place"))), str(page.get("top", "")))
    except AppError:
        return None
