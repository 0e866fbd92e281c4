"""What every operation of the service shares: who may call it, its body, its answer."""

import functools
import json
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web

from traindeck.lab.gateway import ACCOUNT, GatewayError
from traindeck.lab.training.paging import Page
from traindeck.lab.training.request_body import RefusedError

Handler = Callable[[web.Request], Awaitable[web.Response]]


def add(app: web.Application, *routes: tuple[str, str, Handler]) -> None:
    for method, path, handler in routes:
        app.router.add_route(method, path, _guarded(handler))


def _guarded(handler: Handler) -> Handler:
    """Lets in only the account the project belongs to, and gives refusals their form."""

    @functools.wraps(handler)
    async def guarded(request: web.Request) -> web.Response:
        project_id = request[ACCOUNT].project_id
        if request.match_info.get("project_id", project_id) != project_id:
            message = "The project in the address does not belong to the account that signed."
            raise GatewayError(403, "ModelArts.0210", message)
        try:
            return await handler(request)
        except RefusedError as refused:
            raise GatewayError(refused.status, refused.code, refused.message) from refused

    return guarded


async def body_of(request: web.Request) -> Mapping[str, Any]:
    try:
        body = json.loads(await request.read(), parse_constant=_no_constant)
    except ValueError as error:
        raise RefusedError("2787", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise RefusedError("2787", "the body must be a JSON object")
    return body


def answer(content: object, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    body = json.dumps(content, allow_nan=False).encode("ascii")
    return web.Response(status=status, body=body, content_type="application/json")


def nothing(status: HTTPStatus = HTTPStatus.NO_CONTENT) -> web.Response:
    return web.Response(status=status)


def page_answer(page: Page, total: int, items: list[dict[str, Any]]) -> web.Response:
    return answer(
        {
            "total": total,
            "count": len(items),
            "limit": page.limit,
            "offset": page.offset,
            "sort_by": page.sort_by,
            "order": page.order,
            "items": items,
        }
    )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
