"""How the code of a run differs from that of another run, or from a folder of this computer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.runs.run_words import run_title
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:
    from traindeck.domain.jobs.code_change import FileChange
    from traindeck.services.jobs.code.code_changes import CodeChanges
    from traindeck.services.jobs.runs import RunService

FOLDER = "folder:"
"""Before the path of one, in the name of what a run is compared with."""


@dataclass(frozen=True, slots=True)
class CodeDiffState:
    left: str = ""
    right: str = ""
    """What the two sides are called."""
    files: tuple[FileChange, ...] = ()
    is_known: bool = False
    trouble: AppError | None = None
    file: FileChange | None = None
    """The one that is looked at."""
    lines: tuple[str, ...] | None = ()
    """How it differs, as a unified diff; None: it is no text, or too much of it."""
    is_reading: bool = False


class CodeDiff(Stateful):
    """Reads what is kept here; `other` is the ID of a run, or `folder:` and a path, empty: the run's own folder."""

    def __init__(self, run_id: str, other: str, service: RunService, scope: TaskScope) -> None:
        super().__init__()
        self.run_id = run_id
        self.other = other
        self._service = service
        self._scope = scope
        self._changes: CodeChanges | None = None
        self._wanted = ""
        self.state = CodeDiffState()

    def close(self) -> None:
        for what in ("changes", "lines"):
            self._scope.cancel(self._task(what))

    @property
    def may_have_changed(self) -> bool:
        """It was not read yet, or is about files that anybody may have edited since."""
        return self.other.startswith(FOLDER) or not self.state.is_known

    def load(self, wanted: str = "") -> None:
        """Compare anew; `wanted` is the file to show first."""
        self._wanted = wanted or self._wanted
        self._scope.start(self._task("changes"), self._load, Repeat.REPLACE)

    def show(self, path: str) -> None:
        """How this file differs."""
        self._wanted = path
        file = next((file for file in self.state.files if path in (file.path, file.before)), None)
        changes = self._changes
        if file is None or changes is None or (file == self.state.file and self.state.is_reading):
            return
        # What is read once more stays in sight until it is another.
        self._become(file=file, lines=self.state.lines if file == self.state.file else (), is_reading=True)

        async def read() -> None:
            try:
                lines = await self._service.kept_code.lines(changes, file)
            except AppError as error:
                self._become(trouble=error, is_reading=False)
                return
            found = None if lines is None else tuple(lines)
            before = self.state.lines
            self._become(lines=before if found == before else found, is_reading=False, trouble=None)

        self._scope.start(self._task("lines"), read, Repeat.REPLACE)

    def _task(self, what: str) -> str:
        return f"{what} of the code {id(self)}"

    async def _load(self) -> None:
        try:
            run = await self._service.records.existing(self.run_id)
            changes, right = await self._compared(run)
        except AppError as error:
            self._become(trouble=error, is_known=True)
            return
        self._changes = changes
        self._become(left=run_title(run), right=right, files=changes.files, is_known=True, trouble=None)
        first = _first(changes.files, self._wanted)
        if first:
            self.show(first)
        else:
            self._become(file=None, lines=())

    async def _compared(self, run: Run) -> tuple[CodeChanges, str]:
        """With what it is called."""
        code = self._service.kept_code
        if not self.other.startswith(FOLDER):
            other = await self._service.records.existing(self.other)
            return await code.between(run, other), run_title(other)
        folder = self.other.removeprefix(FOLDER) or run.spec.code_folder
        return await code.to_folder(run, Path(folder)), say("Folder {folder} now", folder=folder)


def _first(files: Sequence[FileChange], wanted: str) -> str:
    found = [file.path for file in files if wanted in (file.path, file.before)] or [file.path for file in files]
    return found[0] if found else ""
