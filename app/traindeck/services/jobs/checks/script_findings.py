"""What is wrong with the script for this job: the rules of the doctor, as checks of the form."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from difflib import get_close_matches

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.checks import CheckFix, CheckLevel
from traindeck.domain.jobs.choices import Flavor
from traindeck.domain.scripts.findings import DoctorReport, ScriptFinding
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import count_text, text
from traindeck.services.jobs.checks.boot_file import boot_of
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, amber, green, levels, not_checked
from traindeck.services.jobs.checks.script_jobs import script_job_of
from traindeck.services.scripts.rules.all_rules import RULE_NAMES, RULES
from traindeck.services.scripts.rules.packages import knows_engine

_OFFER_S = 4.0
_MOST_OF_RULE = 8
_LOCAL_ENGINE = "local-python"
# These have checks of their own, which look at files that no rule reads.
_ELSEWHERE = frozenset({"syntax", "shell-scripts"})
_TITLES = {
    "arguments": text("Arguments of the script"),
    "channels": text("Inputs and outputs in the script"),
    "obs-files": text("OBS paths in the script"),
    "copies": text("Copied data"),
    "downloads": text("Downloads in the script"),
    "packages": text("Imported packages"),
    "ascend": text("Accelerator"),
    "many-cards": text("Several cards"),
    "newer-python": text("Python of the engine"),
    "local-paths": text("Paths in the script"),
    "interactive": text("Unattended run"),
    "results": text("Results"),
    "checkpoint-writing": text("Writing of checkpoints"),
    "secrets": text("Keys in the code"),
}


async def script_report(job: CheckedJob) -> DoctorReport | None:
    """One look for all of the checks; None: there is no script here."""
    start = boot_of(job.spec)
    if not job.spec.has_own_code or not start or not (await job.code.tree()).holds(start):
        return None
    return await job.code.examined(start, await _script_job(job))


async def _script_job(job: CheckedJob) -> ScriptJob:
    """With the specification as it is offered, or by its name where no service says more."""
    flavor: Flavor | None = None
    try:
        async with asyncio.timeout(_OFFER_S):
            # Noted apart: what is found in the code is of this computer, whenever the offer was asked for.
            flavor = (await job.service.noting().offer()).flavor_of(job.spec)
    except (AppError, TimeoutError):
        flavor = None
    return script_job_of(job.spec, flavor, is_rehearsal=job.profile.is_lab)


async def _summary(job: CheckedJob) -> Iterable[CheckAnswer]:
    report = await script_report(job)
    if report is None:
        return []
    said = [not_checked(reason) for reason in report.not_read]
    said += [_unknown_rule(job, name) for name in job.spec.silenced_rules if name not in RULE_NAMES]
    if report.loud:
        return said
    read = count_text(
        "{count} file was read, and nothing in it speaks against this job.",
        "{count} files were read, and nothing in them speaks against this job.",
        report.files,
    )
    return [*said, green(read)]


def _unknown_rule(job: CheckedJob, name: str) -> CheckAnswer:
    near = get_close_matches(name, RULE_NAMES, 1)
    others = tuple(one for one in job.spec.silenced_rules if one != name)
    ways = [CheckFix(text("Use {rule}", rule=near[0]), (("silenced_rules", (*others, near[0])),))] if near else []
    ways.append(CheckFix(text("Remove “{rule}”", rule=name), (("silenced_rules", others),)))
    fact = text("“{rule}” is not a rule, so it silences nothing.", rule=name)
    return amber(fact, text("“traindeck doctor --rules” lists them."), *ways, field="silenced_rules")


async def _packages(job: CheckedJob) -> Iterable[CheckAnswer]:
    """That nobody knows the engine is told only where there is a script."""
    said = list(await _subject(job, "packages"))
    version = job.spec.engine_version
    is_unknown = version and version != _LOCAL_ENGINE and not job.spec.image and not knows_engine(version)
    if not said and is_unknown and (await job.code.tree()).holds(boot_of(job.spec)):
        said.append(not_checked(text("Not checked: it is not known what {engine} has.", engine=version)))
    return said


async def _subject(job: CheckedJob, subject: str) -> Iterable[CheckAnswer]:
    try:
        report = await script_report(job)
    except AppError:
        return []  # the summary says it, once for all
    if report is None:
        return []
    names = {rule.name for rule in RULES if rule.subject == subject}
    found = [one for one in report.findings if one.rule in names]
    said = []
    for name in dict.fromkeys(one.rule for one in found):
        mine = [one for one in found if one.rule == name]
        said += [_answer(job, one) for one in mine[:_MOST_OF_RULE]]
        if len(mine) > _MOST_OF_RULE:
            said.append(_more(mine, len(mine) - _MOST_OF_RULE))
    return said


def _answer(job: CheckedJob, one: ScriptFinding) -> CheckAnswer:
    place = {"file": one.file, "line": one.line}
    if one.is_silenced:
        fact = text("Silenced: {file}, line {line}: {why}", **place, why=one.why)
        return CheckAnswer(CheckLevel.GREEN, fact, None, (), "", one.file, one.line, one.rule, one.source_line)
    fact = text("{file}, line {line}: {why}", **place, why=one.why)
    return CheckAnswer(one.level, fact, one.hint, ways_out(job, one), "", one.file, one.line, one.rule, one.source_line)


def ways_out(job: CheckedJob, one: ScriptFinding) -> tuple[CheckFix, ...]:
    ways = [CheckFix(text("Show the fix…"), script_fix=one.fix)] if one.fix else []
    silenced = tuple(dict.fromkeys((*job.spec.silenced_rules, one.rule)))
    return (*ways, CheckFix(text("Silence “{rule}”", rule=one.rule), (("silenced_rules", silenced),)))


def _more(found: list[ScriptFinding], count: int) -> CheckAnswer:
    fact = count_text("{title}: {count} more place.", "{title}: {count} more places.", count, title=found[0].title)
    if found[0].is_silenced:
        return green(fact)
    return CheckAnswer(found[0].level, fact, text("“traindeck doctor” lists them all."), rule=found[0].rule)


def _check_of(subject: str) -> JobCheck:
    async def look(job: CheckedJob) -> Iterable[CheckAnswer]:
        return await (_packages(job) if subject == "packages" else _subject(job, subject))

    said = {CheckLevel.GREEN, CheckLevel.AMBER} | ({CheckLevel.RED} if subject not in _ONLY_WARN else set())
    if subject == "packages":
        said.add(CheckLevel.NOT_CHECKED)
    return JobCheck(subject, _TITLES[subject], _FIELDS, look, frozenset(said))


_ONLY_WARN = frozenset({"channels", "checkpoint-writing", "secrets"})


_FIELDS = frozenset({
    "code_folder", "ignore", "boot", "command", "code_url", "engine", "engine_version", "image", "flavor", "nodes",
    "pool", "inputs", "outputs", "parameters", "environment", "volumes", "silenced_rules",
})  # fmt: skip
_SUBJECTS = tuple(dict.fromkeys(rule.subject for rule in RULES if rule.subject not in _ELSEWHERE))

CHECKS = (
    JobCheck("script", text("Script"), _FIELDS, _summary,
             levels(CheckLevel.GREEN, CheckLevel.AMBER, CheckLevel.NOT_CHECKED)),
    *(_check_of(subject) for subject in _SUBJECTS),
)  # fmt: skip
