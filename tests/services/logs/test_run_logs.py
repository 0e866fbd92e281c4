"""Logs on disk are byte for byte what the service has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.domain.errors import LocalTrouble, LogGone, ServiceTrouble
from traindeck.domain.jobs.job import LogChunk, NumberedLines, Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.logs import log_files, log_notes, log_source
from traindeck.services.logs.log_notes import BeganAnew, CutByCloud, Gap, GoneFromCloud
from traindeck.services.logs.log_source import Ending
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.logs.straight_log import StraightLog
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
        with pytest.raises(ServiceTrouble):  # what passes is waited for: it would be a gap for good
            await logs.take("r", "worker-0", look(whole, 100), part, Ending.LAST)
        assert await logs.take("r", "worker-0", look(whole, 100), part, Ending.WITH_WHAT_THERE_IS) == 100
        assert logs.file("r").gaps() == (Gap(206, 100),)


async def test_bytes_of_another_log_are_not_appended(tmp_path: Path) -> None:
    async def part(start: int, most_bytes: int) -> bytes:
        return b"something else entirely" * 20

    async with logs_in(tmp_path) as (logs, _):
        await logs.take("r", "worker-0", look(b"begin\n"))
        await logs.take("r", "worker-0", look(b"begin\n" + b"y" * 200, 100), part, Ending.LAST)
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


class Service:
    """The log of one worker as a service gives it, in the ways a test wants."""

    def __init__(
        self, whole: bytes = b"", window: int = 100, *, has_file: bool = True, knows_lines: bool = False
    ) -> None:
        self.whole, self.file, self.window = whole, whole, window
        self.has_file, self.knows_lines = has_file, knows_lines
        self.is_gone = False
        self.asked: list[str] = []

    async def tail(self) -> LogChunk | None:
        self.asked.append("tail")
        if self.is_gone:
            raise LogGone(text("The service no longer has this log."), text("Look elsewhere."))
        return repaired(self.whole, self.window) if self.whole else None

    async def part(self, start: int, most_bytes: int) -> bytes | None:
        self.asked.append("part")
        return self.file[start : start + most_bytes] if self.has_file else None

    async def lines(self, after: str) -> NumberedLines | None:
        self.asked.append("lines")
        if not self.knows_lines:
            return None
        ended = self.whole[: self.whole.rfind(b"\n") + 1]
        lines = [line + b"\n" for line in ended.split(b"\n")[:-1]]
        first = int(after) if after else max(0, len(lines) - 3)
        found = lines[first : first + 3]
        return NumberedLines(b"".join(found), str(first + 1), str(first + len(found)))


async def test_a_log_that_was_rewritten_and_has_grown_beyond_what_is_held_is_not_continued(tmp_path: Path) -> None:
    """The job was started anew: as many bytes as before, and more, and others."""
    service = Service(b"first life: 1\nfirst life: 2\n", window=5_000_000)
    async with logs_in(tmp_path) as (logs, _):
        await logs.look("r", "worker-0", service)
        service.whole = b"second life: 1\nsecond life: 2\nsecond life: 3\n"
        await logs.look("r", "worker-0", service)
        file = logs.file("r")
        assert file.path.read_bytes() == service.whole
        (mark,) = file.marks()
        assert mark == BeganAnew(0, "worker-0.1.log", 28)
        assert file.path.with_name(mark.kept_as).read_bytes() == b"first life: 1\nfirst life: 2\n"


async def test_what_was_missing_while_the_job_ran_is_mended_at_its_end(tmp_path: Path) -> None:
    service = Service(b"begin\n", has_file=False)
    async with logs_in(tmp_path) as (logs, _):
        await logs.look("r", "worker-0", service)
        service.whole += b"y" * 300 + b"\n" + "训练\n".encode("gbk") + b"end\n"
        await logs.look("r", "worker-0", service)
        before = logs.file("r")
        assert before.read(0) != service.whole and before.gaps() == (Gap(6, 210),)
        service.file, service.has_file = service.whole, True
        await logs.look("r", "worker-0", service, Ending.OVER)
        assert logs.file("r").read(0) == service.whole
        assert logs.file("r").marks() == () and logs.file("r").notes().is_whole
        assert not list(before.path.parent.glob(".*mended*"))


async def test_a_follower_of_a_mended_log_reads_each_byte_it_had_not_seen_once(tmp_path: Path) -> None:
    service = Service(b"begin\n", has_file=False)
    async with logs_in(tmp_path) as (logs, records):
        await records.add(Run("r", 0, "r", "lab", JobSpec(name="r"), RunState.RUNNING, datetime.now(UTC), job_id="j"))
        await logs.look("r", "worker-0", service)
        heard = b""
        async for block in logs.follow("r"):
            heard += block
            if heard == b"begin\n":
                service.whole += b"y" * 300 + b"z" * 100
                await logs.look("r", "worker-0", service)
            elif heard == b"begin\n" + b"z" * 100:
                service.whole += b"end\n"
                service.file, service.has_file = service.whole, True
                await records.change("r", state=RunState.COMPLETED)
                await logs.look("r", "worker-0", service, Ending.OVER)
        assert heard == b"begin\n" + b"z" * 100 + b"end\n"


async def test_a_mending_that_a_crash_cut_short_is_seen_for_what_it_is(tmp_path: Path) -> None:
    service = Service(b"begin\n" + b"y" * 300, has_file=False)
    async with logs_in(tmp_path) as (logs, _):
        await logs.look("r", "worker-0", service)
        file = logs.file("r")
        gapped, mended = file.read(0), file.path.with_name(".worker-0.log.mended")
        mended.write_bytes(service.whole)
        notes = file.notes()
        file.note(replace(notes, mending=mended.name))
        assert file.notes() == notes and file.read(0) == gapped, "not in its place yet"
        mended.replace(file.path)
        assert file.marks() == () and file.notes().generation == notes.generation + 1


async def test_a_log_that_the_service_deleted_is_completed_from_its_file_and_says_so(tmp_path: Path) -> None:
    service = Service(b"begin\n" + b"y" * 300)
    async with logs_in(tmp_path) as (logs, _):
        service.is_gone = True
        await logs.look("r", "worker-0", service)
        file = logs.file("r")
        assert file.read(0) == service.whole and file.notes().is_whole
        (mark,) = file.marks()
        assert isinstance(mark, GoneFromCloud) and mark.offset == len(service.whole)


async def test_a_log_as_long_as_the_cloud_keeps_one_says_that_it_was_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_notes, "CLOUD_LIMIT_BYTES", 1000)
    service = Service(b"y" * 1000)
    async with logs_in(tmp_path) as (logs, _):
        await logs.look("r", "worker-0", service)
        assert logs.file("r").marks() == (CutByCloud(1000),)


async def test_a_large_log_is_continued_line_by_line_where_the_service_knows_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_source, "_LARGE_BYTES", 10)
    service = Service(b"".join(b"line %d\n" % number for number in range(20)), window=5_000_000, knows_lines=True)
    async with logs_in(tmp_path) as (logs, _):
        await logs.look("r", "worker-0", service)
        service.asked.clear()
        service.whole += b"".join(b"line %d\n" % number for number in range(20, 30)) + b"half a li"
        await logs.look("r", "worker-0", service)
        assert "tail" not in service.asked
        assert logs.file("r").read(0) == service.whole[: -len(b"half a li")]
        service.whole += "ne, and 训练\n".encode("gbk")
        await logs.look("r", "worker-0", service)
        service.whole += b"end"
        service.file = service.whole
        await logs.look("r", "worker-0", service, Ending.OVER)
        assert logs.file("r").read(0) == service.whole and logs.file("r").marks() == ()


async def test_straight_from_the_service_each_byte_comes_once(tmp_path: Path) -> None:
    calls = BlockingCalls(1, "disk")
    try:
        service = Service(b"begin\n")
        straight = StraightLog(service, calls)
        heard = b""
        for piece in (b"", b"x" * 50, b"y" * 5000, "训练\n".encode("gbk"), b"end\n"):
            service.whole += piece
            service.file = service.whole
            heard += (await straight.look(Ending.LIVE))[0]
        assert heard == service.whole and straight.marks == ()
        assert (await straight.look(Ending.LAST)) == (b"", True)
        later = StraightLog(service, calls, passed_bytes=6)
        assert (await later.look(Ending.LIVE))[0] == service.whole[6:], (
            "what was read from the disk comes no second time"
        )
        service.whole = service.file = b"another life\n"
        assert (await straight.look(Ending.LIVE))[0] == service.whole
        (mark,) = straight.marks
        assert isinstance(mark, BeganAnew)
    finally:
        calls.close()


async def test_following_gives_all_there_is_and_ends_with_the_run(tmp_path: Path) -> None:
    async with logs_in(tmp_path) as (logs, records):
        now = datetime.now(UTC)
        await records.add(Run("r", 0, "r", "lab", JobSpec(name="r"), RunState.RUNNING, now, job_id="j"))
        await logs.take("r", "worker-0", look(b"one\n"))
        seen = b""
        async for block in logs.follow("r"):
            seen += block
            if seen == b"one\n":
                await logs.take("r", "worker-0", look(b"one\ntwo\n"))
            elif seen == b"one\ntwo\n":
                await logs.take("r", "worker-0", look(b"one\ntwo\nlast"))
                await records.change("r", state=RunState.COMPLETED)
                await logs.look("r", "worker-0", Service(b"one\ntwo\nlast"), Ending.OVER)
        assert seen == b"one\ntwo\nlast"
