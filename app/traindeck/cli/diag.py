"""`traindeck diag`: what is wrong between here and an account, and a report that can be given away."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.columns import aligned, room_of, width
from traindeck.cli.exit_codes import CREDENTIALS, DONE, FAILED, SERVICE
from traindeck.cli.main import Call
from traindeck.cli.profile import check_document
from traindeck.cli.target_file import TargetFile, target_file
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.domain.accounts.profiles import Check
    from traindeck.services.diagnosis.diagnosis import Diagnosis

_TITLE_COLUMNS = 27
_OF_NETWORK = {"dns", "proxy", "connection", "tls"}
_OF_ACCOUNT = {"account", "clock", "obs", "project", "modelarts", "write"}


async def diag(call: Call) -> int:
    output = call.output
    marks = {True: say("passed"), False: say("failed"), None: say("not determined")}
    least = (max(map(width, marks.values())), _TITLE_COLUMNS)

    def told(check: Check) -> None:
        if output.json_wanted:
            return
        fact, hint = say(check.fact), say(check.hint) if check.hint is not None and check.passed is not True else ""
        if room_of(sys.stdout) is None:  # a program reads it row by row
            fact, hint = f"{fact} {hint}".rstrip(), ""
        output.line(aligned([(marks[check.passed], say(check.title), fact)], least=least)[0])
        if hint:
            output.line(aligned([("", "", hint)], least=least)[0])

    wanted: Path | None = call.options.bundle
    target = None if wanted is None else target_file(call, wanted)
    output.note(say("Checking. This takes at most two minutes."))
    async with call.accounts() as core:
        diagnosis, name = core.diagnosis(), call.profile(core)
        found = await diagnosis.run(name, told)
        written = "" if target is None else await _report(call, diagnosis, found, target)
    if output.json_wanted:
        output.document({"profile": name, "checks": [check_document(check) for check in found], "bundle": written})
    return _code(found)


async def _report(call: Call, diagnosis: Diagnosis, found: Sequence[Check], target: TargetFile) -> str:
    """Where it was written; what is in it is shown before."""
    output, file, replaces = call.output, target.path, target.replaces
    report = await diagnosis.report(found)
    output.note(say("The report contains, without secrets:"))
    for line in aligned([(part.name, size_words(len(part.content))) for part in report.parts], frozenset({1})):
        output.note(f"  {line}")
    question = say("Write it to “{file}”?", file=str(file))
    is_meant = replaces or call.options.yes or not terminal.somebody_is_there() or terminal.confirmed(question)
    if not is_meant:
        output.note(say("Nothing was written."))
        return ""
    await diagnosis.write(report, file, replace_old=replaces)
    output.note(say("The report was written to “{file}”. Review it before sharing.", file=str(file)))
    return str(file)


def _code(found: Sequence[Check]) -> int:
    wrong = {check.id for check in found if check.passed is False}
    if wrong & _OF_NETWORK:
        return SERVICE
    if wrong & _OF_ACCOUNT:
        return CREDENTIALS
    if any(check.may_try_again for check in found if check.id in _OF_ACCOUNT):
        return SERVICE  # nobody answered
    return FAILED if wrong else DONE
