"""A program that does nothing but move one folder; made to be killed.

Standard input: one JSON object with endpoint, keys, home, order and rate. It says `going`, then `ended` with the row.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.servers.lab_keys import plane_to
from support.transfer_works import working
from traindeck.domain.transfers.orders import Kind, Order, Rules


async def move(given: dict[str, Any]) -> None:
    plane = plane_to(given["endpoint"], given["access_key"], given["secret_key"], given["region"])
    try:
        async with working(Path(given["home"]), plane) as engine:
            engine.limit.set(given["bytes_per_s"])
            rules = Rules.from_json(json.dumps(given.get("rules", {})))
            order = Order(Kind(given["kind"]), "lab", given["source"], given["target"], rules)
            await engine.resume_unfinished()
            rows = engine.rows()
            number = rows[0].id if rows else await engine.add(order)
            print("going", flush=True)
            row = await engine.ended(number)
            counts = {"done": row.done_files, "failed": row.failed_files, "error": row.error and row.error.sentence()}
            print("ended", json.dumps({"state": row.state.value, **counts}), flush=True)
    finally:
        await plane.close()


async def started(given: dict[str, Any]) -> asyncio.subprocess.Process:
    """Such a program, once it moves."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "support.servers.mover",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(given).encode() + b"\n")
    assert await process.stdout.readline() == b"going\n"
    return process


if __name__ == "__main__":
    asyncio.run(move(json.loads(sys.stdin.readline())))
