"""A Lab for each file, so that jobs which a test leaves behind are in nobody else's way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import Sending, code_in, sending_over


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return code_in(tmp_path / "代码 code")


@pytest.fixture
def sending(lab: LabProcess, way: Way, tmp_path: Path) -> Sending:
    return lambda: sending_over(lab, way, tmp_path / "home")
