"""The home of the program under test: a path as people have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sample_home import quicken_the_sample
from support.servers.forked_process import forking
from support.servers.window_process import FORKING, WindowProcess, end_all_of


@pytest.fixture(scope="session", autouse=True)
def windows_forked(pytestconfig: pytest.Config) -> Iterator[None]:
    with forking(WindowProcess, FORKING, pytestconfig):
        yield


@pytest.fixture
def new_home(tmp_path: Path) -> Iterator[Path]:
    """Not the one every process of a test inherits: what runs on it belongs to the window."""
    folder = tmp_path / "用户 one" / "deck"
    yield folder
    end_all_of(folder)


@pytest.fixture
def home(new_home: Path) -> Path:
    """One in which training the sample takes next to no time."""
    quicken_the_sample(new_home)
    return new_home
