"""The OBS dialect over HTTP: every request authenticated, sent to its operation, and answered in its dialect."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial

from aiohttp import web

from traindeck.lab.accounts import Accounts
from traindeck.lab.connections import Connections
from traindeck.lab.faults import Faults, Kind, LostError, Trouble, spoiled
from traindeck.lab.life import Activity, Workers
from traindeck.lab.obs.access import Access
from traindeck.lab.obs.body_streams import drain
from traindeck.lab.obs.calls.bucket_calls import Buckets
from traindeck.lab.obs.calls.form_upload import FormUploads
from traindeck.lab.obs.calls.list_calls import Listings
from traindeck.lab.obs.calls.multipart_calls import Multipart
from traindeck.lab.obs.calls.object_calls import Objects
from traindeck.lab.obs.calls.setting_calls import Named, Settings, cors_headers
from traindeck.lab.obs.conditions import refuse_unseen
from traindeck.lab.obs.errors import AccessDenied, MethodNotAllowed, NotImplementedHere, ObsError
from traindeck.lab.obs.request import ObsRequest, check_understood, error_answer, understood
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.ports import FOREIGN
from traindeck.lab.signing.request import Refusal, Refused, SecretOf, Verified
from traindeck.lab.signing.signatures import verify_form, verify_obs

SERVICE = "obs"
READ_AHEAD = 512 * 1024

# What is asked without a signature, or proves itself.
_UNSIGNED = frozenset({"Probe", "Preflight", "PostObject"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_log = logging.getLogger(__name__)


class ObsApi:
    """The handler of the OBS port; `obs_server` is what a site listens with."""

    def __init__(self, store: ObjectStore, accounts: Accounts, activity: Activity, faults: Faults) -> None:
        self._store = store
        self._access = Access(store)
        self._accounts = accounts
        self._activity = activity
        self._faults = faults
        # Few threads: more only contend for the interpreter, and the index has one writer anyway.
        self._workers = Workers("lab-obs", min(8, (os.cpu_count() or 1) + 2))
        parts = (store, self._workers)
        buckets, settings = Buckets(*parts, accounts.first.region), Settings(*parts)
        listings, objects, multipart = Listings(*parts), Objects(*parts), Multipart(*parts)
        forms = FormUploads(*parts, lambda request, fields: self._authenticate(request, partial(verify_form, fields)))
        self._preflight: Named = ("Preflight", settings.preflight)
        self._probe: Named = ("Probe", buckets.probe)
        # By the method, which is COPY for a PUT that copies, and the parameter that makes it an operation of its own.
        self._service: dict[tuple[str, str], Named] = {("GET", ""): ("ListBuckets", buckets.list_all)}
        self._bucket: dict[tuple[str, str], Named] = {
            **settings.bucket_calls,
            ("PUT", ""): ("CreateBucket", buckets.create),
            ("HEAD", ""): ("HeadBucket", buckets.head),
            ("GET", ""): ("ListObjects", listings.objects),
            ("DELETE", ""): ("DeleteBucket", buckets.delete),
            ("POST", ""): ("PostObject", forms.post),
            ("GET", "location"): ("GetBucketLocation", buckets.location),
            ("GET", "storageinfo"): ("GetBucketStorageInfo", buckets.storage_info),
            ("GET", "versions"): ("ListVersions", listings.versions),
            ("GET", "uploads"): ("ListMultipartUploads", multipart.list_uploads),
            ("POST", "delete"): ("DeleteObjects", listings.delete),
        }
        self._object: dict[tuple[str, str], Named] = {
            **settings.object_calls,
            ("PUT", ""): ("PutObject", objects.put),
            ("COPY", ""): ("CopyObject", objects.copy),
            ("GET", ""): ("GetObject", objects.get),
            ("HEAD", ""): ("HeadObject", objects.head),
            ("DELETE", ""): ("DeleteObject", objects.delete),
            ("PUT", "metadata"): ("SetObjectMetadata", objects.set_metadata),
            ("POST", "append"): ("AppendObject", objects.append),
            ("POST", "restore"): ("RestoreObject", objects.restore),
            ("POST", "uploads"): ("InitiateMultipartUpload", multipart.initiate),
            ("PUT", "partNumber"): ("UploadPart", multipart.put_part),
            ("COPY", "partNumber"): ("CopyPart", multipart.copy_part),
            ("GET", "uploadId"): ("ListParts", multipart.list_parts),
            ("POST", "uploadId"): ("CompleteMultipartUpload", multipart.complete),
            ("DELETE", "uploadId"): ("AbortMultipartUpload", multipart.abort),
        }

    def close(self) -> None:
        self._workers.close()

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        with self._activity.request():
            request = understood(http)
            request.is_account = self._accounts.has_domain
            try:
                check_understood(request)
                response = await self._answer(request)
            except ObsError as error:
                response = await self._refused(request, error)
            except ConnectionError:
                # Nobody is there to be answered; the body that was cut is discarded already.
                return web.Response(status=400)
            except Exception:  # noqa: BLE001 - one request that fails is answered and must not end the others
                _log.exception("%s on %s failed", request.method, request.resource)
                message = "The Lab failed while it handled this request; its log tells more."
                response = await self._refused(request, ObsError(500, "InternalError", message))
            try:
                return await spoiled(http, response, request.trouble)
            except LostError:
                return web.Response(status=400)

    async def _answer(self, request: ObsRequest) -> web.StreamResponse:
        self._check_page(request)
        name, operation = self._named(request)
        request.trouble = Trouble(self._faults.drawn(SERVICE, name, request.resource))
        if request.trouble.faults:
            await request.trouble.before(request.http)
            if page := request.trouble.html():
                await drain(request.http)
                return page
            self._raise_faults(request)
        if name not in _UNSIGNED:
            self._authenticate(request, lambda secret_of: verify_obs(request.raw, secret_of, request.trouble.now))
        if request.method not in _READING:
            refuse_unseen(name, request.raw.by_name)
        self._access.expected(self._store.bucket(request.bucket), request.raw.header("x-amz-expected-bucket-owner"))
        return await operation(request)

    def _check_page(self, request: ObsRequest) -> None:
        """A page of another site comes in only by the rules of the bucket it wants."""
        if request.raw.header("origin") is None or request.method == "OPTIONS":
            return
        request.with_answer = cors_headers(request, self._store.bucket(request.bucket))
        if request.foreign_origin and not request.with_answer:
            raise AccessDenied(FOREIGN)

    def _authenticate(self, request: ObsRequest, verify: Callable[[SecretOf], Verified]) -> None:
        try:
            request.verified = verify(self._accounts.secret_of)
            request.account = self._accounts.by_access_key(request.verified.access_key, as_seen=True)
        except Refused as refused:
            if refused.refusal is not Refusal.UNSIGNED:
                raise _refusal(refused) from refused
            # Nobody in particular: what that may do is up to the bucket.
            request.verified = Verified("", request.raw.header("x-amz-content-sha256") or "")

    def _raise_faults(self, request: ObsRequest) -> None:
        if request.trouble.of(Kind.EXPIRED_KEY):
            raise _refusal(Refused(Refusal.UNKNOWN_KEY))
        if fault := request.trouble.of(Kind.ERROR):
            usual = {429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
            code = fault.code or usual.get(fault.status, "InternalError")
            raise ObsError(fault.status, code, "A fault rule of the Lab made this error.")

    def _named(self, request: ObsRequest) -> Named:
        method, query = request.method, request.query
        if method == "OPTIONS":
            return self._preflight
        if method == "HEAD" and "apiversion" in query and not request.key:
            return self._probe
        calls = self._object if request.key else self._bucket if request.bucket else self._service
        is_copy = method == "PUT" and request.ours("copy-source") is not None
        methods = ("COPY", "PUT") if is_copy else (method,)
        asked = [(one, name) for name in (*query, "") for one in methods]
        found = next((calls[one] for one in asked if one in calls), None)
        if found is None:
            request.only_these()
            raise NotImplementedHere("POST here") if method == "POST" else MethodNotAllowed()
        return found

    async def _refused(self, request: ObsRequest, error: ObsError) -> web.StreamResponse:
        response = error_answer(request, error)
        http = request.http
        waits = http.headers.get("Expect", "").lower() == "100-continue"
        # A client that still waits for our word has sent nothing, and what follows on this connection is unknown.
        if (waits and not http.content.total_bytes) or not await drain(http):
            response.force_close()
        return response


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


def obs_server(api: ObsApi, connections: Connections) -> web.Server:
    """Bodies are taken as they come: decompressing one would store something else than was sent."""
    return web.Server(
        lambda http: connections.serve(http, api.handle),
        keepalive_timeout=connections.bounds.idle_s,
        auto_decompress=False,
        max_line_size=32768,
        max_field_size=16384,
        # What is left of a body was drained already, or must not be waited for.
        lingering_time=0,
        access_log=None,
        # The usual 64 KB stop and start the socket for every piece of a large body.
        read_bufsize=READ_AHEAD,
    )
