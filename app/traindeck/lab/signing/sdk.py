"""SDK-HMAC-SHA256, the signature of requests to ModelArts and IAM."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote, unquote_to_bytes

from traindeck.lab.signing.request import (
    UNSIGNED_PAYLOAD,
    RawRequest,
    Refusal,
    Refused,
    SecretOf,
    Verified,
    believed,
    check_skew,
    keyed,
    parsed_date,
    text_bytes,
)

ALGORITHM = "SDK-HMAC-SHA256"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
_AUTHORIZATION = re.compile(
    rf"{ALGORITHM} +Access=(?P<access>[^,]+), *SignedHeaders=(?P<headers>[^,]+),"
    r" *Signature=(?P<signature>[0-9a-f]{64})"
)


def verify_gateway(request: RawRequest, secret_of: SecretOf, now: datetime) -> Verified:
    """Who signed a request to the API gateway; needs the request's `body_sha256`."""
    authorization = request.header("authorization")
    if authorization is None:
        raise Refused(Refusal.UNSIGNED, "authorization header is missing")
    match = _AUTHORIZATION.fullmatch(authorization)
    if match is None:
        raise Refused(Refusal.MALFORMED, "authorization header is not of the form SDK-HMAC-SHA256")
    access_key = match["access"].strip()
    names = match["headers"].strip().split(";")
    date = request.header("x-sdk-date") or ""
    signed_at = parsed_date(date)
    if signed_at is None or not {"x-sdk-date", "host"} <= set(names):
        raise Refused(Refusal.MALFORMED, "host and x-sdk-date must be present and signed", access_key)
    if len(request.by_name.get("x-sdk-date", [])) != 1 or any(name not in request.by_name for name in names):
        raise Refused(Refusal.MALFORMED, "a signed header is missing or given twice", access_key)

    def signed(secret: str) -> Iterator[tuple[str, str, Verified]]:
        canonical = canonical_request(request, names)
        to_sign = f"{ALGORITHM}\n{date}\n{hashlib.sha256(text_bytes(canonical)).hexdigest()}"
        yield canonical, keyed("sha256", secret, to_sign).hex(), Verified(access_key, _payload_hash(request))

    verified = believed(access_key, match["signature"], secret_of, signed)
    check_skew(access_key, signed_at, now)
    return verified


def canonical_request(request: RawRequest, signed_headers: list[str]) -> str:
    path = quote(unquote_to_bytes(request.raw_path), safe="/~")
    lines = [
        request.method,
        path if path.endswith("/") else path + "/",
        _canonical_query(request),
        *(f"{name}:{','.join(request.by_name[name])}" for name in signed_headers),
        "",
        ";".join(signed_headers),
        _payload_hash(request),
    ]
    return "\n".join(lines)


def _canonical_query(request: RawRequest) -> str:
    pairs = sorted((unquote_to_bytes(name), unquote_to_bytes(value or "")) for name, value in request.query_pairs)
    return "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in pairs)


def _payload_hash(request: RawRequest) -> str:
    if request.body_sha256 in ("", EMPTY_SHA256):
        return EMPTY_SHA256
    # Any other announced hash must be that of the body that came, so the latter is taken.
    return UNSIGNED_PAYLOAD if request.header("x-sdk-content-sha256") == UNSIGNED_PAYLOAD else request.body_sha256
