"""What a training process finds: its folder, its arguments and its variables."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.lab.training.job_form import ASCEND_ENGINE, USER_HOME, Channel, JobForm
from traindeck.lab.training.job_records import EventText
from traindeck.lab.training.running.interpreters import NoInterpreterError
from traindeck.lab.training.running.job_pythons import JobPython
from traindeck.lab.training.running.packages import has_password
from traindeck.lab.training.running.process_tree import JOB_VARIABLE, job_mark
from traindeck.lab.training.running.worker_places import Sandbox, WorkerPlaces, host_name

if TYPE_CHECKING:
    from traindeck.lab.training.running.job_outcome import Work

USER_NAME = USER_HOME.name
_GROUP_NAME = "ma-group"
BEFORE_TRAINING = ("ma-pre-start.sh", "ma-pre-start.py")

# All that a job gets of the Lab's own variables; whatever else a user has set may hold keys or lead to them.
_HANDED_ON = {
    "PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "USERNAME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    # Without these hardly a program starts on Windows.
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "PROGRAMDATA",
    "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "PROCESSOR_ARCHITECTURE",
}  # fmt: skip
_HANDED_ON_PREFIXES = (
    "LC_", "CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "ASCEND_", "HCCL_", "ROCR_", "HIP_", "OMP_", "MKL_", "OPENBLAS_",
)  # fmt: skip
_PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
# Where a container has a folder of its own for it.
_TEMPORARY = {"TMPDIR", "TEMP", "TMP"}


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


def launch(work: Work, rank: Rank, python: JobPython) -> Launch:
    form = work.form
    places = work.sandbox.worker(form.tasks[rank.node])
    if form.boot_file is None:
        # The arguments stand at the end of the command, where the service puts them.
        line = " ".join([form.command, *map(shlex.quote, _arguments(form, places))])
        command: tuple[str, ...] = (_shell(), "-c", line)
    else:
        boot_file = places.code(form).joinpath(*form.boot_file.parts)
        command = (python.command(places), places.seen(boot_file), *_arguments(form, places))
    folder = places.seen(_start_folder(form, places, rank))
    return Launch(command, folder, _variables(form, work.sandbox, rank, python, work.access))


def make_start_folders(form: JobForm, sandbox: Sandbox) -> None:
    """Those all processes start in; to be made while none of the job has run, which could lay a link in their place."""
    for rank in ranks(form):
        _start_folder(form, sandbox.worker(form.tasks[rank.node]), rank).mkdir(parents=True, exist_ok=True)


def _start_folder(form: JobForm, places: WorkerPlaces, rank: Rank) -> Path:
    wanted = places.wanted(form, form.working_dir)
    if wanted is not None:
        return wanted
    if form.boot_file is None:
        return places.home
    return places.workspace / f"device{rank.device}" if form.engine.name == ASCEND_ENGINE else places.job_dir


def launch_before(work: Work, rank: Rank, python: JobPython) -> Launch | None:
    """How to start what the code wants run once on each worker before its training, if it has a script for that."""
    form = work.form
    if form.engine.name != ASCEND_ENGINE or form.boot_file is None:
        return None
    places = work.sandbox.worker(form.tasks[rank.node])
    folder = places.code(form).joinpath(*form.boot_file.parts).parent
    for name in BEFORE_TRAINING:
        if (folder / name).is_file():
            program = python.command(places) if name.endswith(".py") else _shell()
            return replace(launch(work, rank, python), command=(program, places.seen(folder / name)))
    return None


def base_variables(sandbox: Sandbox, places: WorkerPlaces) -> dict[str, str]:
    """The variables of the Lab that a process of the job may have, its home, and the mark by which it is found."""
    kept = {name: value for name, value in os.environ.items() if _is_handed_on(name, value)}
    if sandbox.is_apart:
        kept = {name: value for name, value in kept.items() if name not in _TEMPORARY}
    if sandbox.user is not None:
        kept |= {"USER": USER_NAME, "LOGNAME": USER_NAME}
    home = places.seen(places.home)
    kept |= {"HOME": home, JOB_VARIABLE: job_mark(sandbox.job_id)}
    if os.name == "nt":
        roaming, local = (str(places.home / "AppData" / name) for name in ("Roaming", "Local"))
        kept |= {"USERPROFILE": home, "APPDATA": roaming, "LOCALAPPDATA": local}
    return kept


def _is_handed_on(name: str, value: str) -> bool:
    name = name.upper()
    if name in _PROXIES:
        return not has_password(value)
    return name in _HANDED_ON or name in _TEMPORARY or name.startswith(_HANDED_ON_PREFIXES)


def write_rank_tables(form: JobForm, sandbox: Sandbox) -> None:
    """The files that tell Ascend processes about each other: the one they see, and the older one of the platform."""
    servers: list[list[dict[str, str]]] = [[] for _ in range(form.node_count)]
    for rank in ranks(form):
        device_ip = f"192.168.{100 + rank.node}.{rank.device + 1}"
        row = {"device_id": str(rank.device), "device_ip": device_ip, "rank_id": str(rank.number)}
        servers[rank.node].append(row)
    addresses = sandbox.addresses(form.node_count)
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


def own_files(form: JobForm, sandbox: Sandbox, places: WorkerPlaces) -> dict[str, str]:
    """Files of /etc as the job has them: after what this computer knows come the workers, and the job's user."""
    workers = [
        f"{address} {host_name(sandbox.job_id, node)} {_full_name(sandbox, node)}"
        for node, address in enumerate(sandbox.addresses(form.node_count))
    ]
    files = {"hosts": _with_rows("hosts", workers, "127.0.0.1 localhost")}
    if sandbox.user is not None:
        row = f"{USER_NAME}:x:{sandbox.user}:{sandbox.user}::{places.seen(places.home)}:/bin/sh"
        files["passwd"] = _with_rows("passwd", [row])
        files["group"] = _with_rows("group", [f"{_GROUP_NAME}:x:{sandbox.user}:"])
    return files


def _with_rows(name: str, rows: Sequence[str], default: str = "") -> str:
    try:
        known = Path("/etc", name).read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    except OSError:
        known = default
    return "\n".join([known, *rows]) + "\n"


def _full_name(sandbox: Sandbox, node: int) -> str:
    return f"{host_name(sandbox.job_id, node)}.modelarts-job-{sandbox.job_id}"


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
    for channel in form.channels:
        yield channel, _url(channel) if form.has_obs_urls else places.seen(places.of(channel))


def _url(channel: Channel) -> str:
    return f"s3:/{channel.path}"


def _variables(form: JobForm, sandbox: Sandbox, rank: Rank, python: JobPython, access: ObsAccess) -> dict[str, str]:
    places = sandbox.worker(form.tasks[rank.node])
    kept = base_variables(sandbox, places)
    job = f"modelarts-job-{sandbox.job_id}"
    scheme, _, address = access.url.partition("://")
    # Where the names of the cloud's hosts mean nothing, scripts get what they can connect to.
    addresses = sandbox.addresses(form.node_count)
    hosts = [_full_name(sandbox, node) for node in range(form.node_count)] if places.is_mapped else addresses
    variables = {
        **kept,
        "PATH": os.pathsep.join([*python.folders(places), *filter(None, [kept.get("PATH")])]),
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
        "MA_CURRENT_IP": addresses[rank.node],
        "MA_CURRENT_INSTANCE_NAME": host_name(sandbox.job_id, rank.node),
        "HOSTNAME": host_name(sandbox.job_id, rank.node),
        "MA_INPUTS": _channel_table("inputs", form.inputs, places),
        "MA_OUTPUTS": _channel_table("outputs", form.outputs, places),
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


def _channel_table(kind: str, channels: tuple[Channel, ...], places: WorkerPlaces) -> str:
    rows = [
        {
            "name": channel.name,
            "local_dir": places.seen(places.of(channel)),
            "remote": {"obs": {"obs_url": _url(channel)}},
        }
        for channel in channels
    ]
    return json.dumps({kind: rows})
