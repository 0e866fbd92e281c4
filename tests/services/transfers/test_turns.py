"""Several transfers on one line: fair, limited, and told no more often than one can read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from support.object_shelf import ObjectShelf
from support.transfer_works import done, random_bytes, there, tree, upload, working
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.records import TransferState


async def test_transfers_share_the_line_and_the_first_goes_first(
    shelf: ObjectShelf, home: Path, tmp_path: Path
) -> None:
    order: list[str] = []
    gate, whole = asyncio.Event(), shelf.put

    async def noting(target: ObjectPath, *more: Any, **named: Any) -> object:
        await gate.wait()
        await asyncio.sleep(0.005)
        order.append(target.key.split("/")[0])
        return await whole(target, *more, **named)

    shelf.put = noting
    sources = {name: tree(tmp_path / name, {f"{number:03}": b"x" for number in range(200)}) for name in "abcdef"}
    async with working(home, shelf) as engine:
        numbers = {name: await engine.add(upload(source, there(f"{name}/"))) for name, source in sources.items()}
        rows = {row.id: row.state for row in engine.rows()}
        assert [rows[numbers[name]] for name in "ef"] == [TransferState.QUEUED] * 2
        await engine.move_first(numbers["f"])
        await until(lambda: sum(row.total_bytes is not None for row in engine.rows()) >= 4)
        gate.set()
        for number in numbers.values():
            assert (await engine.ended(number)).state is TransferState.DONE
    assert set(order[: order.index("e")]) == {"a", "b", "c", "d", "f"}
    begun = {name: order.index(name) for name in "abc"}
    ended = {name: len(order) - order[::-1].index(name) for name in "abc"}
    assert max(begun.values()) < min(ended.values()), "they go side by side"


async def test_the_rate_is_limited_for_all_together(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number}": random_bytes(20_000) for number in range(10)})
    async with working(home, shelf) as engine:
        engine.limit.set(500_000)
        began = asyncio.get_running_loop().time()
        row = await done(engine, upload(source, there()))
        assert asyncio.get_running_loop().time() - began > 0.35
        assert row.state is TransferState.DONE


async def test_news_come_at_most_ten_times_a_second(shelf: ObjectShelf, home: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "data", {f"{number}": b"x" for number in range(500)})
    told: list[TransferState] = []
    async with working(home, shelf) as engine:
        engine.changed.add(lambda rows: told.append(rows[0].state))
        began = asyncio.get_running_loop().time()
        await done(engine, upload(source, there()))
        await until(lambda: TransferState.DONE in told)
        took = asyncio.get_running_loop().time() - began
    assert len(told) <= took / 0.1 + 2
