"""Logs of any length in bounded time and room."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from traindeck.domain.readings.log_reader import LogReader
from traindeck.runtime.blocking import CancelToken
from traindeck.services.logs.log_files import LogFile
from traindeck.services.readings import whole_log
from traindeck.services.readings.explaining import explain_open
from traindeck.services.readings.shipped import progress_patterns
from traindeck.services.readings.whole_log import evidence_in, read_values

TRACEBACK = b'Traceback (most recent call last):\n  File "train.py", line 7, in main\n    go()\n'


class Counted:
    """A log as a program would read it, and how much of it was read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.bytes_read = 0

    def read(self, offset: int, most: int) -> bytes:
        found = self.content[offset : offset + most]
        self.bytes_read += len(found)
        return found


def progress(first: int, last: int) -> bytes:
    return b"".join(b"step %d/400000 loss %.5f lr 0.001\n" % (step, 1 / step) for step in range(first, last + 1))


def test_of_a_long_log_only_samples_are_read_and_its_curve_still_goes_from_end_to_end(monkeypatch: object) -> None:
    log = Counted(progress(1, 400_000) + b"x" * (16 << 20) + b"\n" + progress(399_999, 400_000))
    for name, value in (("_ALL_BYTES", 1 << 20), ("_HEAD_BYTES", 1 << 17), ("_TAIL_BYTES", 1 << 17)):
        monkeypatch.setattr(whole_log, name, value)  # type: ignore[attr-defined]
    monkeypatch.setattr(whole_log, "_SAMPLE_BYTES", 1 << 13)  # type: ignore[attr-defined]
    reader = LogReader(progress_patterns())
    read_values(reader, log.read, len(log.content), CancelToken())
    reader.end()
    reading = reader.reading()
    assert log.bytes_read < 3 << 20
    steps = [point.step or 0 for point in reading.series["loss"].points()]
    assert steps == sorted(steps) and steps[0] == 1 and reading.values["step"] == 400_000
    assert max(later - earlier for earlier, later in pairwise(steps)) < 20_000
    assert reading.bytes_read == len(log.content)


def test_what_comes_later_is_read_from_where_it_was_left(tmp_path: Path) -> None:
    file = tmp_path / "worker-0.log"
    whole = progress(1, 50)
    reader = LogReader(progress_patterns())
    for end in (100, 101, 700, len(whole)):
        file.write_bytes(whole[:end])
        held = LogFile(file)
        read_values(reader, held.read, held.size(), CancelToken(), 1000.0 + end)
        assert reader.offset == end
    assert reader.reading().values["step"] == 50


def test_the_line_that_shows_a_failure_has_its_number_in_a_log_of_any_length() -> None:
    before = b"some line of the log\n" * 200_000
    log = before + TRACEBACK + b"ValueError: shapes (3,4) and (5,6) not aligned\n"
    evidence = evidence_in(Counted(log).read, len(log), CancelToken(), exit_code=1)
    (one,) = evidence.tracebacks
    assert one.message[0].number == 200_004 and log[one.message[0].offset :].startswith(b"ValueError")


def test_a_traceback_far_from_the_end_is_found_too_and_only_where_nothing_went_on_after_it() -> None:
    far = b"noise of a library that ends slowly\n" * 60_000
    first = b"epoch 1 loss 0.5\n" + TRACEBACK + b"MemoryError\n"
    log = first + far
    evidence = evidence_in(Counted(log).read, len(log), CancelToken(), exit_code=1)
    assert [(one.type, one.is_stale, one.message[0].number) for one in evidence.tracebacks] == [
        ("MemoryError", False, 5)
    ]
    log = first + far + progress(1, 20)
    evidence = evidence_in(Counted(log).read, len(log), CancelToken(), exit_code=1)
    assert [one.is_stale for one in evidence.tracebacks] == [True]


def test_a_log_without_any_end_of_line(tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    bar = b"".join(b"\r%3d%%|###   | %d/30000 [00:10<00:10, 1.0it/s, loss=0.5]" % (n // 300, n) for n in range(30_000))
    path.write_bytes(bar + b"\x00\xff" * 2_000_000)
    with path.open("rb") as file:
        found = explain_open(file, CancelToken())
    assert found.failure is None and found.reading.values["step"] == 29_999


def test_an_empty_log_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.touch()
    with path.open("rb") as file:
        found = explain_open(file, CancelToken())
    assert found.failure is None and found.reading.is_empty and found.size_bytes == 0
