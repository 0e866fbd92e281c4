"""What a flavor allows: processes, memory and disk; and that a stop is quick however many processes there are."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import psutil
import pytest

from support.lab_app import FAST, Jobs, are_gone, channel, job_body, jobs_in, processes_of, wait_for
from support.waiting import PATIENT_S
from traindeck.lab.obs.store import ObjectInfo, ObjectStore
from traindeck.lab.training.running import job_processes, process_group
from traindeck.lab.training.running.job_files import OwnBuckets
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
def test_a_job_has_so_many_processes_and_no_more(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, has_groups: bool) -> None:
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
    own = ProcessGroup.made(str(uuid4()), "worker-0", 1, 1 << 30)
    is_limited = any((folder / "pids.max").exists() for folder in own.folders)
    own.remove()
    job = jobs.run(job_body())
    job_id = job["metadata"]["id"]
    if is_limited and has_groups:
        assert "Resource temporarily unavailable" in jobs.log(job_id)
        assert "limit of 50 processes" in jobs.messages(job_id, level="Warning")
        assert job["status"]["phase"] == "Completed"
    else:
        assert "more than 50 processes" in job["status"]["task_statuses"][0]["message"]
        assert job["status"]["phase"] == "Failed"


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of Linux")
def test_the_installation_of_packages_has_the_limits_of_its_worker(jobs: Jobs) -> None:
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    jobs.script(f'{build}[project]\nname = "asking"\nversion = "1"\n', "code/job/asking", "pyproject.toml")
    ask = "import resource, sys\nprint('LIMITED', resource.getrlimit(resource.RLIMIT_AS)[0] > 0, file=sys.stderr)\n"
    jobs.script(f"{ask}raise SystemExit(3)\n", "code/job/asking", "backend.py")
    jobs.script("./asking\n", name="pip-requirements.txt")
    jobs.script("print('never')")
    job_id = jobs.run(job_body())["metadata"]["id"]
    assert "LIMITED True" in jobs.log(job_id)


def test_the_script_before_training_is_in_the_group_of_its_worker(jobs: Jobs) -> None:
    jobs.script("print('never')")
    jobs.script("cat /proc/self/cgroup; exit 3", name="ma-pre-start.sh")
    cards: dict[str, Any] = {
        "algorithm__engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": "TF-1.15-python3.7-aarch64"},
        "spec__resource": {"flavor_id": "modelarts.kat1.8xlarge.public"},
    }
    job_id = jobs.run(job_body(**cards))["metadata"]["id"]
    own = ProcessGroup.made(str(uuid4()), "worker-0", 100, 1 << 30)
    own.remove()
    assert (f"traindeck-job-{job_id}-worker-0" in jobs.log(job_id)) is bool(own.folders)
    assert groups_of(job_id) == []


def test_a_look_at_the_disk_does_not_hold_up_the_end(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files there are."""
    looking, over = threading.Event(), threading.Event()

    def endless(folder: Path, is_over: Callable[[], bool]) -> int:
        looking.set()
        while not over.is_set():
            disk_bytes(folder, is_over)
            if is_over():
                over.set()
        return 0

    disk_bytes = job_processes._disk_bytes
    monkeypatch.setattr(job_processes, "_disk_bytes", endless)
    jobs.script("import time; time.sleep(600)")
    job_id = jobs.create(job_body())["metadata"]["id"]
    try:
        assert looking.wait(PATIENT_S)
        jobs.stop(job_id)
        assert jobs.ended(job_id)["status"]["phase"] == "Terminated"
        assert over.is_set()
    finally:
        over.set()


MANY_FILES = """
import os, sys
out = sys.argv[1].partition("=")[2]
for number in range(400):
    os.makedirs(f"{out}/{number % 20}", exist_ok=True)
    with open(f"{out}/{number % 20}/{number}", "w") as file:
        file.write("x" * 1000)
"""


def test_outputs_are_sent_side_by_side_and_the_log_tells_how_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(4)
    store = OwnBuckets.store

    def with_others(self: OwnBuckets, bucket: str, key: str, *rest: Any) -> None:
        if key.startswith("out/0/"):
            together.wait(PATIENT_S)
        store(self, bucket, key, *rest)

    monkeypatch.setattr(OwnBuckets, "store", with_others)
    timing = FAST.__class__(**{**vars(FAST), "output_upload_s": 600, "progress_s": 0.0})
    with jobs_in(tmp_path / "lab", timing) as jobs:
        jobs.script(MANY_FILES)
        job = jobs.run(job_body(algorithm__outputs=[channel("train_url", "out/")]))
        assert job["status"]["phase"] == "Completed"
        assert len(jobs.lab.keys("out/")) == 400
        assert jobs.lab.get("out/7/27") == b"x" * 1000
        log = jobs.log(job["metadata"]["id"])
        assert "uploading the output train_url: 200 of 400 files, 0.2 MB" in log


def test_a_stop_ends_the_upload_of_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, stopped = threading.Event(), threading.Event()
    put = ObjectStore.put_file

    def slow(self: ObjectStore, bucket: str, key: str, source: BinaryIO) -> ObjectInfo:
        if key.startswith("out/"):
            begun.set()
            assert stopped.wait(PATIENT_S)
        return put(self, bucket, key, source)

    monkeypatch.setattr(ObjectStore, "put_file", slow)
    timing = FAST.__class__(**{**vars(FAST), "output_upload_s": 600})
    with jobs_in(tmp_path / "lab", timing) as jobs:
        jobs.script(MANY_FILES)
        job_id = jobs.create(job_body(algorithm__outputs=[channel("train_url", "out/")]))["metadata"]["id"]
        assert begun.wait(PATIENT_S)
        assert jobs.stop(job_id)["status"]["phase"] == "Terminating"
        stopped.set()
        assert jobs.ended(job_id)["status"]["phase"] == "Terminated"
        # What was on its way is not stored either: nothing of it is read any more.
        assert jobs.lab.keys("out/") == []
        assert "the job was stopped; what is missing is in" in jobs.messages(job_id)


@pytest.fixture
def group() -> Iterator[ProcessGroup]:
    group = ProcessGroup.made(str(uuid4()), "worker-0", 100, 1 << 30)
    if not group.folders:
        pytest.skip("this computer lets us have no group")
    yield group
    group.remove()
    assert not any(folder.exists() for folder in group.folders)


@pytest.fixture
def stray() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]})
    yield process
    process.kill()
    process.wait()


def job_of(group: ProcessGroup) -> str:
    return group.folders[0].name.removeprefix("traindeck-job-").removesuffix("-worker-0")


def test_what_a_killed_lab_left_in_a_group_is_ended(group: ProcessGroup, stray: subprocess.Popen[bytes]) -> None:
    group.add(stray.pid)
    assert group.pids() == {stray.pid}
    left = ProcessGroup.left(job_of(group))
    tree = ProcessTree(job_of(group))
    tree.watch(left)
    assert tree.end(0.1)
    stray.wait()
    left.remove()
    assert not any(folder.exists() for folder in group.folders)


def test_groups_of_a_lab_that_was_elsewhere_are_found(group: ProcessGroup) -> None:
    job_id = str(uuid4())
    inner = [folder / f"traindeck-job-{job_id}-worker-0" for folder in group.folders]
    for folder in inner:
        folder.mkdir()
    assert sorted(ProcessGroup.left(job_id).folders) == sorted(inner)
    ProcessGroup.left_of({job_id}).remove()
    assert not any(folder.exists() for folder in inner)
    assert all(folder.exists() for folder in group.folders)


def test_a_folder_that_is_in_use_does_not_keep_the_others(
    group: ProcessGroup, stray: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_group, "_REMOVE_S", 0.1)
    (group.folders[0] / "cgroup.procs").write_text(str(stray.pid), encoding="ascii")
    group.remove()
    assert [folder.exists() for folder in group.folders] == [True, *[False] * (len(group.folders) - 1)]
    stray.kill()
    stray.wait()
