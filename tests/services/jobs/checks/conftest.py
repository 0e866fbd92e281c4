"""A Lab with what the jobs of the corpus name, for all tests of the checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from support.job_corpus import prepare_lab
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from traindeck.runtime.blocking import BlockingCalls


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    root = tmp_path_factory.mktemp("lab") / "root"
    prepare_lab(root)
    with LabProcess(root) as process:
        yield process


@pytest.fixture
def way(lab: LabProcess) -> Iterator[Way]:
    with closing(BlockingCalls(8, "service")) as calls:
        yield Way.to(lab, calls)
