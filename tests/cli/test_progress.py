"""The line that shows how far the work is: on a terminal only, and gone when it is done."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from traindeck.cli.columns import width
from traindeck.cli.progress import bar

# By a clock of its own, which a slow machine does not make faster than the program.
DRAWS = """
from types import SimpleNamespace
from traindeck.cli import progress as module
from traindeck.cli.output import Output
from traindeck.cli.progress import ByteProgress

now = 0.0

def monotonic():
    global now
    now += 0.0001
    return now

module.time = SimpleNamespace(monotonic=monotonic)
output = Output()
with ByteProgress(output, "数字 data") as progress:
    for done in range(0, 3001, 1):
        progress.at(done, 3000)
    output.note("said in between")
    now += 0.11
    progress.at(3000, 3000)
output.note("end")
"""


# The same, with something that fails twice and is told of each time.
SETS_BACK = """
from datetime import UTC, datetime
from traindeck.cli.output import Output
from traindeck.cli.progress import ByteProgress
from traindeck.domain.errors import Unreachable
from traindeck.domain.texts import text

now = 100.0
output = Output(clock=lambda: now)
error = Unreachable(text("Nobody is there."), text("Look."))
moment = datetime(2026, 8, 1, 12, 30, 15, tzinfo=UTC)
with ByteProgress(output, "data") as progress:
    progress.at(1, 3)
    for tries in (1, 2, 3):
        output.setback(error, tries, moment)
    output.setback(error, 3, None)
    now += 6
    output.setback(error, 4, moment)
"""


def test_a_log_file_gets_the_reason_at_once_and_then_now_and_again() -> None:
    done = subprocess.run([sys.executable, "-c", SETS_BACK], capture_output=True, text=True, encoding="utf-8")
    lines = done.stderr.splitlines()
    assert [line.partition(";")[0] for line in lines] == [
        "Nobody is there. Failed attempts: 1",
        "Nobody is there. Failed attempts: 4",
    ], done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal is POSIX")
def test_a_terminal_gets_the_reason_in_its_line() -> None:
    seen = at_terminal(SETS_BACK, 100)
    assert [f"Failed attempts: {tries}; next attempt at " in seen for tries in (1, 2, 3, 4)] == [True] * 4
    assert "\n" not in seen, "one line, drawn anew"


def test_what_is_known_is_shown_and_nothing_else() -> None:
    assert bar("x", 50, 200, 0.5) == "x  [######..................] 25 %  50 B / 200 B"
    assert bar("x", 500_000, 2_000_000, 2.0).endswith("500 kB / 2 MB  250 kB/s  0:06")
    assert bar("x", 10, None, 0.5) == "x  10 B"
    assert "100 %" in bar("x", 300, 200, 0.5), "a file that grew while it was sent"


def test_a_log_file_gets_no_line_at_all() -> None:
    done = subprocess.run([sys.executable, "-c", DRAWS], capture_output=True, text=True, encoding="utf-8")
    assert done.stderr == "said in between\nend\n", done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal is POSIX")
def test_a_terminal_sees_few_drawings_none_wider_than_it_and_no_rests() -> None:
    seen = at_terminal(DRAWS, 40)
    drawings = seen.split("\r")
    assert 2 < len(drawings) < 12, "throttled: 3,000 calls are a handful of drawings"
    assert max(width(drawing.rstrip("\n")) for drawing in drawings) <= 39
    screen = ""
    for line in "\r".join(drawings).split("\n"):
        screen += line.rpartition("\r")[2] + "\n"
    assert screen == "said in between\nend\n\n"


def at_terminal(program: str, columns: int) -> str:
    """What a terminal of this width is sent."""
    import pty

    own, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"COLUMNS": str(columns)},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(own, 4096):
            seen += block
    except OSError:  # Linux says so when the other side is closed
        assert seen
    finally:
        os.close(own)
    assert process.wait() == 0
    return seen.decode().replace("\r\n", "\n")
