"""Finds the Python that runs an engine; never TrainDeck's own environment."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traindeck.lab.training.catalogue import Engine
from traindeck.lab.training.lab_settings import SETTINGS, LabSettings, SettingsError, read_settings

_ASK = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
_ASK_LIMIT_S = 20.0


class NoInterpreterError(Exception):
    """There is no Python to run the job with; the text says what to do."""


@dataclass(frozen=True)
class EnginePython:
    """An engine with the Python that runs it here, or the reason why none does."""

    engine: Engine
    python: Path | None
    version: str
    problem: str


class Interpreters:
    """Which Python runs which engine, as the user wrote it into `lab.toml`; read anew for every job."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def for_engine(self, engine_id: str) -> Path:
        try:
            return self._chosen(read_settings(self._root), engine_id)
        except SettingsError as error:
            raise NoInterpreterError(str(error)) from error

    def checked(self, engines: Sequence[Engine]) -> list[EnginePython]:
        """Every engine with its Python, which is started once to see that it is one."""
        versions: dict[Path, tuple[str, str]] = {}
        rows = []
        for engine in engines:
            try:
                python = self.for_engine(engine.id)
            except NoInterpreterError as error:
                rows.append(EnginePython(engine, None, "", str(error)))
                continue
            if python not in versions:
                versions[python] = _asked(python)
            rows.append(EnginePython(engine, python, *versions[python]))
        return rows

    def unknown(self, engines: Sequence[Engine]) -> list[str]:
        """Names in `lab.toml` that are no engine's."""
        try:
            named = read_settings(self._root).pythons
        except SettingsError as error:
            raise NoInterpreterError(str(error)) from error
        return sorted(set(named) - {engine.id for engine in engines} - {"default"})

    def _chosen(self, settings: LabSettings, engine_id: str) -> Path:
        choice = settings.pythons.get(engine_id) or settings.pythons.get("default")
        if choice is None:
            return self._of_this_computer()
        path = Path(choice).expanduser()
        found = shutil.which(str(path))
        if found is None:
            raise NoInterpreterError(f"{self._root / SETTINGS} names the Python {path}, which cannot be run")
        return Path(found).absolute()

    def _of_this_computer(self) -> Path:
        # A frozen program is no Python: started again it would open another window.
        if not getattr(sys, "frozen", False):
            base: str = getattr(sys, "_base_executable", "") or sys.executable
            return Path(base)
        found = shutil.which("python3") or shutil.which("python")
        if found is None:
            raise NoInterpreterError(f"no Python was found; name one in {self._root / SETTINGS}")
        return Path(found)


def _asked(python: Path) -> tuple[str, str]:
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
        return "", f"{python} does not answer"
    except subprocess.CalledProcessError as error:
        return "", f"{python} is no Python that works (exit code {error.returncode})"
    except OSError as error:
        return "", f"{python} cannot be started: {error.strerror}"
    return reply.stdout.decode("utf-8", "replace").strip(), ""
