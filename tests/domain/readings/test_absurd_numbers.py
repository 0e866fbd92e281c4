"""No number in a line ends the reading of a log, in whatever place of it, however many digits it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from traindeck.domain.readings.log_reader import LogReader
from traindeck.domain.readings.merging import merged
from traindeck.domain.readings.words import left_words, place_words, share_words
from traindeck.services.logs.row_text import PLAIN, styled
from traindeck.services.readings.shipped import progress_patterns

CORPUS = Path(__file__).parents[2] / "readings_corpus" / "logs"
ABSURD = [
    b"9" * 400, b"1" + b",000" * 120, b"1e400", b"-" + b"9" * 400, b"0." + b"0" * 400 + b"1", b"9" * 3500, b"9" * 16,
    b"1e308", b"nan", b"inf",
]  # fmt: skip
"""In the place of every number of a line, and of all."""


def lines() -> list[bytes]:
    """Of each log of the corpus a line of each of the commonest shapes."""
    found: list[bytes] = []
    for log in sorted(one for one in CORPUS.rglob("*") if one.is_file()):
        shapes: dict[bytes, list[bytes]] = {}
        for line in log.read_bytes().replace(b"\r", b"\n").split(b"\n")[:2000]:
            if len(line) < 300 and (shape := re.sub(rb"\d+", b"0", line)) != line:
                shapes.setdefault(shape, []).append(line)
        found += [alike[0] for alike in sorted(shapes.values(), key=len, reverse=True)[:3]]
    return found


@pytest.mark.parametrize("number", ABSURD, ids=lambda number: number[:8].decode() + str(len(number)))
def test_a_log_of_absurd_numbers_is_read_to_its_end(number: bytes) -> None:
    for count, line in enumerate(lines()):
        reader = LogReader(progress_patterns())
        places = [found.span() for found in re.finditer(rb"\d+(?:\.\d+)?", line)][:3]
        for begin, end in places:
            reader.take(line[:begin] + number + line[end:] + b"\n", 1.0 if count % 2 else None)
        reader.take(re.sub(rb"\d+(?:\.\d+)?", lambda _: number, line) + b"\n")
        reader.take(b"Epoch 3/10 step 7/100 loss: 0.25\n", 2.0)
        reader.end()
        found = reader.reading(3.0)
        merged({"worker-0": found, "worker-1": found})
        words = (share_words(found.progress), left_words(found.progress), place_words(found.progress))
        assert all(len(one) < 200 for one in words), words
        assert not found.series or found.values
        assert found.bytes_read or not found.values


def test_a_color_of_absurd_digits_is_none() -> None:
    assert styled(PLAIN, "9" * 9000) == PLAIN
