"""`traindeck engines` and `traindeck flavors`: what a job can ask for."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.domain.jobs.choices import matching_engines, matching_flavors
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.domain.jobs.choices import Choices


async def engines(call: Call) -> int:
    found = matching_engines((await _offered(call)).engines, call.options.filter)
    if call.output.json_wanted:
        call.output.document([asdict(engine) for engine in found])
    else:
        rows = [(engine.name, engine.version, engine.arch or "–") for engine in found]
        call.output.table([say("Engine"), say("Version"), say("Processor")], rows)
    return DONE


async def flavors(call: Call) -> int:
    found = matching_flavors((await _offered(call)).flavors, call.options.filter)
    if call.output.json_wanted:
        call.output.document([asdict(flavor) for flavor in found])
    else:
        heads = [say("Specification"), say("Kind"), say("Cores"), say("Memory"), say("Accelerator"), say("Disk"),
                 say("Max. nodes")]  # fmt: skip
        rows = [
            [one.id, one.kind, str(one.cores or "–"), one.memory or "–", one.accelerator or "–", one.disk or "–",
             str(one.max_nodes)]
            for one in found
        ]  # fmt: skip
        call.output.table(heads, rows, right=frozenset({2, 3, 5, 6}))
    return DONE


async def _offered(call: Call) -> Choices:
    """With a word where they are not of now."""
    async with call.accounts() as core:
        choices = await core.job_choices().load(call.profile(core))
    if choices.age_words is not None:
        call.output.note(say(choices.age_words))
    return choices
