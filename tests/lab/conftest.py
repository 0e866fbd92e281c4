"""One Lab for all files of tests, an account of it for each, and clients that are closed again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from obs import ObsClient

from support.servers.lab_process import LabProcess, account_in, account_name
from support.stores.lab_clients import SIGNATURES, obs_client, s3_client
from traindeck.lab.accounts import LabAccount


@pytest.fixture(scope="session")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as lab:
        yield lab


@pytest.fixture(scope="module")
def lab(shared_lab: LabProcess, request: pytest.FixtureRequest) -> LabProcess:
    """The shared one with an account of the file's own; a test that stops or damages a Lab starts one for itself."""
    return shared_lab.of_account(account_name(request))


@pytest.fixture(scope="module")
def other(lab: LabProcess) -> LabAccount:
    """Made while the Lab runs."""
    return account_in(lab.root, "other")


@pytest.fixture(params=SIGNATURES)
def client(lab: LabProcess, request: pytest.FixtureRequest) -> Iterator[ObsClient]:
    with closing(obs_client(lab, request.param)) as client:
        yield client


@pytest.fixture
def sdk(lab: LabProcess) -> Iterator[ObsClient]:
    with closing(obs_client(lab)) as client:
        yield client


@pytest.fixture
def s3(lab: LabProcess) -> Iterator[Any]:
    with closing(s3_client(lab)) as client:
        yield client


@pytest.fixture
def bucket(lab: LabProcess, request: pytest.FixtureRequest) -> str:
    """A bucket of the test's own."""
    name = "b-" + hashlib.sha1(request.node.nodeid.encode()).hexdigest()[:20]
    client = obs_client(lab)
    answer = client.createBucket(name)
    client.close()
    assert answer.status == 200, (answer.errorCode, answer.errorMessage)
    return name
