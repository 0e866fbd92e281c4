"""`traindeck job rules`: what is done when a line comes in the log of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.waiting import find
from traindeck.cli.main import Call
from traindeck.domain.notices.line_rules import LineRule
from traindeck.domain.texts import say, say_count
from traindeck.services.logs.bounded_expression import BoundedExpression
from traindeck.services.logs.log_files import LogFile
from traindeck.services.notices.log_rules import compiled, lines_found

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore

_MOST_SHOWN = 1000


async def rules(call: Call) -> int:
    async with call.runs() as core:
        if call.options.init:
            core.rules.file.make()
        found = core.rules.file.read()
        usable = compiled(found)
        if call.options.test:
            path = Path(call.options.test)
            is_file = await core.disk.run(lambda _: path.is_file())
            for file in [LogFile(path)] if is_file else await _files(call, core):
                for rule, expression in usable:
                    _tell_lines(call, rule, expression, file)
            return DONE
    if call.output.json_wanted:
        call.output.document({"file": str(core.rules.file.path), "rules": [_document(rule) for rule in found]})
        return DONE
    call.output.note(say("Rules: {file}", file=str(core.rules.file.path)))
    if not found:
        call.output.note(say("No rules yet. --init writes a file with examples."))
        return DONE
    heads = [say("Name"), say("Pattern"), say("Does"), say("Runs"), say("Enabled")]
    call.output.table(heads, [_row(rule) for rule in found])
    return DONE


async def _files(call: Call, core: RunCore) -> list[LogFile]:
    run = await find(call, core, call.options.test)
    return [core.logs.file(run.id, task) for task in run.tasks]


def _tell_lines(call: Call, rule: LineRule, expression: BoundedExpression, file: LogFile) -> None:
    lines = lines_found(file, expression, _MOST_SHOWN)
    if call.output.json_wanted:
        for line in lines:
            call.output.document({"rule": rule.name, "log": file.path.name, "text": line})
        return
    words = say_count("{rule}: {count} line in {file}", "{rule}: {count} lines in {file}", len(lines),
                      rule=rule.name, file=file.path.name)  # fmt: skip
    call.output.note(words)
    for line in lines:
        call.output.line(line)


def _document(rule: LineRule) -> dict[str, object]:
    return {
        "name": rule.name, "pattern": rule.pattern, "does": rule.act.value, "label": rule.label, "runs": rule.runs,
        "enabled": rule.is_enabled,
    }  # fmt: skip


def _row(rule: LineRule) -> list[str]:
    does = f"{say(rule.act.words)}: {rule.label}" if rule.label else say(rule.act.words)
    return [rule.name, rule.pattern, does, rule.runs or say("all"), say("yes") if rule.is_enabled else say("no")]
