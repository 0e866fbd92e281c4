"""Uploads by a form in a web page: the fields, the policy they must keep to, the file."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from aiohttp import BodyPartReader, web

from traindeck.lab.life import Workers
from traindeck.lab.obs.body_streams import MAX_BODY, Operations, too_large
from traindeck.lab.obs.calls.object_calls import replacement
from traindeck.lab.obs.encryption import body_seal
from traindeck.lab.obs.errors import AccessDenied, InvalidArgument, ObsError
from traindeck.lab.obs.object_headers import attributes, written_headers
from traindeck.lab.obs.records import BucketInfo, ObjectInfo, key_bytes, whole_number
from traindeck.lab.obs.request import ObsRequest, document, elements, empty, etag_element
from traindeck.lab.obs.storage import BodyWriter
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.request import RawRequest
from traindeck.lab.signing.signatures import Dialect

_MAX_FIELDS = 20 * 1024
_BLOCK = 256 * 1024
# They carry the proof or the content, and so need no condition.
_FREE = frozenset(
    {"accesskeyid", "awsaccesskeyid", "signature", "policy", "file", "token", "x-amz-signature", "submit"}
)
Authenticate = Callable[[ObsRequest, Mapping[str, str]], None]


_NO_LIMITS = (0, MAX_BODY)


class FormUploads(Operations):
    """The operation behind a form; `authenticate` sets the account of the request."""

    def __init__(self, store: ObjectStore, workers: Workers, authenticate: Authenticate) -> None:
        super().__init__(store, workers)
        self._authenticate = authenticate

    async def post(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        if not request.http.content_type.startswith("multipart/form-data"):
            raise ObsError(412, "PreconditionFailed", "A POST on a bucket is a form of multipart/form-data.")
        fields: dict[str, str] = {}
        file = await self._read_fields(request, fields)
        key = fields.get("key", "").replace("${filename}", (file.filename or "").rpartition("/")[2])
        if not key:
            raise _missing("key")
        fields["key"] = request.key = key
        key_bytes(key)
        _check_proof(fields)
        is_s3 = any(name.startswith("x-amz-") or name == "awsaccesskeyid" for name in fields)
        request.dialect = Dialect.S3 if is_s3 else Dialect.OBS
        self._authenticate(request, fields)
        limits = _checked(fields, request.bucket) if "policy" in fields or "token" in fields else _NO_LIMITS
        # From here on the fields are what headers are to a PUT.
        request.raw = _as_headers(request, fields)
        bucket = self._access.bucket(request, "PutObject", key=key)
        given = attributes(request, bucket)
        writer = await self._workers.run(self._store.new_body, body_seal(request, given.traits))
        try:
            await self._take(file, writer, limits)
            info = await self._workers.run(writer.commit, bucket.name, key, given, condition=replacement(request))
        finally:
            await self._workers.run(writer.discard)
        return _answer(request, bucket, info, fields)

    async def _read_fields(self, request: ObsRequest, fields: dict[str, str]) -> BodyPartReader:
        try:
            reader = await web.BaseRequest.multipart(request.http)
            size = 0
            while (part := await reader.next()) is not None:
                if not isinstance(part, BodyPartReader) or part.name is None:
                    raise ObsError(400, "MalformedPOSTRequest", "The form holds a part without a name.")
                if part.name.lower() == "file":
                    return part
                value = bytes(await part.read())
                size += len(part.name) + len(value)
                if size > _MAX_FIELDS:
                    message = "Your POST request fields preceding the upload file were too large."
                    raise ObsError(400, "MaxPostPreDataLengthExceededError", message)
                fields[part.name.lower()] = value.decode("utf-8")
        except (ValueError, RuntimeError) as error:
            raise ObsError(400, "MalformedPOSTRequest", "The body is not a form.") from error
        message = "POST requires exactly one file upload per request."
        raise ObsError(400, "IncorrectNumberOfFilesInPostRequest", message)

    async def _take(self, file: BodyPartReader, writer: BodyWriter, limits: tuple[int, int]) -> None:
        least, most = limits
        while block := await file.read_chunk(_BLOCK):
            await self._workers.run(writer.write, bytes(block))
            if writer.size > most:
                raise too_large()
        if writer.size < least:
            raise ObsError(400, "EntityTooSmall", "Your proposed upload is smaller than the policy allows.")


_OF_V4 = ("policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature")


def _check_proof(fields: Mapping[str, str]) -> None:
    """Raise where a form that is signed leaves out some of what proves it.

    "Error Codes" of the OBS reference has a code of its own for the access key; for the other fields S3 answers as for
    any argument that is not there.
    """
    has_key = "accesskeyid" in fields or "awsaccesskeyid" in fields
    is_v4 = any(name in fields for name in _OF_V4[1:] if name != "x-amz-date")
    if "token" in fields or not (is_v4 or has_key or "policy" in fields or "signature" in fields):
        return
    for name in _OF_V4 if is_v4 else ("policy", "signature"):
        if not fields.get(name):
            raise _missing(name)
    if not is_v4 and not has_key:
        raise ObsError(400, "UserKeyMustBeSpecified", "The access key of the user is not in the form.")


def _missing(name: str) -> ObsError:
    message = f"Bucket POST must contain a field named '{name}'. If it is specified, check the order of the fields."
    return InvalidArgument(name, "", message)


# "Authentication of Signature in a Table" of the OBS reference: ISO 8601 in UTC, with a fraction or without.
_EXPIRATION = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")


def _checked(fields: Mapping[str, str], bucket: str) -> tuple[int, int]:
    """Raise where the form does not keep to its own policy."""
    encoded = fields["token"].split(":", 2)[2] if "token" in fields else fields["policy"]
    try:
        policy = json.loads(base64.b64decode(encoded))
        moment, conditions = policy["expiration"], policy["conditions"]
        if not _EXPIRATION.fullmatch(moment) or not isinstance(conditions, list):
            raise ValueError("no policy")
        expires = datetime.fromisoformat(moment)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ObsError(400, "InvalidPolicyDocument", "The policy of the form is not valid.") from error
    if datetime.now(UTC) > expires:
        raise AccessDenied("Invalid according to Policy: Policy expired.")
    given = {**fields, "bucket": bucket}
    named = {"bucket"}
    limits = _NO_LIMITS
    for condition in conditions:
        kind, name, wanted = _condition(condition)
        if kind == "content-length-range":
            limits = int(name), min(int(wanted), MAX_BODY)
            continue
        named.add(name)
        actual = given.get(name, "")
        if not (actual.startswith(wanted) if kind == "starts-with" else actual == wanted):
            raise AccessDenied(f"Invalid according to Policy: Policy Condition failed: {condition}")
    extra = [name for name in fields if name not in named | _FREE and not name.startswith("x-ignore-")]
    if extra:
        raise AccessDenied(f"Invalid according to Policy: Extra input fields: {', '.join(extra)}")
    return limits


def _condition(condition: object) -> list[str]:
    if isinstance(condition, dict) and len(condition) == 1:
        ((name, value),) = condition.items()
        if isinstance(value, str):
            return ["eq", name.lower(), value]
    if isinstance(condition, list) and len(condition) == 3:
        kind, name, value = (str(one) for one in condition)
        if kind.lower() == "content-length-range" and None not in (whole_number(name), whole_number(value)):
            return [kind.lower(), name, value]
        if kind.lower() in ("eq", "starts-with") and name.startswith("$") and isinstance(condition[2], str):
            return [kind.lower(), name[1:].lower(), value]
    raise ObsError(400, "InvalidPolicyDocument", "The policy of the form holds a condition of no known kind.")


def _as_headers(request: ObsRequest, fields: Mapping[str, str]) -> RawRequest:
    plain = {name: value for name, value in fields.items() if name not in _FREE | {"tagging"}}
    if "acl" in plain:
        plain[f"{request.dialect.value}acl"] = plain.pop("acl")
    return replace(request.raw, headers=tuple(plain.items()))


def _answer(request: ObsRequest, bucket: BucketInfo, info: ObjectInfo, fields: Mapping[str, str]) -> web.StreamResponse:
    headers = written_headers(request, bucket, info)
    location = f"http://{request.http.host}/{bucket.name}/{quote(info.key, safe='/')}"
    redirect = fields.get("success_action_redirect") or fields.get("redirect")
    if redirect and redirect.startswith(("http://", "https://")) and redirect.isprintable():
        query = urlencode({"bucket": bucket.name, "key": info.key, "etag": f'"{info.etag}"'})
        joint = "&" if "?" in redirect else "?"
        return empty(request, 303, {**headers, "Location": f"{redirect}{joint}{query}"})
    headers["Location"] = location
    status = fields.get("success_action_status", "")
    if status != "201":
        return empty(request, 200 if status == "200" else 204, headers)
    content = elements(Location=location, Bucket=bucket.name, Key=info.key) + etag_element(info.etag)
    response = document(request, "PostResponse", content, headers)
    response.set_status(201)
    return response
