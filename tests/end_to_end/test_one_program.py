"""Two real programs on one home: the second hands over what it was to open, and ends."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from support.waiting import PATIENT_S, until
from traindeck.runtime.meeting_place import is_somebody_there, meeting_place

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets that are files")


@contextmanager
def started(home: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    program = subprocess.Popen(
        [sys.executable, "-m", "traindeck", "--language", "en", *words],
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "TRAINDECK_HOME": str(home)},
    )
    try:
        yield program
    finally:
        program.kill()
        program.wait(PATIENT_S)


async def ended(program: subprocess.Popen[bytes]) -> int:
    return await asyncio.to_thread(program.wait, PATIENT_S)


def titles(home: Path) -> Sequence[str]:
    """What the window has noted of what happened."""
    if not (home / "events.db").exists():
        return []
    with closing(sqlite3.connect(home / "events.db")) as db:
        try:
            return [str(row[0]) for row in db.execute("SELECT title FROM events")]
        except sqlite3.OperationalError:  # it is just being made
            return []


async def answer(home: Path) -> bytes:
    try:
        reader, writer = await asyncio.open_unix_connection(meeting_place(home))
        writer.write(json.dumps({"open": []}).encode() + b"\n")
        found = await reader.read(100)
        writer.close()
    except ConnectionError:
        return b""
    return found


@pytest.mark.limit(2 * PATIENT_S)
async def test_a_second_start_ends_and_the_first_opens_what_it_was_given(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.json").write_text('{"schema": 1, "lab_starts": false}', encoding="utf-8")
    (home.parent / "job.toml").write_text("[job\nname = ", encoding="utf-8")
    with started(home) as first:
        await until(lambda: is_somebody_there(home))
        given = ("job.toml", "traindeck://run/nobody", "traindeck://submit/now")
        with started(home, *given) as second:
            assert await ended(second) == 0
        for said in ("not valid TOML", "Run “{id}”", "does not know the link"):
            await until(lambda said=said: any(said in title for title in titles(home)))
        assert first.poll() is None
        first.kill()
        await ended(first)
    assert is_somebody_there(home)  # its socket is left over
    with started(home) as third:
        while await answer(home) != b"taken\n":
            assert third.poll() is None
            await asyncio.sleep(0.05)
        third.terminate()
        await ended(third)
    assert not is_somebody_there(home)
    assert not (home / "lab" / "control.json").exists()  # nobody asked for the Lab
