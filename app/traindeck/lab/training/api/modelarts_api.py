"""The ModelArts wire: the operations on training jobs, and all others of the training service with them."""

from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from aiohttp import web

from traindeck.lab.training.api import collection_api, offer_api, routes
from traindeck.lab.training.api.routes import Call, RefusedError, Route, checked_name, list_in, object_in
from traindeck.lab.training.job_document import with_status
from traindeck.lab.training.job_history import event_table, stage_table
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.job_search import read_changes, read_search
from traindeck.lab.training.jobs import JobService
from traindeck.lab.training.running.job_log import page_of, tail

_MAX_BATCH = 100
_METRICS = ("cpuUsage", "memUsage", "npuUtil", "npuMemUsage", "gpuUtil", "gpuMemUsage")
_NO_DATA = -1


def add_routes(app: web.Application, lab: JobService) -> None:
    routes.add(app, lab, (*_ROUTES, *collection_api.ROUTES, *offer_api.ROUTES))


def _job(call: Call) -> JobRecord:
    return call.lab.records.one(*call.ids)


def _task(call: Call) -> tuple[JobRecord, str]:
    job, task = _job(call), call.path["task"]
    if task not in job.tasks:
        raise RefusedError("2820", f"the training job {job.name} has no task {task}")
    return job, task


def _delete_many(call: Call) -> dict[str, Any]:
    rows = list_in(call.body, "jobs")
    if not 1 <= len(rows) <= _MAX_BATCH:
        raise RefusedError("0104", f"jobs must be a list of 1 to {_MAX_BATCH}")
    # All are looked up first, so that an unknown one keeps the others.
    jobs = [call.lab.records.one(call.project_id, _id_in(row)) for row in rows]
    for job in jobs:
        call.lab.delete_job(call.project_id, job.id)
    return {}


def _id_in(row: Any) -> str:
    metadata: Mapping[str, Any] = object_in(row, "metadata") if isinstance(row, Mapping) else {}
    job_id = metadata.get("id")
    if not isinstance(job_id, str):
        raise RefusedError("0104", "every job must have a metadata.id")
    return job_id


def _act(call: Call) -> dict[str, Any]:
    action = call.body.get("action_type")
    if action != "terminate":
        _job(call)
        raise RefusedError("2812", f"{action!r} is not an action of a training job")
    return with_status(call.lab.stop_job(*call.ids))


def _search(call: Call) -> dict[str, Any]:
    where, page, asked = read_search(call.body, call.project_id)
    total, jobs = call.lab.records.search(where, page, f"create_time {page.order}, id")
    items = [with_status(job) for job in jobs]
    return routes.page_answer(page, total, items, **asked, ai_project="default-ai-project")


def _check_name(call: Call) -> dict[str, Any]:
    name = checked_name(call.query.get("job_name"), "the job name")
    return {"is_duplicate": call.lab.records.named(call.project_id, call.workspace_id, name) is not None}


def _tasks(call: Call) -> list[dict[str, Any]]:
    job = _job(call)
    addresses = call.lab.sandbox(job.id).addresses(len(job.tasks))
    rows = [{"task": task, "ip": ip, "schedule_count": 1} for task, ip in zip(job.tasks, addresses, strict=True)]
    return rows if call.query.get("schedule_count", "1") in ("", "1") else []


def _log_preview(call: Call) -> dict[str, Any] | None:
    job, task = _task(call)
    found = tail(call.lab.log(job, task), is_growing=job.is_live, max_bytes=call.lab.timing.max_log_bytes)
    return None if found is None else asdict(found)


def _log_lines(call: Call) -> dict[str, Any] | None:
    return page_of(call.lab.log(*_task(call)), call.query)


def _metrics(call: Call) -> dict[str, Any] | None:
    job, task = _task(call)
    rows = call.lab.records.metrics(job.id, task)
    if not rows:
        return None
    measured = {"cpuUsage": [cpu for cpu, _ in rows], "memUsage": [memory for _, memory in rows]}
    unknown = [_NO_DATA] * len(rows)
    return {"metrics": [{"metric": name, "value": measured.get(name, unknown)} for name in _METRICS]}


def _events(call: Call) -> dict[str, Any]:
    job = _job(call)
    return event_table(job, call.lab.records.events(job.id), call.query, call.language)


def _stages(call: Call) -> dict[str, Any]:
    job = _job(call)
    return stage_table(job, call.lab.records.stages(job.id))


_JOBS = "/v2/{project_id}/training-jobs"
_ONE = _JOBS + "/{job_id}"
_OF_TASK = _ONE + "/tasks/{task}"
_ROUTES = (
    Route("POST", _JOBS, lambda call: with_status(call.lab.create(call.account, call.body)), HTTPStatus.CREATED),
    Route("POST", _JOBS + "/batch-delete", _delete_many, HTTPStatus.ACCEPTED),
    Route("GET", _ONE, lambda call: with_status(_job(call))),
    Route("DELETE", _ONE, lambda call: call.lab.delete_job(*call.ids), HTTPStatus.ACCEPTED, ""),
    Route("PUT", _ONE, lambda call: call.lab.change_job(*call.ids, *read_changes(call.body)), HTTPStatus.OK),
    Route("POST", _ONE + "/actions", _act, HTTPStatus.ACCEPTED),
    Route("POST", "/v2/{project_id}/training-job-searches", _search),
    Route("GET", "/v2/{project_id}/training-job-names", _check_name),
    Route("GET", _ONE + "/tasks", _tasks),
    Route("GET", _OF_TASK + "/logs/preview", _log_preview),
    Route("GET", _OF_TASK + "/logs/url", lambda call: {"obs_url": call.lab.log_link(*_task(call))}),
    Route("GET", _ONE + "/logs/{task}", _log_lines),
    Route("GET", _ONE + "/metrics/{task}", _metrics),
    Route("GET", _ONE + "/events", _events),
    Route("GET", _ONE + "/stages", _stages),
)
