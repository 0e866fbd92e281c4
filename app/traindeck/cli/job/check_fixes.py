"""`traindeck job check --fix`: what would mend a job file, shown first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.main import Call
from traindeck.cli.target_file import TargetFile
from traindeck.domain.jobs.checks import CheckFix, CheckLevel, CheckReport, fixed
from traindeck.domain.jobs.form.job_file_edit import edited
from traindeck.domain.texts import say, text
from traindeck.runtime.files import text_in

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def mended(call: Call, core: RunCore, file: Path, base: Path, report: CheckReport) -> CheckReport:
    """Mend by the likeliest fix of each finding, once that is confirmed, and check again."""
    found = [fix for one in report.of(CheckLevel.RED, CheckLevel.AMBER) for fix in one.fixes[:1]]
    fixes = [fix for fix in found if not fix.script_fix and not fix.is_silence]
    if any(fix.script_fix for fix in found):
        call.output.note(say("To fix the scripts: traindeck doctor {file} --fix", file=str(file)))
    if not fixes:
        call.output.note(say("Nothing of this can be fixed here."))
        return report
    spec = report.spec
    for fix in fixes:
        spec = fixed(spec, fix)
        call.output.note(_told(fix))
    if not terminal.is_meant(call.options, text("Nothing was changed."), say("Change this in {file}?", file=str(file))):
        return report
    for fix in fixes:
        await core.checks.mend(report.profile, fix)
    if spec != report.spec:
        TargetFile(file, replaces=True).write(edited(text_in(file), spec).encode())
    return await core.checks.check(spec, base, report.profile)


def _told(fix: CheckFix) -> str:
    changes = ", ".join(field if isinstance(value, tuple) else f"{field} = {value}" for field, value in fix.changes)
    return say("{fix}: {changes}", fix=fix.words, changes=changes) if changes else say(fix.words)
