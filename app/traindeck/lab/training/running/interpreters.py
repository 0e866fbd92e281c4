"""Finds the Python that runs an engine; never TrainDeck's own environment."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from traindeck.lab.training.catalogue import Engine
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.lab_settings import SETTINGS, SettingsError, read_settings
from traindeck.runtime.own_program import harmless_environment

_ASK = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
_ASK_LIMIT_S = 30.0
_NO_ENGINE = EventText("No engine can run: {problem}", "没有引擎可以运行：{problem}")
_SOME_ENGINES = EventText("Engines that cannot run: {named}. {problem}", "无法运行的引擎：{named}。{problem}")
_UNKNOWN_ENGINE = EventText(
    "{settings} lists an engine the Lab does not have: {name}", "{settings} 指定了 Lab 没有的引擎：{name}"
)


class NoInterpreterError(SettingsError):
    """There is no Python to run the job with."""


@dataclass(frozen=True)
class EnginePython:
    """An engine with the Python that runs it here, or the reason why none does."""

    engine: Engine
    python: Path | None
    version: str
    problem: EventText | None


class Interpreters:
    """Which Python runs which engine, as the user wrote it into `lab.toml`; read anew for every job."""

    def __init__(self, root: Path, usual: str = "") -> None:
        """`usual`: what runs the engines of which `lab.toml` says nothing."""
        self._root = root
        self._usual = usual

    def for_engine(self, engine_id: str) -> Path:
        """Raises SettingsError where none can be had."""
        settings = read_settings(self._root)
        named = settings.pythons.get(engine_id) or settings.pythons.get("default")
        choice = named or self._usual
        if not choice:
            return self._of_this_computer()
        path = Path(choice).expanduser()
        found = shutil.which(str(path))
        if found is None and not named:
            raise NoInterpreterError(
                EventText(f"the Python {path} of the settings cannot be run", f"设置中指定的 Python {path} 无法运行")
            )
        if found is None:
            place = self._root / SETTINGS
            english = f"{place} names the Python {path}, which cannot be run"
            raise NoInterpreterError(EventText(english, f"{place} 中指定的 Python {path} 无法运行"))
        return Path(found).absolute()

    def checked(self, engines: Sequence[Engine]) -> list[EnginePython]:
        """Every engine with its Python, which is started once to see that it is one."""
        versions: dict[Path, tuple[str, EventText | None]] = {}
        rows = []
        for engine in engines:
            try:
                python = self.for_engine(engine.id)
            except SettingsError as error:
                rows.append(EnginePython(engine, None, "", error.reason))
                continue
            if python not in versions:
                versions[python] = _asked(python)
            rows.append(EnginePython(engine, python, *versions[python]))
        return rows

    def problems(self, engines: Sequence[Engine]) -> Iterator[EventText]:
        """What a user should know about `lab.toml`, each thing said once."""
        concerned: dict[EventText, list[str]] = {}
        for row in self.checked(engines):
            if row.problem is not None:
                concerned.setdefault(row.problem, []).append(row.engine.id)
        for problem, ids in concerned.items():
            told = _NO_ENGINE if len(ids) == len(engines) else _SOME_ENGINES
            yield told.of(problem=problem, named=", ".join(ids))
        try:
            for name in self.unknown(engines):
                yield _UNKNOWN_ENGINE.of(settings=SETTINGS, name=name)
        except SettingsError:
            return  # said above, of every engine

    def unknown(self, engines: Sequence[Engine]) -> list[str]:
        """Names in `lab.toml` that are no engine's."""
        named = read_settings(self._root).pythons
        return sorted(set(named) - {engine.id for engine in engines} - {"default"})

    def _of_this_computer(self) -> Path:
        # A frozen program is no Python: started again it would open another window.
        if not getattr(sys, "frozen", False):
            base: str = getattr(sys, "_base_executable", "") or sys.executable
            return Path(base)
        found = shutil.which("python3") or shutil.which("python")
        if found is None:
            place = self._root / SETTINGS
            raise NoInterpreterError(
                EventText(f"no Python was found; name one in {place}", f"未找到 Python；请在 {place} 中指定一个")
            )
        return Path(found)


def _asked(python: Path) -> tuple[str, EventText | None]:
    """The version of this Python, and what is wrong with it."""
    try:
        return _reply([python, "-I", "-c", _ASK]).decode("utf-8", "replace").strip(), None
    except subprocess.TimeoutExpired:
        return "", EventText(f"{python} does not answer", f"{python} 没有响应")
    except subprocess.CalledProcessError as error:
        code = error.returncode
        english = f"{python} is no Python that works (exit code {code})"
        return "", EventText(english, f"{python} 不是可用的 Python（退出码 {code}）")
    except OSError as error:
        return "", EventText(f"{python} cannot be started: {error.strerror}", f"无法启动 {python}：{error.strerror}")


def _reply(command: Sequence[Path | str], variables: dict[str, str] | None = None) -> bytes:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_ASK_LIMIT_S,
        check=True,
        env=harmless_environment() if variables is None else variables,
    ).stdout


REQUIREMENTS = "pip-requirements.txt"
_COMPLETE = "complete"
_ASK_PIP = (
    "import json, site, sys, sysconfig; "
    "print(json.dumps([sys.version, sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]"
    " + (site.getsitepackages() if hasattr(site, 'getsitepackages') else [])))"
)
# Offline, pip would otherwise try for minutes.
_PIP = ("install", "--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", "15")

# What its user has told pip about where packages come from; the rest of what pip can be told is not for jobs.
_SOURCES = ("index-url", "extra-index-url", "trusted-host", "find-links", "no-index", "proxy", "timeout", "retries")
_PASSWORD = re.compile(r"//[^/@\s]+@")

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

    def folder_of(self, python: Path) -> Path:
        """All that belongs to this Python, if it is one of these environments."""
        if not python.is_relative_to(self._folder):
            return python
        return self._folder / python.relative_to(self._folder).parts[0]

    def python(self, code: Path, base: Path, variables: Mapping[str, str], run: Run) -> tuple[Path, bool]:
        """The Python with the packages of `code`, and whether it was there; else its environment is built."""
        asked = _asked_pip(base, variables)
        name = _fingerprint(code, base, asked)
        environment = self._folder / name
        own = environment / ("Scripts" if os.name == "nt" else "bin") / ("python.exe" if os.name == "nt" else "python")
        with self._lock:
            building = self._building.setdefault(name, threading.Lock())
        with building:
            complete = environment / _COMPLETE
            if complete.exists():
                os.utime(complete, follow_symlinks=os.utime not in os.supports_follow_symlinks)
                return own, True
            if environment.exists():
                shutil.rmtree(environment)
            environment.mkdir(mode=0o700, parents=True)
            try:
                _build(environment, base, asked[1:], partial(run, environment))
                _install(own, partial(run, environment))
                # What was installed ran in there, and may have laid a link.
                os.close(os.open(complete, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
            except BaseException:
                shutil.rmtree(environment, ignore_errors=True)
                raise
        return own, False


def _build(environment: Path, base: Path, site_folders: list[str], run: Callable[[tuple[str, ...]], int]) -> None:
    # Without pip of its own: that of the base is seen through the site packages, and costs no time.
    # Isolated: in the folder of the code, a module of that name would be the job's.
    if run((str(base), "-I", "-m", "venv", "--without-pip", "--system-site-packages", str(environment))) != 0:
        raise PackagesError(f"{base} cannot make an environment; its venv module may be missing")
    # A base that is itself an environment would pass on the packages of its own base only.
    for folder in environment.rglob("site-packages"):
        (folder / "base.pth").write_text("\n".join(site_folders) + "\n", encoding="utf-8")
        break


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
        lines = _reply([base, "-m", "pip", "config", "list"], variables).decode("utf-8", "replace").splitlines()
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        text = value.strip().strip("'")
        if option in _SOURCES and not has_password(text):
            found[f"PIP_{option.replace('-', '_').upper()}"] = text
    return found


def _asked_pip(base: Path, variables: Mapping[str, str]) -> list[str]:
    try:
        return [str(item) for item in json.loads(_reply([base, "-c", _ASK_PIP], dict(variables)))]
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
