"""Which signature a request to the object store carries, and whether it is right."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

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
