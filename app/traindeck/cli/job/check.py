"""`traindeck job check`: what is wrong with a job, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.main import Call
from traindeck.domain.jobs.checks import CheckLevel, document_of
from traindeck.domain.texts import Text, say, text

if TYPE_CHECKING:
    from traindeck.domain.jobs.checks import CheckFinding

HEADS = {
    CheckLevel.RED: text("Must be corrected"),
    CheckLevel.AMBER: text("Warnings"),
    CheckLevel.NOT_CHECKED: text("Not checked"),
    CheckLevel.GREEN: text("Good"),
}
_MARKS = {CheckLevel.RED: "✗", CheckLevel.AMBER: "!", CheckLevel.NOT_CHECKED: "?", CheckLevel.GREEN: "✓"}


async def check(call: Call) -> int:
    from traindeck.cli.job.submit import read_job

    file, spec = read_job(call.options.file, call.options.changes)
    async with call.runs() as core:
        profile = core.submission.profile_for(spec, call.options.profile)
        base = file.absolute().parent
        report = await core.checks.check(spec, base, profile)
        if call.options.fix:
            from traindeck.cli.job.check_fixes import mended

            report = await mended(call, core, file, base, report)
    if call.output.json_wanted:
        call.output.document(document_of(report))
    else:
        print_findings(call.output.line, report.findings)
    return FAILED if report.is_red else DONE


def print_findings(say_line: Callable[[str], None], findings: Iterable[CheckFinding]) -> None:
    """By level, the worst first; what is good in one line each."""
    found = list(findings)
    for level in CheckLevel:
        mine = [one for one in found if one.level is level]
        if not mine:
            continue
        say_line(say("{level} ({count})", level=HEADS[level], count=len(mine)))
        for one in mine:
            say_line(f"  {_MARKS[level]} {say(one.title)}: {say(one.fact)}")
            if one.hint is not None:
                say_line(f"      {say(one.hint)}")
            if one.fixes and level is not CheckLevel.GREEN:
                say_line(f"      {say(_ways(one))}")


def _ways(one: CheckFinding) -> Text:
    ways = "; ".join(str(fix.words) for fix in one.fixes)
    return text("Fix: {ways}", ways=ways)
