"""The stand-in for MoXing, run by old and new Pythons against a real Lab."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lab_app import BUCKET, Jobs, job_body, prepared, sdk_client
from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S
from traindeck.lab.accounts import Accounts
from traindeck.runtime.resources import resource

# As the scripts of users have it: nothing holds the file that is read.
JOB = """
import os, sys
import moxing as mox
labels = dict(line.split() for line in mox.file.File("obs://lab-bucket/data/labels.txt"))
mox.file.shift("os", "mox")
print("LABELS", labels, open("obs://lab-bucket/data/labels.txt").read().count("dog"), mox.get_flag("num_gpus"))
os.makedirs("/cache/out/empty") if os.path.isdir("/cache") else os.makedirs("out/empty")
mox.file.copy_parallel("/cache/out" if os.path.isdir("/cache") else "out", "obs://lab-bucket/up")
print("EMPTY", mox.file.list_directory("obs://lab-bucket/up"))
"""
SCRIPT = Path(__file__).with_name("moxing_script.py")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    root = tmp_path_factory.mktemp("moxing") / "lab"
    files = {f"many/{number:04}": b"" for number in range(1005)}
    prepared(root, {**files, "code/job/train.py": JOB.encode(), "data/labels.txt": b"cat 0\ndog 1\n"}, BUCKET)
    with LabProcess(root) as lab:
        yield lab


def pythons() -> Iterator[str]:
    """The oldest and the newest of this computer, beside our own."""
    yield sys.executable
    for name in ("python3.7", "python3.13"):
        known = sorted(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}*/bin/{name}"))
        yield str(known[0]) if known else name


@pytest.mark.parametrize("scheme", ["obs://", "s3://"])
@pytest.mark.parametrize("python", list(pythons()), ids=lambda python: Path(python).name)
def test_every_operation_means_what_its_documentation_says(
    lab: LabProcess, tmp_path: Path, python: str, scheme: str
) -> None:
    try:
        subprocess.run([python, "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"{python} is not here")
    if scheme == "s3://" and python != sys.executable:
        pytest.skip("one Python is enough for the other spelling")
    place = f"obs://lab-bucket/{Path(python).name}-{scheme[:3]}/运行 1"
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "S3_ENDPOINT")},
        "PYTHONPATH": str(resource("lab", "moxing")),
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "S3_ENDPOINT": lab.obs.partition("://")[2],
        "ACCESS_KEY_ID": lab.access_key,
        "SECRET_ACCESS_KEY": lab.secret_key,
        "MA_NUM_GPUS": "8",
        "MA_TASK_NAME": "worker",
        "VC_TASK_INDEX": "1",
        "VC_WORKER_HOSTS": "host-0,host-1",
    }
    run = subprocess.run(
        [python, "-W", "error", str(SCRIPT), place, scheme, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENT_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "ALL GOOD\n"


def test_a_job_reads_files_of_obs_as_its_own(lab: LabProcess) -> None:
    with sdk_client(lab.modelarts, Accounts(lab.root).first) as client:
        jobs = Jobs(None, client)
        job = jobs.run(job_body())
        log = jobs.log(job["metadata"]["id"])
    assert job["status"]["phase"] == "Completed", log
    assert "LABELS {'cat': '0', 'dog': '1'} 1 1" in log
    assert "EMPTY ['empty']" in log
