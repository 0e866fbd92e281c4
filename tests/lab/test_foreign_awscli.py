"""The common cases of all clients, by the AWS command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.servers.foreign_programs import AWSCLI, forking_aws
from support.servers.lab_process import LabProcess
from support.stores.foreign_cases import CASES, Scene, name_of, play
from support.stores.foreign_clients import Kind


@pytest.fixture(scope="module", autouse=True)
def quick_commands() -> Iterator[None]:
    with forking_aws():
        yield


@pytest.mark.long
@pytest.mark.parametrize("kind", [AWSCLI], ids=name_of)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_common_case(kind: Kind, case: Callable[[Scene], None], lab: LabProcess, bucket: str, tmp_path: Path) -> None:
    play(kind, case, lab, bucket, tmp_path)
