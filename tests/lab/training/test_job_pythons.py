"""`pip install` and `python` inside a job, with every kind of Python that an engine may name. No network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.training.test_packages import wheel
from support.lab_app import job_body, jobs_in
from traindeck.lab.training.running.host_places import PythonPlaces
from traindeck.lab.training.running.packages import PackageEnvironments

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="lays links")
BASE = Path(getattr(sys, "_base_executable", "") or sys.executable)
SCRIPT = """
import json, os, subprocess, sys
here = os.path.dirname(os.path.abspath(__file__))
codes = [os.system("cd '%s' && pip install --no-index ./tiny_pack-1.0-py3-none-any.whl" % here)]
codes += [os.system("python %s/other.py" % here), subprocess.call(["python3", here + "/other.py"])]
codes += [subprocess.call([sys.executable, "-m", "pip", "--version"])]
codes.append(subprocess.call("pip3 uninstall -y tiny_pack && ! python %s/other.py" % here, shell=True))
print("CODES", codes)
try:
    import chosen_module
    print("CHOSEN", chosen_module.NAME)
except ImportError:
    print("CHOSEN nothing")
"""


def an_environment(folder: Path) -> Path:
    """With packages of its own, one of them found through a line in a .pth file, and without pip."""
    subprocess.run([str(BASE), "-m", "venv", "--without-pip", str(folder / "环境 1")], check=True)
    (site,) = (folder / "环境 1" / "lib").glob("*/site-packages")
    (folder / "project").mkdir()
    (folder / "project" / "chosen_module.py").write_text("NAME = 'of the environment'\n", encoding="utf-8")
    (site / "project.pth").write_text(f"import sys; sys.path.append({str(folder / 'project')!a})\n")
    return folder / "环境 1" / "bin" / "python"


def a_shim(folder: Path) -> Path:
    """As pyenv and its like have them: a script that chooses the Python and starts it."""
    shim = folder / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{BASE}" "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    return shim


# Marked as managed by others, and with no `python` beside it; of an older version.
SYSTEM = Path("/usr/bin/python3")
OLDER = sorted(Path.home().glob(".pyenv/versions/3.8*/bin/python3.8"))


def test_a_job_installs_packages_and_starts_python(tmp_path: Path) -> None:
    pythons = {"local-python": BASE, "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64": an_environment(tmp_path)}
    pythons["mindspore_1.7.0-cpu-py_3.7-ubuntu_18.04-x86_64"] = a_shim(tmp_path)
    if SYSTEM.exists():
        pythons["tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64"] = SYSTEM
    if OLDER:
        pythons["pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"] = OLDER[0]
    rows = [f"{json.dumps(engine)} = {json.dumps(str(python))}\n" for engine, python in pythons.items()]
    settings = f"parallel_jobs = {len(pythons)}\n[engines]\n{''.join(rows)}"
    with jobs_in(tmp_path / "lab", settings=settings) as jobs:
        jobs.lab.put("code/job/tiny_pack-1.0-py3-none-any.whl", wheel("1.0")[1])
        jobs.script("import tiny_pack; print('OTHER', tiny_pack.VERSION)", name="other.py")
        jobs.script(SCRIPT)
        begun = {}
        for number, engine in enumerate(pythons):
            body = job_body(f"job-{number}", algorithm__engine={"engine_id": engine})
            begun[engine] = jobs.create(body)["metadata"]["id"]
        for engine, python in pythons.items():
            assert jobs.ended(begun[engine])["status"]["phase"] == "Completed"
            log = jobs.log(begun[engine])
            assert "CODES [0, 0, 0, 0, 0]" in log, log
            assert log.count("OTHER 1.0") == 2
            assert ("CHOSEN of the environment" in log) is ("环境 1" in str(python))
            # The Python that was named is as it was.
            ask = [str(python), "-c", "import importlib.util as found; print(found.find_spec('tiny_pack'))"]
            assert subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip() == "None"


def test_an_environment_is_known_by_its_requirements_alone(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "requirements").mkdir(parents=True)
    files = {
        "pip-requirements.txt": "numpy  # needed\n-r requirements/more.txt\n--constraint=limits.txt\n",
        "requirements/more.txt": "scipy\n-rloop.txt\n",
        "requirements/loop.txt": "--requirement more.txt\n",
        "limits.txt": "numpy<2\n",
        "notes.txt": "first\n",
    }
    for name, text in files.items():
        (code / name).write_text(text, encoding="utf-8")
    places = PythonPlaces((str(BASE),), executable=str(BASE), version="3.11", home="/usr/bin")
    environments = PackageEnvironments(tmp_path / "lab")
    first = environments.place(code, places)
    (code / "notes.txt").write_text("second\n", encoding="utf-8")
    (code / "classes.txt").write_text("cat\ndog\n", encoding="utf-8")
    os.utime(code / "limits.txt", (1, 1))
    assert environments.place(code, places) == first
    seen = {first}
    for name in (*list(files)[:4], "tiny.whl"):
        with (code / name).open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        seen.add(environments.place(code, places))
    assert len(seen) == 6
