"""`traindeck engines` and `traindeck flavors`: what a job can ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.cli.main import DONE, Call
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.services.jobs.choices import Choices


async def engines(call: Call) -> int:
    offered = (await _offered(call)).engines
    if call.output.json_wanted:
        call.output.document(
            [
                {"name": engine.name, "version": engine.version, "id": engine.id, "arch": engine.arch}
                for engine in offered
            ]
        )
    else:
        rows = [(engine.name, engine.version, engine.arch or "–") for engine in offered]
        call.output.table([say("Engine"), say("Version"), say("Processor")], rows)
    return DONE


async def flavors(call: Call) -> int:
    offered = (await _offered(call)).flavors
    if call.output.json_wanted:
        call.output.document(
            [
                {
                    "id": flavor.id,
                    "name": flavor.name,
                    "kind": flavor.kind,
                    "cores": flavor.cores,
                    "memory": flavor.memory,
                    "accelerator": flavor.accelerator,
                    "max_nodes": flavor.max_nodes,
                }
                for flavor in offered
            ]
        )
    else:
        heads = [say("Specification"), say("Kind"), say("Cores"), say("Memory"), say("Accelerator"), say("Most nodes")]
        rows = [
            (
                flavor.id,
                flavor.kind,
                str(flavor.cores or "–"),
                flavor.memory or "–",
                flavor.accelerator or "–",
                str(flavor.max_nodes),
            )
            for flavor in offered
        ]
        call.output.table(heads, rows, right=frozenset({2, 3, 5}))
    return DONE


async def _offered(call: Call) -> Choices:
    from traindeck.services.jobs.choices import JobChoices

    async with call.accounts() as core:
        return await JobChoices(core.connections).load(call.profile(core))


COMMANDS = {"engines": engines, "flavors": flavors}
