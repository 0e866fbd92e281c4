"""The environments jobs run in: a writable one for each worker, above one with the packages its code asks for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traindeck.lab.training.running.host_places import PythonPlaces
from traindeck.lab.training.running.worker_places import WorkerPlaces
from traindeck.runtime.own_program import harmless_environment

_IS_WINDOWS = os.name == "nt"
_BIN = "Scripts" if _IS_WINDOWS else "bin"
_MAKE_LIMIT_S = 120.0
# Run by the Python beside it, wherever the environment is; a shell reads the first lines, Python all of them.
_PIP = """#!/bin/sh
'''exec' "${0%/*}/python" "$0" "$@"
' '''
import runpy, sys
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
_PIP_WINDOWS = '@"%~dp0python.exe" -m pip %*\r\n'


@dataclass(frozen=True)
class JobPython:
    """What a job finds as `python` and `pip`: its own environment above the packages of its code and the base."""

    base: Path
    places: PythonPlaces
    packages: Path | None = None
    """The environment with what pip-requirements.txt asks for."""

    def make(self, worker: WorkerPlaces) -> None:
        """Lay the environment of one worker; a base that cannot be asked is used by itself."""
        if self.places.executable:
            above = () if self.packages is None else (str(site_folder(self.packages, self.places)),)
            make_environment(worker.python, self.places, above)

    def command(self, worker: WorkerPlaces) -> str:
        """As a process of the worker starts it."""
        if not self.places.executable:
            return str(self.base)
        return worker.seen(python_in(worker.python))

    def folders(self, worker: WorkerPlaces) -> list[str]:
        """For PATH: programs of the packages come before those of the base."""
        own = [worker.seen(worker.python / _BIN)] if self.places.executable else []
        packages = [str(self.packages / _BIN)] if self.packages is not None else []
        return [*own, *packages, str(Path(self.places.executable or self.base).parent)]


def python_in(environment: Path) -> Path:
    return environment / _BIN / ("python.exe" if _IS_WINDOWS else "python")


def site_folder(environment: Path, base: PythonPlaces) -> Path:
    return (
        environment / "Lib" / "site-packages" if _IS_WINDOWS else environment / "lib" / base.library / "site-packages"
    )


def make_environment(folder: Path, base: PythonPlaces, above: Sequence[str] = ()) -> None:
    """Lay a virtual environment: links and a few lines, which takes no time and no room.

    `above`: folders of packages that come before those of the base. Raises OSError.
    """
    if _IS_WINDOWS:
        _make_by_venv(folder, base)
    else:
        _make_by_hand(folder, base)
    site = site_folder(folder, base)
    # What is run here reads the files of those folders too, as it does in their own environment. All in ASCII: older
    # Pythons read this file in the encoding of the locale.
    lines = [f"import site; site.addsitedir({one!a})" for one in (*above, *base.sites)]
    lines += [f"import sys; sys.path.append({base.pip_wheel!a})"] if base.pip_wheel else []
    (site / "base.pth").write_text("\n".join(lines) + "\n", encoding="ascii")


def _make_by_hand(folder: Path, base: PythonPlaces) -> None:
    programs = folder / _BIN
    programs.mkdir(parents=True)
    site_folder(folder, base).mkdir(parents=True)
    settings = {
        "home": base.home,
        "include-system-site-packages": "true" if base.sees_base else "false",
        "version": base.version.partition(" ")[0],
    }
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (folder / "pyvenv.cfg").write_text(text, encoding="utf-8")
    for name in ("python", "python3", base.library):
        if not os.path.lexists(programs / name):
            (programs / name).symlink_to(base.executable)
    for name in ("pip", "pip3"):
        (programs / name).write_text(_PIP, encoding="ascii")
        (programs / name).chmod(0o755)


def _make_by_venv(folder: Path, base: PythonPlaces) -> None:
    command = [base.executable, "-I", "-m", "venv", "--without-pip", str(folder)]
    command += ["--system-site-packages"] if base.sees_base else []
    try:
        subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_MAKE_LIMIT_S,
            check=True,
            env=harmless_environment(),
        )
    except subprocess.SubprocessError as error:
        raise OSError(f"{base.executable} cannot make an environment: {error}") from error
    shutil.copyfile(folder / _BIN / "python.exe", folder / _BIN / "python3.exe")
    for name in ("pip.cmd", "pip3.cmd"):
        (folder / _BIN / name).write_text(_PIP_WINDOWS, encoding="ascii", newline="")
