"""200,000 objects in the real window: everything answers at once, however much is listed behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.filled_lab import fill, listed_keys
from support.servers.window_process import WindowProcess

COUNT = 200_000


@pytest.mark.parametrize("count", [20_000, pytest.param(COUNT, marks=pytest.mark.long)])
def test_a_bucket_of_many_objects_is_looked_through(home: Path, count: int) -> None:
    fill(home / "lab", "many", listed_keys(count))
    with WindowProcess(home, "browse", "many", str(count)) as window:
        first = window.told("first rows")
        assert first["rows"] < count, "the first page is shown before the others are there"
        words = window.told("listed", 120)["words"]
        assert f"{count:,} objects" in words
        chosen = window.told("chosen")
        assert chosen["rows"] == count
        assert chosen["largest"] == "16.8 MB"
        assert not chosen["smallest"].endswith("MB")
        found = window.told("found")
        assert found["rows"] == sum("0199" in f"{number:07}" for number in range(count))
        assert "0199" in found["name"]
        window.must_be_well()
