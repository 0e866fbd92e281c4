"""`traindeck engines` and `traindeck flavors`: what a job can ask for."""

from __future__ import annotations

from traindeck.cli.main import DONE, Call
from traindeck.domain.texts import say


async def engines(call: Call) -> int:
    async with call.core() as core:
        offered = (await core.choices.load(call.profile(core))).engines
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
    async with call.core() as core:
        offered = (await core.choices.load(call.profile(core))).flavors
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


COMMANDS = {"engines": engines, "flavors": flavors}
