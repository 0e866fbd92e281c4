"""What a job may find of this computer beside its own folders: what is kept from it, and what its Python needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traindeck.runtime.own_program import harmless_environment

# Left out or replaced as a whole: the users' folders, what runs for them, what is only for a while.
PRIVATE = tuple(map(Path, ("/home", "/root", "/run", "/tmp", "/var/tmp", "/dev", "/proc")))
_OF_THE_USER = (
    "HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "SSH_AUTH_SOCK",
    "TRAINDECK_HOME",
)  # fmt: skip
_BUS = "DBUS_SESSION_BUS_ADDRESS"
# What resolves names, and where a system without /usr keeps its libraries.
_NEEDED = ("/etc/resolv.conf", "/run/opengl-driver", "/run/current-system")
# What only root may read.
_OF_ROOT = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh",
    "/etc/ssl/private",
)  # fmt: skip
# Of a folder that holds more than a Python, such as ~/.local.
_OF_A_PYTHON = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
_MOST_LINKS = 40
_ASK = """
import glob, importlib.util, json, os, site, subprocess, sys, sysconfig
plain = [sys.executable, "-s", "-c", "import json, sys; print(json.dumps(sys.path))"]
of_all = json.loads(subprocess.check_output(plain))
settings, config = {}, os.path.join(sys.prefix, "pyvenv.cfg")
if sys.prefix != sys.base_prefix and os.path.isfile(config):
    with open(config, encoding="utf-8") as file:
        settings = dict(map(str.strip, line.split("=", 1)) for line in file if "=" in line)
stdlib = sysconfig.get_path("stdlib")
wheels = sorted(glob.glob(os.path.join(stdlib, "ensurepip", "_bundled", "pip-*.whl")))
print(json.dumps({
    "executable": sys.executable,
    "version": sys.version,
    "home": settings.get("home") or os.path.dirname(os.path.realpath(sys.executable)),
    "library": os.path.basename(stdlib),
    "sees_base": settings.get("include-system-site-packages", "true").lower() == "true",
    "sites": site.getsitepackages() if settings and hasattr(site, "getsitepackages") else [],
    "pip_wheel": "" if importlib.util.find_spec("pip") else "".join(wheels[-1:]),
    "executables": [sys.executable, getattr(sys, "_base_executable", sys.executable)],
    "prefixes": [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
    "paths": [path for path in sys.path if path],
    "user_site": site.getusersitepackages() if site.ENABLE_USER_SITE else "",
    "of_user": [path for path in sys.path if path and path not in of_all],
}))
"""
_ASK_LIMIT_S = 30.0

Layer = tuple[str, str, str]
"""What is laid over what: hide, show, own or link; from where; the path inside."""


@dataclass(frozen=True)
class PythonPlaces:
    """The files and folders of one Python, as it says itself where its user starts it."""

    executables: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    user_site: str = ""
    of_user: tuple[str, ...] = ()
    executable: str = ""
    """Empty where it did not answer; else the program itself, not the shim or link of a version manager."""
    version: str = ""
    home: str = ""
    """The folder of the Python that environments are made of."""
    library: str = ""
    sites: tuple[str, ...] = ()
    """Where an environment has its packages; those of its base count where `sees_base`."""
    sees_base: bool = True
    pip_wheel: str = ""
    """What runs as pip where none is installed."""

    @classmethod
    def asked(cls, python: Path) -> PythonPlaces:
        """Nothing is known of one that does not answer."""
        variables = {name: value for name, value in harmless_environment().items() if not name.startswith("PYTHON")}
        try:
            said = subprocess.run(
                [python, "-c", _ASK],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_ASK_LIMIT_S,
                check=True,
                env=variables,
                cwd="/" if os.name == "posix" else None,
            ).stdout
            found: dict[str, Any] = json.loads(said)
            found["executables"] = [str(python), *filter(None, found["executables"])]
            lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
            return cls(**(found | lists))
        except (OSError, subprocess.SubprocessError, ValueError, TypeError, LookupError):
            return cls((str(python),))

    def join(self, home: Path) -> None:
        """Let what the user installed for themselves be found where their folder has another name."""
        user = Path.home()
        if not self.of_user or not Path(self.user_site).is_relative_to(user):
            return
        folder = home / Path(self.user_site).relative_to(user)
        folder.mkdir(parents=True, exist_ok=True)
        # In ASCII: older Pythons read this file in the encoding of the locale.
        lines = [f"import sys; sys.path.append({one!a})\n" for one in self.of_user]
        (folder / "of-this-computer.pth").write_text("".join(lines), encoding="ascii")

    def needed(self, closed: Closed) -> Iterator[Path]:
        for prefix in map(Path, self.prefixes):
            if closed.holds_more(prefix):
                yield from (prefix / name for name in _OF_A_PYTHON)
            else:
                yield prefix
        yield from (path for path in map(Path, self.paths) if not closed.holds_more(path))
        yield from map(Path, self.executables)


class Closed:
    """The places that are kept from jobs."""

    def __init__(self, root: Path) -> None:
        """`root` is that of the Lab, with its keys and what all jobs left."""
        self.hidden = tuple(dict.fromkeys(_real([root, *_of_the_user()])))
        self._home_parts = {Path.home(), Path.home() / ".local"}

    def covers(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in (*PRIVATE, *self.hidden))

    def holds_more(self, path: Path) -> bool:
        """Whether to show this would show what is to be hidden."""
        real = Path(os.path.realpath(path))
        return path in self._home_parts or any(place.is_relative_to(real) for place in (*PRIVATE, *self.hidden))

    def layers(self, needed: Iterable[Path]) -> Iterator[Layer]:
        for place in self.hidden:
            yield "hide", "", str(place)
        for path in (*needed, *map(Path, _NEEDED)):
            links, real = _followed(path)
            yield from (("link", target, str(link)) for target, link in links if self.covers(link))
            if self.covers(real) and real.exists():
                yield "show", str(real), str(real)


def _of_the_user() -> Iterator[Path]:
    for name in _OF_THE_USER:
        if value := os.environ.get(name):
            yield Path(value).expanduser().absolute()
    for address in os.environ.get(_BUS, "").split(";"):
        for part in address.partition(":")[2].split(","):
            name, _, value = part.partition("=")
            if name in ("path", "dir", "tmpdir") and value:
                yield Path(value)
    if sys.platform != "win32":
        import pwd

        if os.geteuid() == 0:
            yield from map(Path, _OF_ROOT)
        try:
            yield Path(pwd.getpwuid(os.getuid()).pw_dir)
        except KeyError:
            return


def _real(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        real = Path(os.path.realpath(place))
        if real != Path("/") and real.exists():
            yield real


def _followed(path: Path) -> tuple[list[tuple[str, Path]], Path]:
    """The links on the way to what `path` names, and where that is."""
    links: list[tuple[str, Path]] = []
    place, left = Path("/"), list(path.absolute().parts[1:])
    while left and len(links) < _MOST_LINKS:
        part = left.pop(0)
        if part == "..":
            place = place.parent
            continue
        step = place / part
        if not step.is_symlink():
            place = step
            continue
        target = step.readlink()
        links.append((str(target), step))
        if target.is_absolute():
            place = Path("/")
        left = [piece for piece in target.parts if piece != "/"] + left
    return links, place.joinpath(*left)
