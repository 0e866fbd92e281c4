"""How the window was left: kept whole, written soon, and never waited for."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.waiting import fail_with, until
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.shell.window_state import WindowState


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(2, "disk")
    yield calls
    calls.close()


def read(path: Path) -> WindowState:
    state = WindowState(path)
    state.read()
    return state


async def test_what_was_put_comes_back(tmp_path: Path, disk: BlockingCalls) -> None:
    path = tmp_path / "deep" / "window.json"
    state = WindowState(path)
    state.put("tabs", ["a", "b"])
    state.put("gone", 1)
    state.put("gone", None)
    assert state.get("tabs") == ["a", "b"]  # for the next window, before anything is written
    await state.keep(disk)
    assert read(path).get("tabs") == ["a", "b"]
    assert list(json.loads(path.read_bytes())) == ["tabs"]


@pytest.mark.parametrize("content", ["", "[]", '"x"', "\0", "[" * 100_000, '{"a": '])
async def test_a_damaged_file_costs_no_more_than_what_was_in_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "window.json").write_text(content, encoding="utf-8")
    assert read(tmp_path / "window.json").get("a") is None


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such rights there")
async def test_a_place_that_cannot_be_written_is_logged(
    tmp_path: Path, disk: BlockingCalls, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    state = WindowState(tmp_path / "file" / "window.json")
    state.put("a", 1)
    await state.keep(disk)
    assert "is not kept" in caplog.text


async def test_a_change_is_on_disk_within_moments(tmp_path: Path, disk: BlockingCalls) -> None:
    """Nobody has to quit for that: what ends the program at once takes no more than the last moments with it."""
    path = tmp_path / "window.json"
    state = WindowState(path)
    state.put("a", 1)
    async with TaskScope(fail_with) as scope:
        state.keep_with(disk, scope)
        await until(path.exists)
        state.put("a", 2)
        await until(lambda: read(path).get("a") == 2)


async def test_the_last_of_several_stays_and_nobody_waits(tmp_path: Path, disk: BlockingCalls) -> None:
    path, free = tmp_path / "window.json", threading.Event()
    busy = [asyncio.ensure_future(disk.run(lambda _: free.wait())) for _ in range(2)]
    state = WindowState(path)
    state.put("a", "first")
    keeping = asyncio.ensure_future(state.keep(disk))
    await asyncio.sleep(0)
    for number in range(5):
        state.put("a", number)
    assert not path.exists() and state.get("a") == 4
    at_quit = asyncio.ensure_future(state.keep(disk))
    free.set()
    await asyncio.gather(at_quit, keeping, *busy)
    assert read(path).get("a") == 4


async def test_a_save_that_was_cancelled_is_made_up_for(tmp_path: Path, disk: BlockingCalls) -> None:
    """As at quitting: the tasks of the window are cancelled, and then what is newest is kept."""
    free = threading.Event()
    busy = [asyncio.ensure_future(disk.run(lambda _: free.wait())) for _ in range(2)]
    state = WindowState(tmp_path / "window.json")
    state.put("a", 1)
    keeping = asyncio.ensure_future(state.keep(disk))
    await until(lambda: state._writing.locked())
    keeping.cancel()
    free.set()
    await asyncio.gather(keeping, *busy, return_exceptions=True)
    await state.keep(disk)
    assert read(tmp_path / "window.json").get("a") == 1


async def test_what_is_newer_than_the_file_is_not_overwritten_by_it(tmp_path: Path, disk: BlockingCalls) -> None:
    state = WindowState(tmp_path / "window.json")
    state.put("a", "old")
    state.put("b", "kept")
    await state.keep(disk)
    fresh = WindowState(tmp_path / "window.json")
    fresh.put("a", "new")
    fresh.read()
    assert (fresh.get("a"), fresh.get("b")) == ("new", "kept")
