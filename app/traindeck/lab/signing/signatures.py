"""Which signature a request to the object store carries, and whether it is right."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from aiohttp import web

from traindeck.lab.signing import v2, v4
from traindeck.lab.signing.request import (
    MAX_SKEW,
    ChunkSeed,
    RawRequest,
    Refusal,
    Refused,
    SecretOf,
    Verdict,
    Verified,
    any_equal,
    text_bytes,
)
from traindeck.lab.signing.sdk import verify_gateway

__all__ = [
    "MAX_SKEW",
    "ChunkSeed",
    "Dialect",
    "RawRequest",
    "Refusal",
    "Refused",
    "SecretOf",
    "Verdict",
    "Verified",
    "dialect_of",
    "verify_gateway",
    "verify_obs",
]


class Dialect(Enum):
    """The two families of header names; the signature decides which one a request speaks."""

    OBS = "x-obs-"
    S3 = "x-amz-"


def dialect_of(request: RawRequest) -> Dialect:
    """Without a signature the headers and, at last, the custom of the house decide."""
    word = (request.header("authorization") or "").partition(" ")[0]
    if word:
        return Dialect.OBS if word == v2.OBS.word else Dialect.S3
    names = {name.lower() for name, _ in request.query_pairs} | set(request.by_name)
    if "accesskeyid" in names or any(name.startswith(Dialect.OBS.value) for name in names):
        return Dialect.OBS
    is_s3 = "awsaccesskeyid" in names or any(name.startswith(Dialect.S3.value) for name in names)
    return Dialect.S3 if is_s3 else Dialect.OBS


def verify_obs(request: RawRequest, secret_of: SecretOf, now: datetime) -> Verdict:
    """Who signed a request to the object store, in any of its schemes, or why it is refused."""
    authorization = request.header("authorization")
    if authorization is not None:
        if len(request.by_name["authorization"]) > 1:
            return Refused(Refusal.MALFORMED, "There is more than one Authorization header.")
        match authorization.partition(" ")[0]:
            case v4.ALGORITHM:
                return v4.verify_header(request, secret_of, now)
            case v2.OBS.word:
                return v2.verify_header(request, v2.OBS, secret_of, now)
            case v2.AWS2.word:
                return v2.verify_header(request, v2.AWS2, secret_of, now)
        return Refused(Refusal.MALFORMED, "Unsupported Authorization Type")
    if request.query("X-Amz-Algorithm") is not None or request.query("X-Amz-Signature") is not None:
        return v4.verify_url(request, secret_of, now)
    for scheme in (v2.OBS, v2.AWS2):
        if request.query(scheme.key_parameter) is not None:
            return v2.verify_url(request, scheme, secret_of, now)
    if request.query("Signature") is not None:
        return Refused(Refusal.MALFORMED, "The query-string authentication names no access key.")
    return Refused(Refusal.UNSIGNED)


_CREDENTIAL = re.compile(r"(?P<access>.+)/(?P<day>\d{8})/(?P<region>[^/]+)/s3/aws4_request")


def verify_form(fields: Mapping[str, str], secret_of: SecretOf) -> Verdict:
    """Who signed the form; the names of `fields` are in lower case."""
    policy, signature = fields.get("policy", ""), fields.get("signature", "")
    access_key = fields.get("accesskeyid") or fields.get("awsaccesskeyid") or ""
    if "token" in fields:
        access_key, _, rest = fields["token"].partition(":")
        signature, _, policy = rest.partition(":")
    if "x-amz-signature" in fields:
        return _verify_v4(fields, policy, secret_of)
    if not access_key and not policy and not signature:
        return Refused(Refusal.UNSIGNED)
    if not access_key or not policy or not signature:
        return Refused(Refusal.MALFORMED, "A signed form needs an access key, a policy and a signature.", access_key)
    secret = secret_of(access_key)
    if secret is None:
        return Refused(Refusal.UNKNOWN_KEY, access_key=access_key)
    digest = hmac.new(text_bytes(secret), text_bytes(policy), hashlib.sha1).digest()
    if not any_equal([base64.b64encode(digest).decode("ascii")], signature):
        return Refused(Refusal.MISMATCH, access_key=access_key, string_to_sign=policy)
    return Verified(access_key)


def _verify_v4(fields: Mapping[str, str], policy: str, secret_of: SecretOf) -> Verdict:
    credential = _CREDENTIAL.fullmatch(fields.get("x-amz-credential", ""))
    if credential is None or fields.get("x-amz-algorithm") != v4.ALGORITHM:
        return Refused(Refusal.MALFORMED, "The authentication of the form is malformed.")
    access_key = credential["access"]
    secret = secret_of(access_key)
    if secret is None:
        return Refused(Refusal.UNKNOWN_KEY, access_key=access_key)
    key = v4.signing_key(secret, credential["day"], credential["region"])
    expected = hmac.new(key, text_bytes(policy), hashlib.sha256).hexdigest()
    if not any_equal([expected], fields["x-amz-signature"]):
        return Refused(Refusal.MISMATCH, access_key=access_key, string_to_sign=policy)
    return Verified(access_key)


def raw_request(request: web.BaseRequest, *, host_bucket: str | None = None, body_sha256: str = "") -> RawRequest:
    target = request.raw_path
    # The absolute form a client uses towards a proxy: what counts is the path behind the host.
    if not target.startswith("/") and "://" in target:
        rest = target.partition("://")[2]
        slash = rest.find("/")
        target = "/" if slash < 0 else rest[slash:]
    path, _, query = target.partition("?")
    headers = tuple(
        (name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in request.raw_headers
    )
    return RawRequest(request.method, path, query, headers, host_bucket, body_sha256)
