"""What a user wrote into `lab.toml`: which Python runs which engine, how many jobs at once, how fast hours pass."""

import logging
import os
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traindeck.lab.training.job_records import EventText

log = logging.getLogger(__name__)

SETTINGS = "lab.toml"
_UNREADABLE = EventText("{path} cannot be read: {reason}", "无法读取 {path}：{reason}")
_SWITCHES = ("container_paths", "obs_urls")
_NUMBERS = {
    "parallel_jobs": (1, 1000), "clock": (0.001, 1_000_000), "metrics_interval_s": (0.01, 3600),
    "code_entries": (1, 100_000),
}  # fmt: skip
_WHOLE = ("parallel_jobs", "code_entries")


class SettingsError(Exception):
    """`lab.toml` cannot be used."""

    def __init__(self, reason: EventText) -> None:
        super().__init__(reason.english)
        self.reason = reason


@dataclass(frozen=True)
class LabSettings:
    """The settings of one root. With a clock of 60, an hour of a job's time limits lasts a minute."""

    pythons: Mapping[str, str] = field(default_factory=dict)
    parallel_jobs: int = field(default_factory=lambda: max(2, (os.cpu_count() or 1) // 2))
    clock: float = 1.0
    metrics_interval_s: float = 60.0
    container_paths: bool = True
    # How many files and folders the code of a job may have; as many as the service takes, unless said otherwise.
    code_entries: int = 1000
    # Whether the engines of the older service hand their scripts OBS addresses, as that service did, not folders.
    obs_urls: bool = False


def read_settings(root: Path) -> LabSettings:
    path = root / SETTINGS
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except FileNotFoundError:
        return LabSettings()
    except OSError as error:
        raise SettingsError(_UNREADABLE.of(path=path, reason=error.strerror or error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(_UNREADABLE.of(path=path, reason=error)) from error
    unknown = sorted(set(table) - {*_NUMBERS, *_SWITCHES, "engines"})
    if unknown:
        raise _refused(path, f"{unknown[0]} is not a setting of the Lab", f"{unknown[0]} 不是 Lab 的设置项")
    engines = table.get("engines", {})
    if not isinstance(engines, dict) or not all(isinstance(python, str) and python for python in engines.values()):
        raise _refused(path, "[engines] must be a table of paths", "[engines] 必须是路径表")
    switches = {name: table[name] for name in _SWITCHES if name in table}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise _refused(path, f"{name} must be true or false", f"{name} 必须为 true 或 false")
    numbers = {name: _number(path, name, table[name]) for name in _NUMBERS if name in table}
    return LabSettings(pythons=engines, **switches, **numbers)


class CurrentSettings:
    """Those of one root as the file has them now; while it cannot be used, those before count."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._state: tuple[int, int, int] | None = None
        self._last = LabSettings()

    def now(self) -> LabSettings:
        """Read only after a change, and what is wrong goes to the log once."""
        with self._lock:
            try:
                found = (self._root / SETTINGS).stat()
                state = found.st_mtime_ns, found.st_size, found.st_ino
            except OSError:
                state = 0, 0, 0
            if state != self._state:
                self._state = state
                try:
                    self._last = read_settings(self._root)
                except SettingsError as error:
                    log.warning("%s", error)
            return self._last


def _number(path: Path, name: str, value: Any) -> Any:
    low, high = _NUMBERS[name]
    kinds = int if name in _WHOLE else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise _refused(
            path, f"{name} must be a number from {low} to {high}", f"{name} 必须是 {low} 到 {high} 之间的数字"
        )
    return value


def _refused(path: Path, english: str, chinese: str) -> SettingsError:
    return SettingsError(EventText(f"{path}: {english}", f"{path}：{chinese}"))
