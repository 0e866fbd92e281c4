"""Volumes of a job: folders that jobs share, copies of OBS, and a word where one cannot be had."""

import os
import sys
from pathlib import Path, PurePosixPath

import pytest

from support.lab_app import BUCKET, FAST, Jobs, error_of, job_body, jobs_in, needs_containers, running_lab, sdk_client
from traindeck.lab.training.job_form import Volume
from traindeck.lab.training.running import containers
from traindeck.lab.training.running.host_places import PythonPlaces
from traindeck.lab.training.running.volumes import _obstacle

NFS = {"nfs": {"nfs_server_path": "192.168.0.10:/share", "local_path": "/traindeck-nas", "read_only": False}}
OBS = {"obs": {"obs_path": f"/{BUCKET}/sets/", "local_path": "/mnt/sets"}}
INSIDE = {"pfs": {"pfs_path": "/demo-pfs/x/", "local_path": "/home/ma-user/pfs", "read_only": True}}


@needs_containers
def test_jobs_share_a_volume_and_have_a_copy_of_obs(jobs: Jobs) -> None:
    jobs.lab.put("sets/a/one.txt", "1")
    jobs.script(
        "import os, pathlib\n"
        "nas = pathlib.Path('/traindeck-nas'); mark = nas / 'mark'\n"
        "print('BEFORE', mark.exists()); mark.write_text('x')\n"
        "print('SETS', sorted(p.name for p in pathlib.Path('/mnt').rglob('*')))\n"
        "print('PFS', os.path.isdir('/home/ma-user/pfs'), os.access('/home/ma-user/pfs', os.W_OK))\n"
        "(pathlib.Path('/mnt/sets') / 'new').write_text('n')\n"
    )
    body = job_body(spec__volumes=[NFS, OBS, INSIDE])
    first = jobs.run(body)
    job_id = first["metadata"]["id"]
    assert first["spec"]["volumes"] == [NFS, OBS, INSIDE]
    log = jobs.log(job_id)
    assert "BEFORE False" in log and "SETS ['a', 'one.txt', 'sets']" in log and "PFS True False" in log, log
    messages = jobs.messages(job_id)
    assert "all jobs with the volume 192.168.0.10:/share share" in messages
    assert "what the job writes there does not go to OBS" in messages
    assert "The volume /mnt/sets was copied: 1 files, 1 bytes." in messages
    second = jobs.run({**body, "metadata": {"name": "job-2"}})
    assert "BEFORE True" in jobs.log(second["metadata"]["id"])
    assert jobs.lab.keys("sets/") == ["sets/a/one.txt"]


@needs_containers
def test_a_volume_from_jobs_of_another_user_serves_those_of_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform == "win32" or os.geteuid() != 0:
        pytest.skip("only root has jobs of several users")
    with jobs_in(tmp_path / "lab") as jobs:
        jobs.script("open('/traindeck-nas/mark', 'w').write('first')")
        assert jobs.run(job_body(spec__volumes=[NFS]))["status"]["phase"] == "Completed"
    monkeypatch.setattr(containers, "_USERS", ())
    with running_lab(tmp_path / "lab", FAST) as lab, sdk_client(lab.url, lab.account) as client:
        jobs = Jobs(lab, client)
        jobs.script("open('/traindeck-nas/mark', 'a').write(' second'); print(open('/traindeck-nas/mark').read())")
        job = jobs.run(job_body("second", spec__volumes=[NFS]))
        assert "first second" in jobs.log(job["metadata"]["id"])


@needs_containers
def test_a_volume_never_covers_what_this_computer_has(jobs: Jobs) -> None:
    jobs.script("import os; print('ETC', os.path.exists('/etc/passwd'))")
    body = job_body(spec__volumes=[{"nfs": {"nfs_server_path": "h:/", "local_path": "/etc/deeper"}}])
    job_id = jobs.run(body)["metadata"]["id"]
    assert "ETC True" in jobs.log(job_id)
    assert "The volume h:/ is not mounted at /etc/deeper: /etc is in use on this computer." in jobs.messages(job_id)


def test_where_the_job_sees_no_folders_of_the_service_it_is_told(jobs: Jobs) -> None:
    (jobs.lab.root / "lab.toml").write_text("container_paths = false\n", encoding="utf-8")
    jobs.script("print('runs')")
    job = jobs.run(job_body(spec__volumes=[NFS]))
    assert job["status"]["phase"] == "Completed"
    assert "is not mounted at /traindeck-nas: the job does not see the service's folders." in jobs.messages(
        job["metadata"]["id"]
    )


@pytest.mark.parametrize(
    "volume",
    [
        {"nfs": {"nfs_server_path": "h:/", "local_path": "/a/../etc"}},
        {"nfs": {"nfs_server_path": "h:/", "local_path": "/"}},
        {"nfs": {"nfs_server_path": "h:/", "local_path": "relative"}},
        {"nfs": {"nfs_server_path": "h:/", "local_path": "/a", "read_only": "yes"}},
        {"obs": {"obs_path": "obs:", "local_path": "/a"}},
        {"nfs": {"nfs_server_path": "h:/", "local_path": "/a"}, "obs": {"obs_path": "/b-1/", "local_path": "/b"}},
        {},
    ],
)
def test_a_volume_that_is_none_is_refused(jobs: Jobs, volume: dict[str, object]) -> None:
    jobs.script("print()")
    assert error_of(lambda: jobs.create(job_body(spec__volumes=[volume])))[0] == 400


def test_more_of_the_network_than_the_service_mounts(jobs: Jobs) -> None:
    jobs.script("print()")
    many = [{"nfs": {"nfs_server_path": "h:/", "local_path": f"/a{number}"}} for number in range(9)]
    assert error_of(lambda: jobs.create(job_body(spec__volumes=many)))[0] == 400


def test_nothing_is_mounted_over_the_python_of_the_job() -> None:
    python = PythonPlaces(("/mnt/conda/bin/python",))
    for mount in ("/mnt", "/mnt/conda", "/home", "/home/ma-user", "/cache", "/usr/x"):
        volume = Volume("nfs", "h:/", PurePosixPath(mount), read_only=False)
        assert _obstacle(volume.mount, "unshare", python) is not None, mount
    assert _obstacle(PurePosixPath("/media/x"), "unshare", python) is None
