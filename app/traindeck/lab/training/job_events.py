"""The texts of a job's events, in both languages of the service."""

from traindeck.lab.training.job_records import EventText

CREATED = EventText("The job was created.", "作业已创建。")
QUEUED = EventText("The job is queuing.", "作业正在排队。")
RUNNING = EventText("The job is running.", "作业正在运行。")
COMPLETED = EventText("The job is completed.", "作业已完成。")
STOPPED_BY_USER = EventText("The job was stopped by the user.", "作业已被用户停止。")
STOPPED_BY_LAB = EventText("The job was stopped because the Lab ended.", "Lab 已关闭，作业随之停止。")
NOT_STOPPED = EventText("Some processes of the job could not be ended.", "作业的部分进程无法结束。")
LOST = EventText(
    "The Lab ended unexpectedly while the job was live; its processes were ended at the next start.",
    "作业未结束时 Lab 意外退出；其进程已在 Lab 下次启动时结束。",
)
INTERNAL_ERROR = EventText(
    "The Lab failed to run the job; its own log says why.", "Lab 运行作业时出错，原因见 Lab 自身的日志。"
)
NO_PIP = EventText(
    "pip-requirements.txt is present, but this Lab does not install packages.",
    "代码目录中有 pip-requirements.txt，但此 Lab 不会安装软件包。",
)

NO_IMAGE = EventText(
    "The Lab has no containers: it runs the job on this computer, not inside its image.",
    "Lab 没有容器：作业在本机运行，不在其镜像中运行。",
)


def ignored_field(name: str) -> EventText:
    return EventText(f"{name} has no effect in the Lab.", f"{name} 在 Lab 中不起作用。")


def code_download_started(source: object) -> EventText:
    return EventText(f"[worker-0] Downloading the code from {source}.", f"[worker-0] 正在从 {source} 下载代码。")


def code_downloaded(files: int, size_bytes: int, seconds: float) -> EventText:
    return EventText(
        f"[worker-0][time used: {seconds:.2f}s] The code was downloaded: {files} files, {size_bytes} bytes.",
        f"[worker-0][time used: {seconds:.2f}s] 代码下载完成：{files} 个文件，{size_bytes} 字节。",
    )


def input_download_started(name: str, source: object) -> EventText:
    return EventText(
        f"[worker-0] Downloading the input {name} from {source}.", f"[worker-0] 正在从 {source} 下载输入 {name}。"
    )


def input_downloaded(name: str, files: int, size_bytes: int, seconds: float) -> EventText:
    return EventText(
        f"[worker-0][time used: {seconds:.2f}s] The input {name} was downloaded: {files} files, {size_bytes} bytes.",
        f"[worker-0][time used: {seconds:.2f}s] 输入 {name} 下载完成：{files} 个文件，{size_bytes} 字节。",
    )


def download_failed(what: str, cause: object) -> EventText:
    return EventText(f"[worker-0] Downloading {what} failed: {cause}.", f"[worker-0] 下载 {what} 失败：{cause}。")


def not_prepared(cause: object) -> EventText:
    return EventText(f"The job's folders could not be made: {cause}.", f"无法创建作业目录：{cause}。")


def not_started(task: str, cause: object) -> EventText:
    return EventText(
        f"[{task}] The training process could not be started: {cause}.", f"[{task}] 训练进程无法启动：{cause}。"
    )


def training_started(task: str) -> EventText:
    return EventText(f"[{task}] The training process was started.", f"[{task}] 训练进程已启动。")


def training_ended(task: str, exit_code: int) -> EventText:
    return EventText(
        f"[{task}] The training process ended with exit code {exit_code}.",
        f"[{task}] 训练进程结束，退出码 {exit_code}。",
    )


def failed(task: str, exit_code: int) -> EventText:
    return EventText(
        f"The job failed: {task} ended with exit code {exit_code}.", f"作业失败：{task} 的退出码为 {exit_code}。"
    )


def stopped_by_time(hours: int) -> EventText:
    return EventText(
        f"The job was stopped by its time limit of {hours} hours.", f"作业达到 {hours} 小时的时间上限，已停止。"
    )


def output_upload_started(name: str, target: object) -> EventText:
    return EventText(
        f"[worker-0] Uploading the output {name} to {target}.", f"[worker-0] 正在上传输出 {name} 到 {target}。"
    )


def output_uploaded(name: str, seconds: float) -> EventText:
    return EventText(
        f"[worker-0][time used: {seconds:.2f}s] The output {name} was uploaded.",
        f"[worker-0][time used: {seconds:.2f}s] 输出 {name} 上传完成。",
    )


def output_not_uploaded(name: str, cause: object) -> EventText:
    return EventText(
        f"[worker-0] Uploading the output {name} failed: {cause}.", f"[worker-0] 上传输出 {name} 失败：{cause}。"
    )


def log_not_uploaded(task: str, cause: object) -> EventText:
    return EventText(f"[{task}] Uploading the log failed: {cause}.", f"[{task}] 上传日志失败：{cause}。")
