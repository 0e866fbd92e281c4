"""The ModelArts wire: paths, bodies and statuses of the training service."""

import functools
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT, GatewayError
from traindeck.lab.training.catalogue import FLAVOR_TYPES
from traindeck.lab.training.job_document import with_status
from traindeck.lab.training.job_form import DEFAULT_WORKSPACE, RefusedError, job_name
from traindeck.lab.training.job_history import read_event_query, stage_table
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.job_search import read_search
from traindeck.lab.training.jobs import JOB_QUOTA, JobService

_LINK_LIFE_S = 300
_METRICS = ("cpuUsage", "memUsage", "npuUtil", "npuMemUsage", "gpuUtil", "gpuMemUsage")
_NO_DATA = -1

Handler = Callable[[web.Request], Awaitable[web.Response]]


def add_routes(app: web.Application, service: JobService) -> None:
    api = _ModelArts(service)
    jobs = "/v2/{project_id}/training-jobs"
    job = jobs + "/{job_id}"
    task = job + "/tasks/{task}"
    for method, path, handler in (
        ("POST", jobs, api.create),
        ("GET", job, api.show),
        ("DELETE", job, api.delete),
        ("PUT", job, api.update),
        ("POST", job + "/actions", api.act),
        ("POST", "/v2/{project_id}/training-job-searches", api.search),
        ("GET", "/v2/{project_id}/training-job-names", api.check_name),
        ("GET", job + "/tasks", api.tasks),
        ("GET", task + "/logs/preview", api.log_preview),
        ("GET", task + "/logs/url", api.log_link),
        ("GET", job + "/metrics/{task}", api.metrics),
        ("GET", job + "/events", api.events),
        ("GET", job + "/stages", api.stages),
        ("GET", "/v2/{project_id}/training-job-engines", api.engines),
        ("GET", "/v2/{project_id}/training-job-flavors", api.flavors),
        ("GET", "/v2/{project_id}/training-quotas", api.quotas),
        ("GET", "/v1/{project_id}/workspaces", api.workspaces),
    ):
        app.router.add_route(method, path, _guarded(handler))


def _guarded(handler: Handler) -> Handler:
    """Lets in only the account the project belongs to, and gives refusals their form."""

    @functools.wraps(handler)
    async def guarded(request: web.Request) -> web.Response:
        if request.match_info["project_id"] != request[ACCOUNT].project_id:
            message = "The project in the address does not belong to the account that signed."
            raise GatewayError(403, "ModelArts.0210", message)
        try:
            return await handler(request)
        except RefusedError as refused:
            raise GatewayError(refused.status, refused.code, refused.message) from refused

    return guarded


class _ModelArts:
    """The handlers of the training service."""

    def __init__(self, service: JobService) -> None:
        self._service = service

    async def create(self, request: web.Request) -> web.Response:
        body = await _body(request)
        job = await self._service.call(self._service.create, request[ACCOUNT], body)
        return _answer(with_status(job), HTTPStatus.CREATED)

    async def show(self, request: web.Request) -> web.Response:
        return _answer(with_status(await self._job(request)))

    async def delete(self, request: web.Request) -> web.Response:
        await self._service.call(self._service.delete_job, request[ACCOUNT], request.match_info["job_id"])
        return _answer("", HTTPStatus.ACCEPTED)

    async def update(self, request: web.Request) -> web.Response:
        body = await _body(request)
        unknown = sorted(key for key, value in body.items() if key != "description" and value is not None)
        if unknown:
            raise RefusedError("0104", f"the Lab changes the description of a job only, not {', '.join(unknown)}")
        if body.get("description") is not None:
            arguments = (request[ACCOUNT], request.match_info["job_id"], body["description"])
            await self._service.call(self._service.describe_job, *arguments)
        else:
            await self._job(request)
        return _answer({})

    async def act(self, request: web.Request) -> web.Response:
        action = (await _body(request)).get("action_type")
        if action != "terminate":
            await self._job(request)
            raise RefusedError("2812", f"{action!r} is not an action of a training job")
        job_id = request.match_info["job_id"]
        job = await self._service.call(self._service.stop_job, request[ACCOUNT], job_id)
        return _answer(with_status(job), HTTPStatus.ACCEPTED)

    async def search(self, request: web.Request) -> web.Response:
        wanted = read_search(await _body(request), request[ACCOUNT].project_id)
        total, jobs = await self._service.call(self._service.search, wanted)
        return _answer(
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
        name = job_name(request.query.get("job_name"))
        workspace_id = request.query.get("workspace_id") or DEFAULT_WORKSPACE
        wanted = (request[ACCOUNT].project_id, workspace_id, name)
        return _answer({"is_duplicate": await self._service.call(self._service.records.is_taken, *wanted)})

    async def tasks(self, request: web.Request) -> web.Response:
        job = await self._job(request)
        rows = [{"task": task, "ip": "127.0.0.1", "schedule_count": 1} for task in job.tasks]
        return _answer(rows if request.query.get("schedule_count", "1") in ("", "1") else [])

    async def log_preview(self, request: web.Request) -> web.Response:
        job, task = await self._task(request)
        tail = await self._service.call(self._service.log_tail, job, task)
        if tail is None:
            return web.Response(status=HTTPStatus.NO_CONTENT)
        sizes = {"current_size": tail.current_size, "full_size": tail.full_size}
        return _answer({"content": tail.content, **sizes})

    async def log_link(self, request: web.Request) -> web.Response:
        job, task = await self._task(request)
        expires = int(time.time()) + _LINK_LIFE_S
        link = await self._service.call(self._service.log_link, job, task, expires)
        return _answer({"obs_url": link})

    async def metrics(self, request: web.Request) -> web.Response:
        job, task = await self._task(request)
        rows = await self._service.call(self._service.records.metrics, job.id, task)
        if not rows:
            return web.Response(status=HTTPStatus.NO_CONTENT)
        measured = {"cpuUsage": [cpu for cpu, _ in rows], "memUsage": [memory for _, memory in rows]}
        nothing = [_NO_DATA] * len(rows)
        return _answer({"metrics": [{"metric": name, "value": measured.get(name, nothing)} for name in _METRICS]})

    async def events(self, request: web.Request) -> web.Response:
        job = await self._job(request)
        query = read_event_query(request.query, request.headers.get("X-Language"))
        rows = await self._service.call(self._service.records.events, job.id)
        return _answer(query.answer(rows, job))

    async def stages(self, request: web.Request) -> web.Response:
        job = await self._job(request)
        return _answer(stage_table(job, await self._service.call(self._service.records.stages, job.id)))

    async def engines(self, request: web.Request) -> web.Response:
        rows = [engine.entry() for engine in self._service.catalogue.engines]
        return _answer({"total": len(rows), "items": rows})

    async def flavors(self, request: web.Request) -> web.Response:
        wanted = request.query.get("flavor_type") or ""
        if wanted and wanted not in FLAVOR_TYPES:
            raise RefusedError("0104", f"flavor_type must be one of {', '.join(FLAVOR_TYPES)}")
        rows = [flavor.entry() for flavor in self._service.catalogue.flavors if wanted in ("", flavor.type)]
        return _answer({"total_count": len(rows), "flavors": rows})

    async def quotas(self, request: web.Request) -> web.Response:
        used = await self._service.call(self._service.records.count, request[ACCOUNT].project_id)
        row = {"resource": "job-num", "quota": JOB_QUOTA, "used": used}
        return _answer({"quotas": [row] if request.query.get("resource") in (None, "", "job-num") else []})

    async def workspaces(self, request: web.Request) -> web.Response:
        row = {
            "id": DEFAULT_WORKSPACE,
            "name": "default",
            "description": "",
            "owner": request[ACCOUNT].user_name,
            "enterprise_project_id": "0",
            "status": "NORMAL",
            "status_info": "",
            "auth_type": "PUBLIC",
        }
        return _answer({"workspaces": [row], "total_count": 1, "count": 1})

    async def _job(self, request: web.Request) -> JobRecord:
        return await self._service.call(self._service.job, request[ACCOUNT], request.match_info["job_id"])

    async def _task(self, request: web.Request) -> tuple[JobRecord, str]:
        job, task = await self._job(request), request.match_info["task"]
        if task not in job.tasks:
            raise RefusedError("2820", f"the training job {job.name} has no task {task}")
        return job, task


async def _body(request: web.Request) -> Mapping[str, Any]:
    try:
        body = json.loads(await request.read(), parse_constant=_no_constant)
    except ValueError as error:
        raise RefusedError("2787", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise RefusedError("2787", "the body must be a JSON object")
    return body


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _answer(content: object, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    body = json.dumps(content, allow_nan=False).encode("ascii")
    return web.Response(status=status, body=body, content_type="application/json")
