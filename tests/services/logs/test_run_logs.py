"""Logs on disk are byte for byte what the service has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.domain.errors import LocalTrouble, ServiceTrouble
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.logs import log_files
from traindeck.services.logs.log_files import Gap
from traindeck.services.logs.run_logs import RunLogs
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore


@asynccontextmanager
async def logs_in(folder: Path) -> AsyncIterator[tuple[RunLogs, RunStore]]:
    writer, disk = BlockingCalls(1, "records"), BlockingCalls(2, "disk")
    records = RunStore(RecordsFile(folder / "records.db", folder / "runs"), writer)
    await records.open()
    try:
        yield RunLogs(records, lambda run_id, task: folder / run_id / f"{task}.log", disk), records
    finally:
        disk.close()
        writer.close()
        records.close()


def look(whole: bytes, window: int = 5_000_000) -> LogChunk:
    """What a preview call gives of a log: its newest bytes and its length."""
    return LogChunk(whole[-window:] if window else b"", len(whole))


async def test_looks_at_a_growing_log_add_up_to_the_log(tmp_path: Path) -> None:
    whole = b""
    async with logs_in(tmp_path) as (logs, _):
        for piece in (b"epoch 1\n", b"", b"epoch 2 \xe4\xb8", b"\xad\n", b"x" * 100):
            whole += piece
            assert await logs.take("r", "worker-0", look(whole, 120)) == len(piece)
            assert logs.file("r").path.read_bytes() == whole


async def test_bytes_the_service_no_longer_had_are_marked_as_missing(tmp_path: Path) -> None:
    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(b"0123456789"))
        await logs.take("r", "worker-0", look(b"0123456789" + b"a" * 90 + b"tail", 10))
        assert logs.file("r").gaps() == (Gap(10, 84),)
        assert logs.file("r").path.read_bytes() == b"0123456789" + b"aaaaaatail"
        await logs.take("r", "worker-0", look(b"0123456789" + b"a" * 90 + b"tail" + b"more", 10))
        assert logs.file("r").path.read_bytes().endswith(b"tailmore")


async def test_a_log_that_begins_anew_does_not_overwrite_the_old_one(tmp_path: Path) -> None:
    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(b"first life"))
        await logs.take("r", "worker-0", look(b"second"))
        assert logs.file("r").path.read_bytes() == b"second"
        assert logs.file("r").path.with_name("worker-0.1.log").read_bytes() == b"first life"


async def test_an_older_look_that_comes_later_changes_nothing(tmp_path: Path) -> None:
    whole = b"epoch 1\nepoch 2\nepoch 3\n"
    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(whole[:8]))
        await logs.take("r", "worker-0", look(whole))
        for older in (look(whole[:16]), look(whole[:16], 5), look(b"")):
            assert await logs.take("r", "worker-0", older) == 0
        assert logs.file("r").path.read_bytes() == whole
        assert not logs.file("r").path.with_name("worker-0.1.log").exists()
        assert await logs.take("r", "worker-0", look(whole + b"more")) == 4


async def test_an_older_look_is_known_behind_a_gap_and_behind_repaired_text(tmp_path: Path) -> None:
    whole = b"0123456789" + b"a" * 90 + b"tail\n" + "训练\n".encode("gbk") + b"end\n"
    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(whole[:10]))
        await logs.take("r", "worker-0", look(whole[:105], 10))
        await logs.take("r", "worker-0", repaired(whole, 30))
        held = logs.file("r").path.read_bytes()
        for size in (5, 10, 50, 100, 105, 107, len(whole) - 2):
            assert await logs.take("r", "worker-0", repaired(whole[:size], 30)) == 0
        assert logs.file("r").path.read_bytes() == held
        assert not logs.file("r").path.with_name("worker-0.1.log").exists()


def repaired(whole: bytes, window: int = 5_000_000) -> LogChunk:
    """The same of a log that is not UTF-8: as text, with what cannot be read replaced."""
    shown = whole[-window:]
    return LogChunk(shown.decode("utf-8", "replace").encode(), len(whole), len(shown))


async def test_bytes_that_are_not_utf_8_cost_no_byte_around_them(tmp_path: Path) -> None:
    """Where the service gives nothing but the text, every character that can be read is kept once."""
    whole = b""
    async with logs_in(tmp_path) as (logs, _):
        for number in range(20):
            whole += f"[{number}] ".encode() + "损失值\n".encode("gbk") + b"plain line\n"
            await logs.take("r", "worker-0", repaired(whole, 60))
        held = logs.file("r").path.read_bytes()
        assert held == whole.decode("utf-8", "replace").encode()
        assert logs.file("r").gaps() == ()


async def test_bytes_that_the_text_does_not_show_are_fetched(tmp_path: Path) -> None:
    whole = b""
    asked: list[int] = []

    async def part(start: int, most_bytes: int) -> bytes:
        asked.append(start)
        return whole[start : start + most_bytes]

    async with logs_in(tmp_path) as (logs, _):
        for piece in (b"begin\n", "训练\n".encode("gbk"), b"x" * 5000, b"end\n"):
            whole += piece
            assert await logs.take("r", "worker-0", repaired(whole, 100), part) == len(piece)
            assert logs.file("r").path.read_bytes() == whole
        assert logs.file("r").gaps() == () and len(asked) == 2


async def test_bytes_that_are_not_to_be_had_yet_are_waited_for_but_not_for_ever(tmp_path: Path) -> None:
    whole = b"begin\n"
    away = True

    async def part(start: int, most_bytes: int) -> bytes:
        if away:
            raise ServiceTrouble(text("The service is busy."), text("Try again."))
        return whole[start : start + most_bytes]

    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(whole), part)
        whole += b"y" * 200
        assert await logs.take("r", "worker-0", look(whole, 100), part) == 0
        away = False
        assert await logs.take("r", "worker-0", look(whole, 100), part) == 200
        away = True
        whole += b"z" * 200
        assert await logs.take("r", "worker-0", look(whole, 100), part, is_last=True) == 100
        assert logs.file("r").gaps() == (Gap(206, 100),)


async def test_bytes_of_another_log_are_not_appended(tmp_path: Path) -> None:
    async def part(start: int, most_bytes: int) -> bytes:
        return b"something else entirely" * 20

    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(b"begin\n"))
        await logs.take("r", "worker-0", look(b"begin\n" + b"y" * 200, 100), part, is_last=True)
        assert logs.file("r").path.read_bytes() == b"begin\n" + b"y" * 100


async def test_a_log_that_another_program_keeps_busy_is_no_endless_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "LOCK_S", 0.1)
    async with logs_in(tmp_path) as (logs, _):
        path = logs.file("r").path
        path.parent.mkdir(parents=True)
        with FileLock(path.with_name(path.name + ".lock")), pytest.raises(LocalTrouble, match="is using the log"):
            await logs.take("r", "worker-0", look(b"begin\n"))
        assert await logs.take("r", "worker-0", look(b"begin\n")) == 6


async def test_repaired_text_that_a_crash_cut_short_is_taken_again(tmp_path: Path) -> None:
    whole = b"begin\n" + "训练\n".encode("gbk")
    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(whole[:6]))
        await logs.take("r", "worker-0", repaired(whole))
        kept = logs.file("r").path.read_bytes()
        logs.file("r").path.write_bytes(kept[:-4])
        await logs.take("r", "worker-0", repaired(whole + b"end\n"))
        assert logs.file("r").path.read_bytes() == kept + b"end\n"


@settings(max_examples=25)
@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 60))
def test_nothing_is_there_twice_and_nothing_is_lost_silently(tmp_path: Path, pieces: list[bytes], window: int) -> None:
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
                held, expected, at = logs.file("r", "w").read(0), b"", 0
                missing = 0
                for gap in logs.file("r", "w").gaps():
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
