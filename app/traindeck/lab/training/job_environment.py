"""What a training process finds: its folders, its Python, its arguments and its variables."""

import json
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from traindeck.lab.training.job_form import ASCEND_ENGINE, Channel, JobForm

JOB_VARIABLE = "MA_VJ_NAME"

# What would tie a job to the environment TrainDeck itself runs in, or hand it keys that are not its own.
_WITHHELD = {"VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PYTHONPATH", "PYTHONHOME", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"}
_WITHHELD_PREFIXES = ("TRAINDECK_", "HUAWEICLOUD_SDK_")


class NoInterpreterError(Exception):
    """There is no Python to run the job with; the text says what to do."""


@dataclass(frozen=True)
class Sandbox:
    """The folders of one job."""

    job_id: str
    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def job_dir(self) -> Path:
        return self.root / "user-job-dir"

    @property
    def log_dir(self) -> Path:
        return self.root / "log"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def rank_table(self) -> Path:
        return self.home / "rank_table" / "jobstart_hccl.json"

    def code(self, form: JobForm) -> Path:
        return self.job_dir / form.code.name if form.code else self.job_dir

    def input(self, index: int, name: str) -> Path:
        return self.root / "inputs" / f"{name}_{index}"

    def output(self, index: int, name: str) -> Path:
        return self.root / "outputs" / f"{name}_{index}"

    def log(self, task: str) -> Path:
        return self.log_dir / log_name(self.job_id, task)

    def make(self, form: JobForm) -> None:
        folders = [self.home, self.job_dir, self.log_dir, self.workspace]
        folders += [self.output(index, channel.name) for index, channel in enumerate(form.outputs)]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)

    def clear(self) -> None:
        """Remove what only the running job needed; the log stays."""
        for folder in (self.home, self.job_dir, self.workspace, self.root / "inputs", self.root / "outputs"):
            if folder.exists():
                shutil.rmtree(folder)


@dataclass(frozen=True)
class Rank:
    """The place of one process among all processes of a job."""

    node: int
    device: int
    number: int
    size: int


def log_name(job_id: str, task: str) -> str:
    return f"modelarts-job-{job_id}-{task}.log"


def ranks(form: JobForm) -> Iterator[Rank]:
    """One process per node, or per card where the engine's launcher starts them so."""
    per_node = form.processes_per_node
    for node in range(form.node_count):
        for device in range(per_node):
            yield Rank(node, device, node * per_node + device, form.node_count * per_node)


class Interpreters:
    """Which Python runs which engine, as the user wrote it into `lab.toml`; never TrainDeck's own environment."""

    def __init__(self, root: Path) -> None:
        self._settings = root / "lab.toml"

    def for_engine(self, engine_id: str) -> Path:
        named = self._named()
        choice = named.get(engine_id) or named.get("default")
        if choice is None:
            return self._of_this_computer()
        path = Path(str(choice)).expanduser()
        found = shutil.which(str(path))
        if found is None:
            raise NoInterpreterError(f"{self._settings} names the Python {path}, which cannot be run")
        return Path(found).absolute()

    def _named(self) -> Mapping[str, object]:
        try:
            with self._settings.open("rb") as file:
                engines = tomllib.load(file).get("engines", {})
        except FileNotFoundError:
            return {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise NoInterpreterError(f"{self._settings} cannot be read: {error}") from error
        if not isinstance(engines, dict):
            raise NoInterpreterError(f"{self._settings}: [engines] must be a table")
        return engines

    def _of_this_computer(self) -> Path:
        # A frozen program is no Python: started again it would open another window.
        if not getattr(sys, "frozen", False):
            base: str = getattr(sys, "_base_executable", "") or sys.executable
            return Path(base)
        found = shutil.which("python3") or shutil.which("python")
        if found is None:
            raise NoInterpreterError(f"no Python was found; name one in {self._settings}")
        return Path(found)


@dataclass(frozen=True)
class Launch:
    """How to start one process of a job."""

    command: tuple[str, ...]
    folder: Path
    variables: Mapping[str, str]


def launch(form: JobForm, sandbox: Sandbox, rank: Rank, python: Path, obs_url: str) -> Launch:
    variables = _variables(form, sandbox, rank, python, obs_url)
    if form.boot_file is None:
        return Launch((_shell(), "-c", _line(form, sandbox)), sandbox.home, variables)
    boot_file = sandbox.code(form).joinpath(*form.boot_file.parts)
    folder = sandbox.workspace / f"device{rank.device}" if form.engine.name == ASCEND_ENGINE else sandbox.job_dir
    return Launch((str(python), str(boot_file), *_arguments(form, sandbox)), folder, variables)


def _line(form: JobForm, sandbox: Sandbox) -> str:
    """The command of the job with the arguments at its end, where the service puts them."""
    return " ".join([form.command, *map(shlex.quote, _arguments(form, sandbox))])


def _shell() -> str:
    found = shutil.which("bash") or shutil.which("sh")
    if found is None:
        raise NoInterpreterError("the command of a job with its own image needs bash, which was not found")
    return found


def write_rank_table(form: JobForm, sandbox: Sandbox) -> None:
    """The file that tells Ascend processes about each other, in the layout the training process sees."""
    devices: list[list[dict[str, str]]] = [[] for _ in range(form.node_count)]
    for rank in ranks(form):
        devices[rank.node].append(
            {
                "device_id": str(rank.device),
                "device_ip": f"192.168.{100 + rank.node}.{rank.device + 1}",
                "rank_id": str(rank.number),
            }
        )
    table = {
        "version": "1.0",
        "status": "completed",
        "server_count": str(form.node_count),
        "server_list": [{"server_id": "127.0.0.1", "device": rows} for rows in devices],
    }
    sandbox.rank_table.parent.mkdir(parents=True, exist_ok=True)
    sandbox.rank_table.write_text(json.dumps(table), encoding="utf-8")


def _arguments(form: JobForm, sandbox: Sandbox) -> Iterator[str]:
    for channel, folder in _channels(form, sandbox):
        if not channel.by_variable:
            yield f"--{channel.name}={folder}"
    for name, value in form.parameters:
        yield f"--{name}={value}"


def _channels(form: JobForm, sandbox: Sandbox) -> Iterator[tuple[Channel, Path]]:
    for index, channel in enumerate(form.inputs):
        yield channel, sandbox.input(index, channel.name)
    for index, channel in enumerate(form.outputs):
        yield channel, sandbox.output(index, channel.name)


def _variables(form: JobForm, sandbox: Sandbox, rank: Rank, python: Path, obs_url: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _WITHHELD and not name.startswith(_WITHHELD_PREFIXES)
    }
    job = f"modelarts-job-{sandbox.job_id}"
    scheme, _, address = obs_url.partition("://")
    variables = {
        **kept,
        "PATH": os.pathsep.join([str(python.parent), *filter(None, [kept.get("PATH")])]),
        "PYTHONPATH": str(sandbox.job_dir),
        "PYTHONUNBUFFERED": "1",
        # The cloud's containers speak UTF-8; without this a Windows job would write its log in the local code page.
        "PYTHONUTF8": "1",
        "MA_HOME": str(sandbox.home),
        "MA_MOUNT_PATH": str(sandbox.root),
        "MA_JOB_DIR": str(sandbox.job_dir),
        "WORKSPACE": str(sandbox.code(form)),
        "MA_LOG_DIR": str(sandbox.log_dir),
        "MA_SCRIPT_INTERPRETER": "",
        "MA_NUM_HOSTS": str(form.node_count),
        "VC_WORKER_NUM": str(form.node_count),
        "MA_NUM_GPUS": str(form.flavor.cards),
        "MA_TASK_NAME": "worker",
        "VC_TASK_INDEX": str(rank.node),
        # The names of the cloud's hosts mean nothing here, and scripts connect to what stands in this list.
        "VC_WORKER_HOSTS": ",".join(["127.0.0.1"] * form.node_count),
        "MA_CURRENT_IP": "127.0.0.1",
        "MA_CURRENT_INSTANCE_NAME": f"{job}-worker-{rank.node}",
        "MA_INPUTS": _channel_table("inputs", form.inputs, sandbox.input),
        "MA_OUTPUTS": _channel_table("outputs", form.outputs, sandbox.output),
        "MA_ENGINE_VERSION": form.engine.version,
        "MA_JOB_KIND": "job",
        "S3_ENDPOINT": address,
        "S3_USE_HTTPS": "1" if scheme == "https" else "0",
        "S3_VERIFY_SSL": "0",
    }
    if form.engine.name == ASCEND_ENGINE:
        variables |= {
            "RANK_TABLE_FILE": str(sandbox.rank_table),
            "RANK_ID": str(rank.number),
            "RANK_SIZE": str(rank.size),
            "DEVICE_ID": str(rank.device),
            "ASCEND_DEVICE_ID": str(rank.device),
            "JOB_ID": job,
            "HCCL_CONNECT_TIMEOUT": "1800",
            "ASCEND_PROCESS_LOG_PATH": str(sandbox.log_dir / "ascend"),
        }
    variables |= {channel.name: str(folder) for channel, folder in _channels(form, sandbox) if channel.by_variable}
    variables |= form.environments
    # Last, so that no job can hide its processes from the Lab, which finds them by this.
    variables[JOB_VARIABLE] = f"ma-job-{sandbox.job_id}"
    return variables


def _channel_table(kind: str, channels: tuple[Channel, ...], folder: Callable[[int, str], Path]) -> str:
    rows = [
        {
            "name": channel.name,
            "local_dir": str(folder(index, channel.name)),
            "remote": {"obs": {"obs_url": f"s3:/{channel.path}"}},
        }
        for index, channel in enumerate(channels)
    ]
    return json.dumps({kind: rows})
