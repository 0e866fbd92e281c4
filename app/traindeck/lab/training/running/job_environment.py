"""What a training process finds: its folder, its arguments and its variables."""

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from traindeck.lab.training.job_form import ASCEND_ENGINE, Channel, JobForm
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.running.interpreters import NoInterpreterError
from traindeck.lab.training.running.process_tree import JOB_VARIABLE
from traindeck.lab.training.running.worker_places import Sandbox, WorkerPlaces, host_name

BEFORE_TRAINING = ("ma-pre-start.sh", "ma-pre-start.py")

# What would tie a job to the environment TrainDeck itself runs in, or hand it keys that are not its own.
_WITHHELD = {
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONEXECUTABLE",
    "__PYVENV_LAUNCHER__",
    "ACCESS_KEY_ID",
    "SECRET_ACCESS_KEY",
    "SECURITY_TOKEN",
}
_WITHHELD_PREFIXES = ("TRAINDECK_", "HUAWEICLOUD_SDK_")


@dataclass(frozen=True)
class Rank:
    """The place of one process among all processes of a job."""

    node: int
    device: int
    number: int
    size: int


def ranks(form: JobForm) -> Iterator[Rank]:
    per_node = form.processes_per_node
    for node in range(form.node_count):
        for device in range(per_node):
            yield Rank(node, device, node * per_node + device, form.node_count * per_node)


@dataclass(frozen=True)
class ObsAccess:
    """How a job reaches the Lab's own OBS, and the folder of MoXing's stand-in; the keys open nothing but this Lab."""

    url: str
    access_key: str
    secret_key: str
    moxing: Path


@dataclass(frozen=True)
class Launch:
    """How to start one process of a job; `folder` is named as the process sees it."""

    command: tuple[str, ...]
    folder: str
    variables: Mapping[str, str]


def launch(form: JobForm, sandbox: Sandbox, rank: Rank, python: Path, access: ObsAccess) -> Launch:
    places = sandbox.worker(form.tasks[rank.node])
    variables = _variables(form, sandbox, rank, python, access)
    if form.boot_file is None:
        folder = places.working_dir(form) or places.home
        command: tuple[str, ...] = (_shell(), "-c", _line(form, places))
    else:
        boot_file = places.code(form).joinpath(*form.boot_file.parts)
        of_card = places.workspace / f"device{rank.device}"
        own = of_card if form.engine.name == ASCEND_ENGINE else places.job_dir
        folder = places.working_dir(form) or own
        command = (str(python), places.seen(boot_file), *_arguments(form, places))
    folder.mkdir(parents=True, exist_ok=True)
    return Launch(command, places.seen(folder), variables)


def launch_before(form: JobForm, sandbox: Sandbox, rank: Rank, python: Path, access: ObsAccess) -> Launch | None:
    """How to start what the code wants run once on each worker before its training, if it has a script for that."""
    if form.engine.name != ASCEND_ENGINE or form.boot_file is None:
        return None
    places = sandbox.worker(form.tasks[rank.node])
    folder = places.code(form).joinpath(*form.boot_file.parts).parent
    for name in BEFORE_TRAINING:
        if (folder / name).is_file():
            program = str(python) if name.endswith(".py") else _shell()
            training = launch(form, sandbox, rank, python, access)
            return replace(training, command=(program, places.seen(folder / name)))
    return None


def base_variables(sandbox: Sandbox) -> dict[str, str]:
    """The variables of the Lab that a process of the job may have, and the mark by which it is found."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _WITHHELD and not name.startswith(_WITHHELD_PREFIXES)
    }
    return {**kept, JOB_VARIABLE: f"ma-job-{sandbox.job_id}"}


def write_rank_tables(form: JobForm, sandbox: Sandbox) -> None:
    """The files that tell Ascend processes about each other: the one they see, and the older one of the platform."""
    servers: list[list[dict[str, str]]] = [[] for _ in range(form.node_count)]
    for rank in ranks(form):
        device_ip = f"192.168.{100 + rank.node}.{rank.device + 1}"
        row = {"device_id": str(rank.device), "device_ip": device_ip, "rank_id": str(rank.number)}
        servers[rank.node].append(row)
    addresses = [sandbox.address(node, form.node_count) for node in range(form.node_count)]
    table = {
        "version": "1.0",
        "status": "completed",
        "server_count": str(form.node_count),
        "server_list": [
            {"server_id": address, "device": rows} for address, rows in zip(addresses, servers, strict=True)
        ],
    }
    group = {
        "group_name": "worker",
        "device_count": str(sum(map(len, servers))),
        "instance_count": str(form.node_count),
        "instance_list": [
            {
                "pod_name": host_name(sandbox.job_id, node),
                "server_id": address,
                "devices": [{"device_id": row["device_id"], "device_ip": row["device_ip"]} for row in rows],
            }
            for node, (address, rows) in enumerate(zip(addresses, servers, strict=True))
        ],
    }
    old_table = {"status": "completed", "group_count": "1", "group_list": [group]}
    for task in form.tasks:
        places = sandbox.worker(task)
        places.rank_table.parent.mkdir(parents=True, exist_ok=True)
        places.rank_table.write_text(json.dumps(table), encoding="utf-8")
        old = places.user / "config" / "jobstart_hccl.json"
        old.write_text(json.dumps(old_table), encoding="utf-8")


def hosts_file(form: JobForm, sandbox: Sandbox) -> str:
    """The names of the workers, after those this computer knows."""
    try:
        known = Path("/etc/hosts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        known = "127.0.0.1 localhost\n"
    rows = [known.rstrip("\n")]
    for node in range(form.node_count):
        name = host_name(sandbox.job_id, node)
        rows.append(f"{sandbox.address(node, form.node_count)} {name} {_full_name(sandbox, node)}")
    return "\n".join(rows) + "\n"


def _full_name(sandbox: Sandbox, node: int) -> str:
    return f"{host_name(sandbox.job_id, node)}.modelarts-job-{sandbox.job_id}"


def _line(form: JobForm, places: WorkerPlaces) -> str:
    """The command of the job with the arguments at its end, where the service puts them."""
    return " ".join([form.command, *map(shlex.quote, _arguments(form, places))])


def _shell() -> str:
    found = shutil.which("bash") or shutil.which("sh")
    if found is None:
        raise NoInterpreterError(
            EventText(
                "the command of a job with its own image needs bash, which was not found",
                "使用自有镜像的作业需要 bash 来执行命令，但未找到 bash",
            )
        )
    return found


def _arguments(form: JobForm, places: WorkerPlaces) -> Iterator[str]:
    for channel, folder in _channels(form, places):
        if not channel.by_variable:
            yield f"--{channel.name}={folder}"
    for name, value in form.parameters:
        yield f"--{name}={value}"


def _channels(form: JobForm, places: WorkerPlaces) -> Iterator[tuple[Channel, str]]:
    if form.has_obs_urls:
        yield from ((channel, _url(channel)) for channel in (*form.inputs, *form.outputs))
        return
    for index, channel in enumerate(form.inputs):
        yield channel, places.seen(places.input_of(index, channel))
    for index, channel in enumerate(form.outputs):
        yield channel, places.seen(places.output_of(index, channel))


def _url(channel: Channel) -> str:
    return f"s3:/{channel.path}"


def _variables(form: JobForm, sandbox: Sandbox, rank: Rank, python: Path, access: ObsAccess) -> dict[str, str]:
    places = sandbox.worker(form.tasks[rank.node])
    kept = base_variables(sandbox)
    job = f"modelarts-job-{sandbox.job_id}"
    scheme, _, address = access.url.partition("://")
    nodes = range(form.node_count)
    # Where the names of the cloud's hosts mean nothing, scripts get what they can connect to.
    hosts = [
        _full_name(sandbox, node) if places.is_mapped else sandbox.address(node, form.node_count) for node in nodes
    ]
    variables = {
        **kept,
        "PATH": os.pathsep.join([str(python.parent), *filter(None, [kept.get("PATH")])]),
        "PYTHONPATH": os.pathsep.join([places.seen(places.job_dir), str(access.moxing)]),
        "PYTHONUNBUFFERED": "1",
        # The cloud's containers speak UTF-8; without this a Windows job would write its log in the local code page.
        "PYTHONUTF8": "1",
        "MA_HOME": places.seen(places.home),
        "MA_MOUNT_PATH": places.seen(places.mount),
        "MA_JOB_DIR": places.seen(places.job_dir),
        "WORKSPACE": places.seen(places.code(form)),
        "MA_LOG_DIR": places.seen(places.log_dir),
        "MA_SCRIPT_INTERPRETER": "",
        "MA_NUM_HOSTS": str(form.node_count),
        "VC_WORKER_NUM": str(form.node_count),
        "MA_NUM_GPUS": str(form.flavor.cards),
        "MA_TASK_NAME": "worker",
        "VC_TASK_INDEX": str(rank.node),
        "VC_WORKER_HOSTS": ",".join(hosts),
        "MA_CURRENT_IP": sandbox.address(rank.node, form.node_count),
        "MA_CURRENT_INSTANCE_NAME": host_name(sandbox.job_id, rank.node),
        "HOSTNAME": host_name(sandbox.job_id, rank.node),
        "MA_INPUTS": _channel_table("inputs", form.inputs, lambda *at: places.seen(places.input_of(*at))),
        "MA_OUTPUTS": _channel_table("outputs", form.outputs, lambda *at: places.seen(places.output_of(*at))),
        "MA_ENGINE_VERSION": form.engine.version,
        "MA_JOB_KIND": "job",
        "MA_DETECT_TRAIN_INJECT_CODE": "1",
        "S3_ENDPOINT": address,
        "S3_USE_HTTPS": "1" if scheme == "https" else "0",
        "S3_VERIFY_SSL": "0",
        "ACCESS_KEY_ID": access.access_key,
        "SECRET_ACCESS_KEY": access.secret_key,
    }
    if form.flavor.gpu is not None:
        variables["NCCL_DEBUG"] = "INFO"
    if form.engine.name == ASCEND_ENGINE:
        variables |= {
            "RANK_TABLE_FILE": places.seen(places.rank_table),
            "RANK_ID": str(rank.number),
            "RANK_SIZE": str(rank.size),
            "DEVICE_ID": str(rank.device),
            "ASCEND_DEVICE_ID": str(rank.device),
            "JOB_ID": job,
            "HCCL_CONNECT_TIMEOUT": "1800",
            "ASCEND_PROCESS_LOG_PATH": places.seen(places.log_dir / "ascend"),
        }
    variables |= {channel.name: folder for channel, folder in _channels(form, places) if channel.by_variable}
    variables |= form.environments
    # Last, so that no job can hide its processes from the Lab, which finds them by this.
    variables[JOB_VARIABLE] = kept[JOB_VARIABLE]
    return variables


def _channel_table(kind: str, channels: tuple[Channel, ...], folder: Callable[[int, Channel], str]) -> str:
    rows = [
        {
            "name": channel.name,
            "local_dir": folder(index, channel),
            "remote": {"obs": {"obs_url": _url(channel)}},
        }
        for index, channel in enumerate(channels)
    ]
    return json.dumps({kind: rows})
