"""All rules over one script: what is wrong with it for this job, each place once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from traindeck.domain.scripts.arguments import ScriptArguments
from traindeck.domain.scripts.findings import DoctorReport, ScriptFinding, in_order
from traindeck.domain.scripts.script_job import ScriptJob
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.scripts.rules.all_rules import RULES
from traindeck.services.scripts.rules.frame import Fault, ScriptLook, ScriptRule
from traindeck.services.scripts.rules.secrets import without_secrets
from traindeck.services.scripts.rules.syntax import UNSURE
from traindeck.services.scripts.script_tree import ScriptTree

MOST_SECONDS = 10.0
_MOST_OF_RULE = 100
_LONGEST_LINE = 240


def examine(
    tree: ScriptTree,
    job: ScriptJob,
    arguments: ScriptArguments,
    *,
    rules: Sequence[ScriptRule] = RULES,
    check: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> DoctorReport:
    """Blocks: for workers. `check` raises when nobody waits any more. Nothing of the script runs."""
    ends_at = clock() + MOST_SECONDS

    def goes_on() -> bool:
        check()
        return clock() < ends_at

    look = ScriptLook(tree, job, arguments, goes_on)
    found: list[ScriptFinding] = []
    limits: list[Text] = [*tree.limits, *arguments.limits]
    for rule in rules:
        if not goes_on():
            limits.append(text("Not checked, for it took too long: {rule}", rule=rule.title))
            continue
        try:
            found += _of_rule(rule, look)
        except RecursionError:
            limits.append(text("Not checked, for the code is nested too deeply: {rule}", rule=rule.title))
    if look.unseen:
        limits.append(
            count_text(
                "{count} file was not checked: checking took longer than 10 seconds.",
                "{count} files were not checked: checking took longer than 10 seconds.",
                look.unseen,
            )
        )
    limits += [
        text("{file} was not checked: it is too large, or nested too deeply.", file=path)
        for path in look.paths
        if tree.files[path].fault in UNSURE
    ][:_MOST_OF_RULE]
    return DoctorReport(tuple(in_order(found)), len(tree.files), tuple(dict.fromkeys(limits)))


def _of_rule(rule: ScriptRule, look: ScriptLook) -> Iterator[ScriptFinding]:
    for fault in _once(rule.look(look)):
        lines = look.tree.files[fault.file].lines if fault.file in look.tree.files else ()
        line = lines[fault.line - 1] if 0 < fault.line <= len(lines) else ""
        yield ScriptFinding(
            rule.name, fault.level, fault.file, fault.line, fault.column, _shown(line), rule.title, fault.why,
            fault.hint, fault.fix, rule.name in look.job.silenced,
        )  # fmt: skip


def _once(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Of several on one line, the first."""
    places: set[tuple[str, int]] = set()
    for fault in faults:
        place = (fault.file, fault.line)
        if place not in places:
            places.add(place)
            yield fault
        if len(places) >= _MOST_OF_RULE:
            return


def _shown(line: str) -> str:
    line = without_secrets(line).strip()
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
