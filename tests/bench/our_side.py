"""TrainDeck's side of the transfer benchmark: one program that does one thing.

Standard input: one JSON object with endpoint, keys, home, what to do and where.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from servers.lab_keys import plane_to
from traindeck.domain.objects import ObjectPath
from traindeck.domain.transfers import CompareBy, Kind, Order, Rules, TransferState
from traindeck.services.listing import Piece, Sweep
from transfer_works import working


async def move(given: dict[str, Any]) -> None:
    plane = plane_to(given["endpoint"], "bench", "bench-secret", "region")
    rules = Rules(compare=CompareBy(given["compare"]) if given["compare"] else None)
    try:
        async with working(Path(given["home"]), plane) as engine:
            order = Order(Kind(given["kind"]), "bench", given["source"], given["target"], rules)
            row = await engine.ended(await engine.add(order))
            if row.state is not TransferState.DONE:
                raise SystemExit(f"{row.state}: {row.error and row.error.sentence()}")
    finally:
        await plane.close()


async def count(given: dict[str, Any]) -> None:
    plane = plane_to(given["endpoint"], "bench", "bench-secret", "region")
    found = 0

    async def take(piece: Piece) -> None:
        nonlocal found
        found += len(piece.rows)

    try:
        await Sweep(plane, ObjectPath.parse(given["source"])).run(take)
    finally:
        await plane.close()
    if found != given["expected"]:
        raise SystemExit(f"{found} objects instead of {given['expected']}")


if __name__ == "__main__":
    asked = json.loads(sys.stdin.readline())
    asyncio.run(count(asked) if asked["kind"] == "list" else move(asked))
