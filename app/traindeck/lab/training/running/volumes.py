"""The volumes of a job: the folders of this computer that stand for them, and which its container can have."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from traindeck.lab.training.job_form import USER_HOME, JobForm, Volume
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.running.host_places import Layer, PythonPlaces
from traindeck.lab.training.running.worker_places import Sandbox

VOLUMES = "volumes"
"""Below the Lab's root what jobs share, below that of a job what it has of OBS."""

_OF_THE_JOB = (USER_HOME, PurePosixPath("/cache"), PurePosixPath("/user"))
# Made for things to be mounted in; what this computer has there is covered.
_COVERED = tuple(map(Path, ("/mnt", "/media", "/srv")))
_NO_FOLDERS = EventText("the job does not see the service's folders", "作业看不到服务端的文件夹")
_IN_USE = EventText("{path} is in use on this computer", "本机正在使用 {path}")
_INSIDE = EventText("this tool for containers mounts nothing there", "此容器工具无法在该处挂载")


@dataclass(frozen=True)
class Mounts:
    """What becomes of each volume of a job."""

    folders: tuple[tuple[Volume, Path], ...] = ()
    missing: tuple[tuple[Volume, EventText], ...] = ()

    @property
    def of_obs(self) -> Iterator[tuple[Volume, Path]]:
        """Those that are filled from a bucket."""
        return ((volume, folder) for volume, folder in self.folders if volume.place is not None)

    @property
    def layers(self) -> list[Layer]:
        tops = {Path("/", volume.mount.parts[1]) for volume, _ in self.folders}
        covers: list[Layer] = [("hide", "", str(top)) for top in _COVERED if top in tops and top.is_dir()]
        kinds = {True: "show", False: "own"}
        return [*covers, *((kinds[one.read_only], str(folder), str(one.mount)) for one, folder in self.folders)]

    def make(self) -> None:
        for _, folder in self.folders:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def mounts_of(
    form: JobForm, sandbox: Sandbox, root: Path, project_id: str, tool: str, python: PythonPlaces | None
) -> Mounts:
    """`tool`: what makes containers here; `python`: where it has its files, None where there is none."""
    folders, missing = [], []
    for number, volume in enumerate(form.volumes):
        obstacle = _obstacle(volume.mount, tool, python) if sandbox.is_mapped and python is not None else _NO_FOLDERS
        if obstacle is not None:
            missing.append((volume, obstacle))
        elif volume.place is not None:
            folders.append((volume, sandbox.root / VOLUMES / str(number)))
        else:
            folders.append((volume, root / VOLUMES / _name(project_id, volume)))
    return Mounts(tuple(folders), tuple(missing))


def _name(project_id: str, volume: Volume) -> str:
    """The same for all jobs of a project that name the same storage, and readable by people."""
    mark = hashlib.sha256(f"{project_id} {volume.kind} {volume.source}".encode()).hexdigest()[:12]
    shown = re.sub(r"[^A-Za-z0-9]+", "-", volume.source).strip("-")[:40]
    return f"{volume.kind}-{shown}-{mark}"


def _obstacle(mount: PurePosixPath, tool: str, python: PythonPlaces | None) -> EventText | None:
    """Nothing is mounted over what the job or its Python needs, and nothing made in the folders of this computer."""
    if any(mount.is_relative_to(one) or one.is_relative_to(mount) for one in _OF_THE_JOB):
        is_inside = any(mount.is_relative_to(one) and mount != one for one in _OF_THE_JOB)
        return None if is_inside and tool == "unshare" else _INSIDE
    top = Path("/", mount.parts[1])
    if top == Path("/home"):
        return None
    if top in _COVERED:
        needed = (*python.executables, *python.prefixes, *python.paths) if python else ()
        return _IN_USE.of(path=top) if any(Path(path).is_relative_to(top) for path in needed) else None
    return _IN_USE.of(path=top) if os.path.lexists(top) else None
