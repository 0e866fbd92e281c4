"""The search for planted secrets finds them, however they are written, and lets alone what a person has put there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from support import planted


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Emptied at the end: what is left in it would be found at the end of the run, too."""
    yield tmp_path
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.unlink()


@pytest.mark.parametrize(
    ("name", "content", "is_leak"),
    [
        ("settings.json", planted.SECRET_KEY.encode(), True),
        ("any.bin", b"x" * 1000 + planted.TOKEN.encode() + b"x", True),
        ("trace.log", quote(planted.SECRET_KEY, safe="").encode(), True),
        ("entry", planted.PROXY_PASSWORD.encode("utf-16-le"), True),
        ("my credentials.csv", planted.SECRET_KEY.encode(), False),
        ("settings.json", b"nothing of it", False),
    ],
)
def test_a_planted_secret_is_found(place: Path, name: str, content: bytes, is_leak: bool) -> None:
    (place / name).write_bytes(content)
    assert planted.leaks(place) == ([str(place / name)] if is_leak else [])


def test_the_keys_a_lab_has_made_are_looked_for_in_what_the_program_keeps(place: Path) -> None:
    (place / "lab").mkdir()
    account = {"secret_key": "made-by-the-lab-0123456789"}
    (place / "lab" / "accounts.json").write_text(json.dumps({"accounts": [account]}), "utf-8")
    (place / "records.db").write_bytes(b"...made-by-the-lab-0123456789...")
    assert planted.leaks(place) == [str(place / "records.db")]


def test_what_is_printed_is_looked_at(place: Path) -> None:
    assert planted.found_in(f"Authorization: {planted.TOKEN}") == [planted.TOKEN]
    assert planted.found_in("nothing") == []
