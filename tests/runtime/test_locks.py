"""A lock leaves no file behind, and two programs never hold it at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from support.waiting import PATIENT_S
from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with, let_go

PROGRAMS, ROUNDS = 4, 150
WORK = """
import os, sys
from pathlib import Path
from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with
path = Path(sys.argv[1])
for _ in range(int(sys.argv[2])):
    with alone_with(path, 600, text("busy"), text("wait")):
        os.close(os.open(path.with_name("inside"), os.O_CREAT | os.O_EXCL))  # fails where another is inside
        count = int(path.read_text()) + 1
        path.write_text(str(count))
        os.unlink(path.with_name("inside"))
"""


def test_programs_take_turns_and_no_lock_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    path.write_text("0")
    command = [sys.executable, "-c", WORK, str(path), str(ROUNDS)]
    programs = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(PROGRAMS)]
    for program in programs:
        _, said = program.communicate(timeout=PATIENT_S)
        assert program.returncode == 0, said.decode()
    assert path.read_text() == str(PROGRAMS * ROUNDS)
    assert not [*tmp_path.glob("*.lock")] and not (tmp_path / "inside").exists()


def test_who_waits_for_a_file_that_goes_takes_the_next_one(tmp_path: Path) -> None:
    place = tmp_path / "a.lock"
    first, second = FileLock(place, thread_local=False), FileLock(place, thread_local=False)
    first.acquire()
    let_go(second)  # it has nothing: the file of the first stays
    assert place.exists() and first.is_locked
    let_go(first)
    with alone_with(tmp_path / "a", 0, text("busy"), text("wait")):
        assert place.exists()
    assert not place.exists()
