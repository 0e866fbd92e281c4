"""The object stores that the data plane is tried on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.stores import Store, foreign_store, lab_store, new_bucket
from traindeck.domain.accounts.profiles import Signature


@pytest.fixture(scope="module", params=["lab-obs", "lab-v2", "lab-v4", "moto", "rclone"])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param in ("moto", "rclone"):
        return foreign_store(request.param, request.getfixturevalue(f"{request.param}_url"))
    return lab_store(request.getfixturevalue("lab"), Signature(request.param.removeprefix("lab-")))


@pytest.fixture
def lab_obs(lab: LabProcess) -> Store:
    return lab_store(lab)


@pytest.fixture
def bucket(lab_obs: Store) -> str:
    return new_bucket(lab_obs).bucket


@pytest.fixture
def control(lab: LabProcess) -> Iterator[Control]:
    control = Control(lab.root)
    yield control
    assert control.call("DELETE")[0] == 200
