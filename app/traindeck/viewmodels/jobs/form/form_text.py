"""The job form as the text of a job file, edited as text: what can be read of it is in the form at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import Signal

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_fields import TABLES, whole_table
from traindeck.domain.jobs.form.job_file import WrongLine, line_of_field
from traindeck.domain.jobs.form.job_file_edit import edited
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import MOST_TEXT_BYTES
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form.form_state import FormState, field_of
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.ports import Stateful

QUIET_S = 0.25
_READ, _WRITE = "read the job text", "write the job text"


@dataclass(frozen=True, slots=True)
class TextMark:
    """Something to mend, and the line it stands on."""

    line: int | None
    words: Text
    is_blocking: bool = False
    """Nothing after it could be read."""


@dataclass(frozen=True, slots=True)
class FormTextState:
    is_open: bool = False
    source: str = ""
    """As it was typed."""
    is_read: bool = True
    """The form says what the text says."""
    marks: tuple[TextMark, ...] = ()


class FormText(Stateful):
    """Open, it is the text that is edited; closed, the fields."""

    state: FormTextState

    written = Signal()
    """The text is another one now, though nobody typed it."""
    refused = Signal(str)
    """It cannot be opened: names the field that a text could not hold."""

    def __init__(self, form: JobForm, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self.state = FormTextState()
        self._form = form
        self._disk = disk
        self._scope = scope
        self._is_taking = False
        form.changed.connect(self._on_form)

    def open(self) -> None:
        """Show the form as text; what no text can hold is to be mended first."""
        if (doubled := _doubled(self._form.state)) is not None:
            self._form.show_all_mistakes()
            self.refused.emit(doubled)
            return
        self._become(is_open=True)
        self._write()

    def close(self) -> bool:
        """Show the fields again; False: the text says something that the form does not, and would be lost."""
        if not self.state.is_read:
            return False
        self._become(is_open=False, marks=())
        return True

    def discard(self) -> None:
        """Give up what could not be read."""
        self.give_way()
        self._become(is_open=False)

    @property
    def unread(self) -> str | None:
        """What was typed and the form does not say yet; None: it says all."""
        return self.state.source if self.state.is_open and not self.state.is_read else None

    def give_way(self) -> None:
        """Another job takes the place of what was typed; stays open, for that."""
        self._scope.cancel(_READ)
        self._become(is_read=True, marks=())

    def bring_back(self, source: str) -> None:
        """As if it had just been typed."""
        self._become(is_open=True, source=source, is_read=False)
        self.written.emit()
        self._scope.start(_READ, lambda: self._read(source), Repeat.REPLACE)

    def edit(self, source: str) -> None:
        if source == self.state.source:
            return
        self._become(source=source, is_read=False)
        self._scope.start(_READ, lambda: self._read(source), Repeat.REPLACE)

    async def settle(self) -> None:
        """Read what was typed last, without waiting for the typing to end."""
        if self.state.is_open and not self.state.is_read:
            await self._take(self.state.source)

    async def _read(self, source: str) -> None:
        await asyncio.sleep(QUIET_S)
        await self._take(source)

    async def _take(self, source: str) -> None:
        try:
            if len(source) > MOST_TEXT_BYTES:
                raise InvalidInput(text("The text is too large."), text("Remove what does not belong to the job."))
            spec = await self._disk.run(lambda _: job_file.parse(source))
        except AppError as error:
            if source == self.state.source:
                line = error.line if isinstance(error, WrongLine) else None
                words = Text("{title} {hint}", {"title": error.title, "hint": error.hint})
                self._become(marks=(TextMark(line, words, is_blocking=True),))
            return
        if source != self.state.source:
            return
        self._become(is_read=True)
        self._is_taking = True
        try:
            self._form.take_text(source, spec)
        finally:
            self._is_taking = False
        self._become(marks=tuple(_marks(source, self._form.state)))

    def _on_form(self) -> None:
        """A fix or another file changed it: the text says it too."""
        if self.state.is_open and not self._is_taking:
            self._write()

    def _write(self) -> None:
        source, spec = self._form.source, self._form.state.spec

        async def write() -> None:
            words = await self._disk.run(lambda _: edited(source, spec))
            if not self.state.is_read or spec is not self._form.state.spec:
                return
            is_other = words != self.state.source
            self._become(source=words, marks=tuple(_marks(words, self._form.state)))
            if is_other:
                self.written.emit()

        if self.state.is_read:
            self._scope.start(_WRITE, write, Repeat.REPLACE)


def _marks(source: str, state: FormState) -> Iterator[TextMark]:
    for error in state.all_errors:
        field, row = field_of(error.field), error.field.partition(":")[2]
        words = text("{field}: {problem}", field=row or field.label, problem=error.message)
        yield TextMark(line_of_field(source, field, row), words)


def _doubled(state: FormState) -> str | None:
    """The table that has a name twice."""
    for table in TABLES:
        field = whole_table(table)
        if field is None or field.name == "volumes":
            continue
        names = [row[0].strip() for row in state.rows[field.name] if row[0].strip() or row[1].strip()]
        if len(set(names)) < len(names):
            return field.name
    return None
