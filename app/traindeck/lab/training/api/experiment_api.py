"""The operations on training experiments."""

from http import HTTPStatus

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT
from traindeck.lab.training.api import routes
from traindeck.lab.training.api.routes import answer, body_of, checked_workspace, read_page
from traindeck.lab.training.experiments import SORT_FIELDS, Experiment
from traindeck.lab.training.jobs import JobService


def add_routes(app: web.Application, service: JobService) -> None:
    api = _Experiments(service)
    one = "/v2/{project_id}/training-experiments/{experiment_id}"
    routes.add(
        app,
        ("POST", "/v2/{project_id}/training-experiments", api.create),
        ("GET", "/v2/{project_id}/training-experiments", api.listed),
        ("GET", one, api.show),
        ("PUT", one, api.change),
        ("DELETE", one, api.delete),
        ("GET", "/v2/{project_id}/training-experiment-names", api.check_name),
    )


class _Experiments:
    """The handlers."""

    def __init__(self, service: JobService) -> None:
        self._service = service

    async def create(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        made = await self._service.call(self._service.experiments.create, request[ACCOUNT].project_id, body)
        return await self._answer(made, HTTPStatus.CREATED)

    async def listed(self, request: web.Request) -> web.Response:
        page = read_page(request.query, SORT_FIELDS, counts_pages=True)
        wanted = (request[ACCOUNT].project_id, checked_workspace(request.query.get("workspace_id")), page)
        total, found = await self._service.call(self._service.experiments.listed, *wanted)
        items = [await self._service.call(self._service.experiments.answer, experiment) for experiment in found]
        return routes.page_answer(page, total, items)

    async def show(self, request: web.Request) -> web.Response:
        return await self._answer(await self._service.call(self._service.experiments.experiment, *_wanted(request)))

    async def change(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        return await self._answer(await self._service.call(self._service.experiments.change, *_wanted(request), body))

    async def delete(self, request: web.Request) -> web.Response:
        await self._service.call(self._service.experiments.delete, *_wanted(request))
        return answer({})

    async def check_name(self, request: web.Request) -> web.Response:
        workspace_id = checked_workspace(request.query.get("workspace_id"))
        wanted = (request[ACCOUNT].project_id, workspace_id, request.query.get("experiment_name"))
        return answer({"is_duplicate": await self._service.call(self._service.experiments.is_taken, *wanted)})

    async def _answer(self, experiment: Experiment, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
        return answer(await self._service.call(self._service.experiments.answer, experiment), status)


def _wanted(request: web.Request) -> tuple[str, str]:
    return request[ACCOUNT].project_id, request.match_info["experiment_id"]
