"""One window for a home over real sockets: taken over, handed on, and closed to what does not belong."""

import asyncio
import json
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from traindeck.runtime.meeting_place import is_somebody_there, meeting_place
from traindeck.ui.qt.one_program import FileOpenings, MeetingPoint

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets with rights of their own")


@contextmanager
def point(home: Path, openings: list[str] | None = None) -> Iterator[list[list[str]]]:
    """What others handed over."""
    told: list[list[str]] = []
    made = MeetingPoint(meeting_place(home), str(home / "window.lock"), told.append)
    try:
        assert made.open(openings or [])
        yield told
    finally:
        made.close()


async def said(home: Path, *sent: bytes) -> bytes:
    """What comes back to somebody who speaks another language."""
    reader, writer = await asyncio.open_unix_connection(meeting_place(home))
    try:
        for piece in sent:
            writer.write(piece)
            await writer.drain()
        return await reader.read(100)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def handed(home: Path, *openings: str) -> bytes:
    return await said(home, json.dumps({"open": openings}).encode() + b"\n")


async def test_what_is_handed_over_arrives_once_and_in_order(tmp_path: Path) -> None:
    assert not is_somebody_there(tmp_path)
    with point(tmp_path) as told:
        assert is_somebody_there(tmp_path)
        assert await handed(tmp_path, "/a/job.toml", "traindeck://run/x") == b"taken\n"
        assert await handed(tmp_path) == b"taken\n"
        assert told == [["/a/job.toml", "traindeck://run/x"], []]
        mode = stat.S_IMODE(Path(meeting_place(tmp_path)).stat().st_mode)
        assert mode & 0o077 == 0
    assert not is_somebody_there(tmp_path)


async def test_what_is_not_understood_is_cut_off_and_the_window_goes_on(tmp_path: Path) -> None:
    with point(tmp_path) as told:
        for line in (
            b"GET / HTTP/1.1\n", b"{}\n", b"[]\n", b'{"open": "x"}\n', b'{"open": [1]}\n', b"\xff\n",
            b"[" * 9000 + b"\n",
            json.dumps({"open": ["a"] * 21}).encode() + b"\n", json.dumps({"open": ["a" * 5000]}).encode() + b"\n",
        ):  # fmt: skip
            assert await said(tmp_path, line) == b"", line[:40]
        assert await said(tmp_path, *[b"x" * 65536] * 8) == b""  # without an end
        silent = [await asyncio.open_unix_connection(meeting_place(tmp_path)) for _ in range(20)]
        for _, writer in silent:
            writer.close()
        while await handed(tmp_path, "last") != b"taken\n":
            assert told == []  # as long as those before are not all gone
        assert told == [["last"]]


async def test_the_socket_of_a_program_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(meeting_place(tmp_path))
    left.close()
    assert is_somebody_there(tmp_path)
    with point(tmp_path) as told:
        assert await handed(tmp_path, "x") == b"taken\n"
        assert told == [["x"]]


async def test_a_long_home_meets_in_a_closed_folder_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = Path(f"/tmp/td-{os.getpid()}")
    short.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(short))
    home = tmp_path / ("x" * 100)
    home.mkdir()
    try:
        with point(home):
            assert await handed(home) == b"taken\n"
            place = Path(meeting_place(home))
            assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
        place.parent.rmdir()
    finally:
        short.rmdir()


async def test_what_the_desktop_of_a_mac_opens_arrives(qapp: QApplication) -> None:
    told: list[list[str]] = []
    openings = FileOpenings(qapp, told.append)
    try:
        QApplication.sendEvent(qapp, QFileOpenEvent("/a/job.toml"))
        QApplication.sendEvent(qapp, QFileOpenEvent(QUrl("traindeck://run/x")))
    finally:
        openings.close()
    assert told == [["/a/job.toml"], ["traindeck://run/x"]]
