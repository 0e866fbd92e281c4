"""A fix before it is made: which files, what of each, what is left to the user; then made, and undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.scripts.fixes import (
    FIX_WORDS,
    FixFamily,
    FixProposal,
    FixWay,
    NotFixed,
    ScriptChange,
    ScriptFix,
    difference,
)
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.scripts.fix_files import AppliedFix, FixFiles
from traindeck.services.scripts.rules.secrets import without_secrets
from traindeck.viewmodels.ports import Stateful
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, Topic

if TYPE_CHECKING:
    from traindeck.services.scripts.script_tree import ScriptTree

_NEWS = "a fix of scripts"


@dataclass(frozen=True, slots=True)
class ReadScripts:
    """The code of a job as it was read for a fix."""

    folder: Path
    tree: ScriptTree
    job: ScriptJob


class ScriptSource(Protocol):
    """Whoever knows where the scripts are: the form of a job."""

    @property
    def has_scripts(self) -> bool:
        """There is a code directory on this computer."""

    @property
    def folder(self) -> Path:
        """It."""

    async def read(self) -> ReadScripts: ...

    def use_boot(self, boot: str) -> None:
        """The job starts another file from now on."""

    def why_not_tried(self) -> Text | None:
        """None: both versions can be run in the Lab."""

    async def try_both(self, code: ReadScripts, proposal: FixProposal) -> Text:
        """Submit the code as it is and as it would be, to the Lab; what became of it."""


class ScriptFixes(QObject):
    """What the window's commands and the buttons of findings call."""

    wanted = Signal(object)
    """A FixPreview that is to be shown."""

    def __init__(
        self, source: ScriptSource, files: FixFiles, disk: BlockingCalls, journal: Journal, scope: TaskScope
    ) -> None:
        super().__init__()
        self.source = source
        self.files = files
        self.disk = disk
        self.journal = journal
        self.scope = scope

    def ask(self, fix: str) -> None:
        """Show what this one fix would change, by its name."""
        wanted = ScriptFix(fix)
        self._show(FIX_WORDS[wanted], (FixWay(FIX_WORDS[wanted], (wanted,)),))

    def ask_family(self, family: FixFamily) -> None:
        self._show(family.title, family.ways)

    def undo_last(self) -> None:
        """The newest change of the scripts of this job, also of an earlier start of the program."""
        folder = self.source.folder

        async def work() -> None:
            found = await self.disk.run(lambda _: self.files.applied(folder))
            if not found:
                words = text("No change of scripts in {folder} can be undone.", folder=str(folder))
                self.journal.tell(NewsKind.NOTE, words, name=_NEWS)
                return
            self.undo(found[0])

        self.scope.start("look for a fix to undo", work)

    def undo(self, applied: AppliedFix) -> None:
        async def work() -> None:
            undone = await self.disk.run(lambda _: self.files.undo(applied.id))
            if undone.boot_after:
                self.source.use_boot(undone.boot_before)
            words = count_text("{count} file is as it was.", "{count} files are as they were.", len(undone.files))
            self.journal.tell(NewsKind.DONE, words, name=_NEWS, topic=Topic(Subject.FILE, str(undone.folder)))

        self.scope.start(f"undo the fix {applied.id}", work, words=text("Undoing the change of scripts…"))

    def _show(self, title: Text, ways: tuple[FixWay, ...]) -> None:
        self.wanted.emit(FixPreview(self, title, ways))


@dataclass(frozen=True, slots=True)
class FixPreviewState:
    way: int = 0
    is_reading: bool = True
    is_writing: bool = False
    code: ReadScripts | None = None
    proposal: FixProposal | None = None
    trouble: AppError | None = None
    ticked: frozenset[str] = frozenset()
    shown: str = ""
    """The path of the file whose lines are in sight."""
    lines: tuple[str, ...] = ()
    """As a unified diff."""
    left: tuple[NotFixed, ...] = field(default=())
    tells_of_try: Text | None = None


class FixPreview(Stateful):
    """One dialog's worth: nothing is written before `apply`."""

    state: FixPreviewState

    applied = Signal()

    def __init__(self, fixes: ScriptFixes, title: Text, ways: Sequence[FixWay]) -> None:
        super().__init__()
        self.state = FixPreviewState()
        self.title = title
        self.ways = tuple(ways)
        self._fixes = fixes
        self._task = f"a fix of scripts {id(self)}"
        self._comparing = f"{self._task}, comparing"

    def close(self) -> None:
        self._fixes.scope.cancel(self._task)
        self._fixes.scope.cancel(self._comparing)

    @property
    def changes(self) -> tuple[ScriptChange, ...]:
        proposal = self.state.proposal
        return proposal.changes if proposal is not None else ()

    @property
    def can_apply(self) -> bool:
        state = self.state
        return bool(state.ticked) and not (state.is_reading or state.is_writing)

    @property
    def why_not_tried(self) -> Text | None:
        """None: both versions can be run in the Lab."""
        return self._fixes.source.why_not_tried()

    def load(self) -> None:
        """Read the scripts anew: who looks again wants them as they are now."""
        self._become(is_reading=True, trouble=None, tells_of_try=None)
        self._fixes.scope.start(self._task, self._load, Repeat.REPLACE)

    def choose_way(self, number: int) -> None:
        if number != self.state.way:
            self._become(way=number)
            self.load()

    def tick(self, path: str, is_on: bool) -> None:
        ticked = self.state.ticked | {path} if is_on else self.state.ticked - {path}
        self._become(ticked=ticked)

    def show(self, path: str) -> None:
        """Its lines come when they are known: two long files are compared in a worker."""
        change = next((one for one in self.changes if one.path == path), None)
        if change is not None and path != self.state.shown:
            self._become(shown=path, lines=())
            self._fixes.scope.start(self._comparing, partial(self._compare, change), Repeat.REPLACE)

    async def _compare(self, change: ScriptChange) -> None:
        lines = await self._fixes.disk.run(lambda _: _shown(change))
        if self.state.shown == change.path:
            self._become(lines=lines)

    def apply(self) -> None:
        """Write what is ticked; a file that changed meanwhile is not written, and is shown anew."""
        state = self.state
        if not self.can_apply or state.proposal is None or state.code is None:
            return
        proposal, folder = state.proposal.of(tuple(state.ticked)), state.code.folder
        boot = state.code.tree.boot
        self._become(is_writing=True, trouble=None)

        async def work() -> None:
            try:
                applied = await self._fixes.disk.run(lambda _: self._fixes.files.apply(folder, proposal, boot))
            except AppError as error:
                self._become(trouble=error, is_writing=False)
                return
            self._become(is_writing=False)
            if applied.boot_after:
                self._fixes.source.use_boot(applied.boot_after)
            words = count_text("{count} file was changed.", "{count} files were changed.", len(applied.files))
            undo = partial(self._fixes.undo, applied)
            self._fixes.journal.tell(
                NewsKind.DONE, words, name=_NEWS, topic=Topic(Subject.FILE, str(folder)), undo=undo
            )
            self.applied.emit()

        self._fixes.scope.start(f"{self._task}, writing", work, words=text("Changing scripts…"))

    def try_here(self) -> None:
        """Run the code as it is and as it would be, in the Lab; nothing is written into the folder."""
        state = self.state
        if not self.can_apply or state.proposal is None or state.code is None or self.why_not_tried is not None:
            return
        proposal, code = state.proposal.of(tuple(state.ticked)), state.code
        self._become(is_writing=True, trouble=None)

        async def work() -> None:
            try:
                told = await self._fixes.source.try_both(code, proposal)
            except AppError as error:
                self._become(trouble=error, is_writing=False)
                return
            self._become(is_writing=False, tells_of_try=told)

        self._fixes.scope.start(f"{self._task}, trying", work, words=text("Submitting both versions to the Lab…"))

    async def _load(self) -> None:
        way = self.ways[self.state.way]
        try:
            code = await self._fixes.source.read()
            proposal = await self._fixes.disk.run(lambda _: _proposed(way, code))
            changes = proposal.changes
            shown = next((one for one in changes if one.path == self.state.shown), changes[0] if changes else None)
            lines = await self._fixes.disk.run(lambda _: _shown(shown) if shown is not None else ())
        except AppError as error:
            self._become(is_reading=False, trouble=error, proposal=None, lines=(), ticked=frozenset(), left=())
            return
        self._become(
            is_reading=False, code=code, proposal=proposal, ticked=frozenset(one.path for one in changes),
            shown=shown.path if shown is not None else "", lines=lines,
            left=proposal.not_fixed,
        )  # fmt: skip


def _proposed(way: FixWay, code: ReadScripts) -> FixProposal:
    from traindeck.services.scripts.fixes.all_fixes import propose_together  # only where a fix is wanted

    return propose_together(way.fixes, code.tree, code.job)


def _shown(change: ScriptChange) -> tuple[str, ...]:
    """What is written is whole; on a screen that others see keys and passwords are hidden, as in the findings."""
    return tuple(map(without_secrets, difference(change)))
