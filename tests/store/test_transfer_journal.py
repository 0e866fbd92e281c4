"""The journal of transfers in a real SQLite file, killed and taken up again."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import CompareBy, Kind, Links, Order, Rules
from traindeck.domain.transfers.records import Action, Item, ItemState, SentPart, TransferState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.transfer_journal import TransferJournal
from traindeck.store.transfer_steps import STEPS

NOW = datetime(2026, 11, 18, 12, 0, 0, 123456, tzinfo=UTC)
ORDER = Order(Kind.UPLOAD, "lab", "/data", "obs://bucket/data/", Rules(CompareBy.MD5, ("*.tmp",), delete=True))
TROUBLE = InvalidInput(text("It is no good."), text("Make it better."), "detail")


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[TransferJournal]:
    writer = BlockingCalls(1, "journal")
    try:
        with closing(TransferJournal(path, writer)) as journal:
            yield journal
    finally:
        writer.close()


def files(count: int, **changes: Any) -> list[Item]:
    return [replace(Item(f"data/{number:04}", f"{number:04}", number, 7, number), **changes) for number in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transfers.db"


async def test_a_transfer_and_its_items_come_back_as_they_went_in(path: Path) -> None:
    item = Item("data/空 1", "空 1", 3, 4, 2**63 - 1, 0o644, "e" * 32, Action.REMOVE, ItemState.FAILED, "u", 5, True,
                TROUBLE)  # fmt: skip
    async with opened(path) as journal:
        made = await journal.add(ORDER, NOW)
        await journal.plan(made.id, [item])
        kept = await journal.change(made.id, state=TransferState.FAILED, error=TROUBLE, ended=NOW, has_gaps=True)
    async with opened(path) as journal:
        found = await journal.get(made.id)
        assert (found.order, found.state, found.ended, found.created) == (ORDER, TransferState.FAILED, NOW, NOW)
        assert found.has_gaps and not found.is_planned
        assert found.error is not None and found.error.sentence() == TROUBLE.sentence() == kept.error.sentence()
        (again,) = await journal.items(made.id)
        assert again.error is not None and type(again.error) is InvalidInput
        assert replace(again, error=None) == replace(item, error=None)
        with pytest.raises(NotFound):
            await journal.get(99)


async def test_items_come_in_the_order_of_keys_and_are_noted_before_anybody_begins(path: Path) -> None:
    async with opened(path) as journal:
        made = await journal.add(ORDER, NOW)
        await journal.plan(made.id, files(10)[5:])
        await journal.plan(made.id, files(10)[:5])
        first = await journal.next_items(made.id, "", 4, action=Action.MOVE)
        assert [item.name for item in first] == ["0000", "0001", "0002", "0003"]
        assert (await journal.get(made.id)).fed_to == "data/0003"
        rest = await journal.next_items(made.id, first[-1].key, 100, action=Action.MOVE)
        assert len(rest) == 6
        await journal.note(made.id, [replace(item, state=ItemState.DONE) for item in first])
        again = await journal.next_items(made.id, "", 100, action=Action.MOVE)
        assert again == rest
        assert await journal.next_items(made.id, "", 100, action=Action.REMOVE) == []


async def test_planning_again_keeps_what_is_done_and_what_is_half_done(path: Path) -> None:
    done, half, changed, failed, new = files(5)
    async with opened(path) as journal:
        made = await journal.add(ORDER, NOW)
        await journal.plan(made.id, [done, half, changed, failed])
        await journal.note(made.id, [replace(done, state=ItemState.DONE, is_verified=True)])
        await journal.note(made.id, [replace(failed, state=ItemState.FAILED, error=TROUBLE)])
        for item in (half, changed):
            await journal.begin_parts(made.id, replace(item, upload_id="up", part_bytes=1))
            await journal.note_parts(made.id, [(item.key, SentPart(1, 1, "e"))])
        await journal.plan(made.id, [done, half, replace(changed, modified_ns=8), failed, new])
        found = {item.name: item for item in await journal.items(made.id)}
        assert found[done.name] == replace(done, state=ItemState.DONE, is_verified=True)
        assert found[half.name] == replace(half, upload_id="up", part_bytes=1)
        assert found[changed.name] == replace(changed, modified_ns=8, upload_id="up", part_bytes=0)
        assert found[failed.name] == failed
        assert found[new.name] == new
        assert [item.name for item in await journal.begun(made.id)] == [half.name, changed.name]


@pytest.mark.parametrize("crc64", [None, 0, 1, 2**63, 2**64 - 1])
async def test_a_part_keeps_its_crc(path: Path, crc64: int | None) -> None:
    part = SentPart(1, 5, "e", crc64)
    async with opened(path) as journal:
        made = await journal.add(ORDER, NOW)
        await journal.note_parts(made.id, [("key", part)])
    async with opened(path) as journal:
        assert await journal.parts(made.id, "key") == [part]


async def test_totals_tell_what_stands_where(path: Path) -> None:
    async with opened(path) as journal:
        made = await journal.add(ORDER, NOW)
        await journal.plan(made.id, files(6))
        await journal.plan(made.id, [Item("data/x", "x", 50, action=Action.REMOVE)])
        await journal.plan(made.id, [Item("data/big", "big", 10_000_000, state=ItemState.EQUAL)])
        found = await journal.items(made.id)
        await journal.note(made.id, [replace(found[5], state=ItemState.DONE)])
        await journal.note(made.id, [replace(found[4], state=ItemState.FAILED, error=TROUBLE)])
        await journal.begin_parts(made.id, replace(found[3], upload_id="u", part_bytes=2))
        await journal.note_parts(made.id, [(found[3].key, SentPart(1, 2, "e"))])
        totals = await journal.totals(made.id)
        assert totals.files == {ItemState.QUEUED: 5, ItemState.DONE: 1, ItemState.FAILED: 1, ItemState.EQUAL: 1}
        assert (totals.moving_bytes, totals.done_bytes, totals.removals) == (15, 7, 1)
        assert (totals.small_files, totals.moving_files) == (4, 7)
        assert await journal.open_again(made.id, [ItemState.FAILED]) == 1
        assert await journal.close_removals(made.id, TROUBLE) == 1
        assert [item.name for item in await journal.items(made.id, [ItemState.SKIPPED])] == ["x"]
        await journal.note(made.id, [replace(found[3], state=ItemState.DONE, part_bytes=2)])
        assert await journal.parts(made.id, found[3].key) == []


async def test_the_order_of_transfers_can_be_changed_and_one_forgotten(path: Path) -> None:
    async with opened(path) as journal:
        one, two, three = [await journal.add(ORDER, NOW) for _ in range(3)]
        await journal.plan(two.id, files(3))
        await journal.change(one.id, state=TransferState.DONE)
        await journal.move_first(three.id)
        assert [record.id for record in await journal.unfinished()] == [three.id, two.id]
        assert [record.id for record in await journal.all()] == [three.id, two.id, one.id]
        await journal.forget(two.id)
        assert await journal.items(two.id) == []
        assert [record.id for record in await journal.all()] == [three.id, one.id]


async def test_pages_of_a_long_list(path: Path) -> None:
    async with opened(path) as journal:
        made = await journal.add(ORDER, NOW)
        await journal.plan(made.id, files(25))
        seen: list[str] = []
        while page := await journal.items(made.id, [ItemState.QUEUED], after=seen[-1] if seen else "", most=10):
            seen += [item.key for item in page]
        assert len(seen) == 25 and seen == sorted(seen)


WRITER = """
import asyncio, sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from traindeck.domain.transfers.records import Item, ItemState, Kind, Order, SentPart
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.transfer_journal import TransferJournal
from traindeck.store.transfer_steps import STEPS

async def main():
    path = Path(sys.argv[1])
    journal = TransferJournal(path, BlockingCalls(1, "journal"))
    made = await journal.add(Order(Kind.UPLOAD, "lab", "/d", "obs://bucket/"), datetime.now(UTC))
    for number in range(100000):
        item = Item(f"{number:06}", f"{number:06}", 3)
        await journal.plan(made.id, [item])
        await journal.begin_parts(made.id, replace(item, upload_id=f"u{number}", part_bytes=1))
        print(number, flush=True)
        await journal.note_parts(made.id, [(item.key, SentPart(n, 1)) for n in (1, 2, 3)])
        await journal.note(made.id, [replace(item, state=ItemState.DONE, part_bytes=1)])

asyncio.run(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX")
async def test_a_kill_while_writing_loses_nothing_that_was_said(path: Path) -> None:
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            said = b""
            while said.count(b"\n") < 30 and (block := os.read(process.stdout.fileno(), 4096)):
                said += block
            os.kill(process.pid, signal.SIGKILL)
            said += process.stdout.read()
        last = int(said.rpartition(b"\n")[0].split()[-1])
        async with opened(path) as journal:
            record = (await journal.all())[0]
            items = {item.name: item for item in await journal.items(record.id, most=100_000)}
            item = items[f"{last:06}"]
            assert item.upload_id == f"u{last}" or item.state is ItemState.DONE, "written before it was said"
            for number in range(last):
                assert items[f"{number:06}"].state is ItemState.DONE
                assert await journal.parts(record.id, f"{number:06}") == []
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_what_is_in_an_archive_is_kept_until_it_is_another(path: Path) -> None:
    async with opened(path) as journal:
        number = (await journal.add(ORDER, NOW)).id
        with pytest.raises(NotFound):
            await journal.shard(number, "p/shard-000000.tar")
        await journal.keep_shard(number, "p/shard-000000.tar", b"list")
        await journal.keep_digests(number, "p/shard-000000.tar", b"digests")
        await journal.keep_shard(number, "p/shard-000000.tar", b"list")
        assert await journal.shard(number, "p/shard-000000.tar") == (b"list", b"digests")
        await journal.keep_shard(number, "p/shard-000000.tar", b"another")
        assert await journal.shard(number, "p/shard-000000.tar") == (b"another", b"")

        problems = [Item(f"file://{name}", name, state=ItemState.FAILED, error=TROUBLE) for name in ("a", "z 文")]
        await journal.plan(number, [*problems, *files(2)])
        await journal.forget_problems(number)
        assert [item.key for item in await journal.items(number)] == ["data/0000", "data/0001"]
        await journal.forget_items(number, ["data/0001", "p/shard-000000.tar"])
        assert [item.key for item in await journal.items(number)] == ["data/0000"]
        await journal.keep_shard(number, "p/shard-000001.tar", b"list")
        await journal.forget(number)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM shards").fetchone()[0] == 0


async def test_a_journal_from_before_archives_is_taken_over(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        for statement in STEPS[0]:
            db.execute(statement)
        db.execute("PRAGMA user_version = 1")
        db.execute(
            "INSERT INTO transfers (kind, profile, source, target, rules, state, created) "
            "VALUES ('up', 'lab', '/a', 'obs://b/c', '{}', 'running', '2026-11-01T00:00:00+00:00')"
        )
        db.commit()
    async with opened(path) as journal:
        (record,) = await journal.unfinished()
        assert (record.order.kind, record.order.rules) == (Kind.UPLOAD, Rules(links=Links.FOLLOW))
        await journal.keep_shard(record.id, "k", b"list")


async def test_an_order_of_several_names_keeps_them_and_no_older_program_takes_it_for_the_whole_folder(
    path: Path,
) -> None:
    with closing(sqlite3.connect(path)) as db:
        for statement in chain(*STEPS[:3]):
            db.execute(statement)
        db.execute("PRAGMA user_version = 3")
        db.commit()
    rules = Rules(chosen=(("深/a.txt", "a.txt"), ("photos/", "photos/")), compares_if_allowed=True)
    order = Order(Kind.UPLOAD, "lab", "/home/me", "obs://b/c/", rules)
    async with opened(path) as journal:
        record = await journal.add(order, NOW)
        assert (await journal.get(record.id)).order == order
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(STEPS) == 6
