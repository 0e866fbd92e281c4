"""What was open when the program ended is open again: tabs, the selected run, the unsaved form."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer

from traindeck.assembly.core import Core
from traindeck.domain.errors import AppError
from traindeck.domain.jobs import job_file
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.ui.shell.frame_feature import WELCOME
from traindeck.workspace import Models, OpenPages, Workspace

_NOTE_MS = 300
_MOST_TABS = 30


class LeftOpen(QObject):
    """Notes it whenever it changes: a program that is killed loses moments."""

    def __init__(self, core: Core, models: Models, scope: TaskScope) -> None:
        super().__init__()
        self._core = core
        self._models = models
        self._scope = scope
        self._state = models.layout
        self._workspace: Workspace | None = None
        self._noting = QTimer(self, singleShot=True, interval=_NOTE_MS)
        self._noting.timeout.connect(self._note)

    async def take_up(self, workspace: Workspace) -> None:
        """As it was; Welcome is for those who have no run."""
        await self._until_runs_are_known()
        runs = self._models.jobs.runs
        selected = self._state.get("run")
        if isinstance(selected, str) and runs.run(selected) is not None:
            runs.select(selected)
        pages = self._pages()
        if not pages.pages:
            pages = OpenPages(() if runs.state.runs else (WELCOME,))
        await workspace.reopen(pages)
        try:
            await self._take_up_draft()
        except AppError:
            self._state.put("draft", None)  # written by a newer program

    def follow(self, workspace: Workspace) -> None:
        """This window from now on."""
        if self._workspace is None:
            self._models.jobs.runs.selection_changed.connect(self._noting.start)
            self._models.jobs.form.changed.connect(self._note_draft)
        self._workspace = workspace
        workspace.window.tabs.changed.connect(self._noting.start)
        self._noting.start()

    def close(self) -> None:
        """The last of it, before the window goes."""
        if self._workspace is not None:
            self._note()
            self._workspace = None
        self._noting.stop()

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
        if self._workspace is not None:
            self._scope.start("keep the form", self._keep_draft, Repeat.REPLACE)

    async def _keep_draft(self) -> None:
        await asyncio.sleep(_NOTE_MS / 1000)  # while somebody types, only the last counts
        form = self._models.jobs.form.state
        if self._models.jobs.form.is_untouched:
            self._state.put("draft", None)
            return
        job = await self._core.disk.run(lambda _: job_file.to_toml(form.spec))
        draft = {
            "job": job,
            "base": str(form.base),
            "file": str(form.file) if form.file else "",
            "origin": form.origin.id if form.origin else "",
            "profile": form.profile,
            "unsaved": form.is_dirty,
        }
        self._state.put("draft", draft)

    async def _take_up_draft(self) -> None:
        draft: Any = self._state.get("draft")
        names = ("job", "base", "file", "origin", "profile")
        if not isinstance(draft, dict) or not all(isinstance(draft.get(name), str) for name in names):
            return
        spec = await self._core.disk.run(lambda _: job_file.recall(draft["job"]))
        origin = await self._core.records.get(draft["origin"]) if draft["origin"] else None
        form = self._models.jobs.form
        if form.is_untouched:  # somebody may have been quicker
            file = Path(draft["file"]) if draft["file"] else None
            take = partial(form.take_up, spec, Path(draft["base"]), file, origin, draft["profile"])
            take(is_unsaved=draft.get("unsaved") is True)


def _written(page: object, profile: str) -> Any:
    if isinstance(page, ObjectPath):
        return {"place": str(page), "profile": profile}
    return page if isinstance(page, str) else None


def _read(page: Any, profile: str) -> object | None:
    """None: it cannot be opened, or not with this account."""
    if isinstance(page, str):
        return page
    if not isinstance(page, dict) or page.get("profile") != profile:
        return None
    try:
        return ObjectPath.parse(str(page.get("place")))
    except AppError:
        return None
