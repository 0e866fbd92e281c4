"""The job form as a file of other programs: taken in from one, and written as one, with what does not go along."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.job_format import JobFormat
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, text_in_file, write_whole
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.jobs.formats.reading import ReadJob, with_engine
from traindeck.viewmodels.jobs.form.form_text import FormText
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.shell.journal import Journal, NewsKind


class FormExchange:
    """Reads and writes in a worker, and says in the journal what became of it."""

    def __init__(
        self, form: JobForm, written: FormText, journal: Journal, disk: BlockingCalls, scope: TaskScope
    ) -> None:
        self._form = form
        self._written = written
        self._journal = journal
        self._disk = disk
        self._scope = scope

    def take_in(self, path: Path) -> None:
        """Fill the form from a file of any kind."""
        self._scope.start("import a job", lambda: self._take_in(path), Repeat.REPLACE)

    def write(self, path: Path, kind: JobFormat) -> None:
        self._scope.start(f"export the job to {path}", lambda: self._write(path, kind))

    async def _take_in(self, path: Path) -> None:
        def read(_: object) -> ReadJob:
            from traindeck.services.jobs.formats.job_formats import read_job

            return read_job(text_in_file(path))

        found = await with_engine(await self._disk.run(read), self._form.offered)
        self._form.load_spec(found.spec, path.parent)
        self._tell(text("Imported the job from “{file}”.", file=path.name), list(found.remarks))

    async def _write(self, path: Path, kind: JobFormat) -> None:
        await self._written.settle()
        if not self._written.state.is_read:
            raise InvalidInput(
                text("The text of the job cannot be read, so nothing was exported."),
                text("Correct the marked lines, then try again."),
            )
        spec = self._form.state.spec

        def write(_: object) -> list[Text]:
            from traindeck.services.jobs.formats.job_formats import write_job

            written = write_job(spec, kind)
            with local_errors(path):
                write_whole(path, written.content.encode(), 0o644)
            return written.omissions

        self._tell(text("Exported the job to “{file}”.", file=path.name), await self._disk.run(write))

    def _tell(self, done: Text, facts: list[Text]) -> None:
        if not facts:
            self._journal.done(done)
            return
        hint = Text(" ".join(f"{{fact{number}}}" for number in range(len(facts))),
                    {f"fact{number}": fact for number, fact in enumerate(facts)})  # fmt: skip
        self._journal.tell(NewsKind.NOTE, done, hint)
