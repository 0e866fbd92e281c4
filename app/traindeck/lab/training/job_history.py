"""What happened to a job, as its events and stages are asked for and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from traindeck.lab.training.api.routes import RefusedError
from traindeck.lab.training.job_records import (
    EventRecord,
    EventText,
    JobRecord,
    StageRecord,
    now_ms,
)

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


@dataclass(frozen=True)
class EventQuery:
    """A question for events that was found good; `page` counts pages, not events."""

    page: int
    limit: int
    newest_first: bool
    start_ms: int | None
    end_ms: int | None
    level: str
    pattern: str
    is_chinese: bool

    def answer(self, events: Sequence[EventRecord], job: JobRecord) -> dict[str, Any]:
        start = job.create_time if self.start_ms is None else self.start_ms
        end = now_ms() if self.end_ms is None else self.end_ms
        found = [event for event in events if self._is_wanted(event)]
        if self.newest_first:
            found.reverse()
        first = self.page * self.limit
        return {
            "total": len(found),
            "limit": self.limit,
            "offset": self.page,
            "order": "desc" if self.newest_first else "asc",
            "start_time": _time_text(start),
            "end_time": _time_text(end),
            "events": [
                {
                    "time": _time_text(event.time),
                    "level": event.level,
                    "source": event.source,
                    "message": self._message(event),
                }
                for event in found[first : first + self.limit]
            ],
        }

    def _is_wanted(self, event: EventRecord) -> bool:
        if self.start_ms is not None and event.time < self.start_ms:
            return False
        if self.end_ms is not None and event.time > self.end_ms:
            return False
        return self.level in ("", event.level) and self.pattern in self._message(event)

    def _message(self, event: EventRecord) -> str:
        return event.text.chinese if self.is_chinese else event.text.english


def read_event_query(query: Mapping[str, str], language: str | None) -> EventQuery:
    start, end = query.get("start_time") or "", query.get("end_time") or ""
    if bool(start) != bool(end):
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
    return EventQuery(
        page=_whole("offset", query.get("offset") or "0"),
        limit=limit,
        newest_first=order == "desc",
        start_ms=_whole("start_time", start) if start else None,
        end_ms=_whole("end_time", end) if end else None,
        level=level,
        pattern=pattern,
        is_chinese=(language or "").lower().startswith("zh"),
    )


def stage_table(job: JobRecord, stages: Sequence[StageRecord]) -> dict[str, Any]:
    rows = [
        {
            "job_id": job.id,
            "name": stage.name,
            "en_message": _STAGES[stage.name][0],
            "zh_message": _STAGES[stage.name][1],
            "start_time": _time_text(stage.start_time),
            "end_time": _time_text(stage.end_time) if stage.end_time else "",
            "stage_order": list(_STAGES).index(stage.name) + 1,
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


def no_container_paths(reason: str) -> EventText:
    return EventText(
        f"The job has no /cache and no /home/ma-user, for {reason}; its folders have other names here.",
        f"作业没有 /cache 和 /home/ma-user（{reason}）；其目录在本机使用其他名称。",
    )


def limited(processors: int, memory_gb: float) -> EventText:
    return EventText(
        f"Each worker is kept to {processors} processors and {memory_gb} GB of memory.",
        f"每个节点限用 {processors} 个处理器和 {memory_gb} GB 内存。",
    )


def memory_limited(memory_gb: float) -> EventText:
    return EventText(f"Each worker is kept to {memory_gb} GB of memory.", f"每个节点限用 {memory_gb} GB 内存。")


def smaller_computer(own_processors: int, own_gb: int, processors: int, memory_gb: float) -> EventText:
    return EventText(
        f"This computer has {own_processors} processors and {own_gb} GB of memory,"
        f" its flavor {processors} and {memory_gb} GB.",
        f"本机有 {own_processors} 个处理器和 {own_gb} GB 内存，规格为 {processors} 个和 {memory_gb} GB。",
    )


def out_of_memory(task: str, memory_gb: float) -> EventText:
    return EventText(
        f"[{task}] The training process used more than {memory_gb} GB of memory and was killed.",
        f"[{task}] 训练进程使用的内存超过 {memory_gb} GB，已被终止。",
    )


def packages_started(task: str) -> EventText:
    return EventText(
        f"[{task}] Installing the packages of pip-requirements.txt.",
        f"[{task}] 正在安装 pip-requirements.txt 中的软件包。",
    )


def packages_installed(task: str, seconds: float) -> EventText:
    return EventText(
        f"[{task}][time used: {seconds:.2f}s] The packages were installed.",
        f"[{task}][time used: {seconds:.2f}s] 软件包安装完成。",
    )


def packages_kept(task: str) -> EventText:
    return EventText(
        f"[{task}] The packages were installed by an earlier job and are used again.",
        f"[{task}] 软件包已由之前的作业安装，直接使用。",
    )


def packages_not_installed(task: str, cause: object) -> EventText:
    return EventText(
        f"[{task}] The packages of pip-requirements.txt could not be installed: {cause}.",
        f"[{task}] 无法安装 pip-requirements.txt 中的软件包：{cause}。",
    )


def ignored_field(name: str) -> EventText:
    return EventText(f"{name} has no effect in the Lab.", f"{name} 在 Lab 中不起作用。")


def code_download_started(task: str, source: object) -> EventText:
    return EventText(f"[{task}] Downloading the code from {source}.", f"[{task}] 正在从 {source} 下载代码。")


def code_downloaded(task: str, files: int, size_bytes: int, seconds: float) -> EventText:
    return EventText(
        f"[{task}][time used: {seconds:.2f}s] The code was downloaded: {files} files, {size_bytes} bytes.",
        f"[{task}][time used: {seconds:.2f}s] 代码下载完成：{files} 个文件，{size_bytes} 字节。",
    )


def input_download_started(task: str, name: str, source: object) -> EventText:
    return EventText(
        f"[{task}] Downloading the input {name} from {source}.", f"[{task}] 正在从 {source} 下载输入 {name}。"
    )


def input_downloaded(task: str, name: str, files: int, size_bytes: int, seconds: float) -> EventText:
    return EventText(
        f"[{task}][time used: {seconds:.2f}s] The input {name} was downloaded: {files} files, {size_bytes} bytes.",
        f"[{task}][time used: {seconds:.2f}s] 输入 {name} 下载完成：{files} 个文件，{size_bytes} 字节。",
    )


def download_failed(task: str, what: str, cause: object) -> EventText:
    return EventText(f"[{task}] Downloading {what} failed: {cause}.", f"[{task}] 下载 {what} 失败：{cause}。")


def not_prepared(cause: object) -> EventText:
    return EventText(f"The job's folders could not be made: {cause}.", f"无法创建作业目录：{cause}。")


def not_started(task: str, cause: object) -> EventText:
    english, chinese = (cause.english, cause.chinese) if isinstance(cause, EventText) else (cause, cause)
    return EventText(
        f"[{task}] The training process could not be started: {english}.", f"[{task}] 训练进程无法启动：{chinese}。"
    )


def ran_before(task: str, exit_code: int) -> EventText:
    return EventText(
        f"[{task}] ma-pre-start ended with exit code {exit_code}", f"[{task}] ma-pre-start 结束，退出码 {exit_code}。"
    )


def training_started(task: str) -> EventText:
    return EventText(f"[{task}] training process started", f"[{task}] 训练进程已启动。")


def training_ended(task: str, exit_code: int) -> EventText:
    return EventText(
        f"[{task}] training process ended with exit code {exit_code}",
        f"[{task}] 训练进程结束，退出码 {exit_code}。",
    )


def failed(task: str, exit_code: int) -> EventText:
    return EventText(
        f"job failed: {task} ended with exit code {exit_code}", f"作业失败：{task} 的退出码为 {exit_code}。"
    )


def stopped_by_time(hours: int) -> EventText:
    return EventText(
        f"job is stopped by its time limit of {hours} {'hour' if hours == 1 else 'hours'}",
        f"作业达到 {hours} 小时的时间上限，已停止。",
    )


def output_upload_started(task: str, name: str, target: object) -> EventText:
    return EventText(
        f"[{task}] Uploading the output {name} to {target}.", f"[{task}] 正在上传输出 {name} 到 {target}。"
    )


def output_uploaded(task: str, name: str, seconds: float) -> EventText:
    return EventText(
        f"[{task}][time used: {seconds:.2f}s] The output {name} was uploaded.",
        f"[{task}][time used: {seconds:.2f}s] 输出 {name} 上传完成。",
    )


def output_not_uploaded(task: str, name: str, cause: object) -> EventText:
    return EventText(
        f"[{task}] Uploading the output {name} failed: {cause}.", f"[{task}] 上传输出 {name} 失败：{cause}。"
    )


def log_not_uploaded(task: str, cause: object) -> EventText:
    return EventText(f"[{task}] Uploading the log failed: {cause}.", f"[{task}] 上传日志失败：{cause}。")
