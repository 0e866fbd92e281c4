"""The operations on tags of training jobs."""

from typing import Any

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT
from traindeck.lab.training.api import routes
from traindeck.lab.training.api.routes import (
    DEFAULT_WORKSPACE,
    RefusedError,
    answer,
    body_of,
    list_in,
    read_page,
    whole_in,
)
from traindeck.lab.training.job_records import JobRecord
from traindeck.lab.training.job_tags import by_key, merged, read_tag_search, read_tags, without
from traindeck.lab.training.jobs import JobService

_MAX_LIMIT = 1000


def add_routes(app: web.Application, service: JobService) -> None:
    api = _Tags(service)
    base = "/v2/{project_id}/modelarts-training-job"
    routes.add(
        app,
        ("POST", base + "/{job_id}/tags/create", api.add),
        ("DELETE", base + "/{job_id}/tags/delete", api.remove),
        ("GET", base + "/{job_id}/tags", api.show),
        ("GET", base + "/tags", api.listed),
        ("POST", base + "/resource-instances/filter", api.jobs),
        ("POST", base + "/resource-instances/count", api.count),
    )


class _Tags:
    """The handlers."""

    def __init__(self, service: JobService) -> None:
        self._service = service

    async def add(self, request: web.Request) -> web.Response:
        tags = read_tags(_rows(await body_of(request)))
        await self._change(request, lambda old: merged(old, tags))
        return routes.nothing()

    async def remove(self, request: web.Request) -> web.Response:
        rows = _rows(await body_of(request))
        await self._change(request, lambda old: without(old, rows))
        return routes.nothing()

    async def show(self, request: web.Request) -> web.Response:
        job = await self._service.call(self._service.job, request[ACCOUNT], request.match_info["job_id"])
        return answer({"tags": job.document["metadata"].get("tags") or []})

    async def listed(self, request: web.Request) -> web.Response:
        limit = whole_in(request.query, "limit", _MAX_LIMIT, 1, _MAX_LIMIT)
        skip = whole_in(request.query, "offset", 0, 0, None)
        wanted = (["project_id = ?"], [request[ACCOUNT].project_id])
        tags = await self._service.call(self._service.records.tags, *wanted)
        return answer({"tags": by_key(tags)[skip : skip + limit]})

    async def jobs(self, request: web.Request) -> web.Response:
        page = read_page(request.query, ("create_time",), counts_pages=False, max_limit=_MAX_LIMIT)
        search = read_tag_search(await body_of(request), request[ACCOUNT].project_id)
        total, found = await self._service.call(lambda: self._service.found(*search, page.skip, page.limit))
        return answer({"resources": [_resource(job) for job in found], "total_count": total})

    async def count(self, request: web.Request) -> web.Response:
        search = read_tag_search(await body_of(request), request[ACCOUNT].project_id)
        total, _ = await self._service.call(lambda: self._service.found(*search, 0, 1))
        return answer({"total_count": total})

    async def _change(self, request: web.Request, change: Any) -> None:
        def changed(document: dict[str, Any]) -> None:
            document["metadata"]["tags"] = change(document["metadata"].get("tags") or [])

        await self._service.call(self._service.change_job, request[ACCOUNT], request.match_info["job_id"], changed)


def _rows(body: Any) -> list[Any]:
    rows = list_in(body, "tags")
    if not rows:
        raise RefusedError("0104", "there must be at least one tag")
    return rows


def _resource(job: JobRecord) -> dict[str, Any]:
    return {
        "resource_id": job.id,
        "resource_name": job.name,
        "resource_detail": {},
        "workspace_id": job.workspace_id or DEFAULT_WORKSPACE,
        "tags": job.document["metadata"].get("tags") or [],
    }
