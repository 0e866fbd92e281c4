"""The saved layout: kept whole, dropped when it no longer fits, and never waited for."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.waiting import until
from traindeck.runtime.blocking import BlockingCalls
from traindeck.viewmodels.shell.preferences import WindowLayout, WindowState

LAYOUT = WindowLayout(b"\x00geometry\xff", b"docks\x01")


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(2, "disk")
    yield calls
    calls.close()


async def test_what_was_saved_comes_back(tmp_path: Path, disk: BlockingCalls) -> None:
    path = tmp_path / "deep" / "window.json"
    state = WindowState(path)
    state.save(3, LAYOUT)
    assert state.load(3) == LAYOUT  # for the next window, before anything is written
    await state.keep(disk)
    later = WindowState(path)
    later.read()
    assert later.load(3) == LAYOUT


async def test_a_layout_of_another_window_is_not_used(tmp_path: Path, disk: BlockingCalls) -> None:
    state = WindowState(tmp_path / "window.json")
    state.read()
    assert state.load(1) is None
    state.save(1, LAYOUT)
    assert state.load(2) is None


@pytest.mark.parametrize("content", ["", "[]", '{"version": 1}', '{"version": 1, "geometry": "ü", "docks": ""}', "\0"])
async def test_a_damaged_file_costs_the_layout_only(tmp_path: Path, disk: BlockingCalls, content: str) -> None:
    path = tmp_path / "window.json"
    path.write_text(content, encoding="utf-8")
    state = WindowState(path)
    state.read()
    assert state.load(1) is None


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such rights there")
async def test_a_place_that_cannot_be_written_is_logged(
    tmp_path: Path, disk: BlockingCalls, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    state = WindowState(tmp_path / "file" / "window.json")
    state.save(1, LAYOUT)
    await state.keep(disk)
    assert "layout was not saved" in caplog.text


async def test_the_last_of_several_saves_stays_and_nobody_waits(tmp_path: Path, disk: BlockingCalls) -> None:
    path, free = tmp_path / "window.json", threading.Event()
    busy = [asyncio.ensure_future(disk.run(lambda _: free.wait())) for _ in range(2)]
    state = WindowState(path)
    state.save(1, WindowLayout(b"first", b""))
    keeping = asyncio.ensure_future(state.keep(disk))
    await asyncio.sleep(0)
    for number in range(5):
        state.save(1, WindowLayout(b"%d" % number, b""))
    assert not path.exists() and state.load(1) == WindowLayout(b"4", b"")
    at_quit = asyncio.ensure_future(state.keep(disk))
    free.set()
    await asyncio.gather(at_quit, keeping, *busy)
    later = WindowState(path)
    later.read()
    assert later.load(1) == WindowLayout(b"4", b"")


async def test_a_save_that_was_cancelled_is_made_up_for(tmp_path: Path, disk: BlockingCalls) -> None:
    """As at quitting: the tasks of the window are cancelled, and then what is newest is kept."""
    free = threading.Event()
    busy = [asyncio.ensure_future(disk.run(lambda _: free.wait())) for _ in range(2)]
    state = WindowState(tmp_path / "window.json")
    state.save(1, LAYOUT)
    keeping = asyncio.ensure_future(state.keep(disk))
    await until(lambda: state._writing.locked())
    keeping.cancel()
    free.set()
    await asyncio.gather(keeping, *busy, return_exceptions=True)
    await state.keep(disk)
    assert json.loads((tmp_path / "window.json").read_bytes())["version"] == 1


async def test_what_is_newer_than_the_file_is_not_overwritten_by_it(tmp_path: Path, disk: BlockingCalls) -> None:
    state = WindowState(tmp_path / "window.json")
    state.save(1, WindowLayout(b"old", b""))
    await state.keep(disk)
    fresh = WindowState(tmp_path / "window.json")
    fresh.save(1, LAYOUT)
    fresh.read()
    assert fresh.load(1) == LAYOUT
