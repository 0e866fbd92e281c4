"""Finds the Python that runs an engine; never TrainDeck's own environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


def _reply(command: Sequence[Path | str]) -> bytes:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_ASK_LIMIT_S,
        check=True,
        env=harmless_environment(),
    ).stdout
