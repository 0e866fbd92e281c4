"""A create request that arrives after TrainDeck gave it up: the next look at the account claims its job."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.cli_commands import Answer, Traindeck
from support.sample_home import quicken
from support.servers.beside import beside
from support.servers.lab_process import LabProcess
from support.servers.late_line import LateLine
from support.waiting import PATIENT_S
from traindeck.services.jobs import submission


@pytest.fixture
def line(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[LateLine]:
    monkeypatch.setattr(submission, "LOOK_UPS_S", (0.0, 0.05))
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    with beside(LateLine(cast(LabProcess, SimpleNamespace(**lab)), tmp_path / "home")) as line:
        yield line


def given_up(traindeck: Traindeck, *changes: str) -> dict[str, Any]:
    """A run of which the service said that it has no job."""
    answer = traindeck("job", "submit", "p", *changes, "--json").must_be(1)
    assert answer.document["state"] == "NotSent" and "could still arrive" in answer.said
    return dict(answer.document)


def until_it_ended(lab: dict[str, str]) -> None:
    deadline = time.monotonic() + PATIENT_S
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{lab['modelarts']}/lab/status", timeout=PATIENT_S) as answer:
            if not json.load(answer)["live_jobs"]:
                return
        time.sleep(0.05)
    raise AssertionError("the job does not end")


def runs(answer: Answer) -> list[dict[str, Any]]:
    found = answer.must_be(0).document
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("look", ["ls", "show", "adopt", "billing"])
def test_a_late_job_that_ended_is_claimed_by_the_next_look(
    traindeck: Traindeck, line: LateLine, lab: dict[str, str], look: str
) -> None:
    run = given_up(traindeck)
    assert line.deliver() == ["HTTP/1.1 201 Created"]
    until_it_ended(lab)
    words = {"ls": ("ls",), "show": ("show", "last"), "adopt": ("adopt", run["name"]), "billing": ("ls",)}[look]
    if look == "billing":
        assert "arrived late" in traindeck("billing").must_be(0).said
    (found,) = runs(traindeck("job", *words, "--json"))
    assert found["run"] == run["run"] and found["job_id"] and found["state"] == "Completed"
    (after,) = runs(traindeck("job", "ls", "--json"))
    assert after["run"] == run["run"] and after["state"] == "Completed" and after["seconds"] > 0
    assert "epoch" in traindeck("job", "logs", "last").must_be(0).out
    assert line.creations == 1


@pytest.mark.parametrize("look", ["ls", "show", "adopt", "billing"])
def test_a_late_job_that_runs_is_claimed_by_the_next_look(traindeck: Traindeck, line: LateLine, look: str) -> None:
    run = given_up(traindeck, "--set", "epochs=500")
    line.deliver()
    if look == "billing":
        (job,) = traindeck("billing", "--json").must_be(0).document["jobs"]
        assert (job["name"], job["run"]) == (run["name"], run["run"])
        assert "made elsewhere" not in traindeck("billing").must_be(0).out
    words = {"ls": ("ls",), "show": ("show", "last"), "adopt": ("adopt", run["name"]), "billing": ("ls",)}[look]
    (found,) = runs(traindeck("job", *words, "--json"))
    assert found["run"] == run["run"] and found["job_id"] and found["state"] in ("Creating", "Pending", "Running")
    assert found["reason"] == ""
    assert traindeck("job", "stop", "last", "--json").must_be(0).document["state"] == "Terminating"
    assert traindeck("job", "wait", "last", "--json").must_be(1).document["state"] == "Terminated"
    assert len(traindeck("job", "ls", "--json").document) == line.creations == 1


def test_the_cost_of_a_late_job_is_counted(
    traindeck: Traindeck, tmp_path: Path, line: LateLine, lab: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an account that pays, which reaches the same Lab."""
    for name, value in {
        "HUAWEICLOUD_SDK_AK": lab["access_key"], "HUAWEICLOUD_SDK_SK": lab["secret_key"],
        "HUAWEICLOUD_SDK_REGION": lab["region"], "HUAWEICLOUD_SDK_PROJECT_ID": lab["project_id"],
        "TRAINDECK_OBS_ENDPOINT": lab["obs"], "TRAINDECK_MODELARTS_ENDPOINT": line.url,
        "TRAINDECK_IAM_ENDPOINT": lab["iam"],
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    paid = ("--profile", "environment")
    traindeck("billing", "prices", "--set", "modelarts.vm.cpu.2u=3600").must_be(0)
    run = given_up(traindeck, "--set", "job.target=modelarts", "--yes", *paid)
    line.deliver()
    until_it_ended(lab)
    month = traindeck("billing", *paid, "--json").must_be(0).document["month"]
    (found,) = runs(traindeck("job", "ls", "--json"))
    assert found["run"] == run["run"] and found["state"] == "Completed"
    assert month["known_runs"] == 1 and month["spent"] == pytest.approx(found["seconds"], abs=0.01)


def test_claiming_is_said_once(traindeck: Traindeck, line: LateLine, lab: dict[str, str]) -> None:
    run = given_up(traindeck)
    line.deliver()
    until_it_ended(lab)
    words = f"The submission of {run['name']} arrived late"
    assert words in traindeck("job", "ls").must_be(0).said
    assert words not in traindeck("job", "ls").must_be(0).said


def test_a_run_that_never_became_a_job_is_looked_up_for_an_hour(traindeck: Traindeck, line: LateLine) -> None:
    run = given_up(traindeck)
    searches = [one for one in line.seen if "searches" in one]
    assert runs(traindeck("job", "ls", "--json"))[0]["state"] == "NotSent"
    again = [one for one in line.seen if "searches" in one]
    assert len(again) == len(searches) + 1, "one look for one run"
    traindeck("job", "rm", run["run"], "--yes").must_be(0)
    line.seen.clear()
    assert traindeck("job", "ls", "--json").must_be(0).document == [] and line.seen == []
