"""`traindeck doctor`: what would fail in a script where the job runs, and what fixes it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.main import Call
from traindeck.cli.script_place import ScriptPlace, script_place
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.domain.texts import count_text, printable, say, say_count, text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_errors

if TYPE_CHECKING:
    from traindeck.domain.scripts.findings import DoctorReport, ScriptFinding
    from traindeck.domain.scripts.fixes import FixProposal
    from traindeck.services.scripts.fix_files import FixFiles
    from traindeck.services.scripts.script_tree import ScriptTree

_MARKS = {CheckLevel.RED: "✗", CheckLevel.AMBER: "!"}
# What jobs are mostly given: “Developing Code for Training Using a Preset Image” (ModelArts).
_USUAL = ScriptJob(inputs=(Channel("data_url", ""),), outputs=(Channel("train_url", ""),))


async def doctor(call: Call) -> int:
    options = call.options
    if options.rules:
        return _rules(call)
    if options.path is None:
        raise InvalidInput(text("Nothing to look at."), text("Specify a script, a folder or a job file."))
    if options.arguments:
        from traindeck.cli.script_arguments import print_arguments

        return await print_arguments(call, options.path)
    if options.undo:
        return await asyncio.to_thread(_undo, call, options.path)
    return await asyncio.to_thread(_doctor, call, options.path)


def _doctor(call: Call, path: Path) -> int:
    place = script_place(path)
    job = _job_of(place, call.options.target)
    tree, report = _look(place, job)
    if call.options.fix:
        report = _fixed(call, place, job, tree, report)
    if call.output.json_wanted:
        call.output.document(report.document())
    else:
        _print(call, place, report)
    return FAILED if report.is_red else DONE


def _job_of(place: ScriptPlace, target: str | None) -> ScriptJob:
    """What the job file says, and what was asked for; with neither, what holds of most jobs."""
    from traindeck.services.jobs.checks.script_jobs import script_job_of

    job = _USUAL if place.spec is None else script_job_of(place.spec)
    if target is not None and place.spec is None:
        job = replace(job, reaches_internet=False)
    return replace(job, flavor_kind=AcceleratorKind.ASCEND) if target == "ascend" else job


def _look(place: ScriptPlace, job: ScriptJob) -> tuple[ScriptTree, DoctorReport]:
    from traindeck.services.jobs.script_reading import script_at, scripts_in
    from traindeck.services.scripts.arguments import script_arguments
    from traindeck.services.scripts.doctor import examine
    from traindeck.services.scripts.python_source import engine_python

    version, token = engine_python(job.engine_version), CancelToken()
    if place.is_one_script:
        script = place.folder / place.boot
        with local_errors(script):
            script.open("rb").close()  # of others it is said that they were not read
        tree = script_at(place.folder, place.boot, version, token)
    else:
        tree = scripts_in(place.folder, place.boot, place.ignore, version, token)
        if place.boot and place.boot not in tree.files:
            raise NotFound(
                text("The boot file “{boot}” is not in the code directory.", boot=place.boot),
                text("Check “boot” and “ignore” in the job file."),
            )
    if not tree.files and not tree.limits:
        raise NotFound(
            text("There is no script in “{folder}”.", folder=str(place.folder)), text("Specify a script or its folder.")
        )
    return tree, examine(tree, job, script_arguments(tree))


# what is shown


def _print(call: Call, place: ScriptPlace, report: DoctorReport) -> None:
    for one in report.loud:
        _print_finding(call, one)
    if report.silenced:
        call.output.line(say("Silenced ({count})", count=len(report.silenced)))
        for one in report.silenced:
            call.output.line(f"  {one.file}:{one.line}  {say(one.title)} [{one.rule}]")
    for reason in report.not_read:
        call.output.note(say(reason))
    call.output.note(_sum(report))
    fixes = _fixes_of(report)
    if fixes and not call.options.fix:
        name = str(call.options.path or place.folder)
        call.output.note(say("To see what fixes them: traindeck doctor {path} --fix", path=name))


def _print_finding(call: Call, one: ScriptFinding) -> None:
    # Of a name with a line break in it, too, this is one line.
    call.output.line(f"{_MARKS[one.level]} {printable(one.file)}:{one.line}  {say(one.title)} [{one.rule}]")
    if one.source_line:
        call.output.line(f"      {one.source_line}")
    call.output.line(f"    {say(one.why)}")
    call.output.line(f"    {say(one.hint)}")


def _sum(report: DoctorReport) -> str:
    red = sum(one.is_red for one in report.findings)
    amber = len(report.loud) - red
    if not report.loud:
        return say_count("Nothing found in {count} file.", "Nothing found in {count} files.", report.files)
    must = count_text("{count} must be corrected", "{count} must be corrected", red)
    may = count_text("{count} warning", "{count} warnings", amber)
    return say_count(
        "{must}, {may} in {count} file.", "{must}, {may} in {count} files.", report.files, must=must, may=may
    )


def _rules(call: Call) -> int:
    from traindeck.services.scripts.rules.all_rules import RULES

    if call.output.json_wanted:
        call.output.document({"rules": [{"rule": rule.name, "title": say(rule.title)} for rule in RULES]})
    else:
        call.output.table([say("Rule"), say("Meaning")], [(rule.name, say(rule.title)) for rule in RULES])
    return DONE


# fixes


def _fixes_of(report: DoctorReport) -> list[str]:
    return list(dict.fromkeys(one.fix for one in report.loud if one.fix))


def _fixed(call: Call, place: ScriptPlace, job: ScriptJob, tree: ScriptTree, report: DoctorReport) -> DoctorReport:
    """Fix what can be, once the difference was seen, and look again."""
    from traindeck.services.scripts.fixes.all_fixes import propose_together

    wanted = _fixes_of(report)
    if not wanted:
        if report.loud:
            call.output.note(say("Nothing of this can be fixed here."))
        return report
    proposal = propose_together(wanted, tree, job)
    _show(call, proposal)
    if not proposal.changes:
        call.output.note(say("No file was changed."))
        return report
    question = say("Write these changes to {folder}?", folder=str(place.folder))
    if not terminal.is_meant(call.options, text("No file was changed."), question):
        call.output.note(say("No file was changed."))
        return report
    applied = _fix_files().apply(place.folder, proposal, place.boot)
    call.output.note(
        say_count("{count} file was changed.", "{count} files were changed.", len(applied.files))
        + " "
        + say("“--undo” takes it back.")
    )
    return _look(place, job)[1]


def _show(call: Call, proposal: FixProposal) -> None:
    """On standard error with --json, where the document is the only thing on the other one."""
    from traindeck.domain.scripts.fixes import difference
    from traindeck.services.scripts.rules.secrets import without_secrets

    tell = call.output.note if call.output.json_wanted else call.output.whole_line
    for change in proposal.changes:
        for line in difference(change):
            tell(without_secrets(line))
    for left in proposal.not_fixed:
        where = f"{left.file}:{left.line}" if left.line else left.file
        call.output.note(say("Not fixed: {place}: {reason}", place=where, reason=left.reason))


def _undo(call: Call, path: Path) -> int:
    from traindeck.services.jobs.script_reading import script_at

    place, files = script_place(path), _fix_files()
    applied = files.applied(place.folder)
    if place.is_one_script:
        # Beside it there may be others, fixed later.
        reached = script_at(place.folder, place.boot, None, CancelToken()).reached
        applied = [one for one in applied if any(file.path in reached for file in one.files)]
    if not applied:
        raise NotFound(
            text("No change of scripts in {folder} can be undone.", folder=str(place.folder)),
            text("“traindeck doctor PATH --fix” makes changes that can be."),
        )
    undone = files.undo(applied[0].id)
    words = say_count("{count} file is as it was.", "{count} files are as they were.", len(undone.files))
    words += " (" + ", ".join(printable(one.path) for one in undone.files) + ")"
    call.output.result({"undone": [one.path for one in undone.files]}, words)
    return DONE


def _fix_files() -> FixFiles:
    from traindeck.services.scripts.fix_files import FixFiles
    from traindeck.store.paths import Paths

    paths = Paths.for_user()
    paths.make()
    return FixFiles(paths.script_fixes)
