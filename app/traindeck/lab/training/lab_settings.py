"""What a user wrote into `lab.toml`: which Python runs which engine, how many jobs at once, how fast hours pass."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SETTINGS = "lab.toml"
_NUMBERS = {"parallel_jobs": (1, 1000), "clock": (0.001, 1_000_000), "metrics_interval_s": (0.01, 3600)}


class SettingsError(Exception):
    """`lab.toml` cannot be used; the text says why."""


@dataclass(frozen=True)
class LabSettings:
    """The settings of one root. With a clock of 60, an hour of a job's time limits lasts a minute."""

    pythons: Mapping[str, str] = field(default_factory=dict)
    parallel_jobs: int = field(default_factory=lambda: max(2, (os.cpu_count() or 1) // 2))
    clock: float = 1.0
    metrics_interval_s: float = 60.0
    container_paths: bool = True


def read_settings(root: Path) -> LabSettings:
    path = root / SETTINGS
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except FileNotFoundError:
        return LabSettings()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    unknown = sorted(set(table) - {*_NUMBERS, "engines", "container_paths"})
    if unknown:
        raise SettingsError(f"{path}: {unknown[0]} is not a setting of the Lab")
    engines = table.get("engines", {})
    if not isinstance(engines, dict) or not all(isinstance(python, str) and python for python in engines.values()):
        raise SettingsError(f"{path}: [engines] must be a table of paths")
    is_mapped = table.get("container_paths", True)
    if not isinstance(is_mapped, bool):
        raise SettingsError(f"{path}: container_paths must be true or false")
    numbers = {name: _number(path, name, table[name]) for name in _NUMBERS if name in table}
    return LabSettings(pythons=engines, container_paths=is_mapped, **numbers)


def _number(path: Path, name: str, value: Any) -> Any:
    low, high = _NUMBERS[name]
    is_number = isinstance(value, int) if name == "parallel_jobs" else isinstance(value, int | float)
    if isinstance(value, bool) or not is_number or not low <= value <= high:
        raise SettingsError(f"{path}: {name} must be a number from {low} to {high}")
    return value
