"""Between our words for a job and the documents ModelArts speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.choices import Engine, Flavor
from traindeck.domain.jobs.job import Isolation, RemoteJob
from traindeck.domain.jobs.job_spec import JobSpec, wire_value
from traindeck.domain.jobs.pools import JobQuota, ResourcePool
from traindeck.domain.jobs.stop_time import stop_hours
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text

Document = Mapping[str, Any]

# Without it the lines of a script arrive late or never.
_ENVIRONMENT = {"PYTHONUNBUFFERED": "1"}


def job_request(name: str, spec: JobSpec, code: ObjectPath) -> dict[str, Any]:
    """The body that creates a job; `spec` is the run's own, its places spelled as typed."""
    spec = spec.for_run(name)
    metadata: dict[str, Any] = {"name": name, "workspace_id": "0"}
    if spec.description:
        metadata["description"] = spec.description
    return {"kind": "job", "metadata": metadata, "algorithm": _algorithm(spec, code), "spec": _resources(spec)}


def _algorithm(spec: JobSpec, code: ObjectPath) -> dict[str, Any]:
    folder = code.as_folder().api_form
    algorithm: dict[str, Any] = {"code_dir": folder, "engine": _engine(spec)}
    if spec.command:
        algorithm["command"] = spec.command
    else:
        algorithm["boot_file"] = folder + spec.boot.replace("\\", "/").removeprefix("./")
    algorithm["parameters"] = [{"name": name, "value": wire_value(value)} for name, value in spec.parameters]
    algorithm["inputs"] = [
        _channel(channel.name, ObjectPath.parse(channel.place)) for channel in spec.inputs if channel.place.strip()
    ]
    algorithm["outputs"] = [
        _channel(channel.name, ObjectPath.parse(channel.place).as_folder())
        for channel in spec.outputs
        if channel.place.strip()
    ]
    algorithm["environments"] = {**_ENVIRONMENT, **dict(spec.environment)}
    return algorithm


def _engine(spec: JobSpec) -> dict[str, str]:
    engine = {"engine_name": spec.engine, "engine_version": spec.engine_version, "image_url": spec.image}
    if spec.command:
        # A start command runs in the image alone; with an engine the engine's launcher would run.
        engine = {"image_url": spec.image}
    return {name: value for name, value in engine.items() if value}


def _channel(name: str, place: ObjectPath) -> dict[str, Any]:
    return {"name": name, "access_method": "parameter", "remote": {"obs": {"obs_url": place.api_form}}}


def _resources(spec: JobSpec) -> dict[str, Any]:
    resource: dict[str, Any] = {"node_count": spec.nodes}
    if spec.flavor:
        resource["flavor_id"] = spec.flavor
    document: dict[str, Any] = {"resource": resource}
    if spec.pool:
        resource["pool_id"] = spec.pool
        document["schedule_policy"] = {"priority": spec.priority}
    if spec.log_to.strip():
        document["log_export_path"] = {"obs_url": ObjectPath.parse(spec.log_to).as_folder().api_form}
    hours = stop_hours(spec.stop_after)
    if hours is not None:
        document["auto_stop"] = {"time_unit": "HOURS", "duration": hours}
    return document


def remote_job(document: Document) -> RemoteJob:
    metadata, status = _part(document, "metadata"), _part(document, "status")
    started = _moment(status.get("start_time"))
    duration_ms = _number(status.get("duration"))
    return RemoteJob(
        id=str(metadata.get("id") or ""),
        name=str(metadata.get("name") or ""),
        phase=str(status.get("phase") or ""),
        created=_moment(metadata.get("create_time")),
        started=started,
        # Before the start it is told as 0; we do not know a run time then.
        duration_ms=duration_ms if duration_ms or started else None,
        tasks=tuple(str(task) for task in _list(status, "tasks")),
        exit_message=_exit_message(status),
        is_lost=status.get("secondary_phase") == "Lost",
        isolation=_isolation(_part(metadata, "annotations").get("lab/isolation")),
    )


def _isolation(word: object) -> Isolation:
    """Only the Lab says it."""
    return next((known for known in Isolation if known == word), Isolation.UNKNOWN)


def engine_of(document: Document) -> Engine:
    version = str(document.get("engine_version") or "")
    arch = next((known for known in ("aarch64", "x86_64") if known in version.lower()), "")
    return Engine(str(document.get("engine_name") or ""), version, str(document.get("engine_id") or version), arch)


def flavor_of(document: Document) -> Flavor:
    info = _part(document, "flavor_info")
    memory = _part(info, "memory")
    return Flavor(
        id=str(document.get("flavor_id") or ""),
        name=str(document.get("flavor_name") or document.get("flavor_id") or ""),
        kind=str(document.get("flavor_type") or ""),
        cores=_number(_part(info, "cpu").get("core_num")),
        memory=f"{memory['size']} {memory.get('unit') or ''}".strip() if memory.get("size") else "",
        accelerator=_accelerator(_part(info, "npu") or _part(info, "gpu")),
        max_nodes=_number(info.get("max_num")) or _number(document.get("max_num")) or 1,
        disk=_disk(_part(info, "disk")),
    )


def _disk(disk: Document) -> str:
    return f"{disk['size']} {disk.get('unit') or 'GB'}" if disk.get("size") else ""


def pool_of(document: Document) -> ResourcePool:
    metadata, status = _part(document, "metadata"), _part(document, "status")
    scopes = [scope for scope in _list(status, "scope") if isinstance(scope, Mapping)]
    trains = [str(scope.get("state")) for scope in scopes if scope.get("scopeType") == "Train"]
    return ResourcePool(
        id=str(metadata.get("name") or ""),
        name=str(_part(metadata, "labels").get("os.modelarts/name") or metadata.get("name") or ""),
        phase=str(status.get("phase") or ""),
        trains=trains == ["Enabled"] if scopes else None,
    )


def job_quota(documents: Sequence[Document]) -> JobQuota | None:
    for document in documents:
        used, most = _number(document.get("used")), _number(document.get("quota"))
        if document.get("resource") == "job-num" and used is not None and most is not None:
            return JobQuota(used, most)
    return None


def output_places(document: Document) -> list[ObjectPath]:
    """Where a job writes to; a place that is none of OBS is nobody's trouble here."""
    found = []
    for channel in _list(_part(document, "algorithm"), "outputs"):
        url = _part(_part(channel if isinstance(channel, Mapping) else {}, "remote"), "obs").get("obs_url")
        with suppress(AppError):
            found.append(ObjectPath.parse(str(url or "")).as_folder())
    return found


def _accelerator(document: Document) -> str:
    cards = _number(document.get("unit_num"))
    if not cards:
        return ""
    words = f"{cards} × {document.get('product_name') or ''}".strip()
    return f"{words} {document['memory']}" if document.get("memory") else words


def _exit_message(status: Document) -> Text | str:
    for task in _list(status, "task_statuses"):
        if isinstance(task, Mapping) and (task.get("message") or task.get("exit_code")):
            words = str(task.get("message") or "")
            return words or text("Exit code {code}", code=task.get("exit_code"))
    return ""


def _part(document: Document, name: str) -> Document:
    """A map inside a map; the service writes an absent one as null, "" or []."""
    part = document.get(name)
    return part if isinstance(part, Mapping) else {}


def _list(document: Document, name: str) -> list[Any]:
    found = document.get(name)
    return found if isinstance(found, list) else []


def _moment(value: object) -> datetime | None:
    milliseconds = _number(value)
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
    except (ValueError, OverflowError, OSError):  # no time at all
        return None


def _number(value: object) -> int | None:
    """Numbers come as numbers or as text."""
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):  # as of infinity
        return None
