"""What a job finds beside its own folders: the Python its user named, wherever that is, and nothing its links say."""

import ast
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.lab_app import Jobs, channel, job_body, jobs_in, needs_containers
from support.waiting import PATIENT_S
from traindeck.lab.training.running.containers import _USERS, Box, Containers, Means
from traindeck.lab.training.running.host_places import Closed, Layer, PythonPlaces
from traindeck.lab.training.running.job_outputs import folders_of, open_written
from traindeck.lab.training.running.worker_places import WorkerPlaces
from traindeck.runtime.own_program import harmless_environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
BASE: str = getattr(sys, "_base_executable", "") or sys.executable


def named(jobs: Jobs, python: Path) -> None:
    (jobs.lab.root / "lab.toml").write_text(f"[engines]\ndefault = {json.dumps(str(python))}\n", encoding="utf-8")


def environment_in(folder: Path) -> Path:
    subprocess.run([BASE, "-m", "venv", "--without-pip", "--system-site-packages", str(folder)], check=True)
    return folder / "bin" / "python"


@needs_containers
def test_a_python_below_the_users_home_is_shown_and_the_home_is_not(jobs: Jobs) -> None:
    """Through links as version managers lay them; with what its user installed for themselves."""
    home = Path.home()
    python = environment_in(home / "tools" / "环境 1")
    (home / "current").symlink_to("tools/newest")
    (home / "tools" / "newest").symlink_to(home / "tools" / "环境 1")
    (home / "project").mkdir()
    (home / "project" / "of_project.py").write_text("NAME = 'project'\n", encoding="utf-8")
    ask = [str(python), "-c", "import site; print(site.getusersitepackages())"]
    site = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    assert site.is_relative_to(home)
    site.mkdir(parents=True)
    (site / "of_user.py").write_text("NAME = 'user'\n", encoding="utf-8")
    (site / "project.pth").write_text(f"{home / 'project'}\n", encoding="utf-8")
    (home / "secret.txt").write_text("secret", encoding="utf-8")
    named(jobs, home / "current" / "bin" / "python")
    jobs.script(
        "import json, os, pathlib, site, sys, of_user, of_project\n"
        f"home = pathlib.Path({str(home)!r})\n"
        "print('SEEN', of_user.NAME, of_project.NAME, sys.prefix != sys.base_prefix)\n"
        "print('HOME', sorted(path.name for path in home.iterdir()), os.access(home / 'tools' / '环境 1', os.W_OK))"
    )
    job = jobs.run(job_body())
    job_id = job["metadata"]["id"]
    assert job["metadata"]["annotations"]["lab/isolation"] in ("full", "partial"), jobs.messages(job_id)
    log = jobs.log(job_id)
    assert "SEEN user project True" in log
    assert "HOME ['.local', 'current', 'project', 'tools'] False" in log


def test_what_a_python_needs_never_opens_what_is_hidden(tmp_path: Path) -> None:
    home, root = Path.home(), tmp_path / "deck" / "lab"
    root.mkdir(parents=True)
    for folder in (home / ".local" / "lib", home / ".local" / "share" / "keyrings", home / ".local" / "bin"):
        folder.mkdir(parents=True)
    closed = Closed(root)
    installed = PythonPlaces((), prefixes=(str(home / ".local"),), paths=(str(home), str(home / ".local" / "lib"), "/"))
    shown = {path for kind, _, path in closed.layers(installed.needed(closed)) if kind == "show"}
    assert shown == {str(home / ".local" / "lib"), str(home / ".local" / "bin")}
    hidden = {path for kind, _, path in closed.layers([]) if kind == "hide"}
    assert {str(home), str(root)} <= hidden


@pytest.mark.parametrize("name", ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "TRAINDECK_HOME", "SSH_AUTH_SOCK"])
def test_what_the_variables_of_the_user_name_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place = tmp_path / "somewhere"
    place.mkdir()
    monkeypatch.setenv(name, f"unix:path={place},guid=0;unix:abstract=x" if name.startswith("DBUS") else str(place))
    assert ("hide", "", str(place)) in list(Closed(tmp_path / "lab").layers([]))


def test_a_lab_that_we_start_hides_the_socket_of_the_users_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "agent"
    place.touch()
    monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
    script = f"from pathlib import Path; from {Closed.__module__} import Closed; print(*Closed(Path('/lab')).hidden)"
    # A Lab that we start has no other variables.
    run = subprocess.run([sys.executable, "-c", script], env=harmless_environment(), capture_output=True, check=True)
    assert str(place) in run.stdout.decode().split()


@needs_containers
def test_links_in_an_output_lead_where_the_job_could_go(jobs: Jobs, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    jobs.script(
        "import os, pathlib, sys\n"
        "out = pathlib.Path(sys.argv[1].partition('=')[2])\n"
        "(out / 'step.ckpt').write_text('1'); (out / 'latest').symlink_to('step.ckpt')\n"
        "pathlib.Path('/cache/big').write_text('2'); (out / 'cached').symlink_to('/cache/big')\n"
        f"(out / 'outside').symlink_to({str(secret)!r}); (out / 'system').symlink_to('/etc/hosts')\n"
        "(out / 'up').symlink_to('../' * 30 + 'etc/hosts'); (out / 'round').symlink_to('round')\n"
        "os.mkfifo(out / 'pipe')\n"
    )
    job = jobs.run(job_body(algorithm__outputs=[channel("train_url", "out/")]))
    assert job["status"]["phase"] == "Completed", jobs.log(job["metadata"]["id"])
    assert {key: jobs.lab.get(key) for key in jobs.lab.keys("out/")} == {
        "out/step.ckpt": b"1", "out/latest": b"1", "out/cached": b"2",
    }  # fmt: skip


def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    places = WorkerPlaces(tmp_path / "worker", is_mapped=True, is_apart=True)
    places.make_own()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside", encoding="utf-8")
    (places.home / "out").symlink_to(outside)
    with pytest.raises(OSError, match="file"):
        open_written(places, places.home / "out" / "file")
    (places.home / "out").unlink()
    (places.home / "out").symlink_to("/cache")
    (places.cache / "file").write_text("inside", encoding="utf-8")
    with open_written(places, places.home / "out" / "file") as file:
        assert file.read() == b"inside"


@needs_containers
def test_packages_are_built_apart_too(jobs: Jobs, tmp_path: Path) -> None:
    """What comes with the code runs at its installation."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    jobs.script(f'{build}[project]\nname = "prying"\nversion = "1"\n', "code/job/prying", "pyproject.toml")
    pry = f"import os, sys\nprint('PRIED', os.path.exists({str(secret)!r}), 'HOME' in os.environ, file=sys.stderr)\n"
    jobs.script(f"{pry}raise SystemExit(3)\n", "code/job/prying", "backend.py")
    jobs.script("./prying\n", name="pip-requirements.txt")
    jobs.script("print('never')")
    job = jobs.run(job_body())
    assert job["status"]["phase"] == "Failed"
    assert "PRIED False True" in jobs.log(job["metadata"]["id"])


@needs_containers
def test_a_lab_below_a_link_runs_its_jobs_apart(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    with jobs_in(tmp_path / "linked" / "lab", settings="container_paths = false\n") as jobs:
        jobs.script("import os; print('HERE', os.getcwd(), os.environ['HOME'])")
        job = jobs.run(job_body())
        assert job["metadata"]["annotations"]["lab/isolation"] in ("full", "partial")
        folder = f"{tmp_path}/real/lab/jobs/{job['metadata']['id']}/worker-0/home"
        assert f"HERE {folder}/modelarts/user-job-dir {folder}" in jobs.log(job["metadata"]["id"])


CARDS: dict[str, Any] = {
    "algorithm__engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": "TF-1.15-python3.7-aarch64"},
    "spec__resource": {"flavor_id": "modelarts.kat1.8xlarge.public"},
}


@needs_containers
def test_no_folder_is_made_through_a_link_of_a_job_that_has_begun(jobs: Jobs, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    jobs.script("print('never')")
    jobs.script(f'cd "$MA_MOUNT_PATH" && mv workspace old; ln -s {outside} workspace', name="ma-pre-start.sh")
    job = jobs.run(job_body(**CARDS))
    assert job["status"]["phase"] == "Failed", jobs.log(job["metadata"]["id"])
    assert list(outside.iterdir()) == []


@needs_containers
@pytest.mark.parametrize(("tool", "way_out"), [("unshare", ""), ("bwrap", ""), ("bwrap", "/oldroot")])
def test_what_is_shown_below_the_jobs_own_is_not_laid_through_its_links(
    tmp_path: Path, tool: str, way_out: str
) -> None:
    """Of two processes of one worker the first lays a link where the second has something to find."""
    found = tool if tool == "unshare" else shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    outside, shown = tmp_path / "outside", tmp_path / "shown" / "deep"
    outside.mkdir()
    shown.mkdir(parents=True)
    (shown / "file").write_text("shown", encoding="utf-8")
    places = WorkerPlaces(tmp_path / "root" / "worker", is_mapped=True)
    places.make_own()
    containers, means = Containers(tmp_path / "root"), Means(found, own_processes=True)
    layers: list[Layer] = containers.layers(Path(BASE))
    layers += [("show", str(shown), "/cache/shown/deep"), ("show", str(shown / "file"), "/cache/one/file")]
    box = Box(places, "worker-0", {"hosts": "127.0.0.1 localhost\n"}, "/", layers, {"PATH": os.environ["PATH"]})

    def run(script: str) -> subprocess.CompletedProcess[bytes]:
        command, plan = containers.command(means, Path(BASE), box, ("/bin/sh", "-c", script))
        return subprocess.run(command, input=plan, capture_output=True, timeout=PATIENT_S, check=False)

    first = run("cat /cache/shown/deep/file /cache/one/file; touch /cache/shown/deep/file /cache/one/file")
    assert first.stdout == b"shownshown", first.stderr
    assert first.returncode != 0
    for name in ("shown", "one"):
        place, was = places.cache / name, places.cache / f"old-{name}"
        if place.exists():
            place.rename(was)
        place.symlink_to(f"{way_out}{outside}")
        assert (run("true").returncode == 0) is (tool == "bwrap")
        assert list(outside.iterdir()) == []
        place.unlink()
    assert run("cat /cache/shown/deep/file").stdout == b"shown"


@needs_containers
def test_what_is_mounted_below_the_settings_of_the_kernel_is_closed_too(tmp_path: Path) -> None:
    """Where a container sees the computer's own /proc."""
    around = ("unshare", "-m", "--propagation", "private", "sh", "-c", 'mount -t tmpfs x /proc/sys/vm && exec "$@"', "")
    if subprocess.run([*around, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount here")
    places = WorkerPlaces(tmp_path / "root" / "worker", is_mapped=True)
    places.make_own()
    containers, means = Containers(tmp_path / "root"), Means("unshare", own_processes=False)
    layers = containers.layers(Path(BASE))
    box = Box(places, "worker-0", {"hosts": "127.0.0.1 localhost\n"}, "/", layers, {"PATH": os.environ["PATH"]})
    script = "grep -c ' /proc/sys/vm ' /proc/self/mountinfo; touch /proc/sys/vm/file"
    command, plan = containers.command(means, Path(BASE), box, ("/bin/sh", "-c", script))
    run = subprocess.run([*around, *command], input=plan, capture_output=True, timeout=PATIENT_S, check=False)
    assert int(run.stdout) > 0 and b"Read-only file system" in run.stderr, run.stderr


@needs_containers
def test_the_code_has_no_part_in_making_the_environment(jobs: Jobs, tmp_path: Path) -> None:
    """The Lab writes into that before anything is installed."""
    jobs.script("raise SystemExit('PRIED')\n", name="venv.py")
    jobs.script("\n", name="pip-requirements.txt")
    jobs.script("print('RAN')")
    job = jobs.run(job_body())
    assert "RAN" in jobs.log(job["metadata"]["id"]).splitlines()


def test_an_output_that_became_a_link_is_not_looked_through_outside(tmp_path: Path) -> None:
    objects = tmp_path / "outside" / "objects"
    objects.mkdir(parents=True)
    (objects / "file").write_text("outside", encoding="utf-8")
    places = WorkerPlaces(tmp_path / "worker", is_mapped=True, is_apart=True)
    places.make_own()
    root = places.home / "out"
    root.symlink_to(tmp_path / "outside")
    assert list(folders_of(places, root)) == []
    root.unlink()
    root.symlink_to("/cache/out")
    (places.cache / "out" / "sub").mkdir(parents=True)
    (places.cache / "out" / "sub" / "file").write_text("inside", encoding="utf-8")
    (places.cache / "out" / "away").symlink_to(tmp_path / "outside")
    assert {folder: names for folder, _, names in folders_of(places, root)} == {root: [], root / "sub": ["file"]}


def has_other_users(folder: Path) -> bool:
    """Whether root may give files to a user of no name here, and have namespaces; found out without the Lab."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return False
    given = folder / "given"
    given.touch()
    with suppress(OSError):
        os.chown(given, _USERS[0], _USERS[0])
        kinds = ("unshare", "--mount", "--uts", "--ipc", "mount", "-t", "tmpfs", "x", str(folder))
        return subprocess.run(kinds, capture_output=True, check=False).returncode == 0
    return False


CLOSED = """
import os, pwd, sys
def tried(call, *args):
    try:
        return call(*args)
    except OSError as error:
        return type(error).__name__
def text(path):
    with open(path, "rb") as file:
        return file.read(100)
print("SECRETS", [tried(text, path) for path in ("/etc/shadow", "/proc/kcore", "/proc/timer_list", "/proc/keys")])
print("CHANGED", [tried(open, path, "w") for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger")])
print("ME", os.getuid(), pwd.getpwuid(os.getuid()).pw_name, os.environ.get("USER"), tried(text, "/proc/1/environ"))
os.system("echo from the shell > /dev/stdout; echo once more > /dev/stderr")
out = sys.argv[1].partition("=")[2]
os.makedirs(out + "/deep", mode=0o700)
with open(out + "/deep/file", "w") as file:
    file.write("kept")
os.chmod(out + "/deep/file", 0o400)
"""


@needs_containers
def test_a_job_neither_reads_nor_changes_what_belongs_to_the_system(jobs: Jobs, tmp_path: Path) -> None:
    jobs.script(CLOSED)
    job = jobs.run(job_body(algorithm__outputs=[channel("train_url", "out/")]))
    job_id = job["metadata"]["id"]
    log = jobs.log(job_id)
    assert job["status"]["phase"] == "Completed", log
    rows = {line.partition(" ")[0]: line.partition(" ")[2] for line in log.splitlines()}
    for answer in ast.literal_eval(rows["SECRETS"]):
        assert answer in (b"", "PermissionError", "FileNotFoundError", "OSError")
    for answer in ast.literal_eval(rows["CHANGED"]):
        assert answer in ("PermissionError", "FileNotFoundError", "OSError")
    # What was printed before a script opened its output by name is still there.
    assert "from the shell" in log and "once more" in log and "is being prepared" in log
    assert jobs.lab.get("out/deep/file") == b"kept"
    user, name, variable, environ = rows["ME"].split(" ", 3)
    isolation = job["metadata"]["annotations"]["lab/isolation"]
    if has_other_users(tmp_path):
        assert user != "0"
        assert (name, variable, environ) == ("ma-user", "ma-user", "PermissionError")
    assert isolation != "full" or user != "0"
    assert not (jobs.lab.root / "jobs" / job_id / "worker-0").exists()
    # What is said before the next job is what there was.
    assert Containers(jobs.lab.root).isolation(Path(BASE)) == isolation


def test_isolation_is_full_only_where_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = Means("unshare", own_processes=True, own_sockets=True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert everything.isolation == "full"
    assert replace(everything, own_processes=False).isolation == "partial"
    assert replace(everything, own_sockets=False).isolation == "partial"
    assert replace(everything, tool="").isolation == "none"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert everything.isolation == "partial"
    assert replace(everything, user=1000).isolation == "full"


@needs_containers
def test_a_change_of_the_system_is_noticed_before_it_is_said_how_jobs_are_isolated(tmp_path: Path) -> None:
    containers = Containers(tmp_path)
    found = containers.isolation(Path(BASE))
    assert found == containers.means(Path(BASE)).isolation
    notes = tmp_path / "isolation.json"
    noted = json.loads(notes.read_bytes())
    noted[BASE][-1] = "as noted"
    notes.write_text(json.dumps(noted), encoding="utf-8")
    assert Containers(tmp_path).isolation(Path(BASE)) == "as noted"
    noted[BASE][0] = "another start of the computer"
    notes.write_text(json.dumps(noted), encoding="utf-8")
    assert Containers(tmp_path).isolation(Path(BASE)) == found
    notes.write_text("[", encoding="utf-8")
    assert Containers(tmp_path).isolation(Path(BASE)) == found
