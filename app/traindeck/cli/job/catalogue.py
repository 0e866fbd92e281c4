"""`traindeck engines` and `traindeck flavors`: what a job can ask for."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.domain.jobs.choices import Choices


async def engines(call: Call) -> int:
    offered = (await _offered(call)).engines
    if call.output.json_wanted:
        call.output.document([asdict(engine) for engine in offered])
    else:
        rows = [(engine.name, engine.version, engine.arch or "–") for engine in offered]
        call.output.table([say("Engine"), say("Version"), say("Processor")], rows)
    return DONE


async def flavors(call: Call) -> int:
    offered = (await _offered(call)).flavors
    if call.output.json_wanted:
        call.output.document([asdict(flavor) for flavor in offered])
    else:
        heads = [say("Specification"), say("Kind"), say("Cores"), say("Memory"), say("Accelerator"), say("Max. nodes")]
        rows = [
            [one.id, one.kind, str(one.cores or "–"), one.memory or "–", one.accelerator or "–", str(one.max_nodes)]
            for one in offered
        ]
        call.output.table(heads, rows, right=frozenset({2, 3, 5}))
    return DONE


async def _offered(call: Call) -> Choices:
    from traindeck.services.jobs.choices import JobChoices

    async with call.accounts() as core:
        return await JobChoices(core.connections).load(call.profile(core))
