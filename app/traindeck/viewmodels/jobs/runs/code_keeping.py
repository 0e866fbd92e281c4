"""Having the code of a run back: into a folder, or as an archive; never over other files without a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import Occupied
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import count_text, text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.ports import Choose, Way
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, Topic

if TYPE_CHECKING:
    from traindeck.services.jobs.runs import RunService

_REPLACE = "replace"


class CodeKeeping:
    """Tells when it is done, with a way to what was written."""

    def __init__(self, service: RunService, journal: Journal, scope: TaskScope) -> None:
        self._service = service
        self._journal = journal
        self._scope = scope

    def restore(self, run: Run, target: Path, choose: Choose) -> None:
        async def work(over: bool) -> None:
            done = await self._service.kept_code.restore(run, target, over=over)
            words = count_text(
                "Wrote {count} file to {folder}.", "Wrote {count} files to {folder}.", done.written, folder=str(target)
            )
            self._journal.tell(NewsKind.DONE, words, topic=Topic(Subject.FILE, str(target)))

        async def start() -> None:
            try:
                await work(False)
            except Occupied as occupied:
                way = Way(_REPLACE, text("Replace"), is_loss=True)
                if await choose(text("Replace files with other content?"), [occupied.title], [way]):
                    await work(True)

        words = text("Restoring the code of “{name}”…", name=run.name)
        self._scope.start(f"restore the code of {run.id}", start, words=words)

    def export(self, run: Run, file: Path) -> None:
        """What was there is replaced, for the dialog has asked."""

        async def work() -> None:
            await self._service.kept_code.export(run, file, over=True)
            words = text("Wrote {place}", place=str(file))
            self._journal.tell(NewsKind.DONE, words, topic=Topic(Subject.FILE, str(file)))

        exporting = text("Exporting the code of “{name}”…", name=run.name)
        self._scope.start(f"export the code of {run.id}", work, words=exporting)
