"""What a flavor allows: processes, memory and disk; and that a stop is quick however many processes there are."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from support.lab_app import FAST, Jobs, are_gone, job_body, jobs_in, processes_of, wait_for
from traindeck.lab.training.running import job_processes, process_group
from traindeck.lab.training.running.process_group import ProcessGroup
from traindeck.lab.training.running.process_tree import ProcessTree
from traindeck.runtime.resources import resource

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and shells")

MANY = 300
FORKS = f"""
import subprocess, sys, time
shell = "trap '' TERM; for i in $(seq {MANY}); do sleep 600 & done; echo started; wait"
subprocess.call(["sh", "-c", shell])
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    """Of small machines, whose disks are looked at all the time."""
    catalogue = resource("lab", "catalogue.toml").read_text(encoding="utf-8")
    small = tmp_path / "catalogue.toml"
    small.write_text(catalogue.replace("disk_gb = 50", "disk_gb = 0.01"), encoding="utf-8")
    timing = FAST.__class__(**{**vars(FAST), "disk_s": 0.1})
    with jobs_in(tmp_path / "lab", timing, catalogue=small) as jobs:
        yield jobs


def groups_of(job_id: str) -> list[Path]:
    return list(ProcessGroup.left(job_id).folders)


@pytest.mark.parametrize("has_groups", [True, False])
def test_a_stop_ends_hundreds_of_processes_at_once(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, has_groups: bool
) -> None:
    if not has_groups:
        monkeypatch.setattr(process_group, "_parents", list)
    looks: list[int] = []
    found = psutil.pids

    def counted() -> list[int]:
        looks.append(1)
        return found()

    monkeypatch.setattr(psutil, "pids", counted)
    jobs.script(FORKS)
    job_id = jobs.create(job_body())["metadata"]["id"]
    wait_for(lambda: "started" in jobs.log(job_id))
    processes = processes_of(job_id)
    assert len(processes) > MANY
    looks.clear()
    jobs.stop(job_id)
    assert jobs.ended(job_id)["status"]["phase"] == "Terminated"
    assert are_gone(processes)
    # A look at all processes of the computer for each of them took minutes.
    assert len(looks) < MANY
    assert groups_of(job_id) == []


def test_a_job_that_fills_its_disk_is_killed_as_the_platform_does(jobs: Jobs) -> None:
    jobs.script("import os, time\nopen(os.environ['HOME'] + '/big', 'wb').write(bytes(20 << 20))\ntime.sleep(600)")
    job = jobs.run(job_body())
    status = job["status"]
    assert (status["phase"], status["task_statuses"][0]["exit_code"]) == ("Failed", 137)
    assert "No space left on device" in status["task_statuses"][0]["message"]
    assert "exit code 137: No space left on device" in jobs.log(job["metadata"]["id"])


@pytest.mark.parametrize("has_groups", [True, False])
def test_a_job_has_so_many_processes_and_no_more(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, has_groups: bool
) -> None:
    monkeypatch.setattr(job_processes, "_FEWEST_PROCESSES", 50)
    monkeypatch.setattr(job_processes, "_PROCESSES_PER_CORE", 0)
    if not has_groups:
        monkeypatch.setattr(process_group, "_parents", list)
    jobs.script(
        "import subprocess, time\n"
        "try:\n"
        "    for count in range(100): subprocess.Popen(['sleep', '600'])\n"
        "except BlockingIOError as error: print('REFUSED', count, error)\n"
        "time.sleep(600 if count == 99 else 1)"
    )
    is_limited = ProcessGroup.made("of-this-test", "worker-0", 1, 1 << 30).has_process_limit
    ProcessGroup.left("of-this-test").remove()
    job = jobs.run(job_body())
    job_id = job["metadata"]["id"]
    if is_limited and has_groups:
        assert "Resource temporarily unavailable" in jobs.log(job_id)
        assert "limit of 50 processes" in jobs.messages(job_id, level="Warning")
        assert job["status"]["phase"] == "Completed"
    else:
        assert "more than 50 processes" in job["status"]["task_statuses"][0]["message"]
        assert job["status"]["phase"] == "Failed"


def test_what_a_killed_lab_left_in_a_group_is_ended(tmp_path: Path) -> None:
    group = ProcessGroup.made("job-of-this-test", "worker-0", 100, 1 << 30)
    if not group.folders:
        pytest.skip("this computer lets us have no group")
    stray = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]})
    try:
        group.add(stray.pid)
        assert group.pids() == {stray.pid}
        left = ProcessGroup.left("job-of-this-test")
        tree = ProcessTree("job-of-this-test")
        tree.watch(left)
        assert tree.end(0.1)
        stray.wait()
        left.remove()
        assert not any(folder.exists() for folder in group.folders)
    finally:
        stray.kill()
