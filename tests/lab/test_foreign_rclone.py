"""The common cases of all clients, by rclone, as its two providers that fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.servers.foreign_programs import RCLONES
from support.servers.lab_process import LabProcess
from support.stores.foreign_cases import CASES, Scene, name_of, play
from support.stores.foreign_clients import Kind

OURS, OTHER = RCLONES


@pytest.mark.parametrize("kind", [OURS, pytest.param(OTHER, marks=pytest.mark.long)], ids=name_of)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_common_case(kind: Kind, case: Callable[[Scene], None], lab: LabProcess, bucket: str, tmp_path: Path) -> None:
    play(kind, case, lab, bucket, tmp_path)
