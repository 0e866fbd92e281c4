"""Logs on disk are byte for byte what the service has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traindeck.domain.jobs import JobSpec, LogChunk, Run, RunState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.run_logs import Gap, RunLogs
from traindeck.store.database import open_database
from traindeck.store.runs import RunStore


@asynccontextmanager
async def logs_in(folder: Path) -> AsyncIterator[tuple[RunLogs, RunStore]]:
    writer, disk = BlockingCalls(1, "records"), BlockingCalls(2, "disk")
    db = await writer.run(lambda _: open_database(folder / "records.db"))
    records = RunStore(db, folder / "records.db", writer)
    try:
        yield RunLogs(records, lambda run_id, task: folder / run_id / f"{task}.log", disk), records
    finally:
        disk.close()
        writer.close()
        db.close()


def look(whole: bytes, window: int = 5_000_000) -> LogChunk:
    """What a preview call gives of a log: its newest bytes and its length."""
    return LogChunk(whole[-window:] if window else b"", len(whole))


async def test_looks_at_a_growing_log_add_up_to_the_log(tmp_path: Path) -> None:
    whole = b""
    async with logs_in(tmp_path) as (logs, _):
        for piece in (b"epoch 1\n", b"", b"epoch 2 \xe4\xb8", b"\xad\n", b"x" * 100):
            whole += piece
            assert await logs.take("r", "worker-0", look(whole, 120)) == len(piece)
            assert logs.path("r").read_bytes() == whole


async def test_bytes_the_service_no_longer_had_are_marked_as_missing(tmp_path: Path) -> None:
    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(b"0123456789"))
        await logs.take("r", "worker-0", look(b"0123456789" + b"a" * 90 + b"tail", 10))
        assert logs.gaps("r") == (Gap(10, 84),)
        assert logs.path("r").read_bytes() == b"0123456789" + b"aaaaaatail"
        await logs.take("r", "worker-0", look(b"0123456789" + b"a" * 90 + b"tail" + b"more", 10))
        assert logs.path("r").read_bytes().endswith(b"tailmore")


async def test_a_log_that_begins_anew_does_not_overwrite_the_old_one(tmp_path: Path) -> None:
    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(b"first life"))
        await logs.take("r", "worker-0", look(b"second"))
        assert logs.path("r").read_bytes() == b"second"
        assert logs.path("r").with_name("worker-0.1.log").read_bytes() == b"first life"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 60))
def test_nothing_is_there_twice_and_nothing_is_lost_silently(
    tmp_path: Path, pieces: list[bytes], window: int
) -> None:
    import asyncio
    import tempfile

    async def check() -> None:
        whole = b""
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            async with logs_in(Path(folder)) as (logs, _):
                for piece in pieces:
                    whole += piece
                    await logs.take("r", "w", look(whole, window))
                    await logs.take("r", "w", look(whole, window))
                held, expected, at = logs.read("r", "w", 0), b"", 0
                missing = 0
                for gap in logs.gaps("r", "w"):
                    expected += whole[at + missing : gap.offset + missing]
                    missing, at = missing + gap.missing, gap.offset
                expected += whole[at + missing :]
                assert held == expected
                assert len(held) + missing == len(whole)

    asyncio.run(check())


async def test_following_gives_all_there_is_and_ends_with_the_run(tmp_path: Path) -> None:
    async with logs_in(tmp_path) as (logs, records):
        now = datetime.now(UTC)
        await records.add(Run("r", 0, "r", "lab", JobSpec(name="r"), RunState.RUNNING, now))
        await logs.take("r", "worker-0", look(b"one\n"))
        seen = b""
        async for block in logs.follow("r"):
            seen += block
            if seen == b"one\n":
                await logs.take("r", "worker-0", look(b"one\ntwo\n"))
            elif seen == b"one\ntwo\n":
                await logs.take("r", "worker-0", look(b"one\ntwo\nlast"))
                await records.change("r", state=RunState.COMPLETED)
        assert seen == b"one\ntwo\nlast"
