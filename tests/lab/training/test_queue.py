"""Jobs that wait for their turn, and what can be done with them meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from support.lab_app import (
    FAST,
    Jobs,
    error_of,
    job_body,
    jobs_in,
    running_lab,
    sdk_client,
    wait_for,
)
from traindeck.lab.faults import Fault, Kind
from traindeck.lab.training.lab_settings import CurrentSettings, LabSettings

# Runs until it is told to end.
PATIENT = "import os, time; print('up')\nwhile not os.path.exists('go'): time.sleep(0.02)"
FREE = {
    "algorithm__engine": {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"},
    "spec__resource": {"flavor_id": "modelarts.p3.large.public.free"},
}


@pytest.fixture
def single(tmp_path: Path) -> Iterator[Jobs]:
    """A Lab that runs one job at a time."""
    with jobs_in(tmp_path / "lab", parallel_jobs=1) as jobs:
        jobs.script(PATIENT)
        yield jobs


def start(jobs: Jobs, name: str, **changes: Any) -> str:
    return str(jobs.create(job_body(name, **changes))["metadata"]["id"])


def finish(jobs: Jobs, job_id: str) -> None:
    wait_for(lambda: "up" in jobs.log(job_id))
    (jobs.places(job_id).job_dir / "go").touch()
    assert jobs.ended(job_id)["status"]["phase"] == "Completed"


def test_jobs_wait_in_order_and_urgent_ones_go_first(single: Jobs) -> None:
    jobs = single
    first, second, third = (start(jobs, name) for name in ("first", "second", "third"))
    urgent = start(jobs, "urgent", spec__schedule_policy={"priority": 3})
    wait_for(lambda: "up" in jobs.log(first))
    for waiting in (second, third, urgent):
        status = jobs.show(waiting)["status"]
        assert (status["phase"], status["secondary_phase"], status["start_time"]) == ("Pending", "Queuing", 0)
        assert jobs.preview(waiting) == {}
    assert jobs.lab.service.live_jobs() == 4
    # Raised while it waits.
    change = {"spec": {"schedule_policy": {"priority": 2}}}
    request = sdk.ChangeTrainingJobDescriptionRequest(training_job_id=third, body=change)
    jobs.client.change_training_job_description(request)
    for job_id in (first, urgent, third, second):
        finish(jobs, job_id)
    assert jobs.lab.service.live_jobs() == 0


def test_a_waiting_job_can_be_stopped_and_deleted(single: Jobs) -> None:
    jobs = single
    first, second, third, fourth = (start(jobs, name) for name in ("first", "second", "third", "fourth"))
    assert jobs.stop(second)["status"]["phase"] == "Terminating"
    stopped = jobs.ended(second)
    assert (stopped["status"]["phase"], stopped["status"]["start_time"]) == ("Terminated", 0)
    assert error_of(lambda: jobs.stop(second)) == (409, "ModelArts.2796")
    jobs.delete(third)
    assert error_of(lambda: jobs.show(third)) == (400, "ModelArts.2775")
    assert jobs.phase(fourth) == "Pending"
    finish(jobs, first)
    finish(jobs, fourth)


def test_the_end_of_the_lab_ends_those_that_wait(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    root.mkdir()
    with running_lab(root, parallel_jobs=1) as lab, sdk_client(lab.url, lab.account) as client:
        jobs = Jobs(lab, client)
        jobs.script(PATIENT)
        first, second = start(jobs, "first"), start(jobs, "second")
        wait_for(lambda: "up" in jobs.log(first))
    with running_lab(root) as lab, sdk_client(lab.url, lab.account) as client:
        jobs = Jobs(lab, client)
        assert [jobs.phase(job_id) for job_id in (first, second)] == ["Terminated"] * 2
        assert "because the Lab ended" in jobs.messages(second)


def test_a_sold_out_flavor_waits_and_lets_others_pass(single: Jobs) -> None:
    jobs = single
    jobs.lab.rules(Fault(Kind.SOLD_OUT, resource="*.cpu.2u", body="pending"))
    held = start(jobs, "held")
    other = start(jobs, "other", spec__resource={"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1})
    finish(jobs, other)
    assert jobs.phase(held) == "Pending"
    jobs.lab.rules()
    finish(jobs, held)


def test_the_free_flavor_ends_after_its_hour_by_the_clock_of_the_lab(tmp_path: Path) -> None:
    # Without a timing of the test's own, the settings count: an hour lasts three seconds.
    with jobs_in(tmp_path / "lab", None, settings="clock = 1200\nparallel_jobs = 3\n") as jobs:
        jobs.script("import time; time.sleep(60)")
        job_id = start(jobs, "free", **FREE)
        assert error_of(lambda: start(jobs, "free-2", **FREE)) == (400, "ModelArts.2833")
        job = jobs.ended(job_id)
        assert job["status"]["phase"] == "Terminated"
        assert 2900 <= job["status"]["duration"] < 60_000
        assert "time limit of 1 hour" in jobs.messages(job_id)
        jobs.delete(start(jobs, "free-3", **FREE))


def test_a_rule_ends_every_job_after_its_time(single: Jobs) -> None:
    jobs = single
    jobs.lab.rules(Fault(Kind.TIME_LIMIT, seconds=0.3))
    job = jobs.ended(start(jobs, "one"))
    assert job["status"]["phase"] == "Terminated"
    assert "time limit of a fault rule" in jobs.messages(job["metadata"]["id"])


@pytest.mark.parametrize(
    "text",
    ["clock = 0", "parallel_jobs = 1.5", "parallel_jobs = 0", "container_paths = 1", "colour = 1", "clock = true"],
)
def test_settings_that_are_wrong_are_told_and_do_not_stop_the_lab(tmp_path: Path, text: str) -> None:
    with jobs_in(tmp_path / "lab", FAST, settings=text + "\n") as jobs:
        jobs.script("print('never')")
        job = jobs.run(job_body())
        assert job["status"]["secondary_phase"] == "CreateFailed"
        assert text.split()[0] in jobs.messages(job["metadata"]["id"], level="Error")


def test_the_number_of_jobs_at_once_takes_effect_while_they_wait(tmp_path: Path) -> None:
    with jobs_in(tmp_path / "lab", settings="parallel_jobs = 1\n") as jobs:
        jobs.script(PATIENT)
        first, second = (start(jobs, name) for name in ("first", "second"))
        wait_for(lambda: "up" in jobs.log(first))
        assert jobs.phase(second) == "Pending"
        (jobs.lab.root / "lab.toml").write_text("parallel_jobs = 2\n", encoding="utf-8")
        wait_for(lambda: "up" in jobs.log(second))
        assert jobs.phase(first) == "Running"
        for job_id in (first, second):
            finish(jobs, job_id)


def test_a_mistake_in_the_settings_changes_nothing_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings, file = CurrentSettings(tmp_path), tmp_path / "lab.toml"
    file.write_text("parallel_jobs = 7\n", encoding="utf-8")
    assert settings.now().parallel_jobs == 7
    file.write_text("parallel_jobs = many\n", encoding="utf-8")
    assert [settings.now().parallel_jobs for _ in range(3)] == [7, 7, 7]
    assert len(caplog.records) == 1
    file.write_text("parallel_jobs = 11\n", encoding="utf-8")
    assert settings.now().parallel_jobs == 11
    file.unlink()
    assert settings.now() == LabSettings()
