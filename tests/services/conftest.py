"""One Lab for all tests of a folder, and a pool of workers for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.places import closed_port
from support.servers.lab_process import LabProcess
from support.servers.secret_service import SecretService
from support.stores.way import Way
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.secrets import CHOICE_VARIABLE
from traindeck.services.http import calls as retrying


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tries, without the waiting between them."""
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretService]:
    with SecretService(tmp_path / "keyring") as service:
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv(CHOICE_VARIABLE)
        yield service


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
    return closed_port()
