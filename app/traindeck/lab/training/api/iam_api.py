"""The part of IAM that clients ask before they train: projects and domains of the account that signs."""

import json
from typing import Any

from aiohttp import web

from traindeck.lab.accounts import LabAccount
from traindeck.lab.gateway import ACCOUNT


def add_routes(app: web.Application) -> None:
    app.router.add_get("/v3/projects", _projects)
    app.router.add_get("/v3/auth/projects", _projects)
    app.router.add_get("/v3/auth/domains", _domains)


async def _projects(request: web.Request) -> web.Response:
    account = request[ACCOUNT]
    name = request.query.get("name")
    projects = [_project(account)] if name is None or name == account.region else []
    return _answer({"projects": projects, "links": {}})


async def _domains(request: web.Request) -> web.Response:
    account = request[ACCOUNT]
    domain = {"id": account.domain_id, "name": account.name, "enabled": True, "description": "", "links": {}}
    return _answer({"domains": [domain], "links": {}})


def _project(account: LabAccount) -> dict[str, Any]:
    return {
        "id": account.project_id,
        "name": account.region,
        "domain_id": account.domain_id,
        "parent_id": account.domain_id,
        "enabled": True,
        "is_domain": False,
        "description": "",
        "links": {},
    }


def _answer(content: object) -> web.Response:
    return web.Response(body=json.dumps(content).encode("ascii"), content_type="application/json")
