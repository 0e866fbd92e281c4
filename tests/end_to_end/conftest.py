"""The home of the program under test: a path as people have it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Not the one every process of a test inherits: what runs on it belongs to the window."""
    return tmp_path / "用户 one" / "deck"
