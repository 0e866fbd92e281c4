"""What the script of the form can be told: which parameters there are to choose from, and which it does not know."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from traindeck.domain.jobs.form.form_field import nearest
from traindeck.domain.scripts.arguments import ScriptArgument, ScriptArguments
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.jobs.code.code_tree import CodeTree
from traindeck.services.jobs.script_reading import ScriptMemory, scripts_of
from traindeck.services.scripts.arguments import script_arguments
from traindeck.services.scripts.started_files import started_by_shell
from traindeck.viewmodels.jobs.form.code_folder import CodeFolder
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.ports import Stateful, Tone

FIELD = "parameters"
QUIET_S = 0.3
_READ = "read the script's arguments"
_MOST_MISSING = 3


@dataclass(frozen=True, slots=True)
class ParameterRemedy:
    """One way out: this name in place of the one that stands there, or a row of its own."""

    words: Text
    name: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class ParameterNote:
    """What is said below the parameters; `row` is the name of one."""

    row: str
    words: Text
    """The way out alone, where a check says what is wrong."""
    tone: Tone = Tone.DOUBTFUL
    remedies: tuple[ParameterRemedy, ...] = ()
    mark: Text | None = None
    """What is wrong, on the row itself; None: as below."""


@dataclass(frozen=True, slots=True)
class ParameterOffer:
    """One that the script reads, and whether it is set already."""

    argument: ScriptArgument
    is_set: bool


@dataclass(frozen=True, slots=True)
class ScriptState:
    boot: str = ""
    """Of which script this is; empty: there is none to be read."""
    found: ScriptArguments | None = None


class ScriptParameters(Stateful):
    """Reads the boot file, and what it imports, whenever it is another one or the folder was looked at anew."""

    state: ScriptState

    def __init__(self, form: JobForm, code: CodeFolder, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self.state = ScriptState()
        self._form = form
        self._code = code
        self._disk = disk
        self._scope = scope
        self._memory = ScriptMemory()
        self._about: tuple[CodeTree, str] | None = None
        form.changed.connect(self._on_form)
        code.changed.connect(self._on_form)

    def offers(self) -> list[ParameterOffer]:
        """In the order of the script; what is passed as an input or output is set, too."""
        found = self.state.found
        if found is None:
            return []
        taken = {id(one) for name in self._names(FIELD, "inputs", "outputs") if (one := found.named(name)) is not None}
        return [ParameterOffer(one, id(one) in taken) for one in found.offered]

    def about(self, name: str) -> ScriptArgument | None:
        return self.state.found.named(name) if self.state.found is not None else None

    def notes(self) -> list[ParameterNote]:
        found = self.state.found
        if found is None:
            return []
        rows = [(row[0].strip(), row[1]) for row in self._form.state.rows[FIELD] if row[0].strip()]
        notes = [note for name, value in rows if (note := self._note(found, name, value)) is not None]
        return [*notes, *self._missing(found)]

    def below(self) -> list[ParameterNote]:
        """Without those of which a check says all there is to say."""
        return [note for note in self.notes() if note.mark is None or note.remedies]

    def add(self, argument: ScriptArgument) -> None:
        """A row with what the script takes anyway, to be changed."""
        if self.is_set(argument.name):
            return
        rows = [row for row in self._form.state.rows[FIELD] if any(row[:2])]
        self._form.set_rows(FIELD, (*rows, (argument.name, argument.first_value)))

    def is_set(self, name: str) -> bool:
        return any(offer.is_set for offer in self.offers() if offer.argument.name == name)

    def take(self, note: ParameterNote, remedy: ParameterRemedy) -> None:
        """Go this way out."""
        argument = self.about(remedy.name)
        if remedy.is_new and argument is not None:
            self.add(argument)
            return
        rows = self._form.state.rows[FIELD]
        self._form.set_rows(
            FIELD, tuple((remedy.name, *row[1:]) if row[0].strip() == note.row else row for row in rows)
        )

    def _note(self, found: ScriptArguments, name: str, value: str) -> ParameterNote | None:
        argument = found.named(name)
        if argument is not None:
            wrong = argument.mistake(value.strip())
            tone = Tone.BAD if argument.is_strict and argument.is_sure else Tone.DOUBTFUL
            return None if wrong is None else ParameterNote(name, wrong, tone)
        if not found.is_unknown(name):
            return None
        boot = self.state.boot
        words = text("{script} does not read it, and ends with an error.", script=boot)
        if found.takes_others:
            words = text("{script} does not read it.", script=boot)
        free = [offer.argument.name for offer in self.offers() if not offer.is_set]
        near = nearest(name, free)
        if near is None:
            return ParameterNote(name, words, mark=words)
        use = ParameterRemedy(text("Use {name}", name=near), near)
        return ParameterNote(name, text("Did you mean “{nearest}”?", nearest=near), remedies=(use,), mark=words)

    def _missing(self, found: ScriptArguments) -> Iterator[ParameterNote]:
        """What the script cannot be started without."""
        wanted = [
            offer.argument
            for offer in self.offers()
            if offer.argument.is_required and not offer.is_set and not offer.argument.command
        ]
        for one in wanted[:_MOST_MISSING]:
            add = ParameterRemedy(text("Add {name}", name=one.name), one.name, is_new=True)
            words = text("{script} does not start without it.", script=self.state.boot)
            yield ParameterNote(one.name, words, remedies=(add,))
        for argument in found.arguments:
            if argument.is_required and not argument.flags and not argument.command and argument.file.endswith(".py"):
                words = text(
                    "{script} does not start without it, and it has no --name that a running parameter could set.",
                    script=self.state.boot,
                )
                yield ParameterNote(argument.name, words)

    def _names(self, *fields: str) -> Iterator[str]:
        for field in fields:
            yield from (row[0].strip() for row in self._form.state.rows[field] if row[0].strip())

    def _on_form(self) -> None:
        tree = self._code.state.tree
        boot = _boot(self._form, tree) if tree is not None else ""
        wanted = (tree, boot) if tree is not None and boot else None
        if wanted is None and self._code.state.is_looking and self._form.state.has_local_code:
            return  # what was found stays until it is known to be another folder
        before = self._about
        if wanted is not None and before is not None and wanted[0] is before[0] and wanted[1] == before[1]:
            self.changed.emit()  # what stands in the rows may be another
            return
        self._about = wanted
        if wanted is None:
            self._scope.cancel(_READ)
            self._become(boot="", found=None)
            return
        if boot != self.state.boot:
            self._become(boot=boot, found=None)
        self._scope.start(_READ, lambda: self._read(*wanted), Repeat.REPLACE)

    async def _read(self, tree: CodeTree, boot: str) -> None:
        await asyncio.sleep(QUIET_S)

        def work(token: CancelToken) -> ScriptArguments:
            return script_arguments(scripts_of(tree, boot, None, token, self._memory, others=False))

        found = await self._disk.run(work)
        self._become(boot=boot, found=found)


def _boot(form: JobForm, tree: CodeTree) -> str:
    """The script that is started, also by a command."""
    state = form.state
    boot = state.spec.boot.replace("\\", "/").removeprefix("./") if state.shows("boot") else ""
    wanted = [boot] if boot else started_by_shell(state.spec.command, "")
    return next((path for path in wanted if tree.holds(path)), "")


def argument_words(argument: ScriptArgument) -> str:
    """`number · default 0.1 · what it is for`."""
    parts = [say(argument.kind.words)]
    if argument.choices:
        parts = [", ".join(argument.choice_words)]
    if argument.is_required:
        parts.append(say("required"))
    elif argument.default_words:
        parts.append(say("default {value}", value=argument.default_words))
    return " · ".join([*parts, *([argument.help] if argument.help else [])])
