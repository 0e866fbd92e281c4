"""A job of the Lab that tries to get at what is its user's: with namespaces nothing, without them told to the user."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.lab_app import needs_containers
from support.planted import SECRET_KEY
from support.servers.secret_service import SecretService, is_installed
from support.waiting import PATIENT_S
from traindeck.runtime.files import our_file, our_folder

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's"),
    pytest.mark.skipif(not is_installed, reason="needs a keyring on a bus"),
]
MARK = "this-is-not-for-jobs"
# The kernel itself refuses more of them, as on a computer whose owner forbids it, and nobody is root there.
WITHOUT_NAMESPACES = (
    "unshare", "-r", "sh", "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all -- "$0" "$@"',
)  # fmt: skip
JOB = """
[job]
name = "prisoner"
target = "lab"
[code]
folder = "."
boot = "prisoner.py"
[engine]
name = "Local-Python"
version = "local-python"
[resources]
flavor = "modelarts.vm.cpu.2u"
stop_after = "1h"
[outputs]
train_url = "obs://prison/out/"
[environment]
LD_PRELOAD = "home/modelarts/user-job-dir/code/evil.so"
"""


@dataclass
class Prison:
    """A home with two accounts, its Lab, and the folder of the job; every command is a program."""

    folder: Path
    home: Path
    variables: dict[str, str]
    lab_pid: int = 0

    def run(self, *words: str, code: int = 0, given: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "traindeck", "--language", "en", *words],
            cwd=self.folder,
            env=self.variables,
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=3 * PATIENT_S,
            umask=0,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def lab(self, *wrapper: str) -> Iterator[None]:
        command = [*wrapper, sys.executable, "-m", "traindeck", "lab", "serve", "--json"]
        with subprocess.Popen(
            command, cwd=self.folder, env=self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, umask=0
        ) as process:
            assert process.stdout is not None
            try:
                assert json.loads(process.stdout.readline())["obs"]
                self.lab_pid = process.pid
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENT_S)

    def kept(self, name: str) -> Path:
        found = list(self.home.rglob(name))
        assert found, name
        return found[0]


@pytest.fixture
def prison(tmp_path: Path) -> Iterator[Prison]:
    with SecretService(tmp_path / "secret-service") as service:
        home, user = tmp_path / "deck", tmp_path / "user"
        variables = {
            **os.environ, **service.environment, "TRAINDECK_HOME": str(home), "HOME": str(user), "PYTHONUTF8": "1",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.SecretService.Keyring",
        }  # fmt: skip
        folder = tmp_path / "project"
        folder.mkdir()
        home.mkdir(0o755)
        home.chmod(0o755)
        (user / MARK).write_text("of the user", encoding="utf-8")
        (folder / "prisoner.py").write_bytes(Path(__file__).with_name("prisoner.py").read_bytes())
        (folder / "job.toml").write_text(JOB, encoding="utf-8")
        prison = Prison(folder, home, variables)
        for name in ("work", "campus"):
            prison.run("profile", "add", name, "--region", "cn-north-4", given=f"AK{name.upper():A<18}\n{SECRET_KEY}\n")
        yield prison


@contextmanager
def abstract_socket() -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as listening:
        name = f"traindeck-test-{os.getpid()}"
        listening.bind(f"\0{name}")
        listening.listen()
        yield f"@{name}"


def tell(prison: Prison, *, other_job: Path, abstract: str, is_kept: bool = True) -> None:
    """What there is to get hold of."""
    bus = prison.variables["DBUS_SESSION_BUS_ADDRESS"]
    paths = [part.partition("=")[2] for part in bus.partition(":")[2].split(",") if part.startswith("path=")]
    names = [part.partition("=")[2] for part in bus.partition(":")[2].split(",") if part.startswith("abstract=")]
    user = Path(prison.variables["HOME"])
    wanted: dict[str, Any] = {
        "mark": MARK,
        "uncovers": is_kept,
        "files": [
            *(str(prison.home / name) for name in ("settings.json", "records.db")),
            *(str(prison.home / "lab" / name) for name in ("accounts.json", "control.json", "running.json")),
            str(user / MARK), str(other_job / "log" / "other.txt"), str(prison.folder / "job.toml"),
        ],
        "folders": [str(prison.home), str(prison.home / "lab" / "obs"), str(user), str(other_job), "/run/user"],
        "variables": ["DBUS_SESSION_BUS_ADDRESS", "TRAINDECK_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"],
        "sockets": [*paths, *(f"@{name}" for name in names), abstract],
        "bus": bus,
        "spoken": [f"TRAINDECK_HOME={prison.home}"],
        "processes": [prison.lab_pid, os.getpid()],
        # Nothing of this computer is written to where it would succeed.
        "outside": [*(["/", "/etc", "/usr", "/opt", "/home"] if is_kept else []), *map(str, (user, prison.home))],
    }  # fmt: skip
    (prison.folder / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")


def served(prison: Prison) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """What the job got hold of, its log, and how the command shows its run."""
    prison.run("job", "submit", "job.toml", "--wait", "--yes")
    log = prison.run("job", "logs", "last")
    got = json.loads(next(line for line in log.splitlines() if line.startswith("GOT ")).removeprefix("GOT "))
    return got, log, json.loads(prison.run("job", "show", "last", "--json"))


@needs_containers
def test_a_job_that_tries_to_get_out_gets_hold_of_nothing(prison: Prison) -> None:
    with prison.lab(), abstract_socket() as abstract:
        prison.run("obs", "mb", "obs://prison", "--profile", "lab")
        other = prison.home / "lab" / "jobs" / "other"
        our_folder(other / "log")
        our_file(other / "log" / "other.txt")
        (other / "log" / "other.txt").write_text("of another job", encoding="utf-8")
        tell(prison, other_job=other, abstract=abstract)
        got, log, run = served(prison)
        assert got == {}, log
        assert run["isolation"] == "full"
        assert "not isolated" not in log + prison.run("job", "show", "last")
        assert "HOME /home/ma-user /home/ma-user" in log
        # What the Lab took home for it is its own alone.
        listed = prison.run("obs", "ls", "obs://prison/out/", "--profile", "lab", "--json").splitlines()
        kept = {json.loads(row)["key"].rpartition("/")[2] for row in listed}
        assert kept == {"mine.txt", "latest.txt", "absolute.txt"}
    assert not (Path(prison.variables["HOME"]) / ".bash_history").exists()
    own = [path for path in prison.home.rglob("*") if "sample" not in path.parts]
    assert [str(path) for path in (prison.home, *own) if path.stat().st_mode & 0o077] == []
    told = [path for path in own if path.is_file() and SECRET_KEY.encode() in path.read_bytes()]
    assert told == []


@pytest.mark.long
def test_where_there_are_no_namespaces_the_job_still_runs_and_its_user_is_told(prison: Prison) -> None:
    with prison.lab(*WITHOUT_NAMESPACES), abstract_socket() as abstract:
        prison.run("obs", "mb", "obs://prison", "--profile", "lab")
        tell(prison, other_job=prison.home, abstract=abstract, is_kept=False)
        got, log, run = served(prison)
        assert run["isolation"] == "none"
        sentence = "This job is not isolated, because this computer does not allow it"
        assert sentence in prison.run("job", "show", "last")
        assert "not isolated" in log
        # The variables and the home are made up all the same.
        assert not {"variables"} & got.keys()
        home = next(line for line in log.splitlines() if line.startswith("HOME ")).split()[1]
        assert home.startswith(str(prison.home)) and home.endswith("/home")
        # What the sentence says: so the other test would see it, too.
        assert {"ask the keyring", f"connect to {abstract}", "find the marked file"} <= got.keys()
