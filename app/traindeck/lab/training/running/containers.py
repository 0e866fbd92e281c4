"""Gives the processes of a worker the folders of the service's containers at their very paths, where Linux lets us."""

import json
import logging
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traindeck.lab.training.job_form import USER_HOME
from traindeck.lab.training.running.worker_places import WorkerPlaces
from traindeck.runtime.resources import resource

log = logging.getLogger(__name__)

_ENTER = ("lab", "enter_container.py")
_PROBE_LIMIT_S = 20.0
_PROBE = "import os, sys; sys.exit(not os.path.exists('/cache/here') or not os.path.exists('/home/ma-user/here'))"


@dataclass(frozen=True)
class Means:
    """How a process gets its container: by this tool, or not at all for this reason."""

    tool: str
    reason: str = ""


class Containers:
    """Finds out once for each Python what this computer allows."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._means: dict[Path, Means] = {}

    def means(self, python: Path) -> Means:
        with self._lock:
            if python not in self._means:
                self._means[python] = self._found(python)
                log.info("container paths with %s: %s", python, self._means[python])
            return self._means[python]

    def command(self, means: Means, python: Path, box: "Box", command: Sequence[str]) -> tuple[str, ...]:
        """The command that runs `command` inside the box."""
        if means.tool == "unshare":
            # Isolated, so that neither the job's variables nor its packages reach the launcher.
            return (str(python), "-I", "-S", str(resource(*_ENTER)), box.written(), "--", *command)
        return (means.tool, *box.arguments(), "--", *command)

    def _found(self, python: Path) -> Means:
        if sys.platform != "linux":
            return Means("", "this system has no user namespaces")
        if Path(USER_HOME).exists():
            return Means("", f"{USER_HOME} is somebody's home on this computer")
        for hidden in (Path("/cache"), Path("/user")):
            if self._root.is_relative_to(hidden) or python.is_relative_to(hidden):
                return Means("", f"{hidden} is in use on this computer")
        reason = "this computer does not let an ordinary user have namespaces"
        for tool in filter(None, ("unshare", shutil.which("bwrap"))):
            problem = self._problem(tool, python)
            if not problem:
                return Means(tool)
            log.info("container paths by %s with %s: %s", tool, python, problem)
        return Means("", reason)

    def _problem(self, tool: str, python: Path) -> str:
        with tempfile.TemporaryDirectory(dir=self._root, prefix=".probe-") as folder:
            places = WorkerPlaces(Path(folder), is_mapped=True)
            for place in (places.home, places.cache, places.user):
                place.mkdir()
                (place / "here").touch()
            box = Box(places, "probe", "127.0.0.1 localhost\n", "/cache")
            try:
                command = self.command(Means(tool), python, box, (str(python), "-I", "-c", _PROBE))
                run = subprocess.run(
                    command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_LIMIT_S, check=False
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return str(error)
            if run.returncode == 0:
                return ""
            return run.stderr.decode("utf-8", "replace").strip() or f"exit code {run.returncode}"


@dataclass(frozen=True)
class Box:
    """What one process finds: this computer's root folder, with the worker's own folders put in."""

    places: WorkerPlaces
    host: str
    hosts: str
    folder: str
    name: str = ""

    def written(self) -> str:
        """The plan on disk, for our own launcher."""
        ground = self.places.root / "ground"
        ground.mkdir(exist_ok=True)
        path = self.places.root / f"container{self.name}.json"
        plan = {"ground": str(ground), **self._plan(), "host": self.host, "folder": self.folder}
        path.write_text(json.dumps(plan), encoding="utf-8")
        return str(path)

    def arguments(self) -> Iterator[str]:
        """The same plan as options of bubblewrap."""
        plan = self._plan()
        yield from ("--unshare-user-try", "--unshare-uts", "--hostname", self.host, "--tmpfs", "/")
        for folder in plan["folders"]:
            yield from ("--dir", folder)
        for option, kind in (("--symlink", "links"), ("--dev-bind-try", "binds"), ("--bind", "own")):
            for source, path in plan[kind]:
                yield from (option, source, path)
        yield from ("--bind", plan["hosts"], str(Path("/etc/hosts").resolve()), "--chdir", self.folder)

    def _plan(self) -> dict[str, Any]:
        hosts = self.places.root / "hosts"
        hosts.write_text(self.hosts, encoding="utf-8")
        own = {str(source): str(inside) for source, inside in self.places.mapping.items()}
        # All of the root folder and of /home that is not replaced.
        folders = [folder for folder in (Path("/"), Path("/home")) if folder.is_dir()]
        entries = [path for folder in folders for path in sorted(folder.iterdir())]
        entries = [path for path in entries if str(path) not in ("/home", *own.values())]
        return {
            "folders": ["/home", *own.values()],
            "links": [(str(path.readlink()), str(path)) for path in entries if path.is_symlink()],
            "binds": [(str(path), str(path)) for path in entries if not path.is_symlink()],
            "own": [*own.items()],
            "hosts": str(hosts),
        }
