"""The OBS dialect over HTTP: every request authenticated, sent to its operation, and answered in its dialect."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from aiohttp import web

from traindeck.lab.accounts import Accounts
from traindeck.lab.activity import Activity
from traindeck.lab.obs.answers import error_answer
from traindeck.lab.obs.bucket_calls import Buckets
from traindeck.lab.obs.errors import AccessDenied, NotImplementedHere, ObsError
from traindeck.lab.obs.incoming import drain
from traindeck.lab.obs.object_calls import Objects
from traindeck.lab.obs.request import ObsRequest, check_understood, understood
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.signatures import Refusal, Refused, verify_obs
from traindeck.lab.workers import Workers

Operation = Callable[[ObsRequest], Awaitable[web.StreamResponse]]

_log = logging.getLogger(__name__)


class ObsApi:
    """The handler of the OBS port; `server` is what a site listens with."""

    def __init__(self, store: ObjectStore, accounts: Accounts, activity: Activity) -> None:
        self._accounts = accounts
        self._activity = activity
        # Few threads: more only contend for the interpreter, and the index has one writer anyway.
        self._workers = Workers("lab-obs", min(8, (os.cpu_count() or 1) + 2))
        buckets = Buckets(store, self._workers, accounts.first.region)
        objects = Objects(store, buckets, self._workers)
        self._service: dict[str, Operation] = {"GET": buckets.list_all}
        self._bucket: dict[str, Operation] = {
            "PUT": buckets.create,
            "HEAD": buckets.head,
            "GET": buckets.list_objects,
            "DELETE": buckets.delete,
        }
        self._bucket_parts: dict[tuple[str, str], Operation] = {
            ("GET", "location"): buckets.location,
            ("POST", "delete"): buckets.delete_objects,
        }
        self._object: dict[str, Operation] = {
            "PUT": objects.put,
            "GET": objects.get,
            "HEAD": objects.head,
            "DELETE": objects.delete,
        }
        self._copy = objects.copy
        self._probe = buckets.probe

    def close(self) -> None:
        self._workers.close()

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        with self._activity.request():
            request = understood(http, _bound_port(http))
            try:
                check_understood(request)
                return await self._answer(request)
            except ObsError as error:
                return await self._refused(request, error)
            except ConnectionError:
                # Nobody is there to be answered; the body that was cut is discarded already.
                return web.Response(status=400)
            except Exception:  # noqa: BLE001 - one request that fails is answered and must not end the others
                _log.exception("%s on %s failed", request.method, request.resource)
                message = "The Lab failed while it handled this request; its log tells more."
                return await self._refused(request, ObsError(500, "InternalError", message))

    async def _answer(self, request: ObsRequest) -> web.StreamResponse:
        if request.method == "HEAD" and "apiversion" in request.query and not request.key:
            return await self._probe(request)
        self._authenticate(request)
        return await self._operation(request)(request)

    def _authenticate(self, request: ObsRequest) -> None:
        verdict = verify_obs(request.raw, self._secret_of, datetime.now(UTC))
        if isinstance(verdict, Refused):
            raise _refusal(verdict)
        request.verified = verdict
        request.account = self._accounts.by_access_key(verdict.access_key)

    def _operation(self, request: ObsRequest) -> Operation:
        if not request.bucket:
            found = self._service.get(request.method)
        elif not request.key:
            parts = (self._bucket_parts.get((request.method, name)) for name in request.query)
            found = next((part for part in parts if part), None) or self._bucket.get(request.method)
        elif request.method == "PUT" and request.ours("copy-source") is not None:
            found = self._copy
        else:
            found = self._object.get(request.method)
        if found is None:
            request.only_these()
            if request.method in {"POST", "OPTIONS"}:
                raise NotImplementedHere(f"{request.method} here")
            raise ObsError(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
        return found

    async def _refused(self, request: ObsRequest, error: ObsError) -> web.StreamResponse:
        response = error_answer(request, error)
        http = request.http
        waits = http.headers.get("Expect", "").lower() == "100-continue"
        # A client that still waits for our word has sent nothing, and what follows on this connection is unknown.
        if (waits and not http.content.total_bytes) or not await drain(http):
            response.force_close()
        return response

    def _secret_of(self, access_key: str) -> str | None:
        account = self._accounts.by_access_key(access_key)
        return account.secret_key if account else None


def _refusal(refused: Refused) -> ObsError:
    match refused.refusal:
        case Refusal.UNKNOWN_KEY:
            message = "The access key you provided does not exist in our records."
            return ObsError(403, "InvalidAccessKeyId", message, details={"AWSAccessKeyId": refused.access_key})
        case Refusal.MISMATCH:
            message = "The request signature we calculated does not match the one you provided. Check your key."
            details = {"AWSAccessKeyId": refused.access_key, "StringToSign": refused.string_to_sign}
            return ObsError(403, "SignatureDoesNotMatch", message, details=details)
        case Refusal.SKEWED:
            message = "The difference between the request time and the current time is too large."
            return ObsError(403, "RequestTimeTooSkewed", message)
        case Refusal.MALFORMED if refused.detail == "Unsupported Authorization Type":
            return ObsError(400, "InvalidArgument", refused.detail)
    return AccessDenied(refused.detail) if refused.detail else AccessDenied()


def _bound_port(http: web.BaseRequest) -> int:
    name = http.transport.get_extra_info("sockname") if http.transport else None
    return int(name[1]) if name else 0


def obs_server(api: ObsApi) -> web.Server:
    """Bodies are taken as they come: decompressing one would store something else than was sent."""
    return web.Server(
        api.handle,
        auto_decompress=False,
        max_line_size=32768,
        max_field_size=16384,
        # What is left of a body was drained already, or must not be waited for.
        lingering_time=0,
        access_log=None,
    )
