"""pip-requirements.txt: installed once over the chosen Python, kept, and clear when it cannot be had. No network."""

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.lab_app import Jobs, are_gone, job_body, processes_of, wait_for
from traindeck.lab.training.running.host_places import PythonPlaces
from traindeck.lab.training.running.packages import PackageEnvironments

SHOW = "import tiny_pack; print('TINY', tiny_pack.VERSION, tiny_pack.__file__)"


def wheel(version: str) -> tuple[str, bytes]:
    """A package of one module, as a wheel."""
    info = f"tiny_pack-{version}.dist-info"
    files = {
        "tiny_pack.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-pack\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return f"tiny_pack-{version}-py3-none-any.whl", content.getvalue()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(autouse=True)
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")


def with_wheel(jobs: Jobs, version: str, requirements: str) -> None:
    name, content = wheel(version)
    jobs.lab.put(f"code/job/{name}", content)
    jobs.script(requirements, name="pip-requirements.txt")


def line_of(jobs: Jobs, job_id: str, mark: str, task: str = "worker-0") -> str:
    return next(line for line in jobs.log(job_id, task).splitlines() if line.startswith(mark))


@pytest.mark.long
def test_a_wheel_beside_the_requirements_is_installed_and_kept(jobs: Jobs) -> None:
    with_wheel(jobs, "1.0", "tiny_pack-1.0-py3-none-any.whl\n")
    jobs.script(SHOW)
    job = jobs.run(job_body(spec__resource={"flavor_id": "modelarts.vm.cpu.8u", "node_count": 2}))
    job_id = job["metadata"]["id"]
    assert job["status"]["phase"] == "Completed", jobs.log(job_id)
    assert line_of(jobs, job_id, "TINY") == line_of(jobs, job_id, "TINY", "worker-1")
    _, version, place = line_of(jobs, job_id, "TINY").split()
    assert version == "1.0"
    assert Path(place).is_relative_to(jobs.lab.root / "environments")
    assert "Successfully installed tiny-pack-1.0" in jobs.log(job_id)
    assert "packages were installed" in jobs.messages(job_id)

    again = jobs.run(job_body("again"))["metadata"]["id"]
    assert line_of(jobs, again, "TINY").split()[2] == place
    assert "used again" in jobs.messages(again)
    assert "Successfully installed" not in jobs.log(again)

    # By its name, and in another version: another environment.
    with_wheel(jobs, "2.0", "tiny-pack==2.0\n")
    other = jobs.run(job_body("other"))["metadata"]["id"]
    assert line_of(jobs, other, "TINY").split()[1] == "2.0"
    assert line_of(jobs, other, "TINY").split()[2] != place


def test_packages_that_cannot_be_had_fail_the_job_clearly(jobs: Jobs) -> None:
    jobs.script("no-such-package-anywhere==1.0\n", name="pip-requirements.txt")
    jobs.script("print('never')")
    for name in ("first", "second"):
        job = jobs.run(job_body(name))
        job_id = job["metadata"]["id"]
        assert (job["status"]["phase"], job["status"]["task_statuses"][0]["exit_code"]) == ("Failed", 1)
        message = jobs.messages(job_id, level="Error")
        assert "packages of pip-requirements.txt could not be installed: pip ended with exit code" in message
        assert "no-such-package-anywhere" in jobs.log(job_id)
        assert "never" not in jobs.log(job_id).splitlines()
    assert not list((jobs.lab.root / "environments").iterdir())


@pytest.mark.long
def test_the_packages_of_a_chosen_environment_stay_visible(jobs: Jobs, tmp_path: Path) -> None:
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    chosen = tmp_path / "chosen"
    subprocess.run([base, "-m", "venv", "--without-pip", "--system-site-packages", str(chosen)], check=True)
    (folder,) = chosen.rglob("site-packages")
    (folder / "chosen_module.py").write_text("NAME = 'chosen'\n", encoding="utf-8")
    python = chosen / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    (jobs.lab.root / "lab.toml").write_text(f"[engines]\ndefault = {json.dumps(str(python))}\n", encoding="utf-8")
    with_wheel(jobs, "1.0", "tiny-pack\n")
    jobs.script("import chosen_module, tiny_pack; print('BOTH', chosen_module.NAME, tiny_pack.VERSION)")
    job = jobs.run(job_body())
    assert "BOTH chosen 1.0" in jobs.log(job["metadata"]["id"])


BACKEND = """
import time
def build_wheel(*_, **__): time.sleep(600)
prepare_metadata_for_build_wheel = build_wheel
"""


def test_a_stop_reaches_the_installation(jobs: Jobs) -> None:
    jobs.script("./never\n", name="pip-requirements.txt")
    jobs.script("print('never')")
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    jobs.script(f'{build}[project]\nname = "never"\nversion = "1"\n', "code/job/never", "pyproject.toml")
    jobs.script(BACKEND, "code/job/never", "backend.py")
    job_id = jobs.create(job_body())["metadata"]["id"]
    wait_for(lambda: "Preparing metadata" in jobs.log(job_id))
    processes = processes_of(job_id)
    jobs.stop(job_id)
    assert jobs.ended(job_id)["status"]["phase"] == "Terminated"
    assert jobs.lab.service.live_jobs() == 0
    assert processes
    assert are_gone(processes)


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
def test_a_pipe_among_the_packages_does_not_hang_the_lab(tmp_path: Path) -> None:
    base = PythonPlaces.asked(Path(sys.executable))
    runs: list[Path] = []

    def run(environment: Path, command: tuple[str, ...]) -> int:
        runs.append(environment)
        os.mkfifo(environment / "complete")
        return 0

    environments = PackageEnvironments(tmp_path)
    place = environments.place(tmp_path, base)
    assert environments.install(place, base, run)
    assert not environments.install(place, base, run)
    assert runs == [place]
