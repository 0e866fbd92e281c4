"""TrainDeck's side of the listing benchmark: one program that lists everything and prints nothing.

Standard input: one JSON object with endpoint, source, and how many objects there must be.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from support.servers.lab_keys import plane_to
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.clock import collect_seldom
from traindeck.services.storage.listing import Piece, Sweep


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
    collect_seldom()
    asyncio.run(count(json.loads(sys.stdin.readline())))
