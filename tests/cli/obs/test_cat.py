"""Objects on standard output, byte by byte as they are, against the real Lab."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli_commands import LIMIT_S, Traindeck
from support.servers.lab_control import Control
from support.waiting import until

if sys.platform != "win32":
    import fcntl
    import termios

CONTENT = bytes(range(256)) * 4000 + b"\r\n\x00"


def held_by(pipe: int) -> int:
    """How much of what was written into it nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.fixture
def bucket(traindeck: Traindeck, lab: dict[str, str]) -> str:
    traindeck("obs", "mb", "obs://cat-bucket").must_be(0)
    traindeck("obs", "cp", "-", "obs://cat-bucket/a b.bin", given=CONTENT).must_be(0)
    traindeck("obs", "cp", "-", "obs://cat-bucket/empty", given=b"").must_be(0)
    return "obs://cat-bucket"


def test_objects_come_out_whole_in_order_or_in_part(traindeck: Traindeck, bucket: str) -> None:
    done = traindeck("obs", "cat", f"{bucket}/a b.bin", f"{bucket}/empty", "s3://cat-bucket/a b.bin").must_be(0)
    assert done.raw == CONTENT + CONTENT
    assert done.said == ""
    for option, expected in (
        ("--range=0-0", CONTENT[:1]),
        ("--range=10-2000000", CONTENT[10:]),
        ("--range=300-", CONTENT[300:]),
        ("--range=-3", CONTENT[-3:]),
        ("--head=1kB", CONTENT[:1000]),
        ("--head=0", b""),
    ):
        assert traindeck("obs", "cat", option, f"{bucket}/a b.bin").must_be(0).raw == expected, option
    assert traindeck("obs", "cat", "--head=5", f"{bucket}/empty").must_be(0).raw == b""
    counted = traindeck("obs", "cat", "--json", "--head=5", f"{bucket}/a b.bin").must_be(0)
    assert counted.document == {"objects": 1, "bytes": 5}


def test_what_cannot_be_printed_is_refused(traindeck: Traindeck, bucket: str) -> None:
    missing = traindeck("obs", "cat", f"{bucket}/none").must_be(4)
    assert "does not exist" in missing.said
    traindeck("obs", "cat", "obs://no-such-bucket/none").must_be(4)
    assert "is a folder" in traindeck("obs", "cat", f"{bucket}/folder/").must_be(2).said
    assert "only 1,024,003 bytes" in traindeck("obs", "cat", "--range=1024003-", f"{bucket}/a b.bin").must_be(2).said
    for wrong in ("--range=9-3", "--range=x", "--range=-", "--head=much"):
        traindeck("obs", "cat", wrong, f"{bucket}/a b.bin").must_be(2)
    traindeck("obs", "cat", "--head=3", "--range=0-2", f"{bucket}/a b.bin").must_be(2)


def test_a_cut_line_is_taken_up_where_it_broke(traindeck: Traindeck, bucket: str, tmp_path: Path) -> None:
    control = Control(tmp_path / "home" / "lab")
    control.rules(
        {"kind": "cut-body", "operation": "GetObject", "after_bytes": 300_000, "count": 3},
    )
    assert traindeck("obs", "cat", f"{bucket}/a b.bin").must_be(0).raw == CONTENT
    control.rules({"kind": "cut-body", "operation": "GetObject", "after_bytes": 0})
    traindeck("obs", "cat", f"{bucket}/a b.bin").must_be(5)


def test_a_reader_that_has_enough_ends_it_quietly(bucket: str) -> None:
    command = [sys.executable, "-m", "traindeck", "obs", "cat", *[f"{bucket}/a b.bin"] * 5]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10) == CONTENT[:10]
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(LIMIT_S) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="how full a pipe is, Linux alone tells")
@pytest.mark.parametrize("unbuffered", ["", "1"])
async def test_an_interrupt_ends_it_while_nobody_reads(bucket: str, unbuffered: str) -> None:
    command = [sys.executable, "-m", "traindeck", "obs", "cat", *[f"{bucket}/a b.bin"] * 5]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        pipe = process.stdout.fileno()
        await until(lambda: held_by(pipe) == fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ))
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(LIMIT_S) == 130
        assert process.stderr.read() == b"Interrupted.\n"
