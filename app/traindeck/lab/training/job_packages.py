"""Installs what a job's `pip-requirements.txt` asks for, in an environment kept for the next job that asks the same."""

import hashlib
import json
import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

REQUIREMENTS = "pip-requirements.txt"
_COMPLETE = "complete"
_ASK = (
    "import json, site, sys, sysconfig; "
    "print(json.dumps([sys.version, sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]"
    " + (site.getsitepackages() if hasattr(site, 'getsitepackages') else [])))"
)
_ASK_LIMIT_S = 30.0
# Offline, pip would otherwise try for minutes.
_PIP = ("install", "--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", "15")

# Runs a command with the log as its output and gives its exit code; raises where the job is to end.
Run = Callable[[tuple[str, ...], Path, Mapping[str, str]], int]


class PackagesError(Exception):
    """The packages cannot be installed; the text says why."""


@dataclass(frozen=True)
class JobPython:
    """The Python that runs a job with its packages."""

    path: Path
    was_kept: bool


class PackageEnvironments:
    """The environments of one root, each known by the requirements, the wheels beside them, and the Python."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "environments"
        self._lock = threading.Lock()
        self._building: dict[str, threading.Lock] = {}

    def python(self, code: Path, base: Path, variables: Mapping[str, str], run: Run) -> JobPython:
        """The Python with the packages of `code`; builds its environment unless there is one already."""
        asked = _asked(base, variables)
        name = _fingerprint(code, base, asked)
        environment = self._folder / name
        own = environment / ("Scripts" if os.name == "nt" else "bin") / ("python.exe" if os.name == "nt" else "python")
        with self._lock:
            building = self._building.setdefault(name, threading.Lock())
        with building:
            if (environment / _COMPLETE).exists():
                os.utime(environment / _COMPLETE)
                return JobPython(own, was_kept=True)
            if environment.exists():
                shutil.rmtree(environment)
            environment.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                self._build(environment, own, code, base, asked[1:], variables, run)
            except BaseException:
                shutil.rmtree(environment, ignore_errors=True)
                raise
            (environment / _COMPLETE).touch()
        return JobPython(own, was_kept=False)

    def _build(
        self,
        environment: Path,
        own: Path,
        code: Path,
        base: Path,
        site_folders: list[str],
        variables: Mapping[str, str],
        run: Run,
    ) -> None:
        # Without pip of its own: that of the base is seen through the site packages, and costs no time.
        make = (str(base), "-m", "venv", "--without-pip", "--system-site-packages", str(environment))
        if run(make, code, variables) != 0:
            raise PackagesError(f"{base} cannot make an environment; its venv module may be missing")
        # A base that is itself an environment would pass on the packages of its own base only.
        for folder in environment.rglob("site-packages"):
            (folder / "base.pth").write_text("\n".join(site_folders) + "\n", encoding="utf-8")
            break
        install = (str(own), "-m", "pip", *_PIP, "--find-links", str(code), "-r", REQUIREMENTS)
        code_of_pip = run(install, code, variables)
        if code_of_pip != 0:
            hint = "what is not beside the requirements comes from the network"
            raise PackagesError(f"pip ended with exit code {code_of_pip}, and the log says why; {hint}")


def _asked(base: Path, variables: Mapping[str, str]) -> list[str]:
    try:
        reply = subprocess.run(
            [base, "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_LIMIT_S,
            check=True,
            env=dict(variables),
        )
        return [str(item) for item in json.loads(reply.stdout)]
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise PackagesError(f"{base} cannot be asked for its packages: {error}") from error


def _fingerprint(code: Path, base: Path, asked: list[str]) -> str:
    digest = hashlib.sha256()
    for text in (str(base), *asked):
        digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
    # Requirements may name wheels and further lists beside them.
    for path in sorted([*code.glob("*.txt"), *code.glob("*.whl")]):
        digest.update(path.name.encode("utf-8", "surrogateescape") + b"\0")
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:24]
