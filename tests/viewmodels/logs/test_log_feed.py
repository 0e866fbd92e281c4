from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from support.folder_cloud import FolderCloud, digits_spec, offline
from support.waiting import until
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.domain.texts import CHINESE
from traindeck.runtime import language
from traindeck.viewmodels.logs.log_feed import LONGEST_LINE, MOST_LINES, LogBatch, LogFeed, LogText

if TYPE_CHECKING:
    from support.qt_support import Stalls

RUN = Run("r1", 1, "digits-1", "lab", digits_spec(), RunState.RUNNING, datetime.now(UTC), job_id="job-1")


def lines(*pieces: bytes) -> list[str]:
    text = LogText()
    return [line for piece in pieces for line in text.feed(piece)] + ([text.open_line] if text.open_line else [])


class Screen:
    """What a view of the feed would show."""

    def __init__(self, feed: LogFeed) -> None:
        self.lines: list[str] = []
        self.open_line = ""
        self.skipped = 0
        self.batches: list[LogBatch] = []
        feed.cleared.connect(self._clear)
        feed.arrived.connect(self._take)

    def _clear(self) -> None:
        self.lines.clear()

    def _take(self, batch: LogBatch) -> None:
        self.batches.append(batch)
        self.lines += batch.lines
        self.skipped += batch.skipped
        self.open_line = batch.open_line


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


def test_a_character_cut_in_two_is_put_together() -> None:
    content = "损失 0.5\n".encode()
    assert lines(content[:1], content[1:4], content[4:]) == ["损失 0.5"]


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert lines(b"a\xff\xfeb\n") == ["a��b"]


def test_a_progress_bar_is_one_line() -> None:
    assert lines(b"10%\r20%\r", b"30%") == ["30%"]
    assert lines(b"10%\r20%\r30%\r\nnext\n") == ["30%", "next"]


def test_line_ends_of_windows_are_line_ends_even_when_cut() -> None:
    assert lines(b"one\r", b"\ntwo\r\n") == ["one", "two"]


def test_colours_and_control_characters_do_not_reach_the_view() -> None:
    assert lines(b"\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07end\x00\n") == ["red end"]
    assert lines("a\u2028b\u2029c\n".encode()) == ["a b c"]
    assert lines(b"a\tb\n") == ["a\tb"]


def test_a_line_of_a_megabyte_is_cut_into_many() -> None:
    shown = lines(b"x" * 1_000_000, b"\n")
    assert max(map(len, shown)) <= LONGEST_LINE
    assert sum(map(len, shown)) == 1_000_000


@given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"))), st.lists(st.integers(0, 400)))
def test_how_the_bytes_are_cut_changes_nothing(written: str, cuts: list[int]) -> None:
    content = f"{written}\n第二行\nthird".encode()
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    pieces = [content[begin:end] for begin, end in itertools.pairwise(places)]
    assert lines(*pieces) == [*written.split("\n"), "第二行", "third"]


async def test_the_end_of_a_long_log_comes_first(tmp_path: Path) -> None:
    before = b"".join(b"line %d\n" % number for number in range(100_000))
    async with following(tmp_path, before) as (_, feed, screen):
        await until(lambda: screen.lines[-1:] == ["line 99999"])
        assert all(line.startswith("line ") for line in screen.lines)
        assert feed.state.size_bytes == len(before)


async def test_what_arrives_is_handed_on_with_the_line_still_being_written(tmp_path: Path) -> None:
    async with following(tmp_path, b"epoch 1\n") as (cloud, feed, screen):
        await until(lambda: screen.lines == ["epoch 1"])
        await grow(cloud, b"epoch 2\n 50%\r 60%")
        await until(lambda: screen.lines == ["epoch 1", "epoch 2"] and screen.open_line == " 60%")
        await grow(cloud, b"\r100%\n")
        await until(lambda: screen.lines[-1] == "100%" and screen.open_line == "")
        assert feed.lines_so_far().lines == ("epoch 1", "epoch 2", "100%")


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
    async with following(tmp_path) as (cloud, feed, screen):
        await cloud.logs.take("r1", "worker-0", LogChunk(b"begin\n", 6))
        await cloud.logs.take("r1", "worker-0", LogChunk(b"end\n", 2010))
        await until(lambda: len(screen.lines) == 3)
        language.speak(CHINESE)
        begin, gap, end = feed.lines_so_far().lines  # what a window of another language begins with
        assert (begin, end) == ("begin", "end")
        assert gap != screen.lines[1] and "2 kB" in gap and not gap.isascii()


async def test_a_log_that_begins_anew_is_shown_anew(tmp_path: Path) -> None:
    async with following(tmp_path, b"a long first log\n") as (cloud, _, screen):
        await until(lambda: screen.lines == ["a long first log"])
        await cloud.logs.take("r1", "worker-0", LogChunk(b"new\n", 4))
        await until(lambda: screen.lines[-1:] == ["new"])
        assert len(screen.lines) == 2


async def test_a_flood_is_bounded_and_counted(tmp_path: Path, responsive: Stalls) -> None:
    async with following(tmp_path) as (cloud, feed, screen):
        flood = b"".join(b"step %d loss 0.123\n" % number for number in range(60_000))
        await grow(cloud, flood)
        await until(lambda: screen.lines[-1:] == ["step 59999 loss 0.123"])
        assert len(screen.lines) + screen.skipped == 60_000
        assert len(feed.lines_so_far().lines) <= MOST_LINES


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
