"""Jobs whose files, Pythons and places are not as one would wish."""

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.training.test_packages import with_wheel
from support.lab_app import (
    Jobs,
    channel,
    error_of,
    job_body,
    jobs_in,
    running_lab,
    sdk_client,
    wait_for,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="makes programs, pipes and links as POSIX has them")
CARD: dict[str, Any] = {
    "algorithm__engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": "TF-1.15-python3.7-aarch64"},
    "spec__resource": {"flavor_id": "modelarts.kat1.xlarge.public"},
}


def test_folders_without_files_and_empty_files_arrive(jobs: Jobs) -> None:
    jobs.script(
        "import os, sys\n"
        "print('SEEN', sorted((os.path.relpath(at, sys.argv[1][11:]), sorted(names))\n"
        "                     for at, _, names in os.walk(sys.argv[1][11:])))"
    )
    for key in ("data/", "data/empty/", "data/full/none"):
        jobs.lab.put(key, "")
    job_id = jobs.run(job_body(algorithm__inputs=[channel("data_url", "data")]))["metadata"]["id"]
    assert "SEEN [('.', []), ('empty', []), ('full', ['none'])]" in jobs.log(job_id)


@posix
def test_outputs_that_are_no_files_are_left_out(jobs: Jobs) -> None:
    jobs.script(
        "import os, sys\nos.chdir(sys.argv[1][12:])\n"
        "os.mkfifo('pipe'); os.symlink('nowhere', 'lost'); os.symlink('real', 'link'); open('real', 'w').write('x')"
    )
    job = jobs.run(job_body(algorithm__outputs=[channel("train_url", "out/")]))
    assert job["status"]["phase"] == "Completed", jobs.messages(job["metadata"]["id"])
    assert jobs.lab.keys("out/") == ["out/link", "out/real"]


def test_a_card_that_writes_one_endless_line_is_heard(jobs: Jobs) -> None:
    jobs.script(
        "import sys, time\nfor _ in range(3000): sys.stdout.write('x' * 1000)\nsys.stdout.flush(); time.sleep(600)"
    )
    job_id = jobs.create(job_body(**CARD))["metadata"]["id"]
    wait_for(lambda: jobs.log(job_id).count("x") >= 2 << 20)
    jobs.delete(job_id)


@posix
def test_a_python_that_is_none_is_told_by_the_job(jobs: Jobs, tmp_path: Path) -> None:
    program = tmp_path / "not-python"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    (jobs.lab.root / "lab.toml").write_text(f"[engines]\ndefault = {json.dumps(str(program))}\n", encoding="utf-8")
    jobs.script("print('never')")
    job = jobs.run(job_body())
    assert (job["status"]["phase"], job["status"]["task_statuses"][0]["exit_code"]) == ("Failed", 3)
    with_wheel(jobs, "1.0", "tiny-pack\n")
    job = jobs.run(job_body("packages"))
    assert job["status"]["phase"] == "Failed"
    assert "cannot be asked for its packages" in jobs.messages(job["metadata"]["id"], level="Error")


@pytest.mark.long
@posix
def test_a_python_without_venv_is_told(jobs: Jobs, tmp_path: Path) -> None:
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\n[ "$3" = venv ] && exit 1\nexec {base} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (jobs.lab.root / "lab.toml").write_text(f"[engines]\ndefault = {json.dumps(str(program))}\n", encoding="utf-8")
    with_wheel(jobs, "1.0", "tiny-pack\n")
    jobs.script("print('never')")
    job_id = jobs.run(job_body())["metadata"]["id"]
    assert "cannot make an environment; its venv module may be missing" in jobs.messages(job_id, level="Error")
    # What a killed installation left is no environment.
    (jobs.lab.root / "lab.toml").unlink()
    jobs.script("import tiny_pack; print('TINY', tiny_pack.VERSION)")
    first = jobs.run(job_body("first"))
    assert first["status"]["phase"] == "Completed"
    (made,) = (jobs.lab.root / "environments").iterdir()
    (made / "complete").unlink()
    again = jobs.run(job_body("again"))["metadata"]["id"]
    assert "Successfully installed" in jobs.log(again)


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="nothing is closed to root")
def test_settings_that_may_not_be_read_are_told(jobs: Jobs) -> None:
    settings = jobs.lab.root / "lab.toml"
    settings.write_text("", encoding="utf-8")
    settings.chmod(0)
    jobs.script("print('never')")
    job_id = jobs.run(job_body())["metadata"]["id"]
    assert "cannot be read" in jobs.messages(job_id, level="Error")


def test_the_bucket_of_the_log_may_go_while_the_job_runs(jobs: Jobs) -> None:
    jobs.lab.objects.create_bucket("log-bucket", jobs.lab.account.domain_id)
    jobs.script("import os, time; print('up')\nwhile not os.path.exists('go'): time.sleep(0.02)")
    job_id = jobs.create(job_body(spec__log_export_path={"obs_url": "/log-bucket/l/"}))["metadata"]["id"]
    key = f"l/modelarts-job-{job_id}-worker-0.log"
    wait_for(lambda: jobs.lab.objects.info("log-bucket", key) is not None)
    jobs.lab.objects.delete("log-bucket", key)
    wait_for(lambda: _is_removed(jobs))
    (jobs.places(job_id).job_dir / "go").touch()
    assert jobs.ended(job_id)["status"]["phase"] == "Completed"
    assert jobs.messages(job_id, level="Warning").count("Uploading the log failed") == 1
    assert error_of(lambda: jobs.log_link(job_id)) == (400, "ModelArts.2818")
    assert "up" in jobs.log(job_id)


def _is_removed(jobs: Jobs) -> bool:
    from traindeck.lab.obs.errors import ObsError

    try:
        for info in list(jobs.lab.objects.iterate("log-bucket", "")):
            jobs.lab.objects.delete("log-bucket", info.key)
        jobs.lab.objects.delete_bucket("log-bucket")
    except ObsError:
        return False
    return True


def test_a_folder_that_cannot_be_made_ends_the_job_as_not_created(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    with jobs_in(root, parallel_jobs=1) as jobs:
        jobs.script("import time; print('up'); time.sleep(600)")
        first = jobs.create(job_body("first"))["metadata"]["id"]
        wait_for(lambda: "up" in jobs.log(first))
        second = jobs.create(job_body("second"))["metadata"]["id"]
        (root / "jobs" / second).write_text("in the way", encoding="utf-8")
        jobs.stop(first)
        job = jobs.ended(second)
        assert (job["status"]["phase"], job["status"]["secondary_phase"]) == ("Abnormal", "CreateFailed")
        assert "folders could not be made" in jobs.messages(second, level="Error")


def test_jobs_of_a_database_that_a_killed_lab_left_end_as_lost(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    with jobs_in(root) as jobs:
        jobs.script("print('ok')")
        job_id = jobs.run(job_body())["metadata"]["id"]
    database = sqlite3.connect(root / "jobs" / "jobs.sqlite3")
    for number, phase in enumerate(("Creating", "Pending", "Terminating")):
        columns = "id, project_id, user_id, workspace_id, name, create_time, phase, secondary_phase, tasks, document"
        copied = "?, project_id, user_id, workspace_id, ?, create_time, ?, ?, tasks, document"
        values = (str(number), f"left-{number}", phase, phase, job_id)
        database.execute(f"INSERT INTO jobs ({columns}) SELECT {copied} FROM jobs WHERE id = ?", values)
    database.commit()
    database.close()
    shutil.rmtree(root / "jobs" / job_id)
    with running_lab(root) as lab, sdk_client(lab.url, lab.account) as client:
        jobs = Jobs(lab, client)
        for number in range(3):
            status = jobs.show(str(number))["status"]
            assert (status["phase"], status["secondary_phase"]) == ("Abnormal", "Lost")
        assert error_of(lambda: jobs.log(job_id)) == (400, "ModelArts.2819")
        assert jobs.delete(job_id) == 202
