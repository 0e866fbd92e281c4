from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.folder_cloud import FolderCloud, digits_spec, offline
from support.waiting import fail_with, until
from traindeck.domain.errors import LocalTrouble
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.domain.texts import CHINESE
from traindeck.runtime import language
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.tasks import TaskScope
from traindeck.services.logs.log_document import LogDocument
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_rows import Page
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.logs.log_rows import LogRows

if TYPE_CHECKING:
    from support.qt_support import Stalls

RUN = Run("r1", 1, "digits-1", "lab", digits_spec(), RunState.RUNNING, datetime.now(UTC), job_id="job-1")


class Screen:
    """What a view of the feed would show, if all of it were in sight."""

    def __init__(self, feed: LogFeed) -> None:
        self._feed = feed
        self.cleared = 0
        feed.cleared.connect(self._clear)

    def _clear(self) -> None:
        self.cleared += 1

    @property
    def lines(self) -> list[str]:
        rows = self._feed.lines
        rows.want(0, len(rows))
        known = [rows.row(number) for number in rows.numbers(0, len(rows))]
        return [str(row.mark or row.words) for row in known if row is not None]


@asynccontextmanager
async def following(
    folder: Path, before: bytes = b"", run: Run = RUN
) -> AsyncIterator[tuple[FolderCloud, LogFeed, Screen]]:
    async with FolderCloud(folder) as cloud:
        await cloud.records.add(run)
        if before:
            await grow(cloud, before)
        feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        screen = Screen(feed)
        feed.show(run)
        await until(lambda: feed.state.is_read)
        yield cloud, feed, screen
        feed.close()


async def grow(cloud: FolderCloud, content: bytes) -> None:
    whole = cloud.logs.file("r1", "worker-0").read(0) + content
    await cloud.logs.take("r1", "worker-0", LogChunk(content, len(whole)))


async def test_the_end_of_a_long_log_comes_first(tmp_path: Path) -> None:
    before = b"".join(b"line %d\n" % number for number in range(100_000))
    async with following(tmp_path, before) as (_, feed, _screen):
        assert feed.state.size_bytes == len(before)
        last = feed.lines.rows - 1
        await until(lambda: feed.lines.want(last, 1) or feed.lines.is_counted)
        await until(lambda: feed.lines.is_counted)
        assert feed.lines.rows == 100_000
        await until(lambda: feed.lines.want(99_990, 10))
        rows = [feed.lines.row(number) for number in range(99_990, 100_000)]
        assert [(row.words, row.line) for row in rows] == [(f"line {n}", n + 1) for n in range(99_990, 100_000)]


async def test_what_is_in_sight_does_not_wait_for_the_counting_of_the_rest(tmp_path: Path) -> None:
    before = b"".join(b"line %d\n" % number for number in range(300_000))
    told: list[str] = []
    async with following(tmp_path) as (cloud, feed, _screen):
        other = replace(RUN, id="r2", job_id="j2")
        await cloud.records.add(other)
        path = cloud.paths.run_log("r2", "worker-0")
        path.parent.mkdir(parents=True)
        path.write_bytes(before)
        feed.lines.arrived.connect(lambda: told.append("rows"))
        feed.lines.counted.connect(lambda _: told.append("counted"))
        feed.lines.changed.connect(lambda: feed.lines.want(len(feed.lines) - 40, 40))
        feed.show(other)
        await until(lambda: "counted" in told)
        assert told[0] == "rows"


class SlowDocument(LogDocument):
    """A disk that takes its time, and does not hear that nobody waits any more."""

    def __init__(self, file: LogFile, go_on: threading.Event) -> None:
        super().__init__(file)
        self._go_on = go_on

    def rows_of(self, numbers: Sequence[int]) -> Page:
        self._go_on.wait()
        return super().rows_of(numbers)


async def test_rows_come_although_those_of_the_log_before_are_still_being_read(tmp_path: Path) -> None:
    path, go_on = tmp_path / "log", threading.Event()
    path.write_bytes(b"one\ntwo\n")
    with closing(BlockingCalls(2, "disk")) as disk:
        async with TaskScope(fail_with) as scope:
            lines = LogRows(disk, scope)
            for document in (SlowDocument(LogFile(path), go_on), LogDocument(LogFile(path))):
                lines.show(document)
                lines.take(document.look(CancelToken()))
                assert not lines.want(0, 2)
                await asyncio.sleep(0)
            try:
                await until(lambda: lines.want(0, 2), 10)
            finally:
                go_on.set()
            lines.show(None)


async def test_what_arrives_is_handed_on_with_the_line_still_being_written(tmp_path: Path) -> None:
    async with following(tmp_path, b"epoch 1\n") as (cloud, feed, screen):
        await until(lambda: screen.lines == ["epoch 1"])
        await grow(cloud, b"epoch 2\n 50%\r 60%")
        await until(lambda: screen.lines == ["epoch 1", "epoch 2", " 60%"])
        await grow(cloud, b"\r100%\n")
        await until(lambda: screen.lines == ["epoch 1", "epoch 2", "100%"])
        assert feed.lines.standing is not None and feed.lines.standing.ended == 3


async def test_a_log_another_program_writes_is_followed_too(tmp_path: Path) -> None:
    async with following(tmp_path, b"one\n") as (cloud, _, screen):
        with cloud.logs.file("r1").path.open("ab") as file:
            file.write(b"two\n")
        await until(lambda: screen.lines == ["one", "two"])


async def test_missing_bytes_are_marked_where_they_are_missing(tmp_path: Path) -> None:
    async with following(tmp_path) as (cloud, _, screen):
        await cloud.logs.take("r1", "worker-0", LogChunk(b"begin\n", 6))
        await cloud.logs.take("r1", "worker-0", LogChunk(b"end\n", 2010))
        await until(lambda: len(screen.lines) == 3)
        assert screen.lines[0] == "begin"
        assert "2 kB" in screen.lines[1]
        assert screen.lines[2] == "end"


async def test_what_we_say_in_a_log_is_said_in_the_language_in_use(tmp_path: Path) -> None:
    async with following(tmp_path) as (cloud, _, screen):
        await cloud.logs.take("r1", "worker-0", LogChunk(b"begin\n", 6))
        await cloud.logs.take("r1", "worker-0", LogChunk(b"end\n", 2010))
        await until(lambda: len(screen.lines) == 3)
        english = screen.lines[1]
        language.speak(CHINESE)
        begin, gap, end = screen.lines  # what a window of another language begins with
        assert (begin, end) == ("begin", "end")
        assert gap != english and "2 kB" in gap and not gap.isascii()


async def test_a_log_that_begins_anew_is_shown_anew(tmp_path: Path) -> None:
    async with following(tmp_path, b"a long first log\n") as (cloud, _, screen):
        await until(lambda: screen.lines == ["a long first log"])
        await cloud.logs.take("r1", "worker-0", LogChunk(b"new\n", 4))
        await until(lambda: screen.lines[-1:] == ["new"])
        assert len(screen.lines) == 2 and "anew" in screen.lines[0]
        assert screen.cleared == 2, "once when it was shown"


async def test_a_flood_costs_no_memory(tmp_path: Path, responsive: Stalls) -> None:
    async with following(tmp_path) as (cloud, feed, _):
        flood = b"".join(b"step %d loss 0.123\n" % number for number in range(60_000))
        await grow(cloud, flood)
        await until(lambda: feed.lines.rows == 60_000)
        for place in range(0, 60_000, 500):
            await until(lambda place=place: feed.lines.want(place, 100))
        assert len(feed.lines._rows) <= 5000


async def test_while_not_following_new_lines_are_counted(tmp_path: Path) -> None:
    async with following(tmp_path, b"one\n") as (cloud, feed, screen):
        await until(lambda: screen.lines == ["one"])
        feed.follow_end(False)
        await grow(cloud, b"two\nthree\n")
        await until(lambda: feed.state.new_lines == 2)
        feed.follow_end(True)
        assert feed.state.new_lines == 0


async def test_the_header_follows_the_run_and_its_trouble(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        cloud.jobs.trouble = offline()
        run = await cloud.records.add(replace(RUN, started=datetime.now(UTC)))
        feed = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        feed.show(run)
        cloud.watch_runs()
        await until(lambda: feed.state.trouble is not None)
        assert feed.state.next_look_s is not None
        assert feed.state.answer_age_s is None
        cloud.jobs.trouble = None
        cloud.watch.wake()
        await until(lambda: feed.state.run is not None and feed.state.run.state is RunState.ABNORMAL)
        assert feed.state.trouble is None
        feed.close()


async def test_showing_another_run_leaves_the_first(tmp_path: Path) -> None:
    async with following(tmp_path, b"first\n") as (cloud, feed, screen):
        await until(lambda: screen.lines == ["first"])
        feed.show(await cloud.records.add(replace(RUN, id="r2", number=2)))
        await grow(cloud, b"more of the first\n")
        await cloud.logs.take("r2", "worker-0", LogChunk(b"second\n", 7))
        await until(lambda: screen.lines == ["second"])


class _Service:
    """What it has of the log of a run."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def tail(self) -> LogChunk:
        return LogChunk(self.content, len(self.content))

    async def part(self, start: int, most_bytes: int) -> bytes:
        return self.content[start : start + most_bytes]

    async def lines(self, after: str) -> None:
        return None


async def test_while_nothing_can_be_written_the_log_is_shown_from_the_service(tmp_path: Path) -> None:
    async with following(tmp_path) as (cloud, feed, screen):
        file, service = cloud.logs.file("r1").path, _Service(b"")
        file.parent.parent.mkdir(parents=True, exist_ok=True)
        file.parent.write_bytes(b"")  # so nothing can be made below it
        for number in (1, 2):
            service.content += b"epoch %d\n" % number
            with pytest.raises(LocalTrouble):
                await cloud.logs.look("r1", "worker-0", service)
            await until(lambda number=number: screen.lines[number - 1 :] == [f"epoch {number}"])
        file.parent.unlink()
        service.content += b"epoch 3\n"
        await cloud.logs.look("r1", "worker-0", service)
        await until(lambda: screen.lines == ["epoch 1", "epoch 2", "epoch 3"])
        assert cloud.logs.is_written("r1", "worker-0") and feed.state.size_bytes == len(service.content)
        assert file.read_bytes() == service.content
