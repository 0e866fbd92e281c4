"""The API gateway before ModelArts and IAM: who may come in, and what every answer looks like."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus

from aiohttp import web

from traindeck.lab.accounts import Accounts, LabAccount
from traindeck.lab.faults import NO_TROUBLE, Faults, Kind, LostError, Trouble, spoiled
from traindeck.lab.life import Activity
from traindeck.lab.ports import is_foreign
from traindeck.lab.signing.signatures import Refusal, Refused, raw_request, verify_gateway

SERVICE = "modelarts"
MAX_BODY = 12 * 1024 * 1024
ACCOUNT = web.RequestKey("account", LabAccount)
REQUEST_ID = web.RequestKey("request_id", str)
RouteAdder = Callable[[web.Application], None]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Paths below this prefix tell how the Lab is; they carry no secrets and need no signature.
OPEN_PREFIX = "/lab/"

_log = logging.getLogger(__name__)


class GatewayError(Exception):
    """A refusal, as the status, code and message of the gateway's JSON error."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        solution: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.solution = solution
        self.headers = dict(headers or {})


def gateway_app(
    accounts: Accounts,
    add_routes: Sequence[RouteAdder],
    activity: Activity | None = None,
    faults: Faults | None = None,
) -> web.Application:
    """The application; `activity` counts the requests that are a customer's, `faults` says which of them go wrong."""
    watched = activity or Activity()
    rules = faults or Faults()

    @web.middleware
    async def entrance(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[REQUEST_ID] = secrets.token_hex(16)
        trouble = NO_TROUBLE
        try:
            _check_sender(request)
            if request.path.startswith(OPEN_PREFIX):
                response = await handler(request)
            else:
                with watched.request():
                    trouble = Trouble(rules.drawn(SERVICE, _operation(request), request.path))
                    page = await _before(request, trouble)
                    request[ACCOUNT] = await _account(request, accounts, trouble.now)
                    response = page or await handler(request)
        except GatewayError as error:
            response = _error_response(request, error)
        except web.HTTPRequestEntityTooLarge:
            response = _error_response(request, _too_large())
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            response = _error_response(request, _no_route(request, error))
        except web.HTTPException as error:
            response = _error_response(request, GatewayError(error.status, "APIGW.0106", error.reason))
        except ConnectionError:
            response = web.Response(status=400)  # nobody is there to read it
        except Exception:  # noqa: BLE001 - one request that fails is answered and must not end the others
            _log.exception("request %s %s failed", request.method, request.path)
            message = "The Lab failed while it handled this request; its log tells more."
            response = _error_response(request, GatewayError(500, "ModelArts.2950", message))
        response.headers["X-Request-Id"] = request[REQUEST_ID]
        if response.status != HTTPStatus.NO_CONTENT and "Content-Type" not in response.headers:
            response.headers["Content-Type"] = "application/json"
        try:
            return await spoiled(request, response, trouble)
        except LostError:
            return web.Response(status=400)  # nobody is there to read it

    app = web.Application(middlewares=[entrance], client_max_size=MAX_BODY + 1)
    for add in add_routes:
        add(app)
    return app


def _check_sender(request: web.Request) -> None:
    port = _bound_port(request)
    if is_foreign(request.headers.getall("Host", []), request.headers.getall("Origin", []), port):
        raise GatewayError(403, "APIGW.0402", "The Lab answers its own computer only: foreign Host or Origin header.")


async def _before(request: web.Request, trouble: Trouble) -> web.Response | None:
    """What goes wrong before a request is handled: an error raised, or the page of a proxy."""
    await trouble.before(request)
    if trouble.of(Kind.EXPIRED_KEY):
        message = "Incorrect IAM authentication information: ak not exist"
        raise GatewayError(401, "APIGW.0301", message)
    fault = trouble.of(Kind.ERROR)
    if fault is None:
        return None
    page = trouble.html()
    if page is None:
        usual = {429: "APIGW.0308", 503: "APIGW.0608"}
        code = fault.code or usual.get(fault.status, "ModelArts.2950")
        headers = {"Retry-After": str(math.ceil(fault.seconds))} if fault.seconds > 0 else {}
        raise GatewayError(fault.status, code, "A fault rule of the Lab made this error.", headers=headers)
    return page


def _operation(request: web.Request) -> str:
    """As the API's own documentation names it: POST /v2/{project_id}/training-jobs."""
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource else request.path}"


async def _account(request: web.Request, accounts: Accounts, now: datetime) -> LabAccount:
    if (request.content_length or 0) > MAX_BODY:
        raise _too_large()
    body = await request.read()
    raw = raw_request(request, body_sha256=hashlib.sha256(body).hexdigest())

    def secret_of(access_key: str) -> str | None:
        found = accounts.by_access_key(access_key)
        return found.secret_key if found else None

    verdict = verify_gateway(raw, secret_of, now)
    account = None if isinstance(verdict, Refused) else accounts.by_access_key(verdict.access_key)
    if account is not None:
        return account
    reason = _refusal_text(verdict, now) if isinstance(verdict, Refused) else "ak not exist"
    raise GatewayError(401, "APIGW.0301", f"Incorrect IAM authentication information: {reason}")


def _refusal_text(refused: Refused, now: datetime) -> str:
    match refused.refusal:
        case Refusal.UNKNOWN_KEY:
            return f"ak {refused.access_key} not exist"
        case Refusal.MISMATCH:
            return "verify aksk signature fail"
        case Refusal.SKEWED if refused.signed_at:
            return f"signature expired, signature time:{_stamp(refused.signed_at)},server time:{_stamp(now)}"
    return refused.detail


def _no_route(request: web.Request, error: web.HTTPException) -> GatewayError:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = {"Allow": ",".join(sorted(error.allowed_methods))}
        return GatewayError(405, "ModelArts.2803", f"The method {request.method} is not allowed here.", headers=allowed)
    message = "The API does not exist or has not been published in the environment."
    return GatewayError(404, "APIGW.0101", message)


def _too_large() -> GatewayError:
    return GatewayError(413, "APIGW.0201", "Request entity too large: at most 12 MB.")


def _error_response(request: web.Request, error: GatewayError) -> web.Response:
    body = {"error_code": error.code, "error_msg": error.message, "request_id": request[REQUEST_ID]}
    if error.solution:
        body["error_solution"] = error.solution
    return web.Response(
        status=error.status,
        body=json.dumps(body, ensure_ascii=False).encode("utf-8"),
        headers={**error.headers, "Content-Type": "application/json"},
    )


def _bound_port(request: web.Request) -> int:
    name = request.transport.get_extra_info("sockname") if request.transport else None
    return int(name[1]) if name else 0


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y%m%dT%H%M%SZ")
