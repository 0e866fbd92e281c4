"""The API gateway before ModelArts and IAM: who may come in, and what every answer looks like."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus

from aiohttp import web

from traindeck.lab.accounts import Accounts, LabAccount
from traindeck.lab.faults import NO_TROUBLE, Faults, Kind, LostError, Trouble, spoiled
from traindeck.lab.life import Activity
from traindeck.lab.ports import FOREIGN, is_foreign
from traindeck.lab.signing.request import Refusal, Refused, raw_request
from traindeck.lab.signing.sdk import verify_gateway

SERVICE = "modelarts"
MAX_BODY = 12 * 1024 * 1024
ACCOUNT = web.RequestKey("account", LabAccount)
REQUEST_ID = web.RequestKey("request_id", str)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Paths below this prefix tell how the Lab is; they carry no secrets and need no signature.
OPEN_PREFIX = "/lab/"

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class GatewayError(Exception):
    """A refusal, as the status, code and message of the gateway's JSON error."""

    status: int
    code: str
    message: str
    solution: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def gateway_app(accounts: Accounts, activity: Activity, faults: Faults) -> web.Application:
    """The application; `activity` counts the requests that are a customer's, `faults` says which of them go wrong."""

    @web.middleware
    async def entrance(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[REQUEST_ID] = secrets.token_hex(16)
        trouble = NO_TROUBLE
        try:
            if is_foreign(request):
                raise GatewayError(403, "APIGW.0402", FOREIGN)
            if request.path.startswith(OPEN_PREFIX):
                response = await handler(request)
            else:
                with activity.request():
                    trouble = Trouble(faults.drawn(SERVICE, _operation(request), request.path))
                    page = await _before(request, trouble)
                    request[ACCOUNT] = await _account(request, accounts, trouble.now)
                    response = page or await handler(request)
        except GatewayError as error:
            response = _error_response(request, error)
        except web.HTTPException as error:
            response = _error_response(request, _in_our_words(request, error))
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

    return web.Application(middlewares=[entrance], client_max_size=MAX_BODY + 1)


async def _before(request: web.Request, trouble: Trouble) -> web.Response | None:
    """What goes wrong before a request is handled: an error raised, or the page of a proxy."""
    await trouble.before(request)
    if trouble.of(Kind.EXPIRED_KEY):
        raise _unsigned("ak not exist")
    fault = trouble.of(Kind.ERROR)
    if fault is None:
        return None
    if page := trouble.html():
        return page
    usual = {429: "APIGW.0308", 503: "APIGW.0608"}
    code = fault.code or usual.get(fault.status, "ModelArts.2950")
    headers = {"Retry-After": str(math.ceil(fault.seconds))} if fault.seconds > 0 else {}
    raise GatewayError(fault.status, code, "A fault rule of the Lab made this error.", headers=headers)


def _operation(request: web.Request) -> str:
    """As the API's own documentation names it: POST /v2/{project_id}/training-jobs."""
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource else request.path}"


async def _account(request: web.Request, accounts: Accounts, now: datetime) -> LabAccount:
    if (request.content_length or 0) > MAX_BODY:
        raise _too_large()
    body = await request.read()
    raw = raw_request(request, body_sha256=hashlib.sha256(body).hexdigest())
    try:
        account = accounts.by_access_key(verify_gateway(raw, accounts.secret_of, now).access_key)
    except Refused as refused:
        raise _unsigned(_refusal_text(refused, now)) from refused
    if account is None:
        raise _unsigned("ak not exist")
    return account


def _unsigned(reason: str) -> GatewayError:
    return GatewayError(401, "APIGW.0301", f"Incorrect IAM authentication information: {reason}")


def _refusal_text(refused: Refused, now: datetime) -> str:
    match refused.refusal:
        case Refusal.UNKNOWN_KEY:
            return f"ak {refused.access_key} not exist"
        case Refusal.MISMATCH:
            return "verify aksk signature fail"
        case Refusal.SKEWED if refused.signed_at:
            return f"signature expired, signature time:{_stamp(refused.signed_at)},server time:{_stamp(now)}"
    return refused.detail


def _in_our_words(request: web.Request, error: web.HTTPException) -> GatewayError:
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return _too_large()
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = {"Allow": ",".join(sorted(error.allowed_methods))}
        return GatewayError(405, "ModelArts.2803", f"The method {request.method} is not allowed here.", headers=allowed)
    if isinstance(error, web.HTTPNotFound):
        message = "The API does not exist or has not been published in the environment."
        return GatewayError(404, "APIGW.0101", message)
    return GatewayError(error.status, "APIGW.0106", error.reason)


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


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y%m%dT%H%M%SZ")
