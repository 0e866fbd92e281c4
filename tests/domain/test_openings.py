"""Links and files from anybody: shown or refused with a sentence, never anything else."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.openings import JobFileOpening, Opening, PlaceOpening, RunOpening, absolute, parse
from traindeck.domain.storage.objects import ObjectPath

HERE = Path(__file__).parent.absolute()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (str(HERE / "job.toml"), JobFileOpening(HERE / "job.toml")),
        ("traindeck://run/bert-20261119-ab12", RunOpening("bert-20261119-ab12")),
        ("TRAINDECK://RUN/x", RunOpening("x")),
        ("traindeck://obs/data/cifar/", PlaceOpening(ObjectPath("data", "cifar/"))),
        ("traindeck://obs/data", PlaceOpening(ObjectPath("data"))),
        ("traindeck://obs/data/%E8%AE%AD%E7%BB%83%20a/", PlaceOpening(ObjectPath("data", "训练 a/"))),
    ],
)
def test_what_is_known_is_understood(words: str, expected: Opening) -> None:
    assert parse(words) == expected


HOSTILE = [
    "traindeck:", "traindeck://", "traindeck://run/", "traindeck://run/../../etc/passwd", "traindeck://run/a b",
    "traindeck://run/x?submit=1", "traindeck://run/x#now", "traindeck://submit/x", "traindeck://obs/", "traindeck://obs/..",
    "traindeck://obs/data/%00", "traindeck://obs/data/%0aDELETE", "traindeck://obs/data/%ff%fe", "traindeck://[::1",
    "traindeck:job.toml", "traindeck://run/" + "a" * 65, "traindeck://obs/data/" + "a" * 5000, "job.toml",
    "/bin/sh", "file:///etc/passwd", "https://example.com/job.toml", "--version", "",
    "/tmp/a\nb.toml", "/tmp/\u202elmot.toml",
]  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE)
def test_what_is_not_known_is_a_sentence(words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(words)
    assert refused.value.sentence()[-1] in ".。"
    assert len(refused.value.sentence()) < 1000


@given(st.one_of(st.text(max_size=60), st.text(max_size=60).map(lambda rest: f"traindeck://{rest}")))
def test_whatever_comes_is_understood_or_refused(words: str) -> None:
    try:
        opening = parse(words)
    except InvalidInput:
        return
    assert isinstance(opening, JobFileOpening | RunOpening | PlaceOpening)


def test_a_file_is_named_from_the_folder_it_was_typed_in() -> None:
    assert absolute("job.toml", HERE) == str(HERE / "job.toml")
    assert absolute("traindeck://run/x", HERE) == "traindeck://run/x"
