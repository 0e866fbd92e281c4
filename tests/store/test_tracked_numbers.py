"""Numbers that users follow, by the name of the job, over restarts and whatever is in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindeck.domain.readings.tracking import TrackedNumber
from traindeck.store.tracked_numbers import MOST_OF_A_JOB, TrackedNumbers

QUEUE = TrackedNumber("queue", "depth <", ">")


def test_what_was_chosen_is_there_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "home" / "tracked-numbers.json"
    TrackedNumbers(path).track("bert", QUEUE)
    other = TrackedNumbers(path)
    assert other.of("bert") == (QUEUE,) and other.of("gpt") == ()
    other.track("bert", TrackedNumber("queue", "queue: "))
    other.track("bert", TrackedNumber("fill", "buffer ", "%"))
    assert [one.before for one in TrackedNumbers(path).of("bert")] == ["queue: ", "buffer "]
    other.forget("bert", "queue")
    assert [one.name for one in TrackedNumbers(path).of("bert")] == ["fill"]
    assert path.stat().st_mode & 0o077 == 0


def test_another_program_that_changes_it_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "tracked-numbers.json"
    ours, theirs = TrackedNumbers(path), TrackedNumbers(path)
    assert ours.of("bert") == ()
    theirs.track("bert", QUEUE)
    assert ours.of("bert") == (QUEUE,)


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"[]", b'{"bert": 1}', b'{"bert": [1, {"name": 2}]}', b"\xff\xfe", b"[" * 5000,
     b'{"bert": [{"name": "n", "before": "' + b"(a+)+" * 30 + b'", "after": ""}]}'],
)  # fmt: skip
def test_what_is_no_number_is_nobodys(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tracked-numbers.json"
    path.write_bytes(content)
    assert TrackedNumbers(path).of("bert") == ()


def test_a_job_has_so_many_and_no_more(tmp_path: Path) -> None:
    numbers = TrackedNumbers(tmp_path / "tracked-numbers.json")
    for at in range(MOST_OF_A_JOB + 5):
        numbers.track("bert", TrackedNumber(f"n{at}", f"n{at} "))
    assert len(numbers.of("bert")) == MOST_OF_A_JOB and numbers.of("bert")[-1].name == f"n{MOST_OF_A_JOB + 4}"
