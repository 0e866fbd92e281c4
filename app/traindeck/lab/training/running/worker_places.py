"""The folders of a job and its workers: where they are on this computer, and what the processes call them."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from traindeck.lab.training.job_form import USER_HOME, Channel, JobForm


class WorkerPlaces:
    """The folders of one worker; where they are mapped, its processes see those of the service's containers."""

    def __init__(self, root: Path, is_mapped: bool, *, is_apart: bool = False) -> None:
        """`is_apart`: the processes see nothing but these folders of what is not everybody's."""
        self.root = root
        self.is_mapped = is_mapped
        self.is_apart = is_apart
        self.home = root / "home"
        self.mount = self.home / "modelarts"
        self.job_dir = self.mount / "user-job-dir"
        self.log_dir = self.mount / "log"
        self.workspace = self.mount / "workspace"
        self.python = self.home / ".python"
        self.cache = root / "cache"
        self.user = root / "user"
        self.tmp = root / "tmp"
        self.shared_memory = root / "shm"
        self.rank_table = self.home / "rank_table" / "jobstart_hccl.json"
        # Folders of this computer and the names they have inside.
        self.mapping = {self.home: USER_HOME, self.cache: PurePosixPath("/cache"), self.user: PurePosixPath("/user")}

    @property
    def own(self) -> tuple[tuple[Path, str], ...]:
        """Folders of this computer and where a container has them; all else in it is not the job's to change."""
        folders = ((folder, self.seen(folder)) for folder in self.mapping)
        return (*folders, (self.tmp, "/tmp"), (self.tmp, "/var/tmp"), (self.shared_memory, "/dev/shm"))

    def make_own(self) -> None:
        for folder, _ in self.own:
            folder.mkdir(parents=True, exist_ok=True)

    def code(self, form: JobForm) -> Path:
        return self.wanted(form, form.local_code_dir) or (self.job_dir / form.code.name if form.code else self.job_dir)

    def wanted(self, form: JobForm, inside: PurePosixPath | None) -> Path | None:
        """The folder the job wants, if that place can be had."""
        return None if form.engine.v1_compatible else self._here(inside)

    def of(self, channel: Channel) -> Path:
        """Where the job wants this input or output, if that place can be had, else where they go."""
        return self._here(channel.local_dir) or self.mount / f"{channel.kind}s" / f"{channel.name}_{channel.index}"

    def seen(self, path: Path) -> str:
        """The name a process of the worker knows this folder or file by."""
        if self.is_mapped:
            for folder, inside in self.mapping.items():
                if path.is_relative_to(folder):
                    return str(inside.joinpath(*path.relative_to(folder).parts))
        return str(path)

    def make(self, form: JobForm) -> None:
        self.make_own()
        folders = [self.job_dir, self.log_dir, self.workspace, self.user / "config"]
        folders += [self.of(channel) for channel in form.outputs]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)

    def _here(self, inside: PurePosixPath | None) -> Path | None:
        if self.is_mapped and inside is not None:
            for folder, name in self.mapping.items():
                if inside.is_relative_to(name):
                    return folder.joinpath(*inside.relative_to(name).parts)
        return None


@dataclass(frozen=True)
class Sandbox:
    """Everything one job has on disk: a folder per worker, and the logs, which stay."""

    job_id: str
    root: Path
    is_mapped: bool = False
    is_apart: bool = False
    """Whether its processes are kept apart from this computer; only then their folders can be mapped."""
    user: int | None = None
    """Whom its processes run as where that is not the user of the Lab."""

    @property
    def log_dir(self) -> Path:
        return self.root / "log"

    def worker(self, task: str) -> WorkerPlaces:
        return WorkerPlaces(self.root / task, self.is_mapped, is_apart=self.is_apart)

    def log(self, task: str) -> Path:
        return self.log_dir / log_name(self.job_id, task)

    def card_log(self, rank: int, device: int) -> Path:
        return self.log_dir / f"modelarts-job-{self.job_id}-proc-rank-{rank}-device-{device}.txt"

    def address(self, node: int, node_count: int) -> str:
        """Each worker of several has a loopback address of its own, so that all may listen on the same port."""
        if node_count == 1 or sys.platform == "darwin":  # there, loopback is one single address
            return "127.0.0.1"
        high, low = (1 + int(self.job_id.replace("-", "")[place : place + 4], 16) % 254 for place in (0, 4))
        return f"127.{high}.{low}.{node + 1}"

    def addresses(self, node_count: int) -> list[str]:
        return [self.address(node, node_count) for node in range(node_count)]

    def make(self, form: JobForm) -> None:
        self.log_dir.mkdir(parents=True, exist_ok=True)
        for task in form.tasks:
            self.worker(task).make(form)

    def clear(self) -> None:
        """Remove what only the running job needed; the logs stay."""
        for folder in self.root.iterdir():
            if folder != self.log_dir:
                shutil.rmtree(folder)


def hand_over(top: Path, user: int | None) -> None:
    """Make all of this the user's, while none of their processes runs in it."""
    if user is None or sys.platform == "win32":
        return
    os.chown(top, user, user, follow_symlinks=False)
    for folder, _, names in os.walk(top):
        for name in (".", *names):
            os.chown(Path(folder, name), user, user, follow_symlinks=False)


def log_name(job_id: str, task: str) -> str:
    return f"modelarts-job-{job_id}-{task}.log"


def host_name(job_id: str, node: int) -> str:
    return f"modelarts-job-{job_id}-worker-{node}"
