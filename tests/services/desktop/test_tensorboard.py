"""Another program on a folder, with what it says and how it ends; a stand-in for TensorBoard, as a program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from support.waiting import until
from traindeck.domain.errors import LocalTrouble, NotFound
from traindeck.services.desktop.tensorboard import has_event_files, tensorboard

if os.name == "nt":
    pytest.skip("a script with its interpreter in the first line is POSIX", allow_module_level=True)

BOARD = """
import os, sys, time
folder = sys.argv[sys.argv.index("--logdir") + 1]
open(os.path.join(folder, "pid"), "w").write(str(os.getpid()))
print("W1119 some warning of a library", file=sys.stderr, flush=True)
print("TensorBoard 2.20.0 at http://127.0.0.1:45678/ (Press CTRL+C to quit)", file=sys.stderr, flush=True)
while True:
    print("x" * 10000, flush=True)
    time.sleep(0.001)
"""
BROKEN = """
raise SystemExit("No module named 'six'")
"""


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def installed(folder: Path, script: str) -> None:
    """By way of a shell: the path of an interpreter in a first line cannot have a blank."""
    source = folder / "board.py"
    source.write_text(script)
    (folder / "tensorboard").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{source}" "$@"\n')
    (folder / "tensorboard").chmod(0o755)


async def test_it_is_at_the_address_it_says_and_ends_with_us(bin_folder: Path, tmp_path: Path) -> None:
    installed(bin_folder, BOARD)
    (tmp_path / "events.out.tfevents.1").write_bytes(b"event")
    assert has_event_files(tmp_path) and not has_event_files(bin_folder)
    async with tensorboard(tmp_path) as address:
        assert address == "http://127.0.0.1:45678/"
        process = psutil.Process(int((tmp_path / "pid").read_text()))
        assert process.is_running()
    await until(lambda: not process.is_running())


async def test_one_that_is_not_there_or_does_not_start_is_said_so(bin_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="not installed"):
        async with tensorboard(tmp_path):
            raise AssertionError
    installed(bin_folder, BROKEN)
    with pytest.raises(LocalTrouble) as refused:
        async with tensorboard(tmp_path):
            raise AssertionError
    assert "No module named" in refused.value.detail
