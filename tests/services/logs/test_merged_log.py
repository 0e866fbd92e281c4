from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.runtime.blocking import CancelToken
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_notes import LogNotes, Substitute
from traindeck.services.logs.merged_log import MergedLog

TOKEN = CancelToken()


def merged(folder: Path, *logs: bytes) -> MergedLog:
    files = {}
    for number, content in enumerate(logs):
        path = folder / f"worker-{number}.log"
        path.write_bytes(content)
        files[f"worker-{number}"] = LogFile(path)
    return MergedLog(files)


def lines(log: MergedLog, *, is_over: bool = True) -> list[str]:
    while log.take(TOKEN, is_over=is_over):
        pass
    return log.file.read(0).decode().splitlines()


def at(second: int) -> bytes:
    return b"2024-05-01 10:00:%02d" % second


def test_lines_are_in_the_order_of_their_times_and_what_has_none_goes_with_the_one_before(tmp_path: Path) -> None:
    log = merged(tmp_path, at(1) + b" a\nmore\n" + at(5) + b" c", at(3) + b" b\n" + at(9) + b" d\n")
    found = [line.split(" │ ") for line in lines(log)]
    assert [(worker[-1], words[-4:].strip()) for worker, words in found] == [
        ("0", "01 a"), ("0", "more"), ("1", "03 b"), ("0", "05 c"), ("1", "09 d"),
    ]  # fmt: skip
    assert log.is_by_time
    with (tmp_path / "worker-1.log").open("ab") as file:
        file.write(b"late\n")
    assert lines(log)[-1] == "worker-1 │ late"
    folder = log.file.path.parent
    log.close()
    assert not folder.exists()


def test_without_times_it_is_the_order_in_which_they_came(tmp_path: Path) -> None:
    log = merged(tmp_path, b"a\n", b"b\nhalf")
    assert lines(log, is_over=False) == ["worker-0 │ a", "worker-1 │ b"]
    assert not log.is_by_time and not log.began_anew
    with (tmp_path / "worker-0.log").open("ab") as file:
        file.write(b"c\n")
    assert lines(log)[2:] == ["worker-0 │ c", "worker-1 │ half"]
    (tmp_path / "worker-0.log").write_bytes(b"x\n")
    assert log.began_anew
    log.close()


def test_a_bar_that_is_drawn_over_itself_keeps_the_name_of_its_worker(tmp_path: Path) -> None:
    log = merged(tmp_path, b"\rload 0%\rload 100%\n", b"windows\r\n")
    while log.take(TOKEN, is_over=True):
        pass
    content = log.file.read(0).decode()
    log.close()
    shown = [line.split("\r")[-1] for line in content.split("\n")]
    assert shown == ["worker-0 │ load 100%", "worker-1 │ windows", ""]


def test_what_is_missing_in_one_of_them_is_said_there(tmp_path: Path) -> None:
    log = merged(tmp_path, b"a\nb\n", b"c\n")
    LogFile(tmp_path / "worker-0.log").note(LogNotes((Substitute(2, 0, 5000),)))
    found = lines(log)
    log.close()
    assert found[0] == "worker-0 │ a" and "5 kB missing" in found[1] and found[2:] == ["worker-0 │ b", "worker-1 │ c"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 59), max_size=30), min_size=2, max_size=4))
def test_no_line_is_lost_and_each_worker_keeps_its_order(
    tmp_path_factory: pytest.TempPathFactory, times: list[list[int]]
) -> None:
    logs = [b"".join(at(second) + b" %d\n" % place for place, second in enumerate(seconds)) for seconds in times]
    log = merged(tmp_path_factory.mktemp("logs"), *logs)
    found = lines(log)
    log.close()
    for number, content in enumerate(logs):
        front = f"worker-{number} │ "
        assert [line.removeprefix(front) for line in found if line.startswith(front)] == content.decode().splitlines()
    if all(seconds == sorted(seconds) for seconds in times):
        told = [line.split(" │ ")[1][:19] for line in found]
        assert told == sorted(told)
