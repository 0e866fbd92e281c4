"""Keeps the processes of a worker apart from this computer, with the service's folders, as far as Linux lets us."""

import json
import logging
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from traindeck.lab.files import read_json, write_json
from traindeck.lab.training.job_form import USER_HOME
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.running.host_places import PRIVATE, Closed, Layer, PythonPlaces
from traindeck.lab.training.running.worker_places import WorkerPlaces, hand_over
from traindeck.runtime.own_program import harmless_environment
from traindeck.runtime.resources import resource

log = logging.getLogger(__name__)

_ENTER = ("lab", "enter_container.py")
_ENTER_INSIDE = "/run/enter_container.py"
_NOTES = "isolation.json"
_PROBE_LIMIT_S = 20.0
_IS_LINUX = sys.platform == "linux"
# That it has what it must have, has not what it must not have, and whether it reaches somebody's abstract socket.
_PROBE = """
import os, socket, sys
own, hidden = sys.argv[2:-1], sys.argv[-1]
if os.path.exists(hidden) or not all(os.access(path, os.W_OK) for path in own):
    sys.exit("the folders are not as wanted")
try:
    socket.socket(socket.AF_UNIX).connect("\\0" + sys.argv[1])
except PermissionError:
    print("apart")
"""
# Beside what every program needs, what computes.
_DEVICES = (
    "null", "zero", "full", "random", "urandom", "tty", "nvidia*", "nvhost*", "nvmap", "dri", "kfd", "accel",
    "davinci*", "devmm_svm", "hisi_hdc", "infiniband",
)  # fmt: skip
# What the launcher closes of the kernel, for a tool that closes less.
_HIDDEN_OF_KERNEL = tuple(f"/proc/{name}" for name in ("kcore", "keys", "kmsg", "sched_debug", "timer_list"))
# Whom root's jobs run as: a number that no system gives to its users, and one for systems of few numbers.
_USERS = (2_000_001_000, 64_321)
_ORDER = {"hide": 0, "link": 1, "show": 2, "own": 3}
_NO_NAMESPACES = EventText("this system has no user namespaces", "此系统没有用户命名空间")
_NOT_ALLOWED = EventText(
    "this computer does not let an ordinary user have namespaces", "本机不允许普通用户使用命名空间"
)
_SOMEBODYS_HOME = EventText("{path} is somebody's home on this computer", "{path} 是本机某个用户的主目录")
_IN_USE = EventText("{path} is in use on this computer", "本机正在使用 {path}")


@dataclass(frozen=True)
class Means:
    """How a process gets its container: by this tool, or not at all for this reason."""

    tool: str
    reason: EventText | None = None
    own_processes: bool = False
    """Whether it sees only processes of its own."""
    own_sockets: bool = False
    """Whether it reaches no abstract sockets of other programs."""
    user: int | None = None
    """Whom it runs as instead of root."""

    @property
    def isolation(self) -> str:
        """As the job's document tells it."""
        if not self.tool:
            return "none"
        return "full" if self.own_processes and self.own_sockets and not self.is_root else "partial"

    @property
    def is_root(self) -> bool:
        return self.user is None and _is_root()


@dataclass(frozen=True)
class Box:
    """What one process finds: its worker's own folders, and of this computer what `layers` leaves."""

    places: WorkerPlaces
    host: str
    files: Mapping[str, str]
    """Files of /etc that the processes see instead of those of this computer."""
    folder: str
    layers: Sequence[Layer]
    variables: Mapping[str, str] = field(default_factory=dict)

    def plan(self, means: Means, command: Sequence[str]) -> dict[str, Any]:
        """For our own launcher."""
        ground = self.places.root / "ground"
        ground.mkdir(exist_ok=True)
        return {
            "is_inside": means.tool != "unshare",
            "ground": str(ground),
            "host": self.host,
            "own_processes": means.own_processes,
            "user": means.user,
            **self._view(),
            "folder": self.folder,
            "command": list(command),
            "variables": dict(self.variables),
        }

    def arguments(self, means: Means) -> Iterator[str]:
        """The same as options of bubblewrap."""
        view = self._view()
        yield from ("--unshare-user-try", "--unshare-uts", "--unshare-ipc", "--hostname", self.host, "--tmpfs", "/")
        for folder in view["folders"]:
            yield from ("--dir", folder)
        for target, path in view["links"]:
            yield from ("--symlink", target, path)
        for source, path in view["binds"]:
            yield from ("--ro-bind-try", source, path)
        yield from ("--dev", "/dev")
        for path in view["devices"]:
            yield from ("--dev-bind-try", path, path)
        yield from ("--unshare-pid", "--proc", "/proc") if means.own_processes else ("--dev-bind", "/proc", "/proc")
        for path in filter(os.path.exists, _HIDDEN_OF_KERNEL):
            yield from ("--ro-bind", "/dev/null", path)
        covers = []
        for kind, source, path in view["layers"]:
            if kind == "own" and any(inner.startswith(f"{path}/") for _, _, inner in view["layers"]):
                # This tool would follow a link that another process of the job has laid where the inner thing goes.
                yield from ("--tmpfs", path)
            elif kind != "hide":
                yield from ({"link": "--symlink", "show": "--ro-bind", "own": "--bind"}[kind], source, path)
            elif Path(path).is_dir():
                covers.append(path)
                yield from ("--tmpfs", path)
            else:
                yield from ("--ro-bind", "/dev/null", path)
        yield from ("--ro-bind", str(resource(*_ENTER)), _ENTER_INSIDE)
        for path in (*covers, "/dev", "/"):
            yield from ("--remount-ro", path)

    def _view(self) -> dict[str, Any]:
        own = [(source, inside) for source, inside in self.places.own]
        entries = [path for path in sorted(Path("/").iterdir()) if path not in PRIVATE]
        entries = [path for path in entries if str(path) not in {inside for _, inside in own}]
        layers = {*self.layers, *(("own", str(source), inside) for source, inside in own)}
        for name, content in self.files.items():
            path = self.places.root / name
            path.write_text(content, encoding="utf-8", errors="surrogateescape")
            path.chmod(0o644)
            layers.add(("show", str(path), os.path.realpath(f"/etc/{name}")))
        layers = {layer for layer in layers if layer[0] != "hide" or _is_there(layer[2], layers)}
        return {
            "folders": ["/home", "/root", "/run", "/tmp", "/dev", "/proc"],
            "links": [(str(path.readlink()), str(path)) for path in entries if path.is_symlink()],
            "binds": [(str(path), str(path)) for path in entries if not path.is_symlink()],
            "devices": sorted({str(path) for name in _DEVICES for path in Path("/dev").glob(name)}),
            # What lies deeper comes after what it lies in.
            "layers": sorted(layers, key=lambda layer: (len(Path(layer[2]).parts), _ORDER[layer[0]], layer[2])),
        }


def _condition(python: Path) -> list[object]:
    """What the isolation depends on; once any of it is another, it must be tried again."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() if _IS_LINUX else ""
        return [boot, _is_root(), python.stat().st_mtime, resource(*_ENTER).stat().st_mtime]
    return [secrets.token_hex(8)]


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _is_there(place: str, layers: Iterable[Layer]) -> bool:
    """Whether what is to be hidden would be seen, or something that lies in it is shown."""
    if not any(Path(place).is_relative_to(private) for private in PRIVATE):
        return True
    return any(path.startswith(f"{place}/") for kind, _, path in layers if kind != "hide")


class Containers:
    """Finds out once for each Python what this computer allows, and what that Python needs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._means: dict[Path, Means] = {}
        self._places: dict[tuple[Path, int], PythonPlaces] = {}

    def means(self, python: Path) -> Means:
        with self._lock:
            if python not in self._means:
                self._means[python] = found = self._found(python)
                log.info("containers with %s: %s", python, found)
                self._note({**self._noted(), str(python): [*_condition(python), found.isolation]})
            return self._means[python]

    def isolation(self, python: Path) -> str:
        """As a Lab of this root found it, if nothing has changed since; else it is tried, which takes its time."""
        *condition, isolation = self._noted().get(str(python)) or [""]
        return str(isolation) if condition == _condition(python) else self.means(python).isolation

    def _noted(self) -> dict[str, list[object]]:
        try:
            noted = read_json(self._root / _NOTES)
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}

    def _note(self, noted: dict[str, list[object]]) -> None:
        try:
            write_json(self._root / _NOTES, noted)
        except OSError as error:
            log.info("what isolation there is could not be noted: %s", error)

    def places(self, python: Path) -> PythonPlaces:
        """What it says of itself, asked again once it is another file."""
        with suppress(OSError):
            kept = self._places.get((python, python.stat().st_mtime_ns))
            if kept is not None:
                return kept
        found = PythonPlaces.asked(python)
        for path in {python, Path(found.executable or python)}:
            with suppress(OSError):
                self._places[path, path.stat().st_mtime_ns] = found
        return found

    def paths_obstacle(self, python: Path) -> EventText | None:
        """What keeps the folders of the job from having the service's names."""
        if not self.means(python).tool:
            return self.means(python).reason
        if Path(USER_HOME).exists():
            return _SOMEBODYS_HOME.of(path=USER_HOME)
        for hidden in (Path("/cache"), Path("/user")):
            if self._root.is_relative_to(hidden) or python.is_relative_to(hidden):
                return _IN_USE.of(path=hidden)
        return None

    def layers(self, python: Path, *more: Path) -> list[Layer]:
        """What is hidden from the jobs of this Python, and what they need nevertheless."""
        closed = Closed(self._root)
        return list(closed.layers([*self.places(python).needed(closed), *more]))

    def command(self, means: Means, python: Path, box: Box, command: Sequence[str]) -> tuple[tuple[str, ...], bytes]:
        """What starts `command` inside the box, and what it wants to read first."""
        # Isolated, so that neither the job's variables nor its packages reach the launcher.
        launcher = (str(python), "-I", "-S", "-X", "utf8")
        plan = json.dumps(box.plan(means, command)).encode("ascii")
        if means.tool == "unshare":
            return (*launcher, str(resource(*_ENTER))), plan
        return (means.tool, *box.arguments(means), "--", *launcher, _ENTER_INSIDE), plan

    def _found(self, python: Path) -> Means:
        if sys.platform != "linux":
            return Means("", _NO_NAMESPACES)
        # Root's jobs have another user first of all. In a container around us, a new /proc may not be allowed.
        tools: list[tuple[str, int | None]] = [("unshare", user) for user in (_USERS if _is_root() else ())]
        tools += [(tool, None) for tool in filter(None, ("unshare", shutil.which("bwrap")))]
        for tool, user in tools:
            for own_processes in (True, False):
                found = self._tried(Means(tool, own_processes=own_processes, user=user), python)
                if found is not None:
                    return found
        return Means("", _NOT_ALLOWED)

    def _tried(self, means: Means, python: Path) -> Means | None:
        assert sys.platform == "linux"
        with (
            tempfile.TemporaryDirectory(dir=self._root, prefix=".probe-") as folder,
            socket.socket(socket.AF_UNIX) as others,
        ):
            name = f"traindeck-{secrets.token_hex(8)}"
            others.bind(f"\0{name}")
            others.listen()
            places = WorkerPlaces(Path(folder), is_mapped=False)
            places.make_own()
            try:
                hand_over(places.root, means.user)
            except OSError as error:  # the computer has no such user
                log.info("no container by %s with %s: %s", means, python, error)
                return None
            box = Box(places, "probe", {"hosts": "127.0.0.1 localhost\n"}, "/", self.layers(python))
            own = [path for _, path in places.own]
            command, plan = self.command(
                means, python, box, (str(python), "-I", "-c", _PROBE, name, *own, f"{folder}/hosts")
            )
            try:
                run = subprocess.run(
                    command,
                    input=plan,
                    capture_output=True,
                    timeout=_PROBE_LIMIT_S,
                    check=False,
                    env=harmless_environment(),
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                log.info("no container by %s with %s: %s", means, python, error)
                return None
        if run.returncode != 0:
            log.info("no container by %s with %s: %s", means, python, run.stderr.decode("utf-8", "replace").strip())
            return None
        return replace(means, own_sockets=run.stdout.strip() == b"apart")
