"""The whole Lab as a process: its log links open, and after a kill it ends and marks what it left behind."""

import urllib.request
from pathlib import Path

from huaweicloudsdkmodelarts.v1 import ModelArtsClient

from support.lab_app import BUCKET, Jobs, are_gone, job_body, prepared, processes_of, sdk_client, wait_for
from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S
from traindeck.lab import disk_usage
from traindeck.lab.training.running.process_group import ProcessGroup

SCRIPT = """
import os, subprocess, sys, time
child = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
print('pid', os.getpid())
time.sleep(600)
"""
CODE = {"code/job/train.py": SCRIPT.encode(), "code/job/short.py": b"print('short')"}


def with_two_processes(client: ModelArtsClient) -> tuple[Jobs, str]:
    jobs = Jobs(None, client)
    job_id = str(jobs.create(job_body())["metadata"]["id"])
    wait_for(lambda: jobs.log(job_id).count("pid ") == 2)
    return jobs, job_id


def test_a_job_of_a_killed_lab_ends_as_lost_with_all_its_processes(tmp_path: Path) -> None:
    account = prepared(tmp_path / "lab", CODE)
    with LabProcess(tmp_path / "lab") as lab:
        with sdk_client(lab.modelarts, account) as client:
            jobs, job_id = with_two_processes(client)
            log = jobs.log(job_id)
        orphans = processes_of(job_id)
        lab.kill()
        assert len(orphans) >= 2
        assert all(orphan.is_running() for orphan in orphans)

        lab.restart()
        with sdk_client(lab.modelarts, account) as client:
            jobs = Jobs(None, client)
            job = jobs.show(job_id)
            assert (job["status"]["phase"], job["status"]["secondary_phase"]) == ("Abnormal", "Lost")
            assert "ended unexpectedly" in jobs.messages(job_id, level="Error")
            assert are_gone(orphans)
            assert ProcessGroup.left(job_id).folders == ()
            assert jobs.log(job_id).startswith(log)
            short = f"/{BUCKET}/code/job/short.py"
            assert jobs.run(job_body("job-2", algorithm__boot_file=short))["status"]["phase"] == "Completed"
            assert jobs.delete(job_id) == 202


def test_what_a_killed_lab_left_running_ends_when_its_folder_is_emptied(tmp_path: Path) -> None:
    account = prepared(tmp_path / "lab", CODE)
    with LabProcess(tmp_path / "lab") as lab:
        with sdk_client(lab.modelarts, account) as client:
            _, job_id = with_two_processes(client)
            orphans = processes_of(job_id)
        assert len(orphans) >= 2
        lab.kill()
        disk_usage.empty(tmp_path / "lab")
        assert are_gone(orphans)
        assert ProcessGroup.left(job_id).folders == ()


def test_the_log_link_opens_the_log_without_keys(tmp_path: Path) -> None:
    account = prepared(tmp_path / "lab", CODE)
    with LabProcess(tmp_path / "lab") as lab, sdk_client(lab.modelarts, account) as client:
        jobs = Jobs(None, client)
        body = job_body(
            algorithm__boot_file=f"/{BUCKET}/code/job/short.py",
            spec__log_export_path={"obs_url": f"/{BUCKET}/日志 1/"},
        )
        job_id = jobs.run(body)["metadata"]["id"]
        with urllib.request.urlopen(jobs.log_link(job_id), timeout=PATIENT_S) as reply:
            assert reply.read().decode("utf-8") == jobs.log(job_id)
