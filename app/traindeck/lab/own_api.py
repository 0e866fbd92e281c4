"""What the Lab says about itself to anybody, and how it is ended by whoever may read its root."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping

from aiohttp import web

import traindeck
from traindeck.lab.gateway import OPEN_PREFIX, GatewayError
from traindeck.lab.life import Life
from traindeck.lab.root_folder import TOKEN_HEADER

_SHOWN = ("instance", "pid", "started")


def add_routes(
    app: web.Application, facts: Mapping[str, object], live_jobs: Callable[[], int], life: Life
) -> None:
    """`facts` is what running.json holds; its token opens the way to the end."""

    async def status(request: web.Request) -> web.Response:
        shown = {name: facts[name] for name in _SHOWN}
        whose = {"owner": life.owner, "ends_itself": life.ends_itself}
        return web.json_response({**shown, "version": traindeck.__version__, "live_jobs": live_jobs(), **whose})

    async def stop(request: web.Request) -> web.Response:
        token = request.headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), str(facts["token"]).encode("ascii")):
            raise GatewayError(403, "ModelArts.0108", "This needs the token that stands in running.json of the Lab.")
        life.end()
        return web.json_response({})

    app.router.add_get(OPEN_PREFIX + "status", status)
    app.router.add_post(OPEN_PREFIX + "stop", stop)
