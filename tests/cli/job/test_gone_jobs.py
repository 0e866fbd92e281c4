"""A job that was deleted at the service: nothing claims that it is still there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.cli_commands import Traindeck
from support.sample_home import quicken
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from traindeck.runtime.blocking import BlockingCalls

DELETED = "deleted at the service"


def delete_at_service(lab: dict[str, str], job_id: str) -> None:
    """As the web console does."""
    calls = BlockingCalls(1, "console")
    try:
        with Way.to(cast(LabProcess, SimpleNamespace(**lab)), calls).training() as training:
            asyncio.run(training.delete(job_id))
    finally:
        calls.close()


@pytest.fixture
def run(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> dict[str, Any]:
    """One that has completed."""
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    return dict(traindeck("job", "submit", "p", "--wait", "--json").must_be(0).document)


def test_a_description_is_not_said_to_be_at_a_service_that_has_no_job(
    traindeck: Traindeck, lab: dict[str, str], run: dict[str, Any]
) -> None:
    assert "here and at the service" in traindeck("job", "describe", "last", "first").must_be(0).out
    assert run["gone"] is None
    delete_at_service(lab, run["job_id"])
    described = traindeck("job", "describe", "last", "second").must_be(0)
    assert "on this computer." in described.out and "no longer has this job" in described.said
    assert "at the service" not in described.out
    listed = traindeck("job", "ls").must_be(0).out
    assert "Completed" in listed and DELETED in listed
    assert traindeck("job", "ls", "--json").document[0]["gone"]
    shown = traindeck("job", "show", "last").must_be(0).out
    assert DELETED in shown and "second" in shown
    assert "the job at the service" not in traindeck("job", "rm", "last").must_be(2).said


def test_show_finds_out_and_the_list_knows_it_then(
    traindeck: Traindeck, lab: dict[str, str], run: dict[str, Any]
) -> None:
    delete_at_service(lab, run["job_id"])
    shown = traindeck("job", "show", "last", "--json").must_be(0).document
    assert shown["state"] == "Completed" and shown["gone"]
    assert DELETED in traindeck("job", "ls").must_be(0).out
    tagged = traindeck("job", "tag", "last", "good").must_be(0)
    assert "no longer has this job" in tagged.said and "good" in tagged.out


def test_a_running_job_that_is_deleted_is_said_to_be(
    traindeck: Traindeck, lab: dict[str, str], run: dict[str, Any]
) -> None:
    live = traindeck("job", "rerun", "last", "--set", "epochs=500", "--json").must_be(0).document
    delete_at_service(lab, live["job_id"])
    assert f"Abnormal, {DELETED}" in traindeck("job", "ls").must_be(0).out
    assert "no longer has this job" in traindeck("job", "show", "last").must_be(0).out


@pytest.mark.parametrize("what", ["note", "describe"])
def test_without_words_the_text_is_printed_and_kept(
    traindeck: Traindeck, lab: dict[str, str], run: dict[str, Any], what: str
) -> None:
    key = {"note": "note", "describe": "description"}[what]
    traindeck("job", what, "last", "--clear").must_be(0)
    nothing = traindeck("job", what, "last").must_be(0)
    assert nothing.out == "" and "has no" in nothing.said
    traindeck("job", what, "last", "for", "the paper").must_be(0)
    for _ in range(2):
        assert traindeck("job", what, "last").must_be(0).out == "for the paper\n"
    assert traindeck("job", what, "last", "--json").must_be(0).document[key] == "for the paper"
    assert "--clear" in traindeck("job", what, "last", "x", "--clear").must_be(2).said
    for clear in ("--clear", ""):
        traindeck("job", what, "last", "again").must_be(0)
        traindeck("job", what, "last", clear).must_be(0)
        assert traindeck("job", what, "last", "--json").must_be(0).document[key] == ""
    assert "--clear" in traindeck("job", what, "--help").must_be(0).out
