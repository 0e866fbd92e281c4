"""Finds the Python that runs an engine; never TrainDeck's own environment."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from traindeck.lab.training.catalogue import Engine
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.lab_settings import SETTINGS, LabSettings, SettingsError, read_settings

_ASK = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
_ASK_LIMIT_S = 20.0


class NoInterpreterError(Exception):
    """There is no Python to run the job with."""

    def __init__(self, reason: EventText) -> None:
        super().__init__(reason.english)
        self.reason = reason


@dataclass(frozen=True)
class EnginePython:
    """An engine with the Python that runs it here, or the reason why none does."""

    engine: Engine
    python: Path | None
    version: str
    problem: EventText | None


class Interpreters:
    """Which Python runs which engine, as the user wrote it into `lab.toml`; read anew for every job."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def for_engine(self, engine_id: str) -> Path:
        try:
            return self._chosen(read_settings(self._root), engine_id)
        except SettingsError as error:
            raise NoInterpreterError(error.reason) from error

    def checked(self, engines: Sequence[Engine]) -> list[EnginePython]:
        """Every engine with its Python, which is started once to see that it is one."""
        versions: dict[Path, tuple[str, EventText | None]] = {}
        rows = []
        for engine in engines:
            try:
                python = self.for_engine(engine.id)
            except NoInterpreterError as error:
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
            if len(ids) == len(engines):
                yield EventText(f"No engine can run: {problem.english}", f"没有引擎可以运行：{problem.chinese}")
            else:
                named = ", ".join(ids)
                yield EventText(
                    f"Engines that cannot run: {named}. {problem.english}",
                    f"无法运行的引擎：{named}。{problem.chinese}",
                )
        try:
            for name in self.unknown(engines):
                english = f"{SETTINGS} names an engine the Lab does not have: {name}"
                yield EventText(english, f"{SETTINGS} 指定了 Lab 中没有的引擎：{name}")
        except NoInterpreterError:
            return  # said above, of every engine

    def unknown(self, engines: Sequence[Engine]) -> list[str]:
        """Names in `lab.toml` that are no engine's."""
        try:
            named = read_settings(self._root).pythons
        except SettingsError as error:
            raise NoInterpreterError(error.reason) from error
        return sorted(set(named) - {engine.id for engine in engines} - {"default"})

    def _chosen(self, settings: LabSettings, engine_id: str) -> Path:
        choice = settings.pythons.get(engine_id) or settings.pythons.get("default")
        if choice is None:
            return self._of_this_computer()
        path = Path(choice).expanduser()
        found = shutil.which(str(path))
        if found is None:
            place = self._root / SETTINGS
            english = f"{place} names the Python {path}, which cannot be run"
            raise NoInterpreterError(EventText(english, f"{place} 中指定的 Python {path} 无法运行"))
        return Path(found).absolute()

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
        reply = subprocess.run(
            [python, "-I", "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_LIMIT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return "", EventText(f"{python} does not answer", f"{python} 没有响应")
    except subprocess.CalledProcessError as error:
        code = error.returncode
        english = f"{python} is no Python that works (exit code {code})"
        return "", EventText(english, f"{python} 不是可用的 Python（退出码 {code}）")
    except OSError as error:
        return "", EventText(f"{python} cannot be started: {error.strerror}", f"无法启动 {python}：{error.strerror}")
    return reply.stdout.decode("utf-8", "replace").strip(), None
