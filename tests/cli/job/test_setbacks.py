"""Commands about jobs say what they wait for, as those about objects do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.servers.lab_control import Control
from traindeck.assembly import data_core
from traindeck.services.http import calls

SAID = re.compile(r"HTTP 503\)\. Failed attempts: [1-9]\d*; next attempt at ")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_core, "PATIENCE_S", 0.2)
    monkeypatch.setattr(calls, "FIRST_S", 0.001)


def failing(home: Path, service: str, operation: str = "", count: int = 0) -> None:
    rule = {"kind": "error", "service": service, "status": 503, "code": "ServiceUnavailable"}
    Control(home / "lab").rules(rule | ({"operation": operation} if operation else {}) | {"count": count})


@pytest.mark.parametrize("words", [("engines",), ("flavors",), ("profile", "check", "lab")], ids=" ".join)
def test_a_question_that_is_asked_again_is_said_to_be(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    failing(tmp_path / "home", "modelarts")
    answer = traindeck(*words).must_be(5)
    assert SAID.search(answer.said), answer.said


def test_the_code_of_a_job_that_does_not_get_there_is_said_to_be_sent_again(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path
) -> None:
    traindeck("job", "init", "p").must_be(0)
    failing(tmp_path / "home", "obs", "PutObject")
    answer = traindeck("job", "submit", "p").must_be(5)
    assert SAID.search(answer.said), answer.said
