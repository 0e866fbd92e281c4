"""An account for each file: no more than 100 buckets may belong to one."""

from __future__ import annotations

import pytest

from support.servers.lab_process import LabProcess, account_name


@pytest.fixture(scope="module")
def lab(shared_lab: LabProcess, request: pytest.FixtureRequest) -> LabProcess:
    return shared_lab.of_account(account_name(request))
