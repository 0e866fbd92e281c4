"""What the Lab says about itself, how it is ended, and the port on which it can be made to misbehave."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping

from aiohttp import web

import traindeck
from traindeck.lab.faults import Faults, FaultsError, faults_of
from traindeck.lab.gateway import OPEN_PREFIX, GatewayError, Handler
from traindeck.lab.life import Life
from traindeck.lab.ports import FOREIGN, is_foreign
from traindeck.lab.root_folder import TOKEN_HEADER


def add_routes(app: web.Application, facts: Mapping[str, object], live_jobs: Callable[[], int], life: Life) -> None:
    """`facts` is what running.json holds; its token opens the way to the end."""

    async def status(request: web.Request) -> web.Response:
        shown = {name: facts[name] for name in ("instance", "pid", "started")}
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


CONTROL = "control.json"


def control_app(faults: Faults, token: str) -> web.Application:
    """GET shows the rules, PUT replaces them, DELETE removes them: /faults, with `Authorization: Bearer <token>`."""

    @web.middleware
    async def entrance(request: web.Request, handler: Handler) -> web.StreamResponse:
        if is_foreign(request):
            return _refused(403, FOREIGN)
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, f"Bearer {token}".encode()):
            return _refused(401, "The token of this port is needed; it is in control.json of the Lab's folder.")
        return await handler(request)

    async def show(request: web.Request) -> web.Response:
        return web.json_response(faults.shown())

    async def replace(request: web.Request) -> web.Response:
        try:
            content = json.loads(await request.read())
            rules, seed = faults_of(content if isinstance(content, dict) else {"faults": content})
        except (ValueError, FaultsError) as error:
            return _refused(400, str(error))
        faults.replace(rules, seed)
        return web.json_response(faults.shown())

    async def remove(request: web.Request) -> web.Response:
        faults.replace(())
        return web.json_response(faults.shown())

    app = web.Application(middlewares=[entrance])
    app.router.add_get("/faults", show)
    app.router.add_put("/faults", replace)
    app.router.add_delete("/faults", remove)
    return app


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)
