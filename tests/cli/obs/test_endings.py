"""How commands end: the worst of many files, a reader that has heard enough, and a signal from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli_commands import LIMIT_S, Traindeck, put_files
from support.servers.lab_control import Control


def error_at(resource: str, status: int, code: str) -> dict[str, object]:
    return {"kind": "error", "service": "obs", "resource": resource, "status": status, "code": code}


@pytest.fixture
def files(traindeck: Traindeck, lab: dict[str, str], tmp_path: Path) -> Path:
    put_files(tmp_path / "data", {name: name.encode() for name in ("a", "b", "c", "d")})
    traindeck("obs", "mb", "obs://many").must_be(0)
    return tmp_path


# The first that fails is not the worst, in one order or the other.
REFUSED = (error_at("/many/*a", 403, "AccessDenied"), error_at("/many/*c", 400, "EntityTooLarge"))


@pytest.mark.parametrize("verb", ["cp", pytest.param("sync", marks=pytest.mark.long), "mv"])
def test_the_worst_of_the_files_sent_decides(traindeck: Traindeck, files: Path, verb: str) -> None:
    Control(files / "home" / "lab").rules(*REFUSED)
    answer = traindeck("obs", verb, "data", "obs://many/x/").must_be(1)
    assert "2 files were not transferred" in answer.said
    listed = answer.said + answer.out
    assert "a  " in listed and "c  " in listed, "each of them is named"


def test_the_worst_of_the_files_fetched_decides(traindeck: Traindeck, files: Path) -> None:
    traindeck("obs", "cp", "data", "obs://many/x/").must_be(0)
    control = Control(files / "home" / "lab")
    denied = error_at("/many/*a", 403, "AccessDenied")
    control.rules({**error_at("/many/*b", 404, "NoSuchKey"), "operation": "GetObject"}, denied)
    assert "2 files" in traindeck("obs", "cp", "obs://many/x/", "here").must_be(1).said
    control.rules(error_at("/many/*a", 403, "AccessDenied"))
    traindeck("obs", "cp", "obs://many/x/", "there").must_be(3)


def test_several_sources_are_all_tried(traindeck: Traindeck, files: Path) -> None:
    answer = traindeck("obs", "cp", "none", "data/b", "data/c", "obs://many/y/").must_be(4)
    assert "none" in answer.said
    listed = traindeck("obs", "ls", "obs://many/y/", "--json").must_be(0).rows
    assert [row["key"] for row in listed] == ["y/b", "y/c"]
    traindeck("obs", "mv", "none", "data/b", "obs://many/z/").must_be(4)
    assert not (files / "data" / "b").exists()
    printed = traindeck("obs", "cat", "obs://many/none", "obs://many/y/b").must_be(4)
    assert printed.raw == b"b"


def test_a_name_that_no_service_takes_fails_and_is_listed(traindeck: Traindeck, files: Path) -> None:
    put_files(files / "data", {"with\\backslash": b"x", "with\x07bell": b"y"})
    answer = traindeck("obs", "cp", "data", "obs://many/x/").must_be(1)
    assert "backslash" in answer.said and "bell" in answer.said
    rows = traindeck("obs", "cp", "data", "obs://many/x/", "--json").must_be(1).rows
    assert sum(row.get("result") == "failed" for row in rows) == 2 and "error" in rows[-1]


@pytest.mark.parametrize("denied", ["many", "other"])
def test_the_worst_of_the_buckets_emptied_decides(traindeck: Traindeck, files: Path, denied: str) -> None:
    traindeck("obs", "mb", "obs://other").must_be(0)
    for bucket in ("many", "other"):
        traindeck("obs", "cp", "data", f"obs://{bucket}/x/").must_be(0)
    # One of them is a matter of rights, the other cannot be helped.
    Control(files / "home" / "lab").rules(
        *(
            {**error_at(f"/{bucket}*", *said), "operation": "DeleteObject*"}
            for bucket in ("many", "other")
            for said in [(403, "AccessDenied") if bucket == denied else (501, "NotImplemented")]
        )
    )
    traindeck("obs", "rm", "-r", "--yes", "obs://many/x/", "obs://other/x/").must_be(1)
    traindeck("obs", "rm", "-r", "--yes", f"obs://{denied}/x/").must_be(3)


TALKERS = {
    "ls": ("obs", "ls", "-r", "obs://many/"),
    "ls --json": ("obs", "ls", "-r", "obs://many/", "--json"),
    "find": ("obs", "find", "obs://many/", "a"),
    "du": ("obs", "du", "obs://many/"),
    "cat": ("obs", "cat", "obs://many/x/a"),
    "stat --json": ("obs", "stat", "obs://many/x/a", "--json"),
    "pack --list": ("obs", "pack", "--list", "obs://many/packed/"),
    "job ls --json": ("job", "ls", "--json"),
    "profile list": ("profile", "list"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe is closed otherwise there")
@pytest.mark.parametrize(
    "talkers", [("ls --json", "cat", "pack --list"), pytest.param(tuple(TALKERS), marks=pytest.mark.long)], ids=len
)
def test_a_reader_that_has_heard_enough_is_no_failure(
    traindeck: Traindeck, files: Path, talkers: tuple[str, ...]
) -> None:
    traindeck("obs", "cp", "data", "obs://many/x/").must_be(0)
    traindeck("obs", "pack", "data", "obs://many/packed/").must_be(0)
    began = []
    for words in map(TALKERS.__getitem__, talkers):
        reading, writing = os.pipe()
        os.close(reading)  # nobody reads, not even the first line
        command = [sys.executable, "-m", "traindeck", *words]
        began.append(subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL))
        os.close(writing)
    ends = [(process.communicate(timeout=LIMIT_S)[1], process.returncode) for process in began]
    assert dict(zip(talkers, ends, strict=True)) == dict.fromkeys(talkers, (b"", 0))


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe is closed otherwise there")
def test_what_changes_something_goes_on_when_nobody_listens(traindeck: Traindeck, files: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "traindeck", "obs", "sync", "data", "obs://many/x/"]
    done = subprocess.run(command, stdout=writing, stderr=writing, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
    os.close(writing)
    assert done.returncode == 0
    assert len(traindeck("obs", "ls", "obs://many/x/", "--json").must_be(0).rows) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", ["SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.long)])
def test_a_signal_from_outside_puts_down_what_there_is(traindeck: Traindeck, files: Path, number: str) -> None:
    put_files(files / "data", {f"{number:02}": b"x" for number in range(40)})
    control = Control(files / "home" / "lab")
    control.rules({"kind": "latency", "service": "obs", "operation": "PutObject", "seconds": 3600, "skip": 5})

    def there() -> dict[str, str]:
        rows = traindeck("obs", "ls", "obs://many/", "-r", "--json").must_be(0).rows
        return {row["key"]: row["modified"] for row in rows}

    command = [sys.executable, "-m", "traindeck", "obs", "cp", "data", "obs://many/x/"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=files) as process:
        while len(sent := there()) < 5:
            assert process.poll() is None
        process.send_signal(getattr(signal, number))
        out, said = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, said) == (130, b"", b"Interrupted.\n")
    control.rules()
    assert traindeck("obs", "cp", "data", "obs://many/x/", "--json").must_be(0).document["files"] == 44
    now = there()
    assert len(now) == 44 and sent.items() <= now.items(), "what was there is not sent again"
