"""One Lab per file of tests, and clients of it that are closed again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from obs import ObsClient

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import SIGNATURES, obs_client, s3_client


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    with LabProcess(tmp_path_factory.mktemp("lab") / "root") as lab:
        yield lab


@pytest.fixture(params=SIGNATURES)
def client(lab: LabProcess, request: pytest.FixtureRequest) -> Iterator[ObsClient]:
    client = obs_client(lab, request.param)
    yield client
    client.close()


@pytest.fixture
def sdk(lab: LabProcess) -> Iterator[ObsClient]:
    client = obs_client(lab)
    yield client
    client.close()


@pytest.fixture
def s3(lab: LabProcess) -> Iterator[Any]:
    client = s3_client(lab)
    yield client
    client.close()


@pytest.fixture
def bucket(lab: LabProcess, request: pytest.FixtureRequest) -> str:
    """A bucket of the test's own."""
    name = "b-" + hashlib.sha1(request.node.nodeid.encode()).hexdigest()[:20]
    client = obs_client(lab)
    answer = client.createBucket(name)
    client.close()
    assert answer.status == 200, (answer.errorCode, answer.errorMessage)
    return name
