"""The folders of a job and its workers: where they are on this computer, and what the processes call them."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from traindeck.lab.training.job_form import USER_HOME, Channel, JobForm


@dataclass(frozen=True)
class WorkerPlaces:
    """The folders of one worker; where they are mapped, its processes see those of the service's containers."""

    root: Path
    is_mapped: bool

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def mount(self) -> Path:
        return self.home / "modelarts"

    @property
    def job_dir(self) -> Path:
        return self.mount / "user-job-dir"

    @property
    def log_dir(self) -> Path:
        return self.mount / "log"

    @property
    def workspace(self) -> Path:
        return self.mount / "workspace"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def user(self) -> Path:
        return self.root / "user"

    @property
    def rank_table(self) -> Path:
        return self.home / "rank_table" / "jobstart_hccl.json"

    @property
    def mapping(self) -> dict[Path, PurePosixPath]:
        """Folders of this computer and the names they have inside."""
        return {
            self.home: USER_HOME,
            self.cache: PurePosixPath("/cache"),
            self.user: PurePosixPath("/user"),
        }

    def code(self, form: JobForm) -> Path:
        wanted = self.local_code_dir(form)
        if wanted is not None:
            return wanted
        return self.job_dir / form.code.name if form.code else self.job_dir

    def local_code_dir(self, form: JobForm) -> Path | None:
        """Where the job wants its code, if that place can be had."""
        return None if form.engine.v1_compatible else self._here(form.local_code_dir)

    def working_dir(self, form: JobForm) -> Path | None:
        """Where the job wants to be started, if that place can be had."""
        return None if form.engine.v1_compatible else self._here(form.working_dir)

    def input(self, index: int, name: str) -> Path:
        return self.mount / "inputs" / f"{name}_{index}"

    def output(self, index: int, name: str) -> Path:
        return self.mount / "outputs" / f"{name}_{index}"

    def input_of(self, index: int, channel: Channel) -> Path:
        """Where the job wants this input, if that place can be had, else where inputs go."""
        return self._here(channel.local_dir) or self.input(index, channel.name)

    def output_of(self, index: int, channel: Channel) -> Path:
        return self._here(channel.local_dir) or self.output(index, channel.name)

    def seen(self, path: Path) -> str:
        """The name a process of the worker knows this folder or file by."""
        if self.is_mapped:
            for folder, inside in self.mapping.items():
                if path.is_relative_to(folder):
                    return str(inside.joinpath(*path.relative_to(folder).parts))
        return str(path)

    def make(self, form: JobForm) -> None:
        folders = [self.job_dir, self.log_dir, self.workspace, self.cache, self.user / "config"]
        folders += [self.output_of(index, channel) for index, channel in enumerate(form.outputs)]
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

    @property
    def log_dir(self) -> Path:
        return self.root / "log"

    def worker(self, task: str) -> WorkerPlaces:
        return WorkerPlaces(self.root / task, self.is_mapped)

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

    def make(self, form: JobForm) -> None:
        self.log_dir.mkdir(parents=True, exist_ok=True)
        for task in form.tasks:
            self.worker(task).make(form)

    def clear(self) -> None:
        """Remove what only the running job needed; the logs stay."""
        for folder in self.root.iterdir():
            if folder != self.log_dir:
                shutil.rmtree(folder)


def log_name(job_id: str, task: str) -> str:
    return f"modelarts-job-{job_id}-{task}.log"


def host_name(job_id: str, node: int) -> str:
    return f"modelarts-job-{job_id}-worker-{node}"
