"""What happened to a job, as its events and stages are asked for and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from traindeck.lab.training.api.routes import RefusedError
from traindeck.lab.training.database import now_ms
from traindeck.lab.training.job_records import EventText, JobRecord

_BAD_QUERY = "50004000"
_LEVELS = ("Info", "Error", "Warning")
_MAX_LIMIT = 100
_DEFAULT_LIMIT = 50
_MAX_PATTERN = 256

_STAGES = {
    "scheduling": ("The job waits for its resources.", "作业正在等待资源。"),
    "preparing": ("The code and the inputs are being downloaded.", "正在下载代码和输入数据。"),
    "running": ("The training process is running.", "训练进程正在运行。"),
    "end": ("The training has ended.", "训练已结束。"),
}


def event_table(
    job: JobRecord, events: Sequence[Mapping[str, Any]], query: Mapping[str, str], language: str | None
) -> dict[str, Any]:
    """The page of the job's events, oldest first, that the query asks for; its offset counts pages, not events."""
    start_text, end_text = query.get("start_time") or "", query.get("end_time") or ""
    if bool(start_text) != bool(end_text):
        raise RefusedError(_BAD_QUERY, "start_time and end_time must be given together")
    order = query.get("order") or "desc"
    level = query.get("level") or ""
    pattern = query.get("pattern") or ""
    if order not in ("asc", "desc"):
        raise RefusedError(_BAD_QUERY, "order must be asc or desc")
    if level and level not in _LEVELS:
        raise RefusedError(_BAD_QUERY, f"level must be one of {', '.join(_LEVELS)}")
    if len(pattern) > _MAX_PATTERN:
        raise RefusedError(_BAD_QUERY, f"pattern must have at most {_MAX_PATTERN} characters")
    limit = _whole("limit", query.get("limit") or str(_DEFAULT_LIMIT))
    if not 1 <= limit <= _MAX_LIMIT:
        raise RefusedError(_BAD_QUERY, f"limit must be a whole number from 1 to {_MAX_LIMIT}")
    page = _whole("offset", query.get("offset") or "0")
    start = _whole("start_time", start_text) if start_text else job.create_time
    end = _whole("end_time", end_text) if end_text else now_ms()
    if start_text:
        events = [event for event in events if start <= event["time"] <= end]
    message = "chinese" if (language or "").lower().startswith("zh") else "english"
    found = [event for event in events if level in ("", event["level"]) and pattern in event[message]]
    if order == "desc":
        found.reverse()
    return {
        "total": len(found),
        "limit": limit,
        "offset": page,
        "order": order,
        "start_time": _time_text(start),
        "end_time": _time_text(end),
        "events": [
            {
                "time": _time_text(event["time"]),
                "level": event["level"],
                "source": event["source"],
                "message": event[message],
            }
            for event in found[page * limit : (page + 1) * limit]
        ],
    }


def stage_table(job: JobRecord, stages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [
        {
            "job_id": job.id,
            "name": stage["name"],
            "en_message": _STAGES[stage["name"]][0],
            "zh_message": _STAGES[stage["name"]][1],
            "start_time": _time_text(stage["start_time"]),
            "end_time": _time_text(stage["end_time"]) if stage["end_time"] else "",
            "stage_order": list(_STAGES).index(stage["name"]) + 1,
            "sub_stages": [],
        }
        for stage in stages
    ]
    return {"total_count": 1, "running_records": [{"record_order": 1, "stages": rows}]}


def _whole(name: str, text: str) -> int:
    # Longer numbers would be no time that a calendar knows.
    if not (text.isascii() and text.isdigit() and len(text) <= 14):
        raise RefusedError(_BAD_QUERY, f"{name} must be a whole number from 0")
    return int(text)


def _time_text(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000).astimezone().isoformat(timespec="seconds")


CREATED = EventText("job is created", "作业已创建。")
QUEUED = EventText("job is queuing", "作业正在排队。")
RUNNING = EventText("job is running", "作业正在运行。")
COMPLETED = EventText("job is completed", "作业已完成。")
STOPPED_BY_USER = EventText("job is stopped by the user", "作业已被用户停止。")
STOPPED_BY_LAB = EventText("job is stopped because the Lab ended", "Lab 已关闭，作业随之停止。")
NOT_STOPPED = EventText("Some processes of the job could not be ended.", "作业的部分进程无法结束。")
LOST = EventText(
    "The Lab ended unexpectedly while the job was live; its processes were ended at the next start.",
    "作业未结束时 Lab 意外退出；其进程已在 Lab 下次启动时结束。",
)
INTERNAL_ERROR = EventText(
    "The Lab failed to run the job; its own log says why.", "Lab 运行作业时出错，原因见 Lab 自身的日志。"
)
NO_IMAGE = EventText(
    "The Lab has no containers: it runs the job on this computer, not inside its image.",
    "Lab 没有容器：作业在本机运行，不在其镜像中运行。",
)
NO_CODE_OF_IMAGE = EventText(
    "The code is in the image, which the Lab does not have: {folder} must be there on this computer.",
    "代码位于镜像中，而 Lab 没有镜像：本机必须有 {folder}。",
)
NO_MPI = EventText(
    "The Lab starts the script once on each worker, without mpirun.",
    "Lab 在每个节点上直接启动一次脚本，不使用 mpirun。",
)
STOPPED_BY_RULE = EventText("job is stopped by the time limit of a fault rule", "作业达到故障规则的时间上限，已停止。")
NO_PROCESSOR_LIMIT = EventText(
    "This system cannot keep the job to the processors of its flavor.", "此系统无法将作业限制在其规格的处理器数量内。"
)
CONTAINER_PATHS = EventText(
    "The job sees /cache and /home/ma-user as in the service's containers.",
    "作业看到的 /cache 和 /home/ma-user 与云上容器中的一致。",
)
OBS_URLS = EventText(
    "The job gets the OBS addresses of its inputs and outputs and carries the files itself, as the older service had"
    " it.",
    "作业直接得到输入和输出的 OBS 地址，并像旧版服务那样自行传输文件。",
)
NO_CONTAINER_PATHS = EventText(
    "The job has no /cache and no /home/ma-user, for {reason}; its folders have other names here.",
    "作业没有 /cache 和 /home/ma-user（{reason}）；其目录在本机使用其他名称。",
)
ISOLATED = EventText(
    "Isolated: the job sees neither the files nor the programs nor the keyring of this computer's user.",
    "已隔离：作业无法看到本机用户的文件、程序和密钥环。",
)
PARTLY_ISOLATED = EventText(
    "Partly isolated: the job does not see the files of this computer's user, but this system cannot keep it from all"
    " running programs: it may end them, or reach a keyring that listens on an abstract socket.",
    "部分隔离：作业看不到本机用户的文件，但此系统无法将其与所有运行中的程序隔离：作业可能结束这些程序，"
    "或访问监听抽象套接字的密钥环。",
)
RUNS_AS_ROOT = EventText(
    "Partly isolated: this system does not let the job run as another user than root. It does not see the files of"
    " users nor their passwords, but reads what else only root may read.",
    "部分隔离：此系统不允许作业以 root 以外的用户运行。作业看不到用户的文件和密码，"
    "但可以读取其他只有 root 才能读取的内容。",
)
NOT_ISOLATED = EventText(
    "Not isolated, for {reason}: the job can read the files and use the keyring of this computer's user.",
    "未隔离（{reason}）：作业可以读取本机用户的文件并使用其密钥环。",
)
LIMITED = EventText(
    "Each worker is kept to {processors} processors and {memory_gb} GB of memory.",
    "每个节点限用 {processors} 个处理器和 {memory_gb} GB 内存。",
)
MEMORY_LIMITED = EventText("Each worker is kept to {memory_gb} GB of memory.", "每个节点限用 {memory_gb} GB 内存。")
SMALLER_COMPUTER = EventText(
    "This computer has {own_processors} processors and {own_memory_gb:.0f} GB of memory,"
    " its flavor {processors} and {memory_gb} GB.",
    "本机有 {own_processors} 个处理器和 {own_memory_gb:.0f} GB 内存，规格为 {processors} 个和 {memory_gb} GB。",
)
OUT_OF_MEMORY = EventText(
    "[{task}] The training process used more than {memory_gb} GB of memory and was killed.",
    "[{task}] 训练进程使用的内存超过 {memory_gb} GB，已被终止。",
)
DISK_FULL = EventText(
    "[{task}] No space left on device: the training process wrote more than {disk_gb} GB and was killed.",
    "[{task}] No space left on device：训练进程写入的数据超过 {disk_gb} GB，已被终止。",
)
TOO_MANY_PROCESSES = EventText(
    "[{task}] The training process had more than {most} processes and was killed.",
    "[{task}] 训练进程的进程数超过 {most} 个，已被终止。",
)
PROCESSES_REFUSED = EventText(
    "[{task}] The limit of {most} processes and threads was reached: others could not be started.",
    "[{task}] 进程和线程数达到上限 {most}，无法再启动新的进程或线程。",
)
PACKAGES_STARTED = EventText(
    "[{task}] Installing the packages of pip-requirements.txt.", "[{task}] 正在安装 pip-requirements.txt 中的软件包。"
)
PACKAGES_INSTALLED = EventText(
    "[{task}][time used: {seconds:.2f}s] The packages were installed.",
    "[{task}][time used: {seconds:.2f}s] 软件包安装完成。",
)
PACKAGES_KEPT = EventText(
    "[{task}] The packages were installed by an earlier job and are used again.",
    "[{task}] 软件包已由之前的作业安装，直接使用。",
)
PACKAGES_NOT_INSTALLED = EventText(
    "[{task}] The packages of pip-requirements.txt could not be installed: {cause}.",
    "[{task}] 无法安装 pip-requirements.txt 中的软件包：{cause}。",
)
IGNORED_FIELD = EventText("{name} has no effect in the Lab.", "{name} 在 Lab 中不起作用。")
VOLUME_MOUNTED = EventText(
    "{mount} is a folder of this computer that all jobs with the volume {source} share.",
    "{mount} 是本机上的一个文件夹，由所有使用卷 {source} 的作业共用。",
)
VOLUME_OF_OBS = EventText(
    "{mount} is a copy of {source} from the start of the job: what the job writes there does not go to OBS.",
    "{mount} 是作业启动时 {source} 的副本：作业写入其中的内容不会上传到 OBS。",
)
VOLUME_MISSING = EventText(
    "The volume {source} is not mounted at {mount}: {reason}.", "卷 {source} 未挂载到 {mount}：{reason}。"
)
VOLUME_COPIED = EventText(
    "[{task}][time used: {seconds:.2f}s] The volume {name} was copied: {files} files, {size_bytes} bytes.",
    "[{task}][time used: {seconds:.2f}s] 卷 {name} 复制完成：{files} 个文件，{size_bytes} 字节。",
)
CODE_DOWNLOAD_STARTED = EventText("[{task}] Downloading the code from {source}.", "[{task}] 正在从 {source} 下载代码。")
CODE_DOWNLOADED = EventText(
    "[{task}][time used: {seconds:.2f}s] The code was downloaded: {files} files, {size_bytes} bytes.",
    "[{task}][time used: {seconds:.2f}s] 代码下载完成：{files} 个文件，{size_bytes} 字节。",
)
INPUT_DOWNLOAD_STARTED = EventText(
    "[{task}] Downloading the input {name} from {source}.", "[{task}] 正在从 {source} 下载输入 {name}。"
)
INPUT_DOWNLOADED = EventText(
    "[{task}][time used: {seconds:.2f}s] The input {name} was downloaded: {files} files, {size_bytes} bytes.",
    "[{task}][time used: {seconds:.2f}s] 输入 {name} 下载完成：{files} 个文件，{size_bytes} 字节。",
)
DOWNLOAD_FAILED = EventText("[{task}] Downloading {what} failed: {cause}.", "[{task}] 下载 {what} 失败：{cause}。")
NOT_PREPARED = EventText("The job's folders could not be made: {cause}.", "无法创建作业目录：{cause}。")
NOT_STARTED = EventText(
    "[{task}] The training process could not be started: {cause}.", "[{task}] 训练进程无法启动：{cause}。"
)
RAN_BEFORE = EventText(
    "[{task}] ma-pre-start ended with exit code {exit_code}", "[{task}] ma-pre-start 结束，退出码 {exit_code}。"
)
TRAINING_STARTED = EventText("[{task}] training process started", "[{task}] 训练进程已启动。")
TRAINING_ENDED = EventText(
    "[{task}] training process ended with exit code {exit_code}", "[{task}] 训练进程结束，退出码 {exit_code}。"
)
FAILED = EventText("job failed: {task} ended with exit code {exit_code}", "作业失败：{task} 的退出码为 {exit_code}。")
STOPPED_BY_TIME = EventText(
    "job is stopped by its time limit of {hours} {unit}", "作业达到 {hours} 小时的时间上限，已停止。"
)
OUTPUT_UPLOAD_STARTED = EventText(
    "[{task}] Uploading the output {name} to {target}.", "[{task}] 正在上传输出 {name} 到 {target}。"
)
OUTPUT_UPLOADED = EventText(
    "[{task}][time used: {seconds:.2f}s] The output {name} was uploaded.",
    "[{task}][time used: {seconds:.2f}s] 输出 {name} 上传完成。",
)
OUTPUT_NOT_UPLOADED = EventText(
    "[{task}] Uploading the output {name} failed: {cause}.", "[{task}] 上传输出 {name} 失败：{cause}。"
)
LOG_NOT_UPLOADED = EventText("[{task}] Uploading the log failed: {cause}.", "[{task}] 上传日志失败：{cause}。")
