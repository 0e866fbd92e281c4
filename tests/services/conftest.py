"""One Lab for all tests of a folder, and a pool of workers for each test."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from support.servers.lab_process import LabProcess
from support.stores.way import Way
from traindeck.runtime.blocking import BlockingCalls


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process


@pytest.fixture
def calls() -> Iterator[BlockingCalls]:
    calls = BlockingCalls(4, "sdk")
    yield calls
    calls.close()


@pytest.fixture
def way(lab: LabProcess, calls: BlockingCalls) -> Way:
    return Way.to(lab, calls)


@pytest.fixture
def unused_port() -> int:
    """A port nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
