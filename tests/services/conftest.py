"""One Lab and two stores of others for all tests, and a pool of workers for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.places import closed_port
from support.servers.lab_process import LabProcess
from support.servers.secret_service import SecretService
from support.stores.foreign_stores import moto, rclone
from support.stores.way import Way
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.secrets import CHOICE_VARIABLE
from traindeck.services.http import calls as retrying


@pytest.fixture(scope="session")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as process:
        yield process


@pytest.fixture(scope="module")
def lab(shared_lab: LabProcess) -> LabProcess:
    """Shared as it stands; a folder that makes many buckets or runs many jobs has another."""
    return shared_lab


@pytest.fixture(scope="session")
def moto_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto(tmp_path_factory.mktemp("moto")) as url:
        yield url


@pytest.fixture(scope="session")
def rclone_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with rclone(tmp_path_factory.mktemp("rclone")) as url:
        yield url


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
    with closing(BlockingCalls(4, "sdk")) as calls:
        yield calls


@pytest.fixture
def way(lab: LabProcess, calls: BlockingCalls) -> Way:
    return Way.to(lab, calls)


@pytest.fixture
def unused_port() -> int:
    """A port nothing listens on."""
    return closed_port()
