"""A Lab for each file, so that jobs which a test leaves behind are in nobody else's way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.servers.lab_process import LabProcess


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process
