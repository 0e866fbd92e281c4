"""Between our words for a job and the documents ModelArts speaks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.choices import Engine, Flavor
from traindeck.domain.jobs.job import Isolation, RemoteJob
from traindeck.domain.jobs.pools import JobQuota, ResourcePool
from traindeck.domain.readings.phases import JobEvent
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.runtime.clock import clamped, moment_at

Document = Mapping[str, Any]


# Their logs are files of these names.
_TASK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_TASKS = 10_000
_KILLED = text("Exit code {code}: the process was killed, often because memory ran out")
_EXIT_CODES = {
    137: _KILLED,
    139: text("Exit code {code}: the process crashed, often because packages do not fit together"),
    247: _KILLED,
}


def _is_task(name: object) -> bool:
    return isinstance(name, str) and _TASK.fullmatch(name) is not None


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
        tasks=tuple(task for task in _list(status, "tasks")[:_MOST_TASKS] if _is_task(task)),
        exit_message=_exit_message(status),
        is_lost=status.get("secondary_phase") == "Lost",
        isolation=_isolation(_part(metadata, "annotations").get("lab/isolation")),
        secondary_phase=str(status.get("secondary_phase") or ""),
        description=str(metadata.get("description") or ""),
        tags=_tags(metadata.get("tags")),
        user=str(metadata.get("user_name") or ""),
        code_url=str(_part(document, "algorithm").get("code_dir") or ""),
        outputs=_output_places(document),
        **_bought(_part(document, "spec")),
    )


def _bought(spec: Document) -> dict[str, Any]:
    """What of a job has a price."""
    resource = _part(spec, "resource")
    detail = _part(resource, "flavor_detail")
    billing = _part(detail, "billing")
    auto_stop = _part(spec, "auto_stop")
    return {
        "flavor": str(resource.get("flavor_id") or ""),
        "flavor_name": str(resource.get("flavor_name") or ""),
        "nodes": _number(resource.get("node_count")) or 1,
        "pool": str(resource.get("pool_id") or ""),
        "billing_code": str(billing.get("code") or ""),
        "billing_units": _number(billing.get("unit_num")) or 1,
        "stop_hours": _number(auto_stop.get("duration")) if auto_stop.get("time_unit") == "HOURS" else None,
    }


def _tags(found: object) -> tuple[str, ...] | None:
    """`key=value`, or the key alone; a service that does not tell them says nothing about them."""
    if not isinstance(found, list):
        return None
    tags = [tag for tag in found if isinstance(tag, Mapping) and tag.get("key")]
    pairs = [(str(tag["key"]), str(tag.get("value") or "")) for tag in tags]
    return tuple(f"{key}={value}" if value else key for key, value in pairs)


def _isolation(word: object) -> Isolation:
    """Only the Lab says it."""
    return next((known for known in Isolation if known == word), Isolation.UNKNOWN)


def engine_of(document: Document) -> Engine:
    version = str(document.get("engine_version") or "")
    arch = next((known for known in ("aarch64", "x86_64") if known in version.lower()), "")
    return Engine(
        str(document.get("engine_name") or ""),
        version,
        str(document.get("engine_id") or version),
        arch,
        run_user=str(document.get("run_user") or ""),
        is_old=document.get("v1_compatible") is True,
    )


def flavor_of(document: Document) -> Flavor:
    info, billing = _part(document, "flavor_info"), _part(document, "billing")
    card = _part(info, "npu") or _part(info, "gpu")
    code = str(billing.get("code") or "")
    identity = str(document.get("flavor_id") or "")
    return Flavor(
        id=identity,
        name=str(document.get("flavor_name") or document.get("flavor_id") or ""),
        kind=str(document.get("flavor_type") or ""),
        cores=_number(_part(info, "cpu").get("core_num")),
        memory=_amount(_part(info, "memory")),
        accelerator=_accelerator(card),
        max_nodes=_number(info.get("max_num")) or _number(document.get("max_num")) or 1,
        arch=str(_part(info, "cpu").get("arch") or ""),
        cards=_number(card.get("unit_num")),
        card=str(card.get("product_name") or ""),
        card_memory=str(card.get("memory") or ""),
        disk=_amount(_part(info, "disk")),
        billing_code=code,
        billing_units=_number(billing.get("unit_num")) or 1,
        is_free=identity.endswith(".free") or code.endswith(".free"),
        pool=str(document.get("pool_id") or ""),
        engines=_names(document.get("support_engines")),
        attributes=tuple((str(key), str(value)) for key, value in _part(document, "attributes").items()),
    )


def _amount(document: Document) -> str:
    return f"{document['size']} {document.get('unit') or ''}".strip() if document.get("size") else ""


def _names(value: object) -> tuple[str, ...]:
    """A list, which comes as the text of one."""
    try:
        found = json.loads(value) if isinstance(value, str) and value else value
    except (ValueError, RecursionError):
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


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


def event_of(document: Document) -> JobEvent | None:
    """None: it does not say when, or nothing."""
    try:
        at = datetime.fromisoformat(str(document.get("time"))).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    message = str(document.get("message") or "")
    return JobEvent(clamped(at), message) if message else None


def job_quota(documents: Sequence[Document]) -> JobQuota | None:
    for document in documents:
        used, most = _number(document.get("used")), _number(document.get("quota"))
        if document.get("resource") == "job-num" and used is not None and most is not None:
            return JobQuota(used, most)
    return None


def _output_places(document: Document) -> tuple[ObjectPath, ...]:
    """Where a job writes to; a place that is none of OBS is nobody's trouble here."""
    found = []
    for channel in _list(_part(document, "algorithm"), "outputs"):
        url = _part(_part(channel if isinstance(channel, Mapping) else {}, "remote"), "obs").get("obs_url")
        with suppress(AppError):
            found.append(ObjectPath.parse(str(url or "")).as_folder())
    return tuple(found)


def _accelerator(document: Document) -> str:
    cards = _number(document.get("unit_num"))
    if not cards:
        return ""
    words = f"{cards} × {document.get('product_name') or ''}".strip()
    return f"{words} {document['memory']}" if document.get("memory") else words


def _exit_message(status: Document) -> Text | str:
    """In the user's language as far as it is ours to say; what else the service says comes as it came."""
    many = len(_list(status, "tasks")) > 1
    for task in _list(status, "task_statuses"):
        if isinstance(task, Mapping) and (task.get("message") or task.get("exit_code")):
            said = _ended_with(_number(task.get("exit_code")), str(task.get("message") or ""))
            return Text("{task}: {words}", {"task": str(task.get("task") or "–"), "words": said}) if many else said
    return ""


def _ended_with(code: int | None, message: str) -> Text | str:
    if not code:
        return message
    exit_words = _EXIT_CODES.get(code, text("Exit code {code}")).with_fields(code=code)
    # “job failed: worker-0 ended with exit code 1” says nothing else.
    if not message or re.search(rf"exit(ed)?\b.{{0,20}}\b{code}\W*$", message, re.IGNORECASE):
        return exit_words
    return text("{exit}. The service says: {words}", exit=exit_words, words=message)


def _part(document: Document, name: str) -> Document:
    """A map inside a map; the service writes an absent one as null, "" or []."""
    part = document.get(name)
    return part if isinstance(part, Mapping) else {}


def _list(document: Document, name: str) -> list[Any]:
    found = document.get(name)
    return found if isinstance(found, list) else []


def _moment(value: object) -> datetime | None:
    milliseconds = _number(value)
    return moment_at(milliseconds / 1000) if milliseconds else None


def _number(value: object) -> int | None:
    """Numbers come as numbers or as text."""
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):  # as of infinity
        return None
