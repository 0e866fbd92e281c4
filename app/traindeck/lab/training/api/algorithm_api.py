"""The operations on algorithms."""

from http import HTTPStatus

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT
from traindeck.lab.training.algorithms import SORT_FIELDS
from traindeck.lab.training.api import routes
from traindeck.lab.training.api.routes import answer, body_of, checked_workspace, read_page
from traindeck.lab.training.jobs import JobService


def add_routes(app: web.Application, service: JobService) -> None:
    api = _Algorithms(service)
    one = "/v2/{project_id}/algorithms/{algorithm_id}"
    routes.add(
        app,
        ("POST", "/v2/{project_id}/algorithms", api.create),
        ("GET", "/v2/{project_id}/algorithms", api.listed),
        ("GET", one, api.show),
        ("PUT", one, api.change),
        ("DELETE", one, api.delete),
    )


class _Algorithms:
    """The handlers."""

    def __init__(self, service: JobService) -> None:
        self._service = service

    async def create(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        made = await self._service.call(self._service.algorithms.create, request[ACCOUNT], body)
        return answer(made.document, HTTPStatus.CREATED)

    async def listed(self, request: web.Request) -> web.Response:
        # Unlike jobs and experiments, algorithms are skipped one by one.
        page = read_page(request.query, SORT_FIELDS, counts_pages=False)
        workspace_id = checked_workspace(request.query.get("workspace_id"))
        wanted = (request[ACCOUNT].project_id, workspace_id, request.query.get("searches") or "", page)
        total, found = await self._service.call(self._service.algorithms.listed, *wanted)
        return routes.page_answer(page, total, [algorithm.document for algorithm in found])

    async def show(self, request: web.Request) -> web.Response:
        found = await self._service.call(self._service.algorithms.algorithm, *_wanted(request))
        return answer(found.document)

    async def change(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        changed = await self._service.call(self._service.algorithms.change, *_wanted(request), body)
        return answer(changed.document)

    async def delete(self, request: web.Request) -> web.Response:
        await self._service.call(self._service.algorithms.delete, *_wanted(request))
        return answer("", HTTPStatus.ACCEPTED)


def _wanted(request: web.Request) -> tuple[str, str]:
    return request[ACCOUNT].project_id, request.match_info["algorithm_id"]
