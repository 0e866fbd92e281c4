"""The ModelArts wire: the operations on training jobs, and all others of the training service with them."""

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT
from traindeck.lab.training.api import algorithm_api, experiment_api, offer_api, routes, tag_api
from traindeck.lab.training.api.routes import (
    RefusedError,
    answer,
    body_of,
    checked_name,
    checked_workspace,
    list_in,
    object_in,
)
from traindeck.lab.training.job_document import with_status
from traindeck.lab.training.job_history import read_event_query, stage_table
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.job_search import read_changes, read_search
from traindeck.lab.training.jobs import JobService
from traindeck.lab.training.running.job_log import read_line_query

_LINK_LIFE_S = 300
_MAX_BATCH = 100
_METRICS = ("cpuUsage", "memUsage", "npuUtil", "npuMemUsage", "gpuUtil", "gpuMemUsage")
_NO_DATA = -1


def add_routes(app: web.Application, service: JobService) -> None:
    api = _Jobs(service)
    jobs = "/v2/{project_id}/training-jobs"
    job = jobs + "/{job_id}"
    task = job + "/tasks/{task}"
    routes.add(
        app,
        ("POST", jobs, api.create),
        ("POST", jobs + "/batch-delete", api.delete_many),
        ("GET", job, api.show),
        ("DELETE", job, api.delete),
        ("PUT", job, api.update),
        ("POST", job + "/actions", api.act),
        ("POST", "/v2/{project_id}/training-job-searches", api.search),
        ("GET", "/v2/{project_id}/training-job-names", api.check_name),
        ("GET", job + "/tasks", api.tasks),
        ("GET", task + "/logs/preview", api.log_preview),
        ("GET", task + "/logs/url", api.log_link),
        ("GET", job + "/logs/{task}", api.log_lines),
        ("GET", job + "/metrics/{task}", api.metrics),
        ("GET", job + "/events", api.events),
        ("GET", job + "/stages", api.stages),
    )
    for other in (experiment_api, algorithm_api, tag_api, offer_api):
        other.add_routes(app, service)


class _Jobs:
    """The handlers."""

    def __init__(self, service: JobService) -> None:
        self._service = service

    async def create(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        job = await self._service.call(self._service.create, request[ACCOUNT], body)
        return answer(with_status(job), HTTPStatus.CREATED)

    async def show(self, request: web.Request) -> web.Response:
        return answer(with_status(await self._job(request)))

    async def delete(self, request: web.Request) -> web.Response:
        await self._service.call(self._service.delete_job, request[ACCOUNT], request.match_info["job_id"])
        return answer("", HTTPStatus.ACCEPTED)

    async def delete_many(self, request: web.Request) -> web.Response:
        rows = list_in(await body_of(request), "jobs")
        if not 1 <= len(rows) <= _MAX_BATCH:
            raise RefusedError("0104", f"jobs must be a list of 1 to {_MAX_BATCH}")
        # All are looked up first, so that an unknown one keeps the others.
        jobs = [await self._service.call(self._service.job, request[ACCOUNT], _id_in(row)) for row in rows]
        for job in jobs:
            await self._service.call(self._service.delete_job, request[ACCOUNT], job.id)
        return answer({}, HTTPStatus.ACCEPTED)

    async def update(self, request: web.Request) -> web.Response:
        changes = read_changes(await body_of(request))
        await self._service.call(self._service.update_job, request[ACCOUNT], request.match_info["job_id"], changes)
        return routes.nothing(HTTPStatus.OK)

    async def act(self, request: web.Request) -> web.Response:
        action = (await body_of(request)).get("action_type")
        if action != "terminate":
            await self._job(request)
            raise RefusedError("2812", f"{action!r} is not an action of a training job")
        job_id = request.match_info["job_id"]
        job = await self._service.call(self._service.stop_job, request[ACCOUNT], job_id)
        return answer(with_status(job), HTTPStatus.ACCEPTED)

    async def search(self, request: web.Request) -> web.Response:
        wanted = read_search(await body_of(request), request[ACCOUNT].project_id)
        total, jobs = await self._service.call(self._service.search, wanted)
        return answer(
            {
                "total": total,
                "count": len(jobs),
                "limit": wanted.limit,
                "offset": wanted.page,
                "sort_by": "create_time",
                "order": "desc" if wanted.newest_first else "asc",
                "group_by": wanted.group_by,
                "workspace_id": wanted.workspace_id,
                "ai_project": "default-ai-project",
                "items": [with_status(job) for job in jobs],
            }
        )

    async def check_name(self, request: web.Request) -> web.Response:
        name = checked_name(request.query.get("job_name"), "the job name")
        wanted = (request[ACCOUNT].project_id, checked_workspace(request.query.get("workspace_id")), name)
        return answer({"is_duplicate": await self._service.call(self._service.records.is_taken, *wanted)})

    async def tasks(self, request: web.Request) -> web.Response:
        job = await self._job(request)
        addresses = self._service.addresses(job)
        rows = [{"task": task, "ip": ip, "schedule_count": 1} for task, ip in zip(job.tasks, addresses, strict=True)]
        return answer(rows if request.query.get("schedule_count", "1") in ("", "1") else [])

    async def log_preview(self, request: web.Request) -> web.Response:
        job, task = await self._task(request)
        tail = await self._service.call(self._service.log_tail, job, task)
        if tail is None:
            return routes.nothing()
        sizes = {"current_size": tail.current_size, "full_size": tail.full_size}
        return answer({"content": tail.content, **sizes})

    async def log_link(self, request: web.Request) -> web.Response:
        job, task = await self._task(request)
        expires = int(time.time()) + _LINK_LIFE_S
        link = await self._service.call(self._service.log_link, job, task, expires)
        return answer({"obs_url": link})

    async def log_lines(self, request: web.Request) -> web.Response:
        job, task = await self._task(request)
        wanted = read_line_query(request.query)
        page = await self._service.call(self._service.log_lines, job, task, wanted)
        if page is None:
            return routes.nothing()
        ends = {"start_line": page.start_line, "end_line": page.end_line}
        return answer({**ends, "lines": page.lines, "content": page.content})

    async def metrics(self, request: web.Request) -> web.Response:
        job, task = await self._task(request)
        rows = await self._service.call(self._service.records.metrics, job.id, task)
        if not rows:
            return routes.nothing()
        measured = {"cpuUsage": [cpu for cpu, _ in rows], "memUsage": [memory for _, memory in rows]}
        unknown = [_NO_DATA] * len(rows)
        return answer({"metrics": [{"metric": name, "value": measured.get(name, unknown)} for name in _METRICS]})

    async def events(self, request: web.Request) -> web.Response:
        job = await self._job(request)
        query = read_event_query(request.query, request.headers.get("X-Language"))
        rows = await self._service.call(self._service.records.events, job.id)
        return answer(query.answer(rows, job))

    async def stages(self, request: web.Request) -> web.Response:
        job = await self._job(request)
        return answer(stage_table(job, await self._service.call(self._service.records.stages, job.id)))

    async def _job(self, request: web.Request) -> JobRecord:
        return await self._service.call(self._service.job, request[ACCOUNT], request.match_info["job_id"])

    async def _task(self, request: web.Request) -> tuple[JobRecord, str]:
        job, task = await self._job(request), request.match_info["task"]
        if task not in job.tasks:
            raise RefusedError("2820", f"the training job {job.name} has no task {task}")
        return job, task


def _id_in(row: Any) -> str:
    metadata: Mapping[str, Any] = object_in(row, "metadata") if isinstance(row, Mapping) else {}
    job_id = metadata.get("id")
    if not isinstance(job_id, str):
        raise RefusedError("0104", "every job must have a metadata.id")
    return job_id
