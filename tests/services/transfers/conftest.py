"""Objects in memory, a home for the journal, and numbers small enough for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.object_shelf import ObjectShelf
from support.transfer_works import MIB
from traindeck.domain.transfers import object_limits as sizes
from traindeck.services.transfers import active, downloads, uploads


@pytest.fixture
def shelf() -> ObjectShelf:
    return ObjectShelf()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large begins at 1 MiB here, and its parts have 256 KiB."""
    monkeypatch.setattr(uploads, "SINGLE_PUT_BYTES", MIB)
    monkeypatch.setattr(uploads, "_READ_AHEAD_BYTES", MIB // 4)
    monkeypatch.setattr(sizes, "PART_BYTES", MIB // 4)
    monkeypatch.setattr(sizes, "_MEBIBYTE", MIB // 4)
    monkeypatch.setattr(downloads, "IN_MEMORY_BYTES", MIB)
    monkeypatch.setattr(downloads, "RANGE_BYTES", MIB // 4)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(active, "LONGEST_WAIT_S", 0.1)
