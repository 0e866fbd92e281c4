"""`traindeck job check --fix`: what would mend a job file, shown first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.main import Call
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.checks import CheckFinding, CheckFix, CheckLevel, CheckReport, fixed
from traindeck.domain.texts import say, text
from traindeck.runtime.files import text_in, write_whole

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def mended(call: Call, core: RunCore, file: Path, base: Path, report: CheckReport) -> CheckReport:
    """Change the file by the likeliest fix of each finding, once that is confirmed, and check again."""
    fixes = [fix for fix in map(_fix_of, report.of(CheckLevel.RED, CheckLevel.AMBER)) if fix is not None]
    if not fixes:
        call.output.note(say("Nothing can be fixed in the job file."))
        return report
    spec = report.spec
    for fix in fixes:
        spec = fixed(spec, fix)
        for field, value in fix.changes:
            call.output.note(say("{fix}: {field} = {value}", fix=fix.words, field=field, value=value))
    without = text("The job file was not changed.")
    if not terminal.is_meant(call.options, without, say("Change {file}?", file=str(file))):
        return report
    write_whole(file, job_file.rewritten(text_in(file), spec).encode())
    return await core.checks.check(spec, base, report.profile)


def _fix_of(finding: CheckFinding) -> CheckFix | None:
    return next((fix for fix in finding.fixes if fix.changes), None)
