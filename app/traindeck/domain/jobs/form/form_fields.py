"""Every field of the job form, described once: file, command line, checks and request follow from it."""

from __future__ import annotations

from collections.abc import Mapping

from traindeck.domain.jobs.form.form_field import FieldKind, FormField, FormSection, Limits, Prominence
from traindeck.domain.texts import text

_FOLDER = Limits(r"/.+", text("Enter an absolute path of the container, such as /cache/data."))

_EVENTS = {
    "JobStarted": text("The job has started"),
    "JobCompleted": text("The job has completed"),
    "JobFailed": text("The job has failed"),
    "JobTerminated": text("The job was stopped"),
    "JobRestarted": text("The job was restarted"),
    "JobHanged": text("The job hangs"),
    "JobPreempted": text("The job was preempted"),
}
"""By what the service calls them; both are shown, since its messages and console have its names."""
EVENTS = tuple(_EVENTS)

FIELDS: tuple[FormField, ...] = (
    FormField(
        "name", text("Name"), text("each run adds the date and a short random part"), FormSection.JOB, "job", "name",
        limits=Limits(r"[A-Za-z0-9_-]{1,40}", text("Enter a name of 1 to 40 letters, digits, “-” or “_”.")),
        example='"digits"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "target", text("Runs on"), text("“lab” for this computer, “modelarts” for the cloud"), FormSection.JOB,
        "job", "target", FieldKind.TARGET, example='"lab"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "description", text("Description"), text("shown in the console, up to 256 characters"), FormSection.JOB,
        "job", "description", request="/metadata/description", limits=Limits(longest=256), example='""',
        prominence=Prominence.FIRST, is_folded=True,
    ),
    FormField(
        "template", text("Template"), text("the template it was made from, whose locked keys it keeps"),
        FormSection.JOB, "job", "template", example='"baseline"', prominence=Prominence.RARE,
    ),
    FormField(
        "workspace", text("Workspace"), text("ID of the workspace (default: the default workspace)"), FormSection.JOB,
        "job", "workspace", request="/metadata/workspace_id", example='"0"', prominence=Prominence.RARE,
    ),
    FormField(
        "experiment", text("Experiment"), text("experiment the job belongs to, created if there is none"),
        FormSection.JOB, "job", "experiment", request="/metadata/training_experiment_reference/name",
        limits=Limits(longest=64), example='"baseline"',
    ),
    FormField(
        "experiment_id", text("Experiment ID"), text("ID of an existing experiment, instead of its name"),
        FormSection.JOB, "job", "experiment_id", request="/metadata/training_experiment_reference/id",
        example='"b3a0c3f0"', prominence=Prominence.RARE,
    ),
    FormField(
        "code_folder", text("Code directory"), text("frozen on submission; later edits do not affect a running job"),
        FormSection.CODE, "code", "folder", example='"."',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "code_url", text("Code in OBS"), text("code that is in OBS already, instead of a code directory"),
        FormSection.CODE, "code", "url", example='"obs://my-bucket/code/"', prominence=Prominence.RARE,
    ),
    FormField(
        "boot", text("Boot file"), text("the Python file to start"), FormSection.CODE, "code", "boot",
        example='"train.py"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "command", text("Start command"), text("start command of a custom image, one line, instead of a boot file"),
        FormSection.CODE, "code", "command", request="/algorithm/command",
        limits=Limits(r"[^\r\n]*", text("The start command must be one line; join commands with “&&”.")),
        example='"cd ${MA_JOB_DIR}/code && bash run.sh"',
    ),
    FormField(
        "ignore", text("Excluded from the code"), text("not part of the code"), FormSection.CODE, "code", "ignore",
        FieldKind.LIST, example='["data/", "out/"]',
        prominence=Prominence.FIRST, is_folded=True,
    ),
    FormField(
        "silenced_rules", text("Silenced findings"), text("rules of “traindeck doctor” that are not to be told of"),
        FormSection.CODE, "checks", "silence", FieldKind.LIST,
        limits=Limits(r"[a-z0-9-]+", text("Enter names of rules, such as “local-path”.")), example='["local-path"]',
    ),
    FormField(
        "local_code_dir", text("Code directory in the container"),
        text("where the code lies in the container, below /home"), FormSection.CODE, "code", "local_dir",
        request="/algorithm/local_code_dir", limits=_FOLDER, example='"/home/ma-user/code"', prominence=Prominence.RARE,
    ),
    FormField(
        "working_dir", text("Working directory"), text("where the start command begins in the container"),
        FormSection.CODE, "code", "working_dir", request="/algorithm/working_dir", limits=_FOLDER,
        example='"/home/ma-user/code"', prominence=Prominence.RARE,
    ),
    FormField(
        "algorithm_id", text("Algorithm"), text("ID of an algorithm of the service, instead of code and engine"),
        FormSection.CODE, "algorithm", "id", request="/algorithm/id", example='"2e5451fe"', prominence=Prominence.RARE,
    ),
    FormField(
        "subscription_id", text("Subscription"), text("ID of a subscribed algorithm, with its version"),
        FormSection.CODE, "algorithm", "subscription", request="/algorithm/subscription_id", example='"c4a1"',
        prominence=Prominence.RARE,
    ),
    FormField(
        "item_version_id", text("Version of the subscription"), text("ID of the version of a subscribed algorithm"),
        FormSection.CODE, "algorithm", "version", request="/algorithm/item_version_id", example='"1.0.0"',
        prominence=Prominence.RARE,
    ),
    FormField(
        "engine", text("Engine"), text("“traindeck engines” lists what is available"), FormSection.ENGINE,
        "engine", "name", request="/algorithm/engine/engine_name", example='"PyTorch"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "engine_version", text("Version"), text("version of the engine"), FormSection.ENGINE, "engine", "version",
        request="/algorithm/engine/engine_version",
        example='"pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "image", text("Custom image"), text("custom image: alone with a start command, or on top of an engine"),
        FormSection.ENGINE, "engine", "image", request="/algorithm/engine/image_url",
        limits=Limits(
            r"[A-Za-z0-9][\w.-]*(:\d+)?(/[\w.-]+)+(:[\w.-]+)?(@sha256:[0-9a-f]{64})?",
            text("Enter an image as organization/image:tag."),
        ),
        example='"my-org/torch:1.0"',
    ),
    FormField(
        "install_moxing", text("Install MoXing"), text("install the platform's MoXing into a custom image"),
        FormSection.ENGINE, "engine", "install_moxing", FieldKind.YES_NO,
        request="/algorithm/engine/install_sys_packages", example="true", prominence=Prominence.RARE,
    ),
    FormField(
        "flavor", text("Specification"), text("“traindeck flavors” lists what is available"), FormSection.MACHINE,
        "resources", "flavor", request="/spec/resource/flavor_id", example='"modelarts.vm.cpu.2u"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "nodes", text("Nodes"), text("number of nodes"), FormSection.MACHINE, "resources", "nodes", FieldKind.WHOLE,
        request="/spec/resource/node_count", limits=Limits(lowest=1), example="1",
        prominence=Prominence.FIRST,
    ),
    FormField(
        "pool", text("Resource pool"), text("ID of a dedicated resource pool"), FormSection.MACHINE,
        "resources", "pool", request="/spec/resource/pool_id", example='"pool-1"',
    ),
    FormField(
        "stop_after", text("Stop after"), text("stops the job after this time: 30m, 4h, 2d; “none” for no limit"),
        FormSection.MACHINE, "resources", "stop_after", example='"4h"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "priority", text("Priority"), text("priority in a dedicated pool, from 1 to 3"), FormSection.MACHINE,
        "resources", "priority", FieldKind.WHOLE, limits=Limits(lowest=0, highest=3), example="2",
    ),
    FormField(
        "preemptible", text("Preemptible"), text("whether jobs of higher priority can take its place"),
        FormSection.MACHINE, "resources", "preemptible", FieldKind.YES_NO, request="/spec/schedule_policy/preemptible",
        example="true",
    ),
    FormField(
        "inputs", text("Inputs"), text("copied to the job; each folder is passed by its name, here as --data_url"),
        FormSection.DATA, "inputs", kind=FieldKind.CHANNELS, example='data_url = "obs://my-bucket/data/"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "outputs", text("Outputs"),
        text("what the script writes there is copied back; {{run}} gives each run its own folder"),
        FormSection.DATA, "outputs", kind=FieldKind.CHANNELS, example='train_url = "obs://my-bucket/out/{run}/"',
        prominence=Prominence.FIRST,
    ),
    FormField(
        "log_to", text("Log folder"), text("where the log is kept; the service deletes its own after 30 days"),
        FormSection.DATA, "logs", "to", example='"obs://my-bucket/log/{run}/"',
        prominence=Prominence.FIRST, is_folded=True,
    ),
    FormField(
        "log_copy", text("Log in the code directory"),
        text("copies the log to MA_LOG in the code directory while the run is followed"), FormSection.DATA, "logs",
        "copy", FieldKind.YES_NO, example="true",
    ),
    FormField(
        "parameters", text("Running parameters"), text("passed in this order, for example lr = 0.01 as --lr=0.01"),
        FormSection.PARAMETERS, "parameters", kind=FieldKind.PARAMETERS, example="lr = 0.01",
        prominence=Prominence.FIRST,
    ),
    FormField(
        "environment", text("Environment variables"), text("variables of the job"), FormSection.PARAMETERS,
        "environment", kind=FieldKind.PAIRS, example='HCCL_CONNECT_TIMEOUT = "1800"',
        prominence=Prominence.FIRST, is_folded=True,
    ),
    FormField(
        "checkpoint_folder", text("Checkpoint folder"), text("where checkpoints are, below the output"),
        FormSection.DATA, "checkpoint", "folder", example='"ckpt/"',
    ),
    FormField(
        "checkpoint_pattern", text("Checkpoint files"), text("which files are checkpoints"), FormSection.DATA,
        "checkpoint", "pattern", example='"*.ckpt"',
    ),
    FormField(
        "tags", text("Tags"), text("tags of the job at the service"), FormSection.JOB, "tags", kind=FieldKind.PAIRS,
        example='team = "vision"',
    ),
    FormField(
        "volumes", text("Volumes"), text("storage mounted as a folder, in a dedicated pool: nfs, pfs or obs"),
        FormSection.DATA, "volumes", kind=FieldKind.VOLUMES,
        example='nfs = "192.168.0.10:/"\nmount = "/data"\nread_only = true',
    ),
    FormField(
        "notify_topic", text("Notification topic"), text("URN of the SMN topic that the service notifies"),
        FormSection.NOTIFICATIONS, "notifications", "topic", request="/spec/notification/topic_urn",
        example='"urn:smn:cn-north-4:0123:training"',
    ),
    FormField(
        "notify_events", text("Notification events"), text("what the service notifies about"),
        FormSection.NOTIFICATIONS, "notifications", "events", FieldKind.LIST, request="/spec/notification/events",
        limits=Limits(choices=EVENTS, choice_words=tuple(_EVENTS.values())), example='["JobCompleted", "JobFailed"]',
    ),
    FormField(
        "extra", text("Other settings"),
        text("settings of the service that have no key here: a JSON pointer into the request, and JSON"),
        FormSection.OTHER, "extra", kind=FieldKind.PAIRS,
        example="\"/metadata/annotations/fault-tolerance~1job-retry-num\" = '\"3\"'", prominence=Prominence.RARE,
    ),
)  # fmt: skip

BY_NAME: Mapping[str, FormField] = {field.name: field for field in FIELDS}


def _tables() -> dict[str, dict[str, FormField]]:
    tables: dict[str, dict[str, FormField]] = {}
    for field in FIELDS:
        tables.setdefault(field.table, {})[field.key] = field
    return tables


TABLES: Mapping[str, Mapping[str, FormField]] = _tables()
"""The tables of the job file in their order, and the fields by their keys; a table that is one field has the key ""."""


def whole_table(table: str) -> FormField | None:
    """The field that a table is as a whole, whose names are the user's own."""
    return TABLES[table].get("")
