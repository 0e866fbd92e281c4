"""What the service has to offer and to whom: engines, flavors, pools, quotas, workspaces, authorisations."""

from typing import Any

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT
from traindeck.lab.training.api import routes
from traindeck.lab.training.api.routes import (
    DEFAULT_WORKSPACE,
    RefusedError,
    answer,
    body_of,
    is_whole,
    list_in,
)
from traindeck.lab.training.catalogue import FLAVOR_TYPES
from traindeck.lab.training.jobs import JOBS, JobService

_CATEGORIES = {
    "JobStarted": "The training job has started.",
    "JobCompleted": "The training job has completed.",
    "JobFailed": "The training job has failed.",
    "JobTerminated": "The training job was terminated.",
    "JobRestarted": "The training job was restarted.",
    "JobHanged": "The training job seems to hang.",
    "JobPreempted": "The training job lost its resources to another one.",
}


def add_routes(app: web.Application, service: JobService) -> None:
    api = _Offers(service)
    base = "/v2/{project_id}"
    routes.add(
        app,
        ("GET", base + "/training-job-engines", api.engines),
        ("GET", base + "/training-job-flavors", api.flavors),
        ("GET", base + "/training-pool-flavors", api.pool_flavor),
        ("GET", base + "/training-event-categories", api.event_categories),
        ("GET", base + "/training-quotas", api.quotas),
        ("PUT", base + "/training-quotas", api.change_quotas),
        ("GET", base + "/pools", api.pools),
        ("GET", base + "/authorizations", api.authorizations),
        ("GET", "/v1/auth-mode", api.auth_mode),
        ("GET", "/v1/{project_id}/workspaces", api.workspaces),
    )


class _Offers:
    """The handlers."""

    def __init__(self, service: JobService) -> None:
        self._service = service

    async def engines(self, request: web.Request) -> web.Response:
        rows = [engine.entry() for engine in self._service.catalogue.engines]
        return answer({"total": len(rows), "items": rows})

    async def flavors(self, request: web.Request) -> web.Response:
        wanted = _flavor_type(request)
        rows = [flavor.entry() for flavor in self._service.catalogue.flavors if wanted in ("", flavor.type)]
        return answer({"total_count": len(rows), "flavors": rows})

    async def pool_flavor(self, request: web.Request) -> web.Response:
        pool_id = request.query.get("pool_id") or ""
        raise RefusedError("2890", f"the resource pool {pool_id or '(none)'} does not exist", status=404)

    async def event_categories(self, request: web.Request) -> web.Response:
        _flavor_type(request)
        rows = [
            {"id": name, "name": name, "description": text, "notification": True} for name, text in _CATEGORIES.items()
        ]
        return answer({"event-categories": rows})

    async def quotas(self, request: web.Request) -> web.Response:
        wanted = request.query.get("resource") or JOBS
        if wanted != JOBS:
            return answer({"quotas": []})
        return answer({"quotas": [await self._quota(request)]})

    async def change_quotas(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        account = request[ACCOUNT]
        for row in list_in(body, "quotas"):
            if not isinstance(row, dict) or row.get("resource") != JOBS:
                raise RefusedError("0104", f"the Lab has a quota of {JOBS} only")
            if not is_whole(row.get("quota")) or row["quota"] < 0:
                raise RefusedError("2816", "a quota must be a whole number from 0")
            await self._service.call(self._service.records.set_quota, account.project_id, row["quota"])
        return answer({"user_id": body.get("user_id") or account.user_id, "quotas": [await self._quota(request)]})

    async def pools(self, request: web.Request) -> web.Response:
        return answer({"apiVersion": "v2", "kind": "PoolList", "items": []})

    async def authorizations(self, request: web.Request) -> web.Response:
        account = request[ACCOUNT]
        row = {
            "user_id": account.user_id,
            "user_name": account.user_name,
            "type": "agency",
            "content": "modelarts_agency",
            "user_type": "",
            "create_time": 0,
        }
        return answer({"total_count": 1, "auth": [row]})

    async def auth_mode(self, request: web.Request) -> web.Response:
        return answer({"domain_id": request[ACCOUNT].domain_id, "mode": "default"})

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
        return answer({"workspaces": [row], "total_count": 1, "count": 1})

    async def _quota(self, request: web.Request) -> dict[str, Any]:
        project_id = request[ACCOUNT].project_id
        used = await self._service.call(self._service.records.count, project_id)
        return {"resource": JOBS, "quota": await self._service.call(self._service.quota, project_id), "used": used}


def _flavor_type(request: web.Request) -> str:
    wanted = request.query.get("flavor_type") or ""
    if wanted and wanted not in FLAVOR_TYPES:
        raise RefusedError("0104", f"flavor_type must be one of {', '.join(FLAVOR_TYPES)}")
    return wanted
