"""Turns the body of a job search into SQL conditions, and refuses what the service would refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from traindeck.lab.training.api.routes import (
    DEFAULT_WORKSPACE,
    MAX_LIMIT,
    Page,
    RefusedError,
    checked_description,
    is_whole,
    list_in,
    object_in,
    text_in,
)
from traindeck.lab.training.database import Where, now_ms
from traindeck.lab.training.job_form import check_schedule_policy
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.job_tags import tag_conditions

_MAX_FILTERS = 20
_MAX_VALUES = 10
_MAX_HOSTS = 10
_MAX_SPAN = timedelta(days=31)

_FIELDS = {
    "id": "id",
    "name": "name",
    "kind": "json_extract(document, '$.kind')",
    "phase": "phase",
    "algorithm_id": "coalesce(json_extract(document, '$.algorithm.id'), '')",
    "algorithm_name": "coalesce(json_extract(document, '$.algorithm.name'), '')",
    "create_time": "create_time",
    "user_id": "user_id",
    "pool_id": "coalesce(json_extract(document, '$.spec.resource.pool_id'), '')",
    "training_experiment_id": "coalesce(json_extract(document, '$.metadata.training_experiment_reference.id'), '')",
    "runtime_type": "coalesce(json_extract(document, '$.spec.runtime_type'), '')",
    "priority": "CAST(coalesce(json_extract(document, '$.spec.schedule_policy.priority'), 1) AS TEXT)",
}


def read_search(body: Mapping[str, Any], project_id: str) -> tuple[Where, Page, dict[str, Any]]:
    """What is looked for, on which page, and what of the question stands in the answer."""
    number = _whole(body, "offset", 0, 0, None)
    limit = _whole(body, "limit", MAX_LIMIT, 1, MAX_LIMIT)
    if (body.get("sort_by") or "create_time") != "create_time":
        raise RefusedError("2790", "jobs can be sorted by create_time only")
    order = body.get("order") or "desc"
    if order not in ("asc", "desc"):
        raise RefusedError("2790", "order must be asc or desc")
    workspace_id = body.get("workspace_id") or DEFAULT_WORKSPACE
    if not isinstance(workspace_id, str):
        raise RefusedError("2809", "workspace_id must be a text")
    tags, host_ips = list_in(body, "tags"), list_in(body, "host_ips")
    where: Where = [("project_id = ?", [project_id]), ("workspace_id = ?", [workspace_id])]
    train_type = body.get("train_type") or "job"
    if train_type not in ("job", "ftjob"):
        raise RefusedError("2809", "train_type must be job or ftjob")
    if train_type != "job":
        where.append(("0", []))
    filters = body.get("filters") or []
    if not isinstance(filters, list) or len(filters) > _MAX_FILTERS:
        raise RefusedError("2809", f"filters must be a list of at most {_MAX_FILTERS}")
    for row in filters:
        where += _condition(row)
    if tags or host_ips:
        if not any(isinstance(row, Mapping) and row.get("key") == "create_time" for row in filters):
            where.append(("create_time >= ?", [now_ms() - _MAX_SPAN // timedelta(milliseconds=1)]))
        where += tag_conditions(tags)
    if host_ips:
        if len(host_ips) > _MAX_HOSTS or not all(_is_text(host) for host in host_ips):
            raise RefusedError("2809", f"host_ips must be a list of at most {_MAX_HOSTS} addresses")
        # Only the machines of dedicated pools have addresses of their own.
        where.append(("0", []))
    page = Page(number, limit, number * limit, newest_first=order == "desc")
    return where, page, {"group_by": str(body.get("group_by") or ""), "workspace_id": workspace_id}


def _condition(row: Any) -> Where:
    if not isinstance(row, Mapping):
        raise RefusedError("2809", "every filter must be an object")
    key, operator = row.get("key"), row.get("operator")
    field = _FIELDS.get(key) if isinstance(key, str) else None
    if field is None:
        raise RefusedError("2807", f"jobs cannot be searched by {key!r}")
    if operator not in ("like", "in", "not", "between"):
        raise RefusedError("2808", f"{operator!r} is not an operator of a search")
    given = row.get("value") or []
    if not isinstance(given, list) or len(given) > _MAX_VALUES or not all(_is_text(value) for value in given):
        raise RefusedError("2809", f"the value of the filter {key} must be a list of at most {_MAX_VALUES} texts")
    # Empty texts stand in documented requests and mean that nothing is asked for.
    wanted = [value for value in given if value]
    if not wanted:
        return []
    if operator == "between":
        return [(f"{field} BETWEEN ? AND ?", _span(key, wanted))]
    if key == "create_time":
        raise RefusedError("2808", "create_time takes the operator between only")
    if operator == "like":
        return [("(" + " OR ".join([f"instr({field}, ?) > 0"] * len(wanted)) + ")", wanted)]
    marks = ", ".join("?" * len(wanted))
    return [(f"{field} {'NOT IN' if operator == 'not' else 'IN'} ({marks})", wanted)]


def _span(key: Any, wanted: list[str]) -> list[Any]:
    if key != "create_time":
        raise RefusedError("2808", f"{key} does not take the operator between")
    try:
        first, last = (datetime.fromisoformat(value) for value in wanted)
    except ValueError as error:
        raise RefusedError("2809", "create_time takes two times like 2025-11-18T16:00:00+08:00") from error
    if first.tzinfo is None or last.tzinfo is None or not timedelta(0) <= last - first <= _MAX_SPAN:
        raise RefusedError("2809", "create_time takes two times with offset, at most 31 days apart")
    return [int(first.timestamp() * 1000), int(last.timestamp() * 1000)]


def _whole(body: Mapping[str, Any], key: str, default: int, low: int, high: int | None) -> int:
    value = body.get(key)
    if value is None:
        return default
    if not is_whole(value) or value < low or (high is not None and value > high):
        raise RefusedError("2789", f"{key} must be a whole number from {low}" + (f" to {high}" if high else ""))
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


_CHANGEABLE = {
    "": ("description", "metadata", "spec", "endpoints"),
    "metadata": ("annotation", "annotations"),
    "spec": ("schedule_policy", "notification"),
    "endpoints": ("ssh",),
}


def read_changes(body: Mapping[str, Any]) -> tuple[Callable[[JobRecord], None], int | None]:
    """What changes a job, raising where its phase does not allow it any more; and the new priority, if there is one."""
    for place, allowed in _CHANGEABLE.items():
        given = object_in(body, place) if place else body
        unknown = sorted(key for key, value in given.items() if key not in allowed and value is not None)
        if unknown:
            raise RefusedError("0104", f"{', '.join(unknown)} of a job cannot be changed")
    metadata, spec = object_in(body, "metadata"), object_in(body, "spec")
    # The service calls it `annotation` in this operation alone.
    annotations = {**object_in(metadata, "annotations"), **object_in(metadata, "annotation")}
    for key in annotations:
        text_in(annotations, key)
    ssh = object_in(object_in(body, "endpoints"), "ssh")
    description = checked_description(body.get("description"))
    policy = {key: value for key, value in object_in(spec, "schedule_policy").items() if value is not None}
    check_schedule_policy(policy)
    notification = object_in(spec, "notification")
    key_pair_names = list_in(ssh, "key_pair_names")

    def change(job: JobRecord) -> None:
        document = job.document
        if body.get("description") is not None:
            document["metadata"]["description"] = description
        document["metadata"]["annotations"].update(annotations)
        if policy:
            if job.phase not in ("Creating", "Pending"):
                message = f"the training job {job.name} is {job.phase}: it does not wait for resources any more"
                raise RefusedError("2878", message, status=409)
            document["spec"]["schedule_policy"] = {**(document["spec"].get("schedule_policy") or {}), **policy}
        if spec.get("notification") is not None:
            document["spec"]["notification"] = dict(notification)
        if ssh:
            document["endpoints"]["ssh"] = {"key_pair_names": key_pair_names}

    return change, policy.get("priority")
