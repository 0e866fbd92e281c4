"""`traindeck job check`: what is wrong with a job, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, FAILED, SERVICE
from traindeck.cli.job.form_files import read_form
from traindeck.cli.main import Call
from traindeck.domain.jobs.checks import CheckLevel, document_of, told
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_field import nearest
from traindeck.domain.jobs.form.parameter_text import parameters_in
from traindeck.domain.jobs.form.validation import remarks
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, say, say_count, text

if TYPE_CHECKING:
    from traindeck.domain.jobs.checks import CheckFinding, CheckFix

HEADS = {
    CheckLevel.RED: text("Must be corrected"),
    CheckLevel.AMBER: text("Warnings"),
    CheckLevel.NOT_CHECKED: text("Not checked"),
    CheckLevel.GREEN: text("Good"),
}
_MARKS = {CheckLevel.RED: "✗", CheckLevel.AMBER: "!", CheckLevel.NOT_CHECKED: "?", CheckLevel.GREEN: "✓"}


async def check(call: Call) -> int:
    file, spec = wanted_job(call, "stop_after")
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
        print_findings(call.output.line, report.findings, call.options.file)
    failed = 0 if report.is_red else len(report.could_not_run)
    left = len(report.of(CheckLevel.NOT_CHECKED))
    if left and not failed:
        call.output.note(say_count("{count} check could not be made.", "{count} checks could not be made.", left))
    if failed and not call.output.json_wanted:
        call.output.line(
            say_count(
                "No verdict: {count} check could not run. Check again.",
                "No verdict: {count} checks could not run. Check again.",
                failed,
            )
        )
    if report.is_red:
        return FAILED
    return SERVICE if failed else DONE


def wanted_job(call: Call, *told_elsewhere: str) -> tuple[Path, JobSpec]:
    """The job file, and the form in it with what the command line changes.

    `told_elsewhere`: fields of which nothing has to be said here.
    """
    file, spec = read_form(call.options.file)
    if call.options.parameters is not None:
        spec = _with_parameters(spec, call.options.parameters)
    before = spec
    for change in call.options.changes:
        spec = job_file.with_setting(spec, change)
    tell_new_parameters(call, before, spec)
    for remark in remarks(spec):
        if remark.field not in told_elsewhere:
            call.output.note(say(remark.message))
    return file, spec


def tell_new_parameters(call: Call, before: JobSpec, after: JobSpec) -> None:
    """A name that is mistyped goes to the script like any other."""
    known = list(dict(before.parameters))
    for name in dict(after.parameters):
        if name in known:
            continue
        near = nearest(name, known)
        said = text("“{name}” is a new running parameter.", name=name)
        if near:
            said = text("“{name}” is a new running parameter. Did you mean “{nearest}”?", name=name, nearest=near)
        call.output.note(say(said))


def _with_parameters(spec: JobSpec, given: str) -> JobSpec:
    """Given values replace those of the file; new ones follow."""
    written = terminal.text_of(given) if given == terminal.STANDARD_INPUT else given
    return replace(spec, parameters=tuple({**dict(spec.parameters), **dict(parameters_in(written))}.items()))


def print_findings(say_line: Callable[[str], None], findings: Iterable[CheckFinding], job: Path | None) -> None:
    """By level, the worst first; what is good in one line each.

    `job` is what was named, a job file or its folder; None: the code is as it was, and cannot be changed.
    """
    found = list(findings)
    for level in CheckLevel:
        mine = [one for one in found if one.level is level]
        if not mine:
            continue
        say_line(say("{level} ({count})", level=HEADS[level], count=len(mine)))
        for one in mine:
            say_line(f"  {_MARKS[level]} {say(told(one))}")
            if one.hint is not None:
                say_line(f"      {say(one.hint)}")
            if one.fixes and level is not CheckLevel.GREEN:
                say_line(f"      {say(_ways(one, job))}")


def _ways(one: CheckFinding, job: Path | None) -> Text:
    return text("Fix: {ways}", ways="; ".join(say(_way(fix, job)) for fix in one.fixes))


def _way(fix: CheckFix, job: Path | None) -> Text:
    """What the window has buttons for is typed here."""
    if fix.script_fix and job is None:
        return text("change the script in its folder, and submit with “--code now”")
    if fix.script_fix:
        return text("change the script with “traindeck doctor {path} --fix”", path=str(job))
    if fix.is_silence:
        return text(
            "silence it with “--set checks.silence={rules}”", rules=",".join(dict(fix.changes)["silenced_rules"])
        )
    return fix.words
