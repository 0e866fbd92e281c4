"""The scripts of the form's code, for those who fix them: where they are, what the job wants, and trying both."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.checks import ChecksFailed
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.scripts.fixes import FixProposal
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, our_folder, write_whole
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.scripts.script_fixes import ReadScripts

if TYPE_CHECKING:
    from traindeck.services.jobs.submission import Submission


class FormScripts:
    """A ScriptSource."""

    def __init__(self, form: JobForm, sender: Submission, disk: BlockingCalls, tries: Path) -> None:
        """`tries`: where a copy of the code stands until it is frozen."""
        self._form = form
        self._sender = sender
        self._disk = disk
        self._tries = tries

    @property
    def has_scripts(self) -> bool:
        return self._form.state.has_local_code

    @property
    def folder(self) -> Path:
        return self._form.state.code_place

    async def read(self) -> ReadScripts:
        # What reads and checks scripts is not needed before somebody wants a fix.
        from traindeck.services.jobs.checks.boot_file import boot_of
        from traindeck.services.jobs.checks.script_jobs import script_job_of
        from traindeck.services.jobs.script_reading import scripts_in
        from traindeck.services.scripts.python_source import engine_python

        state = self._form.state
        if not state.has_local_code:
            raise InvalidInput(
                text("The job form names no code directory on this computer."),
                text("Specify a code directory in the job form first."),
            )
        spec, folder = state.spec, state.code_place.absolute()
        boot, version = boot_of(spec), engine_python(spec.engine_version)
        tree = await self._disk.run(lambda token: scripts_in(folder, boot, spec.ignore, version, token))
        flavor = state.offer.flavor_of(spec) if state.offer is not None else None
        return ReadScripts(folder, tree, script_job_of(spec, flavor))

    def use_boot(self, boot: str) -> None:
        self._form.set_field("boot", boot)

    def why_not_tried(self) -> Text | None:
        state = self._form.state
        if state.spec.target is not Target.LAB:
            return text("Select the Lab as the account of the job first: both versions run there.")
        if state.all_errors:
            return text("Fill in the job form first.")
        return None

    async def try_both(self, code: ReadScripts, proposal: FixProposal) -> Text:
        """Whatever the checks warn of is tried; what they refuse is not, as the code often is before it is fixed."""
        state = self._form.state
        spec = replace(state.spec, code_folder=str(code.folder), tags=(*state.spec.tags, ("try", "before")))
        copy = self._tries / f"{proposal.fix}-{id(proposal)}" / code.folder.name
        try:
            await self._disk.run(lambda token: _copied(code.folder, spec.ignore, copy, proposal, token))
            told = text("Both versions were submitted to the Lab: the first run has the code as it is.")
            try:
                await self._sender.submit(spec, state.base, LAB, accept=_accept)
            except ChecksFailed as refusal:
                told = text(
                    "Only the changed code was submitted to the Lab. The code as it is: {why}", why=refusal.title
                )
            changed = replace(
                spec, code_folder=str(copy), boot=proposal.boot or spec.boot, tags=(*state.spec.tags, ("try", "after"))
            )
            await self._sender.submit(changed, state.base, LAB, accept=_accept)
            return told
        finally:
            await self._disk.run(lambda _: shutil.rmtree(copy.parent, ignore_errors=True))


async def _accept(_: object) -> bool:
    return True


def _copied(folder: Path, ignore: tuple[str, ...], copy: Path, proposal: FixProposal, token: CancelToken) -> None:
    """What goes along with the job, as it would be."""
    from traindeck.services.jobs.code.code_tree import scanned

    new = {change.path: change.after for change in proposal.changes}
    with local_errors(copy):
        our_folder(copy)
        for entry in scanned(folder, ignore, token).taken:
            token.check()
            place = copy.joinpath(*PurePosixPath(entry.path).parts)
            if entry.path.endswith("/") or entry.path in new:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder.joinpath(*PurePosixPath(entry.path).parts), place)
        for path, content in new.items():
            if content is not None:
                write_whole(copy.joinpath(*PurePosixPath(path).parts), content)
