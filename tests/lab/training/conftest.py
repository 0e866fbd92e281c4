"""A running Lab and the vendor's client for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lab_app import Jobs, LabApp, running_lab, sdk_client


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LabApp]:
    root = tmp_path / "lab"
    root.mkdir()
    with running_lab(root) as lab:
        yield lab


@pytest.fixture
def jobs(lab: LabApp) -> Iterator[Jobs]:
    with sdk_client(lab.url, lab.account) as client:
        yield Jobs(lab, client)
