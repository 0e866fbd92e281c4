"""The packages that pip-requirements.txt asks for, installed once for all jobs that ask for the same."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from traindeck.lab.training.running.host_places import PythonPlaces
from traindeck.lab.training.running.job_pythons import make_environment, python_in
from traindeck.runtime.own_program import harmless_environment

REQUIREMENTS = "pip-requirements.txt"
_COMPLETE = ".complete"
_ASK_LIMIT_S = 30.0
# Offline, pip would otherwise try for minutes.
_PIP = ("install", "--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", "15")

# What its user has told pip about where packages come from; the rest of what pip can be told is not for jobs.
_SOURCES = ("index-url", "extra-index-url", "trusted-host", "find-links", "no-index", "proxy", "timeout", "retries")
_PASSWORD = re.compile(r"//[^/@\s]+@")
_INCLUDES = re.compile(r"\s*(?:-r|-c|--requirement|--constraint)(?:\s+|=|(?<=-[rc]))(?P<path>\S.*)")
_MOST_INCLUDES = 100

# Runs a command in the code's folder with the log as its output; the folder is the one it may change beside the job's
# own. The answer is its exit code. Raises where the job is to end.
Run = Callable[[Path, tuple[str, ...]], int]


class PackagesError(Exception):
    """The packages cannot be installed; the text says why."""


class PackageEnvironments:
    """The environments of one root, each known by the requirements, the wheels beside them, and the Python."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "environments"
        self._lock = threading.Lock()
        self._building: dict[str, threading.Lock] = {}

    def place(self, code: Path, base: PythonPlaces, user: int | None = None) -> Path:
        """Where the environment for `code` is or will be; it is the user's who runs the job."""
        if not base.executable:
            raise PackagesError(f"{', '.join(base.executables)} cannot be asked for its packages")
        return self._folder / _fingerprint(code, base, user)

    def install(self, environment: Path, base: PythonPlaces, run: Run) -> bool:
        """Make the environment at this place; False where an earlier job did."""
        with self._lock:
            building = self._building.setdefault(environment.name, threading.Lock())
        with building:
            # Beside it, where no job may write: what was installed may have laid anything in there.
            complete = environment.with_suffix(_COMPLETE)
            if complete.exists() and environment.exists():
                return False
            complete.unlink(missing_ok=True)
            if environment.exists():
                shutil.rmtree(environment)
            environment.mkdir(mode=0o700, parents=True)
            try:
                make_environment(environment, base)
                _install(python_in(environment), partial(run, environment))
                complete.touch(mode=0o600)
            except BaseException:
                shutil.rmtree(environment, ignore_errors=True)
                raise
        return True


def _install(own: Path, run: Callable[[tuple[str, ...]], int]) -> None:
    exit_code = run((str(own), "-m", "pip", *_PIP, "--find-links", ".", "-r", REQUIREMENTS))
    if exit_code != 0:
        hint = "what is not beside the requirements comes from the network"
        raise PackagesError(f"pip ended with exit code {exit_code}, and the log says why; {hint}")


def has_password(address: str) -> bool:
    """Whether it holds what is between its owner and that server."""
    return _PASSWORD.search(address) is not None


def package_sources(base: Path) -> dict[str, str]:
    """Where this user's pip gets packages, as variables of pip; what holds a password is left out."""
    variables = {name: value for name, value in harmless_environment().items() if not name.startswith("PYTHON")}
    try:
        said = subprocess.run(
            [base, "-m", "pip", "config", "list"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_LIMIT_S,
            check=True,
            env=variables,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[str, str] = {}
    for line in said.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        text = value.strip().strip("'")
        if option in _SOURCES and not has_password(text):
            found[f"PIP_{option.replace('-', '_').upper()}"] = text
    return found


def _fingerprint(code: Path, base: PythonPlaces, user: int | None) -> str:
    digest = hashlib.sha256()
    for text in (base.executable, base.version, base.home, *base.sites, str(user)):
        digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
    # Requirements may name wheels beside them.
    for path in [*_lists(code, code / REQUIREMENTS, set()), *sorted(code.glob("*.whl"))]:
        digest.update(os.fsencode(path.relative_to(code)) + b"\0")
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:24]


def _lists(code: Path, path: Path, seen: set[Path]) -> Iterator[Path]:
    """This list and those it includes, in their order; what is not in the code is left to pip."""
    path = Path(os.path.realpath(path))
    if path in seen or len(seen) == _MOST_INCLUDES or not path.is_relative_to(os.path.realpath(code)):
        return
    if not path.is_file():
        return
    seen.add(path)
    yield code / path.relative_to(os.path.realpath(code))
    for line in path.read_text(encoding="utf-8", errors="replace").replace("\\\n", "").splitlines():
        found = _INCLUDES.match(line)
        if found is not None:
            yield from _lists(code, path.parent / found["path"].partition(" #")[0].strip().strip("\"'"), seen)
